"""One model at several sites: all is checked, then charged, then read; and what all of it costs a person."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.data.coding.design import Design
from dpglm.data.tables.sources import FrameSource
from dpglm.errors import (
    BudgetExceeded,
    DpglmError,
    FormulaError,
    LedgerError,
    MethodError,
    PrivacyError,
    SchemaError,
)
from dpglm.ledger import log as journal
from dpglm.privacy.guarantee import Guarantee, disjoint, overlapping

SCHEMA = dpglm.Schema.of({"age": (0, 10), "dose": (0, 1), "ill": ["no", "yes"]}, unit="one patient")
DISJOINT = dpglm.Schema.of(SCHEMA, sites="disjoint")
FORMULA = "ill ~ age + dose"


def table(seed: int, rows: int = 60) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": random.uniform(0, 10, rows),
            "dose": random.uniform(0, 1, rows),
            "ill": random.choice(["no", "yes"], rows),
        }
    )


def tables(*names: str) -> dict[str, object]:
    return {name: table(place) for place, name in enumerate(names or ("north", "south"))}


def fit(data: object, formula: str = FORMULA, **options: Any) -> Any:
    chosen = {"schema": SCHEMA, "penalty": "l2", "privacy": 1.0, "seed": 1} | options
    return dpglm.fit(formula, data, **chosen)  # type: ignore[call-overload]  # any options


def charged(data: object, ledger: dpglm.Ledger, **options: Any) -> Any:
    return fit(data, seed=None, ledger=ledger, **options)


@pytest.fixture
def ledger(tmp_path: Path) -> dpglm.Ledger:
    return dpglm.Ledger(tmp_path / "ward.ledger", budget=(10.0, 1e-3), dataset="ward")


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happened to ledgers and rows, in order."""
    seen: list[str] = []
    opened, read, charge = Design.__init__, FrameSource.chunks, dpglm.Ledger.charge_all

    def opening(self: Design, *args: Any, **options: Any) -> None:
        seen.append("open")
        opened(self, *args, **options)

    def reading(self: FrameSource, *args: Any, **options: Any) -> Iterator[Any]:
        seen.append("read")
        yield from read(self, *args, **options)

    def charging(self: dpglm.Ledger, charges: Any, **options: Any) -> Any:
        seen.extend(["charge"] * len(charges))
        return charge(self, charges, **options)

    monkeypatch.setattr(Design, "__init__", opening)
    monkeypatch.setattr(FrameSource, "chunks", reading)
    monkeypatch.setattr(dpglm.Ledger, "charge_all", charging)
    return seen


# What comes back


def test_a_site_has_a_fit_in_the_order_given() -> None:
    fits = fit(tables("south", "north", "east"))
    assert isinstance(fits, dpglm.SiteFits)
    assert list(fits) == ["south", "north", "east"]
    assert all(isinstance(one, dpglm.FitResult) and one.formula == FORMULA for one in fits.values())
    assert list(fits.params.columns) == list(fits)
    assert list(fits.params.index) == ["Intercept", "age", "dose"]
    for site in fits:
        np.testing.assert_array_equal(fits.params[site], fits[site].params)


def test_without_privacy_a_site_is_fitted_as_if_alone() -> None:
    data = tables()
    fits = fit(data, privacy=None, seed=None)
    for site, one in fits.items():
        assert one == fit(data[site], privacy=None, seed=None)
    assert not fits.privacy.private
    assert "NOT PRIVATE" in repr(fits)
    assert "NOT PRIVATE" in str(fits)


def test_a_single_table_is_fitted_as_ever() -> None:
    assert type(fit(table(0))) is dpglm.FitResult
    assert type(fit({"north": table(0)})) is dpglm.SiteFits


