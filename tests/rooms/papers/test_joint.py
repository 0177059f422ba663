"""One model of several holders: all is checked, then every site's ledger is charged, then rows are read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.data.tables.sources import FrameSource
from dpglm.errors import BudgetExceeded, LedgerError, MethodError, PrivacyError, SchemaError, StoreError
from dpglm.methods.base import methods
from dpglm.methods.joint import JointMethod
from dpglm.papers.dlr.dla import DLA
from dpglm.papers.dlr.dlvp import DLP, DLVP
from dpglm.papers.radmm.admm import DPADMM
from dpglm.postprocessing.joint_sites import JointSites, together
from dpglm.privacy.guarantee import disjoint, overlapping
from dpglm.spec.sites import site_seeds
from tests.rooms.papers.test_dlr import COLUMNS, FORMULA, SCHEMA, table

pytestmark = pytest.mark.papers

BUDGET = (1.0, 1e-6)
OVERLAPPING = dpglm.Schema.of(COLUMNS)
PRIVATE: list[Any] = [DLVP(steps=3), DLP(), DPADMM(steps=3)]


def tables() -> dict[str, Any]:
    return {"north": table(0, 60), "south": table(1, 80)}


def fit(data: Any, method: Any = PRIVATE[0], **options: Any) -> dpglm.FitResult:
    chosen = {"schema": SCHEMA, "privacy": BUDGET, "progress": False} | options
    found: Any = dpglm.fit(FORMULA, data, method=method, **chosen)
    assert type(found) is dpglm.FitResult
    return found


def ledger(path: Path, name: str, epsilon: float = 3.0) -> dpglm.Ledger:
    return dpglm.Ledger(path / f"{name}.ledger", budget=(epsilon, 1e-3), dataset=name)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Charges of ledgers and reads of tables, in order."""
    seen: list[str] = []
    read, charge = FrameSource.chunks, dpglm.Ledger.charge_all

    def reading(self: FrameSource, *args: Any, **options: Any) -> Iterator[Any]:
        seen.append("read")
        yield from read(self, *args, **options)

    def charging(self: dpglm.Ledger, charges: Any, **options: Any) -> Any:
        seen.append(self.dataset)
        return charge(self, charges, **options)

    monkeypatch.setattr(FrameSource, "chunks", reading)
    monkeypatch.setattr(dpglm.Ledger, "charge_all", charging)
    return seen


# What comes back


@pytest.mark.parametrize("method", PRIVATE, ids=lambda method: method.name)
def test_a_joint_method_gives_one_result_that_names_its_sites(method: Any, tmp_path: Path) -> None:
    found = fit(tables(), method)
    assert found.private
    text, page = str(found.summary()), found.to_html()
    for words in ("Who is trusted", "2: north, south", "Site north", "60 rows", "Site south", "80 rows"):
        assert words in text
    for words in ("Who is trusted", "north", "south"):
        assert words in page
    assert found.n_rows == 140
    lines = found.spend["release"].tolist()
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["north", "south"]
    again = dpglm.load(found.save(tmp_path / "joint.json"))
    assert again == found
    assert str(again.summary()) == text
    assert again.to_html() == page
    assert len(again.predict(table(3, 5))) == 5


def test_sites_have_curators_of_their_own_where_their_rows_stay_apart() -> None:
    assert "one curator per site" in fit(tables()).to_html()
    together_read = fit(tables(), DLP()).to_html()
    assert "one curator per site" not in together_read
    assert "only the final numbers are protected" in together_read


@pytest.mark.parametrize("method", PRIVATE, ids=lambda method: method.name)
def test_everybody_at_one_site_pays_for_the_worst_of_them(method: Any) -> None:
    found = fit(tables(), method)
    part: Any = found._record.part
    assert isinstance(part, JointSites)
    assert found.privacy == disjoint(part.site_guarantees)
    assert found.privacy.epsilon == 1.0
    assert all(site.epsilon == 1.0 for site in part.site_guarantees)


def test_where_a_person_may_be_at_both_sites_prices_add_up() -> None:
    found = fit(tables(), schema=OVERLAPPING)
    part: Any = found._record.part
    assert found.privacy == overlapping(part.site_guarantees)
    assert found.privacy.epsilon == 2.0
    gdp = fit(tables(), schema=OVERLAPPING, privacy=dpglm.Privacy.gdp(0.5, delta=1e-6))
    assert gdp.privacy.mu == pytest.approx(0.5 * np.sqrt(2.0))


@pytest.mark.parametrize("method", PRIVATE, ids=lambda method: method.name)
def test_one_table_at_one_site_is_fitted_as_by_one_curator(method: Any) -> None:
    (seed,) = site_seeds(7, 1)
    data = table(0, 60)
    joint = fit({"north": data}, method, seed=7)
    alone = fit(data, replace(method, parties=1) if isinstance(method, DPADMM) else method, seed=seed)
    np.testing.assert_array_equal(joint.params, alone.params)
    assert joint.privacy == alone.privacy
    assert joint.plan_fingerprint == alone.plan_fingerprint


