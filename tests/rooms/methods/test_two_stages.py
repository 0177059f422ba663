"""Linear regression in two stages: prices, where it is used, where residuals are cut, wild answers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import dpglm
from dpglm.errors import MethodError
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.moments import SecondMoments
from dpglm.methods.moments import Moments
from dpglm.methods.residual_cut import COUNT_CUTS, CUTS, Cut, Tail
from dpglm.methods.two_stages import solve_in_two_stages
from dpglm.privacy.gdp import gdp_mu

SCHEMA = dpglm.Schema.of({"y": (-50, 50), "x": (-10, 10), "z": (0, 200), "g": ["a", "b", "c"]})
BUDGETS = {
    "approximate": dpglm.Privacy(1.0, 1e-6),
    "add-remove": dpglm.Privacy(1.0, 1e-6, relation="add-remove"),
    "gdp": dpglm.Privacy.gdp(0.3),
    "zcdp": dpglm.Privacy.zcdp(0.05),
}


def planned(formula: str = "y ~ x + z + g", privacy: Any = BUDGETS["approximate"], **more: Any) -> dpglm.Plan:
    return dpglm.plan(formula, SCHEMA, family="gaussian", privacy=privacy, **more)


def names(plan: dpglm.Plan) -> list[str]:
    return [release.name for release in plan.releases.releases]


@pytest.mark.parametrize("privacy", BUDGETS.values(), ids=BUDGETS.keys())
@pytest.mark.parametrize("formula", ["y ~ x + z + g", "y ~ g", "y ~ 1", "y ~ x * g + I(x ** 2)"])
def test_all_of_the_budget_is_spent_and_no_more(formula: str, privacy: dpglm.Privacy) -> None:
    plan = planned(formula, privacy)
    spent = sum(
        event.mu**2  # type: ignore[attr-defined]
        for release in plan.releases.releases
        for _, event in release.events(privacy.relation)
    )
    mu = gdp_mu(privacy.epsilon, privacy.delta) if privacy.mu is None else privacy.mu
    assert spent <= mu**2
    assert spent > 0.999999 * mu**2


def test_it_is_for_gaussian_noise_and_a_constant() -> None:
    six = [
        "means and standard deviations",
        "means and standard deviations in closer ranges",
        "classes of row length",
        "second moments of the response",
        "classes of residual size",
        "second moments of residuals",
    ]
    assert names(planned()) == six
    assert names(planned(goal="predict")) == six
    assert names(planned(penalty="l2", strength=0.1)) == six
    assert names(planned("y ~ g")) == [*six[:2], *six[3:]]
    one = ["second moments"]
    assert names(planned(privacy=dpglm.Privacy(1.0))) == one
    assert names(planned("y ~ x + z - 1")) == one
    assert names(planned("y ~ 0 + g")) == one
    assert names(planned(method=Moments(scales="declared"))) == one
    with pytest.raises(MethodError, match="neither measured nor declared"):
        planned(method=Moments(scales="guessed"))  # type: ignore[arg-type]


def test_known_moments_leave_the_response_alone_to_be_measured() -> None:
    table = {
        "x": {"bounds": [-10, 10], "mean": 0.0, "sd": 1.0},
        "z": {"bounds": [0, 200], "mean": 50.0, "sd": 5.0},
        "y": {"bounds": [-50, 50]},
    }
    known = dpglm.Schema.of({"variables": table, "moments": "known"})
    plan = dpglm.plan("y ~ x + z", known, family="gaussian", privacy=(1.0, 1e-6))
    first = plan.releases.of_kind(ColumnSums)[0]
    assert first.missing == (False,)
    assert "classes of row length" not in names(plan)
    assert any("declared as known" in text for text in plan.guarantee.assumptions)


def cut(*counts: float, scale: float = 1.0, relation: str = "replace-one") -> Cut:
    """The cut of residuals in each class, on both sides alike unless counts are given for both."""
    both = len(counts) > len(COUNT_CUTS) + 1 or len(counts) == 2 * len(CUTS) + 1
    every = list(counts) if both else [*counts[:0:-1], *counts]
    k = len(every) // 2
    classes = ColumnSums((), (2 * k + 1,), 1, relation == "add-remove", "gaussian", scale)
    second = planned().releases.of_kind(SecondMoments)[1]
    rows = float(sum(every))
    usual = rows * ndtr(-np.array(COUNT_CUTS[:k]))
    answer = np.array([1e4, *every] if relation == "add-remove" else every)
    return Cut.of(classes, answer, second.cross_deviation, 5, rows, (usual, usual))


def normal(rows: float) -> list[float]:
    """Rows of normal residuals inside, and in each class on one side."""
    inside = [math.erf(place / math.sqrt(2.0)) for place in CUTS]
    shares = np.diff([0.0, *inside, 1.0])
    return [rows * shares[0], *(0.5 * rows * shares[1:])]


def test_residuals_are_cut_early_where_noise_is_large_or_hardly_any_are_beyond() -> None:
    usual = cut(*normal(10_000))
    assert usual.place == CUTS[0]
    assert usual.taken().bias > 0.0
    assert usual.taken().removed == pytest.approx(0.0)
    assert cut(*normal(10_000), relation="add-remove").place == CUTS[0]
    # A hundred times the rows make what is cut off matter more than noise.
    assert cut(*normal(1_000_000)).place > CUTS[0]
    # Rows far beyond are believed in where they stand above noise, and not where they do not.
    far = [9000.0, *[100.0] * len(CUTS)]
    assert cut(*far).place > CUTS[2]
    hidden = cut(*far, scale=1e4)
    assert hidden.place < CUTS[-2]
    assert hidden.taken().error > 10.0 * cut(*normal(10_000)).taken().error


def test_noise_in_the_last_class_of_counts_moves_no_cut_to_the_end() -> None:
    """Noise there is as many rows beyond every cut; 16 standard deviations of it are believed, 2 are not."""

    def place(far: float) -> float:
        return cut(*normal(100_000), 0.0, 0.0, 0.0, far, scale=15.0).place

    assert place(0.0) <= place(30.0) < 20.0
    assert place(240.0) == COUNT_CUTS[-1]


def test_the_mean_of_what_is_cut_off_is_known_with_its_sign() -> None:
    none, some = [0.0] * len(CUTS), [400.0, 50.0, *[0.0] * (len(CUTS) - 2)]
    above, below = cut(*none, 9000.0, *some), cut(*some[::-1], 9000.0, *none)
    assert above.place == below.place == CUTS[1]
    # 50 rows between the second cut and the third, less than half way on average: they fall fast.
    assert 0.25 < above.taken().removed / (50 * (CUTS[2] - CUTS[1])) < 0.5
    assert below.taken().removed == pytest.approx(-above.taken().removed)


@pytest.mark.parametrize("shape", ["exponential", "lognormal", "half normal"])
def test_what_noise_hides_beyond_a_cut_is_within_its_error(shape: str) -> None:
    """The true sum is within 2 errors in 170 of 200 draws: at .9 each, fewer have a probability of .01.

    Rows beyond the first cut are as many as 4 to 8 deviations of noise.
    """
    random, cuts, noise, hits = np.random.default_rng(5), np.array(COUNT_CUTS), 25.0, 0
    for _ in range(200):
        rows = int(random.integers(4, 9)) * int(noise)
        size = random.uniform(0.7, 2.0)
        further = {
            "exponential": lambda n, size=size: random.exponential(size, n),
            "lognormal": lambda n, size=size: size * np.exp(0.7 * random.normal(size=n) - 0.245),
            "half normal": lambda n, size=size: np.abs(random.normal(size=n)) * size * 1.25,
        }[shape](rows)
        residuals = cuts[0] + further
        seen = np.histogram(residuals, [*cuts, np.inf])[0] + noise * random.normal(size=len(cuts))
        tail = Tail.of(cuts, seen, noise, np.zeros(len(cuts)), 4000.0)
        true = np.maximum(residuals - cuts[1], 0.0).sum()
        hits += abs(tail.off[1] - true) < 2.0 * tail.error[1]
    assert hits >= 170


def test_what_is_cut_off_moves_with_the_level_of_counts() -> None:
    """Classes at a mean of 4 tell what is cut off at means of 3 to 6 of the same counts."""
    random = np.random.default_rng(6)
    y = random.poisson(4.0 * random.gamma(1.0, 1.0, size=400_000))
    edges = [-np.inf, *(-np.array(COUNT_CUTS[::-1])), *COUNT_CUTS, np.inf]
    counts = np.histogram((y - 4.0) / 2.0, edges)[0].astype(float)
    found = cut(*counts, scale=0.1)
    for mean in (3.0, 4.0, 6.0):
        away = (y - mean) / math.sqrt(mean)
        true = np.maximum(away - found.place, 0.0).sum() - np.maximum(-found.place - away, 0.0).sum()
        assert found.taken(4.0, mean).removed == pytest.approx(true, rel=0.15)


def test_a_skewed_response_keeps_its_mean() -> None:
    generator = np.random.default_rng(2)
    x = generator.normal(size=50_000)
    table = pd.DataFrame({"x": x, "y": x + generator.exponential(size=50_000)})
    schema = dpglm.Schema.of({"x": (-10, 10), "y": (-50, 100)})
    fit = dpglm.fit(
        "y ~ x", table, schema=schema, family="gaussian", penalty="none", privacy=(4.0, 1e-6), seed=3
    )
    gap = (fit.params.to_numpy() - [1.0, 1.0]) / fit.bse.to_numpy()
    assert np.abs(gap).max() < 4.0
    assert "are read as" in str(fit.summary())


@pytest.mark.parametrize("penalty", ["none", "l2", "l1", "l1/2"])
def test_a_fit_is_saved_and_read_again(penalty: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    x = generator.normal(size=2000)
    table = pd.DataFrame({"x": x, "g": generator.choice(list("abc"), 2000), "y": 3.0 + x})
    fit = dpglm.fit(
        "y ~ x + g", table, schema=SCHEMA, family="gaussian", penalty=penalty, privacy=(4.0, 1e-6), seed=3
    )
    again = dpglm.load(fit.save(tmp_path / "fit.json"))
    assert str(again.summary()) == str(fit.summary())
    np.testing.assert_array_equal(again.predict(table), fit.predict(table))
    np.testing.assert_array_equal(again.refit("l1").params, fit.refit("l1").params)
    # The linear predictor of the coefficients is what is predicted.
    shift = fit.params["Intercept"] + fit.params["x"] * x
    shift = shift + fit.params["g[T.b]"] * (table["g"] == "b") + fit.params["g[T.c]"] * (table["g"] == "c")
    np.testing.assert_allclose(fit.predict(table), shift, atol=1e-4)


def test_a_level_that_is_known_hides_no_slopes() -> None:
    """The noise of X'X times all that the mean might be would be larger than X'y.

    Of 12 fits to 1,000 rows at epsilon 1 the median explains .8 of what can be explained. Where the constant
    might be anywhere in the response's range, prior scales went to 0 and the median explained less than .1.
    """
    generator = np.random.default_rng(3)
    table = pd.DataFrame(generator.normal(size=(1000, 5)), columns=list("uvwxz"))
    table["g"] = generator.choice(["a", "b", "c"], 1000, p=[0.6, 0.3, 0.1])
    signal = table["u"] - table["v"] + 0.5 * table["w"] + 0.7 * (table["g"] == "b")
    columns = {**dict.fromkeys("uvwxz", (-4, 4)), "g": ["a", "b", "c"], "y": (-10, 10)}
    plan = dpglm.plan(
        "y ~ u + v + w + x + z + g",
        dpglm.Schema.of(columns),
        family="gaussian",
        goal="predict",
        privacy=dpglm.Privacy(1.0, 1e-6, relation="add-remove"),
    )
    explained = []
    for seed in range(12):
        noise = np.random.default_rng(seed).normal(size=1000)
        fit = plan.fit(table.assign(y=signal + noise), seed=seed, progress=False)
        explained.append(1.0 - np.mean((fit.predict(table) - signal) ** 2) / np.var(signal))
    assert np.median(explained) > 0.6


def test_a_wide_range_costs_next_to_nothing() -> None:
    generator = np.random.default_rng(1)
    table = pd.DataFrame({"x": generator.normal(size=20_000)})
    table["y"] = 0.5 * table["x"] + generator.normal(size=20_000)
    widths = []
    for factor in (1.0, 5.0):
        schema = dpglm.Schema.of({"x": (-5.0 * factor, 5.0 * factor), "y": (-5.0 * factor, 5.0 * factor)})
        fit = dpglm.fit(
            "y ~ x", table, schema=schema, family="gaussian", penalty="none", privacy=(2.0, 1e-6), seed=3
        )
        widths.append(float(fit.bse["x"]))
        assert abs(float(fit.params["x"]) - 0.5) < 4.0 * widths[-1]
    assert widths[1] < 1.25 * widths[0]


ANSWERS = st.sampled_from([0.0, 1.0, -1.0, 1e-9, 1e9, -1e9, 1e15, -1e15, 50.0, -50.0])


@settings(deadline=None)
@given(st.lists(ANSWERS, min_size=8, max_size=8), st.sampled_from(["y ~ x + z + g", "y ~ g", "y ~ 1"]))
def test_no_answer_makes_a_fault_or_a_number_that_is_none(answers: list[float], formula: str) -> None:
    plan = planned(formula)
    problem = plan.problem
    asked: list[str] = []

    def ask(release: Any, at: Any = None) -> Any:
        # Answers of any size, but for the lengths that the release has; and it can be run at this point.
        inner = release.inside
        size = len(problem.geometry.names)
        count = inner.size if isinstance(inner, ColumnSums) else size * (size + 3) // 2 + 2
        if at is not None:
            assert np.isfinite(at).all()
            assert at[-1] > 0.0 or "residual" not in release.name
        asked.append(release.name)
        return np.resize(answers, count)

    released, rows, _, _ = solve_in_two_stages(problem, plan.releases, ask)
    assert asked == names(plan)
    assert rows > 0.0
    for found in (released.score, released.centre, released.information, released.score_scale):
        assert np.isfinite(found).all()
    assert released.dispersion > 0.0


@pytest.mark.parametrize(
    ("bound", "offset", "staged"),
    [(40, (0, 2), True), (1e-20, (0, 2), False), (1e9, (0, 2), False), (40, (-8e4, 8e4), False)],
)
def test_counts_and_offsets_of_no_usual_size_are_left_to_one_minimiser(
    bound: float, offset: Any, staged: bool
) -> None:
    schema = {"x": (-3, 3), "time": offset, "y": (0, bound)}
    plan = dpglm.plan("y ~ x + offset(time)", schema, family="poisson", privacy=(1.0, 1e-6))
    assert (len(plan.releases.releases) == 7) == staged