def test_sites_may_bring_tables_of_every_kind(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table(0).to_csv(tmp_path / "a.csv", index=False)
    table(1).to_parquet(tmp_path / "b.parquet")
    data = {"a": str(tmp_path / "a.csv"), "b": tmp_path / "b.parquet", "c": pa.table(table(2))}
    of_files = fit(data)
    of_frames = fit({name: table(place) for place, name in enumerate("abc")})
    assert of_files == of_frames


def test_fits_cannot_be_changed_and_hold_no_rows() -> None:
    fits = fit(tables())
    with pytest.raises(TypeError):
        fits["north"] = fits["south"]
    with pytest.raises(AttributeError, match="cannot assign to field 'privacy'"):
        fits.privacy = None
    with pytest.raises(AttributeError, match="cannot delete field"):
        del fits._results
    for twin in (copy.copy(fits), dpglm.SiteFits(dict(fits), fits.privacy)):
        assert twin == fits
        assert hash(twin) == hash(fits)
    assert fits != dpglm.SiteFits(dict(reversed(list(fits.items()))), fits.privacy)
    assert b"DataFrame" not in pickle.dumps({site: one.to_html() for site, one in fits.items()})


def test_the_table_has_a_column_a_site_and_says_what_all_cost() -> None:
    fits = fit(tables())
    shown = dpglm.compare(fits)
    assert [column.heading for column in shown.columns] == ["term", "north", "south"]
    assert shown.notes[-1] == fits.together
    assert str(fits.summary()) == str(shown) == str(fits)
    assert dpglm.compare(dict(fits)).notes[-1] != fits.together  # a dict of fits knows of no sites
    assert "<table" in fits._repr_html_()


def test_a_seed_gives_every_site_noise_of_its_own() -> None:
    same = table(0)
    fits = fit({"north": same, "south": same})
    assert (fits["north"].params != fits["south"].params).all()
    assert fits == fit({"north": same, "south": same})
    assert fits["north"] != fit({"north": same}, seed=2)["north"]
    assert fits["north"].params.iloc[0] != fit(same).params.iloc[0]
    assert fit({"north": same, "east": table(3)})["north"] == fits["north"]  # its place, not the others
    assert not fits.privacy.private
    assert fits.privacy.reason == "seeded"


@pytest.mark.parametrize("seed", [-1, True, "a", 1.5])
def test_what_is_no_seed_is_refused(seed: object) -> None:
    with pytest.raises(MethodError, match="seed"):
        fit(tables(), seed=seed)


# Check, charge, read


def test_all_is_planned_before_a_charge_and_charged_before_a_row_is_read(
    ledger: dpglm.Ledger, events: list[str]
) -> None:
    charged(tables("a", "b", "c"), ledger)
    assert events[:6] == ["open"] * 3 + ["charge"] * 3
    assert set(events[6:]) == {"read"}


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    "bad",
    [
        None,
        [1, 2],
        "no-file.csv",
        Path("no-file.parquet"),
        table(0).drop(columns="dose"),
        table(0)["age"],
        {"age": [1.0]},
        pd.DataFrame,
        3.5,
    ],
    ids=lambda bad: type(bad).__name__,
)
def test_one_bad_site_refuses_all_before_any_charge(
    ledger: dpglm.Ledger, events: list[str], place: int, bad: object
) -> None:
    data = list(tables("a", "b", "c").items())
    data[place] = ("bad", bad)
    with pytest.raises(SchemaError, match="'bad'"):
        charged(dict(data), ledger)
    assert not {"charge", "read"} & set(events)
    assert not ledger.entries


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"formula": "ill ~ weight"}, DpglmError),
        ({"formula": "ill ~ age +"}, FormulaError),
        ({"penalty": "l3"}, DpglmError),
        ({"strength": "cv"}, MethodError),
        ({"method": "lla"}, MethodError),
        ({"privacy": -1}, PrivacyError),
        ({"goal": "win"}, MethodError),
        ({"schema": {"age": (0, 10)}}, FormulaError),
    ],
)
def test_what_is_wrong_for_one_table_is_wrong_for_several(
    ledger: dpglm.Ledger, events: list[str], options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as of_sites:
        charged(tables(), ledger, **options)
    assert not {"charge", "read"} & set(events)
    with pytest.raises(error) as of_one:
        charged(table(0), ledger, **options)
    assert str(of_sites.value) == str(of_one.value)
    assert not ledger.entries


def test_a_ledger_that_covers_some_sites_charges_none(tmp_path: Path, events: list[str]) -> None:
    book = dpglm.Ledger(tmp_path / "small.ledger", budget=2.5)
    with pytest.raises(BudgetExceeded, match=r"these 3 charges together cost epsilon = 3\.0"):
        charged(tables("a", "b", "c"), book)
    assert "read" not in events
    assert book.spent.epsilon == 0.0
    assert [(one.status, one.epsilon) for one in book.entries] == [("refused", 1.0)] * 3
    assert charged(tables("a", "b"), book).privacy.epsilon == 2.0
    assert book.spent.epsilon == 2.0
    book.verify()


def test_seeded_fits_and_fits_without_privacy_take_no_ledger(ledger: dpglm.Ledger, events: list[str]) -> None:
    for options in ({"seed": 1}, {"privacy": None}):
        with pytest.raises(PrivacyError, match="not private"):
            fit(tables(), ledger=ledger, **({"seed": None} | options))
    assert "read" not in events
    assert not ledger.entries


def test_an_interrupt_keeps_every_charge(ledger: dpglm.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Design) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Design, "chunks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        charged(tables(), ledger)
    assert ledger.spent.epsilon == 2.0


def test_a_disk_that_fails_between_two_lines_charges_no_site(
    ledger: dpglm.Ledger, monkeypatch: pytest.MonkeyPatch, events: list[str]
) -> None:
    insert, head = journal._insert, ledger.head

    def fails(connection: Any, line: journal.Line) -> None:
        if line.position == 2:
            raise sqlite3.OperationalError("disk")
        insert(connection, line)

    with monkeypatch.context() as patch:
        patch.setattr(journal, "_insert", fails)
        with pytest.raises(LedgerError):
            charged(tables(), ledger)
    assert "read" not in events
    assert ledger.head == head


def test_a_site_alone_is_charged_as_much_as_a_single_table(tmp_path: Path) -> None:
    books = [dpglm.Ledger(tmp_path / name, budget=1.0) for name in ("one", "other")]
    charged(table(0), books[0])
    charged({"north": table(0)}, books[1])
    assert books[0].spent == books[1].spent


# Lines of the ledger


def test_a_line_a_site_ends_with_its_name(ledger: dpglm.Ledger) -> None:
    alone = charged(table(0), ledger).ledger.entries[-1].what
    fits = charged(tables("north", "o'neil's", 'the "old" house'), ledger)
    lines = [one.what for one in ledger.entries[1:]]
    assert lines == [f"{alone} at site {name!r}".replace("  ", " ") for name in fits]
    assert lines[0].endswith(" at site 'north'")
    assert ledger.spent.epsilon == 4.0


def test_every_site_shows_the_ledger_after_all_charges(ledger: dpglm.Ledger) -> None:
    fits = charged(tables(), ledger)
    assert {one.ledger.spent_epsilon for one in fits.values()} == {2.0}
    assert [len(one.ledger.entries) for one in fits.values()] == [2, 2]


def test_disjoint_sites_take_one_line(ledger: dpglm.Ledger, events: list[str]) -> None:
    fits = charged(tables(), ledger, schema=DISJOINT)
    (line,) = ledger.entries
    assert line.what.endswith(" at 2 sites, one per person")
    assert (line.epsilon, ledger.spent.epsilon, fits.privacy.epsilon) == (1.0, 1.0, 1.0)
    assert events[:3] == ["open", "open", "charge"]


def test_one_site_is_charged_by_name_whatever_is_declared(ledger: dpglm.Ledger) -> None:
    for schema in (SCHEMA, DISJOINT):
        assert charged({"north": table(0)}, ledger, schema=schema).privacy.epsilon == 1.0
    assert all(one.what.endswith(" at site 'north'") for one in ledger.entries)


def test_a_text_that_no_ledger_takes_refuses_all_sites(ledger: dpglm.Ledger) -> None:
    one = Guarantee(1.0, 0.0, "pure", "replace-one", "one patient")
    with pytest.raises(LedgerError):
        ledger.charge_all([(one, FORMULA, ""), (one, "x" * 10_001, "")])
    with pytest.raises(PrivacyError):
        ledger.charge_all([(one, FORMULA, ""), (one.seeded(), FORMULA, "")])
    assert not ledger.entries


# Names


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a\nb",
        "a\x1b[31m",
        "a\u202eb",
        " a",
        "a ",
        "a  b",
        "x" * 101,
        "a\0",
        "\ud800",
        1,
        None,
        ("a",),
        b"a",
    ],
)
def test_a_name_that_cannot_be_printed_is_refused(name: Any, ledger: dpglm.Ledger) -> None:
    with pytest.raises(SchemaError, match="site") as error:
        charged({"north": table(0), name: table(1)}, ledger)
    assert str(error.value).isascii()
    assert "\x1b" not in str(error.value)
    assert not ledger.entries