@pytest.mark.parametrize("method", PRIVATE, ids=lambda method: method.name)
def test_a_seed_repeats_a_joint_fit_and_every_site_has_its_own_noise(method: Any) -> None:
    twins = {"north": table(0, 60), "south": table(0, 60)}
    first, second, other = (fit(twins, method, seed=seed) for seed in (1, 1, 2))
    assert first == second
    assert not np.array_equal(first.params, other.params)
    assert "NOT PRIVATE: seeded" in str(first)
    assert "(not kept)" in str(first)


def test_the_plan_that_was_approved_is_the_plan_that_is_run() -> None:
    plan = dpglm.plan(FORMULA, SCHEMA, method=DLVP(steps=3), privacy=BUDGET)
    found: Any = plan.fit(tables(), progress=False)
    assert found.plan_fingerprint == plan.fingerprint
    assert {site.plan_fingerprint for site in found._record.part.sites} == {plan.fingerprint}


@pytest.mark.parametrize("method", PRIVATE, ids=lambda method: method.name)
def test_a_joint_fit_is_audited_by_the_plan_of_a_site(method: Any) -> None:
    assert dpglm.audit(fit(tables(), method), trials=200, seed=1, progress=False).passed


def test_sites_may_declare_their_own_numbers_of_rows_and_must_under_add_remove() -> None:
    budget = dpglm.Privacy(1.0, 1e-6, relation="add-remove")
    data = {
        site: dpglm.declare(rows, replace(SCHEMA, rows=count))
        for (site, rows), count in zip(tables().items(), (50, 100), strict=True)
    }
    found = fit(data, schema=None, privacy=budget)
    assert found.n_rows is None
    assert "rows," not in str(found._record.part.sites[0].line)
    with pytest.raises(MethodError, match="number of rows is private"):
        fit(tables(), privacy=budget)
    data["south"] = dpglm.declare(table(1, 80), SCHEMA)
    with pytest.raises(MethodError, match=r"at site 'south'.*number of rows is private"):
        fit(data, schema=None, privacy=budget)


def test_a_graph_is_kept_with_the_fit_and_is_none_of_one_table(tmp_path: Path) -> None:
    method = DLVP(steps=3, graph={"north": ["south"], "south": ["north"]})
    again = dpglm.load(fit(tables(), method).save(tmp_path / "graph.json"))
    assert again.specification.method.options["graph"] == {"north": ["south"], "south": ["north"]}
    assert dpglm.audit(again, trials=200, seed=1, progress=False).passed
    ward = ledger(tmp_path, "ward")
    with pytest.raises(MethodError, match="a graph with 'north', which is no site"):
        fit(table(0, 60), method, ledger=ward)
    assert ward.entries == ()


def test_dp_admm_of_one_table_says_that_it_is_a_simulation() -> None:
    found = fit(table(0, 60), "dp-admm")
    for text in (str(found.summary()), found.to_html()):
        assert "this simulates parties" in text
    assert "simulated on one table" in found._record.description.algorithm
    joint = fit(tables(), "dp-admm")
    assert "simul" not in str(joint.summary())
    assert "simul" not in joint._record.description.algorithm


def test_dla_is_not_private_anywhere(tmp_path: Path) -> None:
    found = fit(tables(), DLA(), privacy=None)
    for text in (str(found), repr(found), found.to_html()):
        assert "NOT PRIVATE" in text
    assert dpglm.load(found.save(tmp_path / "dla.json")) == found
    with pytest.raises(PrivacyError, match="not private"):
        fit(tables(), DLA(), privacy=None, ledger=ledger(tmp_path, "ward"))


# Ledgers


def test_one_ledger_has_a_line_for_all_where_everybody_is_at_one_site(tmp_path: Path) -> None:
    ward = ledger(tmp_path, "ward")
    found = fit(tables(), ledger=ward)
    (line,) = ward.entries
    assert "at 2 sites, one per person" in line.what
    assert line.epsilon == 1.0
    assert found._record.ledger is not None
    fit(tables(), schema=OVERLAPPING, ledger=ward)
    assert [entry.what.rsplit(" ", 1)[1] for entry in ward.entries[1:]] == ["'north'", "'south'"]
    assert ward.spent.epsilon == 3.0


@pytest.mark.parametrize("method", PRIVATE, ids=lambda method: method.name)
def test_each_site_pays_from_its_own_ledger_before_any_row_is_read(
    method: Any, tmp_path: Path, events: list[str]
) -> None:
    own = {site: ledger(tmp_path, site) for site in ("south", "north")}
    found = fit(tables(), method, ledger=own)
    assert events[:2] == ["north", "south"]
    assert set(events[2:]) == {"read"}
    for site, book in own.items():
        (line,) = book.entries
        assert line.status == "charged"
        assert line.plan == found.plan_fingerprint
        assert repr(site) in line.what
    assert found._record.ledger is None
    assert "2 of 3 left in north" in str(found.summary())
    assert dpglm.load(found.save(tmp_path / "joint.json")) == found


