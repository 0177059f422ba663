"""Fits by secure sums: one result of all sites, by ordinary methods, or refused before a charge."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.curator.secure_site import SecureSite, aggregate
from dpglm.errors import BudgetExceeded, ExchangeError, MethodError, SchemaError
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.secure_sum import collusion_factor
from dpglm.methods.base import to_response_scale
from dpglm.methods.moments import Moments
from dpglm.methods.objective import Objective
from dpglm.methods.secure_sum import SecureSum
from dpglm.privacy.events import gaussian_mu
from dpglm.spec.charging import at_scales
from dpglm.spec.joint import secure_site
from dpglm.spec.sites import site_seeds
from dpglm.typing import FloatVector

BUDGET = (1.0, 1e-6)
NUMBERS = {"x": (-1, 1), "z": (0, 10)}
GAUSSIAN = dpglm.Schema.of(NUMBERS | {"y": (-5, 5)}, sites="disjoint")
COUNTS = dpglm.Schema.of(NUMBERS | {"y": (0, 20)}, sites="disjoint")
FORMULA = "y ~ x + z"


def table(seed: int, rows: int, *, counts: bool = False) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    x, z = random.uniform(-1, 1, rows), random.uniform(0, 10, rows)
    y = random.poisson(np.exp(0.5 + 0.4 * x + 0.05 * z)) if counts else 0.3 * z + x + random.normal(size=rows)
    return pd.DataFrame({"x": x, "z": z, "y": np.clip(y, -5, 5) if not counts else np.minimum(y, 20)})


def tables(*, rows: int = 200, counts: bool = False) -> dict[str, Any]:
    return {site: table(place, rows + place, counts=counts) for place, site in enumerate(("a", "b", "c"))}


def fit(data: Any, method: Any = "secure-sum", **options: Any) -> dpglm.FitResult:
    chosen = {"schema": GAUSSIAN, "family": "gaussian", "privacy": BUDGET, "progress": False} | options
    found: Any = dpglm.fit(FORMULA, data, method=method, **chosen)
    assert type(found) is dpglm.FitResult
    return found


def ledger(path: Path, name: str, epsilon: float = 3.0) -> dpglm.Ledger:
    return dpglm.Ledger(path / f"{name}.ledger", budget=(epsilon, 1e-3), dataset=name)


# What comes back


def test_a_fit_says_who_is_trusted_with_what_and_is_kept(tmp_path: Path) -> None:
    found = fit(tables())
    text, page = str(found.summary()), found.to_html()
    for words in ("Who is trusted", "noisy totals", "3: a, b, c", "Site b", "201 rows", "at most 1 of them"):
        assert words in " ".join(text.split())
    assert "secure aggregation" in page
    assert "one curator per site" in page
    assert "under masks" in page
    assert found.n_rows == 603
    again = dpglm.load(found.save(tmp_path / "secure.json"))
    assert again == found
    assert str(again.summary()) == text
    assert again.to_html() == page
    assert again.specification.method.options == {"sites": 3}


@pytest.mark.audit
def test_a_fit_under_masks_passes_its_audit() -> None:
    assert dpglm.audit(fit(tables()), trials=200, seed=1, progress=False).passed


def test_intervals_come_with_the_noise_that_was_drawn() -> None:
    """A method is given less to spend, so that it knows how large the noise of all sites is."""
    plan = dpglm.plan(FORMULA, GAUSSIAN, method=SecureSum(sites=4), family="gaussian", privacy=BUDGET)
    alone = dpglm.plan(FORMULA, GAUSSIAN, family="gaussian", privacy=BUDGET)
    factor = collusion_factor(4, 1)
    for shared, own in zip(plan.releases.releases, alone.releases.releases, strict=True):
        assert shared.noise_scales == pytest.approx(np.multiply(factor, own.noise_scales), rel=1e-6)
    mus = [gaussian_mu(event) for costs in plan.releases.parallel() for _, event in costs]
    assert factor * np.hypot.reduce(np.array(mus, dtype=float)) <= (plan.guarantee.mu or 0.0) * (1 + 1e-9)
    assert plan.guarantee.mu == alone.guarantee.mu
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == BUDGET
    assert plan.fingerprint != alone.fingerprint


CASES: list[Any] = [
    pytest.param(Moments(), "gaussian", {}, id="moments"),
    pytest.param(Moments(scales="declared"), "gaussian", {}, id="moments-declared"),
    pytest.param(Objective(), "poisson", {"schema": COUNTS}, id="counts"),
]


@pytest.mark.parametrize(("method", "family", "options"), CASES)
def test_without_noise_the_fit_is_that_of_one_curator(
    method: Any, family: str, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same plan of releases on the same rows: sums differ by rounding to steps of 2^-40 of the noise."""
    monkeypatch.setattr(NoiseSource, "whole_normal", lambda self, size: np.zeros(size, dtype=np.int64))
    data = tables(rows=3000, counts=family == "poisson")
    given = {"family": family, "penalty": "none", "seed": 1} | options
    shared = fit(data, SecureSum(method, colluding=0), **given)
    one = fit(pd.concat(data.values()), method, **given)
    np.testing.assert_allclose(shared.params, one.params, rtol=1e-6)
    np.testing.assert_allclose(shared.bse, one.bse, rtol=1e-6)