@pytest.mark.parametrize("twin", ["North", "\uff4eorth"])
def test_names_that_look_the_same_are_refused(twin: str) -> None:
    with pytest.raises(SchemaError, match="look the same"):
        fit({"north": table(0), twin: table(1)})


def test_names_are_escaped_where_they_are_shown(ledger: dpglm.Ledger) -> None:
    name = "<script>alert('1')</script> & \\textbf{x} $"
    fits = charged({name: table(0), "south": table(1)}, ledger)
    assert "<script" not in fits._repr_html_()
    assert "&lt;script&gt;" in fits._repr_html_()
    assert "\\textbf{x}" not in fits.summary().to_latex()
    assert "<script" not in fits[name].to_html()
    assert "<script" not in ledger._repr_html_()


def test_no_site_and_too_many_are_refused() -> None:
    for data in ({}, {f"site {place}": table(0) for place in range(201)}):
        with pytest.raises(SchemaError, match="1 to 200"):
            fit(data)


@pytest.mark.parametrize(
    "columns",
    [
        {"age": [1.0, 2.0], "ill": ["no", "yes"]},
        {"age": np.ones(2), "ill": np.array(["no", "yes"])},
        dict(table(0)),
        {"age": 3.25, "ill": "yes"},
        {"ill": "yes-private", "age": "x.txt"},
        {"age": pytest.importorskip("pyarrow").array([3.25])},
    ],
    ids=lambda columns: type(next(iter(columns.values()))).__name__,
)
def test_a_dict_of_columns_is_no_sites(columns: dict[str, Any]) -> None:
    with pytest.raises(SchemaError) as error:
        fit(columns)
    assert "DataFrame" in str(error.value)
    assert not any(cell in str(error.value) for cell in ("3.25", "yes", "x.txt"))