def test_one_ledger_that_refuses_stops_all_and_nothing_is_charged(tmp_path: Path, events: list[str]) -> None:
    own = {"north": ledger(tmp_path, "north"), "south": ledger(tmp_path, "south", epsilon=0.5)}
    with pytest.raises(BudgetExceeded, match="at site 'south'"):
        fit(tables(), ledger=own)
    assert "read" not in events
    assert own["north"].entries == ()
    assert [entry.status for entry in own["south"].entries] == ["refused"]
    assert own["south"].spent.epsilon == 0.0


def test_a_ledger_that_fails_after_another_was_charged_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: list[str]
) -> None:
    """Another process spends what was there when the ledger was asked."""
    own = {"north": ledger(tmp_path, "north"), "south": ledger(tmp_path, "south", epsilon=0.5)}
    monkeypatch.setattr(dpglm.Ledger, "admits", lambda self, charges: True)
    with pytest.raises(BudgetExceeded, match=r"at site 'south'.*charged before it: 'north'"):
        fit(tables(), ledger=own)
    assert "read" not in events
    assert own["north"].spent.epsilon == 1.0


def test_sites_that_share_a_ledger_file_are_charged_together(tmp_path: Path) -> None:
    shared = ledger(tmp_path, "shared")
    data = tables() | {"east": table(2, 50)}
    own = {"north": shared, "south": str(shared.path), "east": ledger(tmp_path, "east")}
    fit(data, ledger=own, schema=OVERLAPPING)
    assert shared.spent.epsilon == 2.0
    fit(data, ledger=own)
    assert shared.spent.epsilon == 3.0
    with pytest.raises(BudgetExceeded, match="at site 'north'"):
        fit(data, ledger=own)


def test_under_a_key_a_joint_fit_is_drawn_and_charged_once(tmp_path: Path, events: list[str]) -> None:
    ward = ledger(tmp_path, "ward")
    first = fit(tables(), ledger=ward, key="monday")
    del events[:]
    second = fit(tables(), ledger=ward, key="monday")
    assert second == first
    assert events == []
    assert ward.spent.epsilon == 1.0
    with pytest.raises(LedgerError, match="monday"):
        fit(tables(), DLVP(steps=4), ledger=ward, key="monday")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"ledger": {"north": "own"}}, "'south' in one of ledgers and tables only"),
        ({"ledger": {"north": "own", "south": "own", "east": "own"}}, "'east' in one of"),
        ({"ledger": {"north": "own", "south": None}}, "one is missing"),
        ({"ledger": {}}, "none of them"),
        ({"ledger": {"north": "own", "south": "own"}, "key": "monday"}, "a key"),
        ({"ledger": {"north": "own", "south": "own"}, "method": "objective"}, "a fit for each site"),
    ],
    ids=str,
)
def test_ledgers_that_do_not_fit_the_sites_are_refused(options: Any, match: str, tmp_path: Path) -> None:
    own = {site: each and ledger(tmp_path, site) for site, each in options["ledger"].items()}
    with pytest.raises(MethodError, match=match):
        fit(tables(), **(options | {"ledger": own}))
    assert all(book.entries == () for book in own.values() if book is not None)


def test_ledgers_by_site_of_one_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MethodError, match="one table"):
        fit(table(0, 60), ledger={"north": ledger(tmp_path, "north")})


# Errors


def test_an_error_names_the_site(tmp_path: Path) -> None:
    own = {site: ledger(tmp_path, site) for site in ("north", "south")}
    data = tables()
    data["south"] = data["south"].drop(columns="b")
    with pytest.raises(SchemaError, match="at site 'south'"):
        fit(data, ledger=own)
    assert all(book.entries == () for book in own.values())
    with pytest.raises(SchemaError, match="'south'"):
        fit(tables() | {"south": 3})
    rows = table(0, 60)
    with pytest.raises(SchemaError, match="one table for the sites 'north' and 'south'"):
        fit({"north": rows, "south": rows})


def test_a_saved_joint_fit_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = fit(tables()).save(tmp_path / "joint.json")
    document = json.loads(path.read_text())
    for change in (
        lambda part: part.update(sites=[]),
        lambda part: part.update(disjoint=False),
        lambda part: part["sites"][0].update(n_rows=7),
        lambda part: part["sites"][1].update(name="north"),
        lambda part: part["sites"][0]["guarantee"].update(epsilon=5.0),
    ):
        changed = json.loads(json.dumps(document))
        change(changed["part"])
        path.write_text(json.dumps(changed))
        with pytest.raises(StoreError):
            dpglm.load(path)


def test_a_plan_of_a_simulation_is_not_run_at_sites() -> None:
    plan = dpglm.plan(FORMULA, SCHEMA, method="dp-admm", privacy=BUDGET)
    with pytest.raises(MethodError, match="on one table, for tables by site"):
        plan.fit(tables(), progress=False)


def test_the_joint_methods_are_these() -> None:
    found = {name for name in methods if issubclass(methods[name], JointMethod)}
    assert found == {"dla", "dlp", "dlvp", "dp-admm", "secure-sum"}
    guarantees = fit(tables())._record.part.site_guarantees  # type: ignore[union-attr]
    assert together(guarantees[:1], once=True) == guarantees[0]