def test_a_seed_repeats_a_fit_whatever_the_keys() -> None:
    first, second, other = (fit(tables(), seed=seed) for seed in (1, 1, 2))
    assert first == second
    assert not np.array_equal(first.params, other.params)
    assert "NOT PRIVATE: seeded" in str(first)


def test_the_plan_that_was_approved_is_the_plan_that_is_run() -> None:
    plan = dpglm.plan(FORMULA, GAUSSIAN, method=SecureSum(sites=3), family="gaussian", privacy=BUDGET)
    found: Any = plan.fit(tables(), progress=False)
    assert found.plan_fingerprint == plan.fingerprint
    assert {site.plan_fingerprint for site in found._record.part.sites} == {plan.fingerprint}
    assert fit(tables()).plan_fingerprint == plan.fingerprint
    assert "by secure aggregation" in plan.description.algorithm
    assert dpglm.plan(
        FORMULA, GAUSSIAN, n=6000, method=SecureSum(sites=3), family="gaussian", privacy=BUDGET
    ).expected()


def test_declared_numbers_of_rows_are_those_of_all_sites_together() -> None:
    budget = dpglm.Privacy(1.0, 1e-6, relation="add-remove")
    data = {
        site: dpglm.declare(rows, replace(GAUSSIAN, rows=count))
        for (site, rows), count in zip(tables().items(), (100, 200, 300), strict=True)
    }
    found = fit(data, schema=None, privacy=budget)
    assert found.n_rows is None
    assert found.specification.schema["rows"] == 600
    data["c"] = dpglm.declare(table(2, 202), GAUSSIAN)
    assert "rows" not in fit(data, schema=None, privacy=budget).specification.schema