# Schemas


def test_sites_may_bring_their_own_schema_where_they_agree() -> None:
    def declared(place: int, **settings: Any) -> pd.DataFrame:
        return dpglm.declare(table(place), dpglm.Schema.of(SCHEMA, **settings))

    fits = fit({"a": declared(0, rows=60, title="a"), "b": declared(1, rows=70, title="b")}, schema=None)
    assert [one.specification.schema["title"] for one in fits.values()] == ["a", "b"]
    assert [one.specification.schema["rows"] for one in fits.values()] == [60, 70]
    for settings, named in (({"unit": "one visit"}, "unit"), ({"sites": "disjoint"}, "sites")):
        with pytest.raises(SchemaError, match=f"'b' declares {named} differently from site 'a'"):
            fit({"a": declared(0), "b": declared(1, **settings)}, schema=None)
    other = dpglm.declare(table(1), {**SCHEMA.variables, "age": (0, 11)})
    with pytest.raises(SchemaError, match="declares age, unit differently"):
        fit({"a": declared(0), "b": other}, schema=None)
    with pytest.raises(SchemaError, match=r"at site 'b', no schema"):
        fit({"a": declared(0), "b": table(1)}, schema=None)


def test_the_declaration_of_sites_goes_round_and_is_shown(tmp_path: Path) -> None:
    assert SCHEMA.sites == "overlapping"
    assert "sites" not in SCHEMA.to_dict()
    assert DISJOINT.to_dict()["sites"] == "disjoint"
    assert dpglm.Schema.from_dict(DISJOINT.to_dict()) == DISJOINT != SCHEMA
    assert hash(DISJOINT) != hash(SCHEMA)
    assert "sites: disjoint\n" in DISJOINT.to_yaml(tmp_path / "s.yaml")
    assert dpglm.Schema.from_yaml(tmp_path / "s.yaml") == DISJOINT == pickle.loads(pickle.dumps(DISJOINT))
    assert dpglm.Schema.of(DISJOINT).sites == "disjoint"
    assert dpglm.Schema.of(DISJOINT, sites="overlapping") == SCHEMA
    assert "disjoint" in str(DISJOINT)
    assert "disjoint" not in str(SCHEMA)
    one = fit(table(0), schema=DISJOINT)
    assert "disjoint" in one.to_html()
    assert "disjoint" not in fit(table(0)).to_html()
    assert one.privacy == fit(table(0)).privacy  # one table: nothing to compose


