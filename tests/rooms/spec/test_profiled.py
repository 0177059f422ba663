"""A profile is the scales of a fit, and what its plan expects; a schema may say the same by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.errors import MethodError, SchemaError
from dpglm.methods.standardised import KNOWN
from tests.silence import Silence

SCHEMA = {"ill": ["no", "yes"], "age": (0, 400), "dose": (0.0, 50.0), "sex": ["F", "M"]}
FORMULA = "ill ~ age + I(age**2) + np.log1p(dose) + sex"
BUDGET = dpglm.Privacy(1.0, 1e-6, relation="add-remove")


def frame(n: int = 4000) -> pd.DataFrame:
    generator = np.random.default_rng(9)
    age, dose = generator.normal(50.0, 12.0, n), np.minimum(generator.exponential(4.0, n), 50.0)
    sex = generator.choice(["F", "M"], n, p=[0.3, 0.7])
    ill = np.where(generator.random(n) < 0.2 + 0.4 * (age > 50.0), "yes", "no")
    return pd.DataFrame({"ill": ill, "age": age, "dose": dose, "sex": sex})


@pytest.fixture
def profile() -> Any:
    return dpglm.describe(frame(), schema=SCHEMA, privacy=BUDGET, seed=4)


def names(plan: Any) -> list[str]:
    return [line.name for line in plan.description.releases]


def test_a_fit_with_a_profile_spends_nothing_on_scales(profile: Any) -> None:
    plan = dpglm.plan(FORMULA, SCHEMA, privacy=BUDGET, profile=profile)
    assert names(plan) == ["perturbed minimiser", "information matrix"]
    own = dpglm.plan(FORMULA, SCHEMA, n=4000, privacy=BUDGET)
    scale = {line.name: line.scale for line in own.description.releases}
    assert plan.description.releases[0].scale < scale["perturbed minimiser"]
    assert plan.n == round(profile.n_rows)
    assert KNOWN in plan.guarantee.assumptions
    assert KNOWN not in own.guarantee.assumptions


def test_groups_of_a_profile_are_shares_of_their_column() -> None:
    grouped = dpglm.describe(frame(), schema=SCHEMA, by="sex", privacy=BUDGET, seed=4)
    plan = dpglm.plan(FORMULA, SCHEMA, privacy=BUDGET, profile=grouped)
    assert plan.specification.schema.variables["sex"].shares == pytest.approx((0.3, 0.7), abs=0.02)  # type: ignore[union-attr]


def test_sites_of_a_profile_are_the_levels_of_no_column() -> None:
    schema, rows = {**SCHEMA, "site": ["here", "there"]}, frame().assign(site="here")
    tables = {"north": rows[:2000], "south": rows[2000:]}
    pooled = dpglm.describe(tables, schema=schema, privacy=BUDGET, seed=4).pooled
    assert pooled.by == "site"
    plan = dpglm.plan("ill ~ age + site", schema, privacy=BUDGET, profile=pooled)
    assert plan.specification.schema.variables["site"].shares[0] > 0.95  # type: ignore[union-attr,index]


@pytest.mark.parametrize("goal", ["predict", "select"])
def test_a_fit_without_intervals_uses_the_profile_too(profile: Any, goal: Any) -> None:
    formula = "ill ~ age + np.log1p(dose) + sex"
    asked: Any = {"privacy": BUDGET, "goal": goal}
    plan = dpglm.plan(formula, SCHEMA, profile=profile, **asked)
    assert names(plan) == ["perturbed minimiser"]
    assert KNOWN in plan.guarantee.assumptions
    fit = dpglm.fit(formula, frame(), schema=SCHEMA, profile=profile, seed=1, **asked)
    scales = fit._record.scales
    assert scales.shortened
    assert scales.moments["age"] == pytest.approx((profile.means["age"], profile.sds["age"]), rel=0.01)


def test_its_scales_are_those_of_the_profile(profile: Any) -> None:
    fit = dpglm.fit(FORMULA, frame(), schema=SCHEMA, privacy=BUDGET, profile=profile, seed=1)
    scales = fit._record.scales
    assert scales.names == ("age", "np.log1p(dose)")
    assert scales.moments["age"] == pytest.approx((profile.means["age"], profile.sds["age"]), rel=0.01)
    # Of a function of a column only the mean and deviation of that column are known.
    exact = np.log1p(frame()["dose"])
    assert scales.moments["np.log1p(dose)"] == pytest.approx((exact.mean(), exact.std()), rel=0.2)
    assert scales.weight_lost is None
    assert fit.bse.notna().all()


def test_a_plan_with_a_profile_is_that_of_the_fit_and_keeps_it(profile: Any, tmp_path: Path) -> None:
    plan = dpglm.plan(FORMULA, SCHEMA, privacy=BUDGET, profile=profile)
    fit = dpglm.fit(FORMULA, frame(), schema=SCHEMA, privacy=BUDGET, profile=profile, seed=1)
    assert fit.plan_fingerprint == plan.fingerprint
    assert plan.fingerprint != dpglm.plan(FORMULA, SCHEMA, privacy=BUDGET).fingerprint
    again = dpglm.load(fit.save(tmp_path / "fit.json"))
    np.testing.assert_array_equal(again.predict(frame()), fit.predict(frame()))
    assert dpglm.audit(again, trials=200, seed=1, progress=False).passed
    spec = plan.specification
    assert dpglm.ModelSpec.from_json(spec.to_json()) == spec


def test_what_is_expected_with_a_profile_is_what_comes(profile: Any) -> None:
    expected = dpglm.plan(FORMULA, SCHEMA, privacy=BUDGET, profile=profile).expected().std_error
    errors = [
        dpglm.fit(FORMULA, frame(), schema=SCHEMA, privacy=BUDGET, profile=profile, seed=seed).bse
        for seed in range(5)
    ]
    # Over thirty seeds the ratios are .57 to 1.58.
    ratio = expected[1:] / np.median(errors, axis=0)[1:]
    assert (ratio > 1 / 1.9).all()
    assert (ratio < 1.9).all()


def test_without_noise_a_profile_gives_what_measuring_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpglm.spec.arguments.OsNoise", Silence)
    words: dict[str, Any] = {"schema": SCHEMA, "privacy": (1e12, 1e-6)}
    known = dpglm.describe(frame(), **words)
    first = dpglm.fit("ill ~ age + sex", frame(), **words, profile=known)
    second = dpglm.fit("ill ~ age + sex", frame(), **words)
    # Both looks of a fit round to a grid of 2^-16, each of its own range.
    moments = second._record.scales.moments["age"]
    assert first._record.scales.moments["age"] == pytest.approx(moments, rel=2.0**-17)
    np.testing.assert_allclose(first.params, second.params, rtol=0.02)


def test_moments_may_be_published_ones() -> None:
    told = SCHEMA | {"age": {"bounds": (0, 400), "mean": 50, "sd": 12}}
    known = dpglm.Schema.of({"variables": told, "moments": "known"})
    assert dpglm.Schema.from_dict(known.to_dict()) == known
    assert names(dpglm.plan("ill ~ age + sex", known, privacy=BUDGET))[0] == "perturbed minimiser"
    # Nothing is known of the dose, so that all scales are measured; and expected moments are not known ones.
    assert names(dpglm.plan("ill ~ age + dose", known, privacy=BUDGET))[0].startswith("means")
    assert names(dpglm.plan("ill ~ age + sex", told, privacy=BUDGET))[0].startswith("means")
    with pytest.raises(SchemaError, match="moments: "):
        dpglm.Schema.of({"variables": told, "moments": "guessed"})


def test_a_profile_of_another_table_is_refused(profile: Any) -> None:
    for other in ({"age": (0, 120)}, {"sex": ["M", "F"]}, {"dose": ["low", "high"]}):
        with pytest.raises(SchemaError, match="declared otherwise than in the profile"):
            dpglm.plan(FORMULA, SCHEMA | other, privacy=BUDGET, profile=profile)
    with pytest.raises(MethodError, match="profile of type"):
        dpglm.fit(FORMULA, frame(), schema=SCHEMA, privacy=BUDGET, profile={"age": (50, 12)})  # type: ignore[arg-type]
    plan = dpglm.plan(FORMULA, SCHEMA, privacy=BUDGET)
    with pytest.raises(MethodError, match="beside a plan"):
        dpglm.fit(plan, frame(), profile=profile)  # type: ignore[arg-type]


def test_what_a_profile_does_not_tell_is_measured() -> None:
    """Of a table of two rows hardly anything can be told."""
    known = dpglm.describe(frame(2), schema=SCHEMA, privacy=BUDGET, seed=1)
    assert names(dpglm.plan(FORMULA, SCHEMA, privacy=BUDGET, profile=known))[0].startswith("means")