def test_what_crosses_between_sites_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last number of the moments' sums is a count, public here: its message tells nothing of it."""
    sent: list[dict[str, Any]] = []
    honest = SecureSite.masked

    def recorded(self: SecureSite, release: int, at: Any = None) -> bytes:
        message = honest(self, release, at)
        sent.append(json.loads(message))
        return message

    monkeypatch.setattr(SecureSite, "masked", recorded)
    found = fit(tables(), seed=1)
    places = [each["release"] for each in sent]
    assert places == sorted([*range(len(found.spend) // 3)] * 3)  # a line for each site
    assert {each["site"] for each in sent} == {"a", "b", "c"}
    assert len({each["run"] for each in sent}) == 1
    assert len({each["sum"] for each in sent}) == len(sent)
    again = len(sent)
    fit(tables(), seed=1)
    assert not {each["sum"] for each in sent[:again]} & {each["sum"] for each in sent[again:]}


@pytest.mark.parametrize(
    "budget", [dpglm.Privacy.gdp(0.3), dpglm.Privacy.zcdp(0.05), (1.0, 0.05), (0.01, 0.2)], ids=str
)
def test_budgets_in_other_terms_leave_the_coalition_all_of_the_mu(budget: Any) -> None:
    plan = dpglm.plan(FORMULA, GAUSSIAN, method=SecureSum(sites=2), family="gaussian", privacy=budget)
    mus = [gaussian_mu(event) for costs in plan.releases.parallel() for _, event in costs]
    price = collusion_factor(2, 1) * np.hypot.reduce(np.array(mus, dtype=float))
    assert price == pytest.approx(plan.guarantee.mu, rel=1e-5)
    assert price <= plan.guarantee.mu * (1.0 + 1e-9)  # type: ignore[operator]


def test_persons_are_protected_where_the_releases_cover_them() -> None:
    persons = dpglm.Schema.of(NUMBERS | {"y": (-5, 5)}, sites="disjoint", unit={"column": "who", "rows": 3})
    data = {site: rows.assign(who=np.arange(len(rows)) // 2) for site, rows in tables().items()}
    found = fit(data, schema=persons)
    assert found.privacy.persons
    assert all(site.guarantee.persons for site in found._record.part.sites)  # type: ignore[union-attr]


# Ledgers and faults


def test_each_site_pays_the_price_of_the_plan(tmp_path: Path) -> None:
    ledgers = {site: ledger(tmp_path, site) for site in ("a", "b", "c")}
    fit(tables(), ledger=ledgers)
    assert {each.spent.epsilon for each in ledgers.values()} == {1.0}
    ward = ledger(tmp_path, "ward")
    fit(tables(), ledger=ward)
    (line,) = ward.entries
    assert "at 3 sites, one per person" in line.what
    ledgers["b"] = ledger(tmp_path, "poor", epsilon=0.5)
    with pytest.raises(BudgetExceeded, match="at site 'b'"):
        fit(tables(), ledger=ledgers)


def test_sites_by_themselves_and_whoever_adds_up_give_the_fit_by_bytes_alone() -> None:
    """Each site has its table and a seed; who adds up has the plan, keys, messages and numbers of rows."""
    plan = dpglm.plan(FORMULA, GAUSSIAN, method=SecureSum(sites=3), family="gaussian", privacy=BUDGET)
    data, seeds = tables(), site_seeds(1, 3)
    at = {
        site: secure_site(plan, site, data[site], run="monday 7f3a", seed=seed)
        for site, seed in zip(data, seeds, strict=True)
    }
    keys = [site.public_key() for site in at.values()]
    for site in at.values():
        site.meet(keys)
    place = 0

    def ask(release: Release, point: FloatVector | None = None) -> FloatVector:
        nonlocal place
        messages = [site.masked(place, point) for site in at.values()]
        found = aggregate(messages, keys, release=release, place=place, at=point)
        place += 1
        return found

    rows = sum(len(table) for table in data.values())
    problem = replace(plan.problem, count_rows=lambda: rows)
    estimate = plan.specification.method.solve(problem, plan.releases, ask)
    whole = fit(data, seed=1)
    model = at_scales(plan.specification.coded_model, estimate)
    placed = to_response_scale(estimate, model.coding, unit=model.response.unit, shift=model.response.shift)
    np.testing.assert_array_equal(placed.estimates, whole.params)


def test_a_site_by_itself_is_charged_and_refused_as_a_fit_is(tmp_path: Path) -> None:
    plan = dpglm.plan(FORMULA, GAUSSIAN, method=SecureSum(sites=3), family="gaussian", privacy=BUDGET)
    own = ledger(tmp_path, "own")
    secure_site(plan, "a", table(0, 50), run="1", ledger=own)
    assert own.spent.epsilon == 1.0
    assert "at site 'a'" in own.entries[0].what
    with pytest.raises(BudgetExceeded, match="at site 'b'"):
        secure_site(plan, "b", table(0, 50), run="1", ledger=ledger(tmp_path, "poor", epsilon=0.5))
    other = dpglm.plan(FORMULA, GAUSSIAN, family="gaussian", privacy=BUDGET)
    with pytest.raises(MethodError, match="a plan of method='moments'"):
        secure_site(other, "a", table(0, 50), run="1", ledger=own)
    several = dpglm.Schema.of(NUMBERS | {"y": (-5, 5)})
    wide = dpglm.plan(FORMULA, several, method=SecureSum(sites=3), family="gaussian", privacy=BUDGET)
    with pytest.raises(MethodError, match="sites: disjoint"):
        secure_site(wide, "a", table(0, 50), run="1", ledger=own)
    assert own.spent.epsilon == 1.0


def test_a_site_that_drops_out_is_named_and_the_charge_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = SecureSite.masked

    def drops_out(self: SecureSite, release: int, at: Any = None) -> bytes:
        message = honest(self, release, at)
        if self.name == "b" and release == 1:
            raise ExchangeError("no message of 'b' for release 1", expected="one", remedy="Ask again.")
        return message

    monkeypatch.setattr(SecureSite, "masked", drops_out)
    ward = ledger(tmp_path, "ward")
    with pytest.raises(ExchangeError, match="'b' for release 1"):
        fit(tables(), ledger=ward)
    assert ward.spent.epsilon == 1.0


def refusals() -> list[Any]:
    overlapping = dpglm.Schema.of(NUMBERS | {"y": (-5, 5)})
    binary = dpglm.Schema.of(NUMBERS | {"y": ["no", "yes"]}, sites="disjoint")
    return [
        pytest.param({"privacy": 1.0}, "pure epsilon", id="pure"),
        pytest.param({"schema": overlapping}, "sites: disjoint", id="at-several"),
        pytest.param({"schema": binary, "family": "binomial"}, "a 'perturbed minimiser'", id="minimiser"),
        pytest.param({"schema": COUNTS, "family": "poisson", "goal": "predict"}, "perturbed", id="predict"),
        pytest.param({"method": SecureSum("output")}, "perturbed output", id="output"),
        pytest.param({"method": SecureSum(sites=4)}, "tables of 3 sites, for a plan of 4", id="sites"),
        pytest.param({"privacy": None}, "privacy=None", id="without"),
    ]


@pytest.mark.parametrize(("options", "match"), refusals())
def test_what_cannot_be_formed_together_is_refused_before_a_charge(
    options: Any, match: str, tmp_path: Path
) -> None:
    ward = ledger(tmp_path, "ward")
    with pytest.raises((MethodError, dpglm.errors.PrivacyError), match=match):
        fit(tables(), **({"ledger": ward} | options))
    assert ward.entries == ()


def test_options_that_mean_nothing_are_refused() -> None:
    for options in (
        {"method": "nonsense"},
        {"method": {"options": {}}},
        {"method": {"name": "moments", "more": 1}},
        {"method": {"name": "moments", "options": {"nothing": 1}}},
        {"method": 3},
        {"method": SecureSum()},
        {"sites": 1},
        {"sites": 5, "colluding": 5},
        {"colluding": -1},
        {"colluding": 0.5},
        {"colluding": True},
        {"sites": 2000},
    ):
        with pytest.raises(MethodError):
            SecureSum(**options)  # type: ignore[arg-type]
    with pytest.raises(MethodError, match="without a number of sites"):
        fit(table(0, 50))
    with pytest.raises(MethodError, match="tables of 1 sites"):
        fit(table(0, 50), SecureSum(sites=3))
    with pytest.raises(SchemaError, match="one table for the sites"):
        fit(dict.fromkeys("abc", table(0, 50)))


def test_a_method_with_options_is_kept_by_name_and_options() -> None:
    method = SecureSum(Moments(scales="declared"), sites=5)
    assert method.method == {"name": "moments", "options": {"scales": "declared"}}
    spec = dpglm.ModelSpec.of(FORMULA, GAUSSIAN, method=method, family="gaussian", privacy=BUDGET)
    assert dpglm.ModelSpec.from_json(spec.to_json()) == spec
    assert SecureSum(Moments()).method == "moments"
    assert collusion_factor(5, 0) == 1.0


def test_without_cryptography_nothing_is_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("cryptography.hazmat.primitives")]:
        monkeypatch.setitem(sys.modules, name, None)
    ward = ledger(tmp_path, "ward")
    with pytest.raises(MethodError, match=r"pip install 'dpglm\[secure\]'"):
        fit(tables(), ledger=ward)
    assert ward.entries == ()


@pytest.mark.papers
def test_gradient_descent_runs_on_noisy_totals() -> None:
    schema = dpglm.Schema.of(NUMBERS | {"y": ["no", "yes"]}, sites="disjoint")
    data = {}
    for site, rows in tables(rows=800).items():
        data[site] = rows.assign(y=np.where(rows["y"] > rows["y"].median(), "yes", "no"))
    method = dpglm.methods.SecureSum(dpglm.methods.DPSGD(steps=20))
    found = fit(data, method, schema=schema, family="binomial", penalty="none")
    assert found._record.description.releases[0].times == 20
    assert found.params["z"] > 0.0
    sampled = {"name": "ssadmm", "options": {"sampling": "poisson", "rate": 0.1}}
    with pytest.raises(MethodError, match="a 'gradient' with method='secure-sum'"):
        fit(data, SecureSum(sampled), schema=schema, family="binomial")