@pytest.mark.parametrize("word", ["", "Disjoint", "yes", True, 1, ["disjoint"]])
def test_another_word_for_sites_is_refused(word: Any) -> None:
    with pytest.raises(SchemaError, match="sites"):
        dpglm.Schema.of(SCHEMA, sites=word)
    with pytest.raises(SchemaError, match="sites"):
        dpglm.Schema.from_dict({"variables": {}, "sites": word})


@pytest.mark.parametrize("kind", ["frame", "file", "link"])
def test_disjoint_sites_do_not_share_a_table(kind: str, tmp_path: Path, ledger: dpglm.Ledger) -> None:
    frame: Any = table(0)
    twin: Any = frame
    if kind != "frame":
        frame.to_csv(tmp_path / "a.csv", index=False)
        frame, twin = str(tmp_path / "a.csv"), tmp_path / "a.csv"
        if kind == "link":
            twin = tmp_path / "b.csv"
            twin.symlink_to(tmp_path / "a.csv")
    with pytest.raises(SchemaError, match="one table for the sites 'a' and 'b'"):
        charged({"a": frame, "b": twin}, ledger, schema=DISJOINT)
    assert not ledger.entries
    assert charged({"a": frame, "b": twin}, ledger).privacy.epsilon == 2.0  # the safe way to count it


# What all sites cost a person


def test_budgets_add_unless_disjointness_is_declared() -> None:
    for schema, epsilon in ((SCHEMA, 3.0), (DISJOINT, 1.0)):
        fits = fit(tables("a", "b", "c"), schema=schema, seed=None)
        assert [one.privacy.epsilon for one in fits.values()] == [1.0] * 3
        assert fits.privacy.epsilon == epsilon
        assert fits.privacy.private
    told = fit(tables("a", "b", "c"), seed=None).together
    assert told.startswith("All 3 sites together: Differential privacy with epsilon = 3 ")
    assert "row at each of the 3 sites" in told
    assert "small probabilities add up" in told
    assert fit({"a": table(0)}, seed=None).together.startswith("One site: Differential privacy")


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_what_a_joint_promise_rests_on_is_told(relation: Any) -> None:
    fits = fit(tables(), schema=DISJOINT, seed=None, privacy=dpglm.Privacy(1.0, relation=relation))
    assert "as the schema declares" in fits.together
    assert ("which site somebody is at is not protected" in fits.together) == (relation == "replace-one")
    assert ("moving to another is two steps" in fits.together) == (relation == "add-remove")
    assert "parallel composition over the sites" in " ".join(str(fits).split())


def test_pairs_add_and_gaussian_parameters_add_as_squares(tmp_path: Path) -> None:
    pair = fit(tables(), seed=None, privacy=(1.0, 1e-6)).privacy
    assert (pair.epsilon, pair.delta, pair.definition, pair.mu) == (2.0, 2e-6, "approximate", None)
    book = dpglm.Ledger(tmp_path / "gdp.ledger", budget=dpglm.Privacy.gdp(1.0))
    gaussian = charged(tables("a", "b", "c"), book, privacy=dpglm.Privacy.gdp(0.5)).privacy
    assert (gaussian.definition, gaussian.rho) == ("gdp", None)
    assert gaussian.mu == pytest.approx(0.5 * math.sqrt(3.0), rel=1e-15)
    assert gaussian.mu == book.spent.mu
    assert gaussian.epsilon == dpglm.Privacy.gdp(gaussian.mu).epsilon
    concentrated = fit(tables("a", "b"), seed=None, privacy=dpglm.Privacy.zcdp(0.1)).privacy
    assert concentrated.rho == pytest.approx(0.2, rel=1e-14)
    assert concentrated.definition == "zcdp"


def test_sums_are_those_of_the_ledger(tmp_path: Path) -> None:
    book = dpglm.Ledger(tmp_path / "tenths.ledger", budget=(1.0, 1e-5))
    fits = charged(tables("a", "b", "c"), book, privacy=(0.1, 1e-7))
    assert fits.privacy.epsilon == book.spent.epsilon == 0.3
    assert fits.privacy.delta == book.spent.delta == 3e-7


def test_a_sum_beyond_all_numbers_is_told_before_a_charge(ledger: dpglm.Ledger, events: list[str]) -> None:
    huge = Guarantee(1.7e308, 0.0, "pure", "replace-one", "one row")
    with pytest.raises(PrivacyError):
        overlapping([huge, huge])
    assert disjoint([huge, huge]).epsilon == 1.7e308
    likely = Guarantee(1.0, 0.6, "approximate", "replace-one", "one row")
    assert overlapping([likely, likely]).delta == 1.0


def test_the_worst_of_disjoint_promises_counts() -> None:
    one = Guarantee(1.0, 1e-6, "approximate", "replace-one", "one row", mu=0.2, curve=((0.5, 1e-3),))
    other = dataclasses.replace(one, epsilon=2.0, delta=1e-7, mu=0.3, curve=())
    both = disjoint([one, other])
    assert (both.epsilon, both.delta, both.mu, both.curve) == (2.0, 1e-6, 0.3, ())
    assert disjoint([one, dataclasses.replace(one, mu=None)]).mu is None
    assert disjoint([one, one]).curve == one.curve
    for rate in (0.01, 0.1, 0.5):
        found = both.true_positive_rate(rate)
        assert found >= max(one.true_positive_rate(rate), other.true_positive_rate(rate))


@pytest.mark.parametrize("join", [overlapping, disjoint])
def test_no_promise_stays_none(join: Any) -> None:
    none = Guarantee.none("no privacy was asked for")
    assert join([none, none]) == none
    seeded = Guarantee(1.0, 0.0, "pure", "replace-one", "one row").seeded()
    assert not join([seeded, seeded]).private
    assert join([seeded]) == seeded


def test_parallel_composition_is_exact_for_randomised_response() -> None:
    """Two sites of one bit each, released by randomised response: neighbours differ at one site."""
    keep = math.e / (1.0 + math.e)

    def law(bits: tuple[int, int]) -> np.ndarray[Any, Any]:
        site = [np.array([keep, 1.0 - keep])[:: 1 if bit == 0 else -1] for bit in bits]
        return np.outer(*site)

    moved = np.log(law((0, 1)) / law((1, 0))).max()  # a person of each site, swapped: no neighbours
    one = np.log(law((0, 1)) / law((0, 0))).max()
    promise = Guarantee(1.0, 0.0, "pure", "replace-one", "one row")
    assert one == pytest.approx(disjoint([promise, promise]).epsilon)
    assert moved == pytest.approx(overlapping([promise, promise]).epsilon)


# The bar


def test_one_bar_over_public_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    import tqdm.auto
    import tqdm.std

    said: list[Any] = []

    class Bar:
        n = 0

        def __init__(self, **options: Any) -> None:
            said.append(options["total"])

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *error: object) -> None: ...

        def update(self, n: int) -> None:
            self.n += n
            said.append(self.n)

        def set_description_str(self, text: str) -> None:
            said.append(text)

    for home in (tqdm.auto, tqdm.std):  # the second one where there is no ipywidgets
        monkeypatch.setattr(home, "tqdm", Bar)
    fit(tables(), progress=True)
    assert said == [4, "plan", 1, "charge", 2, "site 1 of 2", 3, "site 2 of 2", 4]
