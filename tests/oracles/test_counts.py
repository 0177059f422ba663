"""Counts: without noise the Poisson regression of statsmodels, with noise intervals that cover."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import dpglm
from dpglm.data.tables.sources import declared
from dpglm.methods.residual_cut import Cut
from dpglm.privacy.gdp import gdp_mu
from tests.described import noise_scale
from tests.oracles.test_statsmodels import Silence

VISITS = "mdvis ~ lncoins + idp + lpi + fmde + physlm + disea + hlthg + hlthf + hlthp"


@pytest.fixture
def noiseless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpglm.spec.arguments.OsNoise", Silence)


def visits() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Outpatient visits. The code book gives them no bound: 77 is the largest number in the file."""
    frame = dpglm.load_data("randhie")
    schema = declared(frame).to_dict()  # type: ignore[union-attr]
    schema["variables"]["mdvis"] = {
        "bounds": [0, 77],
        "source": "code book: number of outpatient visits, without a bound; the maximum of the file",
        "looked_at_data": True,
    }
    return frame, schema


def same_names(fit: dpglm.FitResult) -> list[str]:
    return [name.replace("[T.1]", "") for name in fit.names]


@pytest.mark.parametrize(
    "privacy", [(1e12, 1e-6), 1e12, dpglm.Privacy(1e12, 1e-6, relation="add-remove")], ids=str
)
@pytest.mark.usefixtures("noiseless")
def test_no_penalty_equals_poisson_regression(privacy: Any) -> None:
    frame, schema = visits()
    fit = dpglm.fit(
        VISITS, frame, schema=schema, family="poisson", penalty="none", privacy=privacy, goal="predict"
    )
    peer = smf.glm(VISITS, frame, family=sm.families.Poisson()).fit(tol=1e-14, maxiter=200)
    np.testing.assert_allclose(
        fit._record.estimates, peer.params[same_names(fit)].to_numpy(), rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(fit.predict(frame), peer.fittedvalues, rtol=1e-5)


@pytest.mark.usefixtures("noiseless")
def test_without_noise_intervals_are_those_of_poisson_regression() -> None:
    frame, schema = visits()
    method = dpglm.methods.Objective(scales="declared")
    fit = dpglm.fit(VISITS, frame, schema=schema, family="poisson", privacy=(1e12, 1e-6), method=method)
    peer = smf.glm(VISITS, frame, family=sm.families.Poisson()).fit(tol=1e-14, maxiter=200)
    errors = peer.bse[same_names(fit)].to_numpy()
    assert fit.bse.notna().all()
    # The curvature is taken at the estimate, the ridge of 1e-4 is undone to first order.
    assert (np.abs(fit._record.estimates - peer.params[same_names(fit)].to_numpy()) < 1e-4 * errors).all()
    # One multiple for all: the trace of squared scores of coded rows over that of the information, by hand.
    rows, _ = fit._record.row_map.coded(frame)
    square, mean = np.square(rows).sum(axis=1), np.asarray(peer.fittedvalues)
    dispersion = square @ np.square(frame["mdvis"] - mean) / (square @ mean)
    np.testing.assert_allclose(fit.bse.to_numpy(), np.sqrt(dispersion) * errors, rtol=1e-3)
    assert float(fit.glance()["dispersion"].iloc[0]) == pytest.approx(dispersion, rel=1e-3)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.cov_params())), fit.bse, rtol=1e-9)


@pytest.mark.usefixtures("noiseless")
def test_an_exposure_is_an_offset_on_the_log_scale() -> None:
    rng = np.random.default_rng(3)
    years = rng.uniform(0.5, 4.0, 4000)
    x = rng.uniform(-1, 1, 4000)
    frame = pd.DataFrame({"x": x, "t": years, "y": rng.poisson(years * np.exp(0.2 + 0.5 * x))})
    schema = {"x": (-1, 1), "t": (0.5, 4), "y": (0, 60)}
    for privacy in ((1e12, 1e-6), None):
        fit = dpglm.fit(
            "y ~ x + offset(np.log(t))",
            frame,
            schema=schema,
            family="poisson",
            penalty="none",
            privacy=privacy,
            goal="predict",
        )
        peer = smf.glm("y ~ x", frame, offset=np.log(years), family=sm.families.Poisson()).fit(tol=1e-14)
        np.testing.assert_allclose(fit._record.estimates, peer.params.to_numpy(), rtol=1e-6, atol=1e-6)


TRUTH = np.array([0.5, 0.3, -0.2, 0.5, -0.4, 0.0])


def simulated(seed: int, size: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    rng = np.random.default_rng(1000 + seed)
    x, g = rng.uniform(-1, 1, (size, 3)), rng.integers(0, 3, size)
    mean = np.exp(TRUTH[0] + TRUTH[1] * (g == 1) + TRUTH[2] * (g == 2) + x @ TRUTH[3:])
    frame = pd.DataFrame(x, columns=list("abc")).assign(g=np.array(list("uvw"))[g], y=rng.poisson(mean))
    return frame, {"a": (-1, 1), "b": (-1, 1), "c": (-1, 1), "g": list("uvw"), "y": (0, 15)}


@pytest.mark.audit
@pytest.mark.parametrize(
    ("privacy", "size"),
    [
        (dpglm.Privacy(2.0, 1e-6), 10_000),
        (dpglm.Privacy(2.0, 1e-6, relation="add-remove"), 10_000),
        (dpglm.Privacy(4.0), 10_000),
    ],
    ids=str,
)
def test_printed_intervals_cover_the_truth(privacy: dpglm.Privacy, size: int) -> None:
    # 200 fits of 6 coefficients. At coverage .95 a share of 1,200 below .93 has probability below 1e-3 if
    # coefficients are independent and about 1e-2 if pairs of them fail together; seeds are fixed.
    hits = printed = 0
    for seed in range(200):
        frame, schema = simulated(seed, size)
        fit = dpglm.fit(
            "y ~ g + a + b + c",
            frame,
            schema=schema,
            family="poisson",
            penalty="none",
            privacy=privacy,
            seed=seed,
        )
        assert fit.names == ("Intercept", "g[T.v]", "g[T.w]", "a", "b", "c")
        kept = fit.bse.notna().to_numpy()
        ends = fit.conf_int().to_numpy()
        printed += int(kept.sum())
        hits += int(((ends[:, 0] <= TRUTH) & (ends[:, 1] >= TRUTH))[kept].sum())
    assert printed > 1_100
    assert 0.93 <= hits / printed <= 0.985


def test_counts_beyond_the_bound_are_read_as_the_bound_and_everything_says_so() -> None:
    frame, schema = simulated(0, 10_000)
    wild = frame.assign(y=frame["y"].astype(float))
    wild.loc[:3, "y"] = [1e300, np.inf, 16.0, -4.0]
    tame = wild.copy()
    tame.loc[:3, "y"] = [15.0, np.inf, 15.0, 0.0]
    fits = [
        dpglm.fit(
            "y ~ g + a + b + c",
            each,
            schema=schema,
            family="poisson",
            privacy=(4.0, 1e-6),
            penalty="l2",
            seed=1,
        )
        for each in (wild, tame)
    ]
    np.testing.assert_array_equal(fits[0]._record.estimates, fits[1]._record.estimates)
    fit = fits[0]
    assert "Counts above the declared bound of 15 are read as 15" in str(fit.summary()).replace("\n", " ")
    assert fit._record.response.bounds == (0.0, 15.0)
    assert (fit.specification.family.name, fit._record.link) == ("poisson", "log")
    assert "second moments (moments.md)" in fit.privacy.theorem
    times = fit.glance()["dispersion"].item()
    assert 0.8 < times < 1.2  # counts are of the Poisson law
    assert f"{times:#.4g} (released) times its mean" in str(fit.summary()).replace("\n", " ")
    mean = fit.predict(frame.head(5), interval=0.95)
    assert (mean["conf_low"] < mean["conf_high"]).all()
    np.testing.assert_allclose(np.log(mean["prediction"]), fit.predict(frame.head(5), what="link"))


def test_refits_and_other_goals_work_and_undefined_budgets_are_refused() -> None:
    frame, schema = simulated(1, 10_000)
    asked: dict[str, Any] = {"schema": schema, "family": "poisson", "seed": 2}
    fit = dpglm.fit("y ~ g + a + b + c", frame, privacy=(4.0, 1e-6), penalty="none", **asked)
    again = fit.refit(penalty="l1")
    assert np.abs(again._record.estimates - TRUTH).max() < 0.2
    for more in ({"goal": "predict"}, {"goal": "select"}, {"penalty": "scad"}, {"relation": "add-remove"}):
        relation = more.pop("relation", "replace-one")
        for budget in (dpglm.Privacy(4.0, 1e-6, relation=relation), dpglm.Privacy(4.0, relation=relation)):
            found = dpglm.fit("y ~ g + a + b + c", frame, privacy=budget, **asked, **more)
            assert np.abs(found._record.estimates - TRUTH).max() < 0.7
            theorem = "(moments.md)" if budget.delta and "goal" not in more else "(Theorem C, "
            assert theorem in found.privacy.theorem
    with pytest.raises(dpglm.errors.MethodError, match="budget in gdp"):
        dpglm.fit("y ~ g + a", frame, privacy=dpglm.Privacy.gdp(0.5), goal="predict", **asked)
    for wrong in ((1, 15), ["none", "some"]):
        with pytest.raises(dpglm.errors.SchemaError, match="response y declared with"):
            dpglm.fit("y ~ g + a", frame, privacy=(1.0, 1e-6), **(asked | {"schema": schema | {"y": wrong}}))


def test_the_spend_adds_up_to_what_was_asked() -> None:
    frame, schema = simulated(2, 1000)
    for relation in ("add-remove", "replace-one"):
        privacy = dpglm.Privacy(1.0, 1e-6, relation=relation)  # type: ignore[arg-type]
        fit = dpglm.fit(
            "y ~ g + a",
            frame,
            schema=schema,
            family="poisson",
            penalty="none",
            privacy=privacy,
            method=dpglm.methods.Objective(scales="declared"),
            seed=1,
        )
        lines = fit._record.spend_lines
        assert sum(line.share for line in lines) == pytest.approx(1.0)
        steps = 2 if relation == "replace-one" else 1
        mus = {line.release: line.mu for line in lines}
        assert noise_scale(fit) == pytest.approx(steps / mus["perturbed minimiser"])
        below = max(point for point in fit.privacy.curve if point[0] <= 1.0)[1]
        above = min(point for point in fit.privacy.curve if point[0] >= 1.0)[1]
        assert above <= 1e-6 < below
        # The Jacobian costs a little, and no more: the Gaussian mechanism would have all of the budget.
        total = float(np.sqrt(sum(mu**2 for mu in mus.values())))
        assert 0.85 * gdp_mu(1.0, 1e-6) < total < gdp_mu(1.0, 1e-6)


@pytest.mark.usefixtures("noiseless")
@pytest.mark.parametrize(("level", "spread"), [(2.0, 1.0), (5.0, 1.0), (7.0, 0.5)])
def test_strongly_overdispersed_counts_lose_no_level(level: float, spread: float) -> None:
    """A Pearson dispersion of 10, 200 and 700: no level is lost, and errors are near quasi-Poisson ones."""
    generator = np.random.default_rng(5)
    x = np.clip(generator.normal(size=8000), -4.0, 4.0)
    means = np.exp(level + 0.4 * x) * generator.gamma(1.0 / spread, spread, 8000)
    frame = pd.DataFrame({"x": x, "y": generator.poisson(means)})
    schema = {"x": (-4, 4), "y": (0, 100_000)}
    fit = dpglm.fit("y ~ x", frame, schema=schema, family="poisson", privacy=(1e6, 1e-6))
    peer = smf.glm("y ~ x", frame, family=sm.families.Poisson()).fit(scale="X2")
    assert (np.abs(fit._record.estimates - [level, 0.4]) < 3.0 * fit.bse).all()
    ratio = fit.bse.to_numpy() / peer.bse.to_numpy()
    assert ((ratio > 0.9) & (ratio < 1.3)).all()


def test_the_level_of_counts_that_are_mostly_none_is_covered() -> None:
    """Logarithms of counts put the first point 3 below the level: the last step is several times 1.

    20 fits: a coverage of .95 misses more than 4 with a probability of .0003. Where the step is taken from
    a search that jumps to and fro, 9 are covered.
    """
    covered = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        x = random.normal(size=10_000)
        stays = random.random(10_000) < 0.02
        days = np.where(stays, random.poisson(30.0 * random.gamma(2.0, 0.5, 10_000)), 0)
        fit = dpglm.fit(
            "days ~ x",
            pd.DataFrame({"x": x, "days": days}),
            schema={"days": (0, 300), "x": (-4, 4)},
            family="poisson",
            privacy=(4.0, 1e-6),
            seed=seed,
            progress=False,
        )
        low, high = fit.conf_int().loc["Intercept"]
        covered += low <= np.log(0.6) <= high
    assert covered >= 16


@pytest.mark.parametrize(("largest", "told"), [(5, True), (20, False)])
def test_counts_that_reach_their_bound_are_told_of(largest: int, told: bool) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=10_000)
    frame = pd.DataFrame({"x": x, "visits": random.poisson(np.exp(1.0 + 0.3 * x))})
    schema = {"visits": (0, largest), "x": (-4, 4)}
    for seed in range(5):
        fit = dpglm.fit("visits ~ x", frame, schema=schema, family="poisson", privacy=(2.0, 1e-6), seed=seed)
        assert ("where many reach their bound." in " ".join(str(fit.summary()).split())) is told


def covered_intercepts(rows: int, bound: int, spread: float, level: float, privacy: dpglm.Privacy) -> float:
    """The share of 80 intervals that hold the intercept, of counts with variance m + ``spread`` m^2."""
    covered = 0
    for seed in range(80):
        random = np.random.default_rng(seed)
        x = random.normal(size=rows)
        mean = np.exp(0.1 * x + level)
        if spread:
            mean = random.gamma(1.0 / spread, spread * mean)
        frame = pd.DataFrame({"x": x, "visits": random.poisson(mean)})
        schema = {"visits": (0, bound), "x": (-4, 4)}
        fit = dpglm.fit(
            "visits ~ x", frame, schema=schema, family="poisson", privacy=privacy, seed=seed, progress=False
        )
        low, high = fit.conf_int().loc["Intercept"]
        covered += low <= level <= high
    return covered / 80


@pytest.mark.audit
def test_the_intercept_of_small_counts_is_covered() -> None:
    """Their residuals are skewed, and noise hides those that are cut off.

    80 fits: a coverage of .95 is below .87 with a probability of .002.
    """
    assert covered_intercepts(20_000, 15, 0.0, -0.5, dpglm.Privacy(0.5, 1e-6)) >= 0.87


@pytest.mark.audit
@pytest.mark.parametrize(("told", "least", "most"), [(True, 0.87, 1.0), (False, 0.0, 0.87)])
def test_the_intercept_of_overdispersed_counts_is_covered(
    told: bool, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise hides rows beyond the cut: they are believed to be there, and their mean is given back.

    Of 400 fits .935 are covered: fewer than .87 of 80 would be with a probability of .014. Where nothing is
    given back .79 are covered; were that the coverage, .87 or more would be with .04.
    """
    if not told:
        taken = Cut.taken
        monkeypatch.setattr(
            Cut, "taken", lambda cut, *levels: replace(taken(cut, *levels), removed=0.0, error=0.0)
        )
    covered = covered_intercepts(3000, 200, 3.0, 1.0, dpglm.Privacy(1.0, 1e-6, "replace-one"))
    assert least <= covered <= most


def test_a_level_with_many_more_counts_than_the_others_is_covered() -> None:
    """20 fits of 8,000 rows, a twentieth of them with means of 12 beside .6, at (1, 1e-6).

    Were .9 covered, fewer than 14 would be with probability .002, for fixed seeds; as if all predictors
    were normal together 6 of 40 were.
    """
    covered, schema = 0, {"y": (0, 50), "g": ["a", "b", "c"]}
    for seed in range(20):
        random = np.random.default_rng(seed)
        g = random.choice(["a", "b", "c"], 8_000, p=[0.9, 0.05, 0.05])
        y = np.minimum(random.poisson(np.exp(-0.5 + 3.0 * (g == "b"))), 50)
        budget = dpglm.Privacy(1.0, 1e-6, "add-remove")
        table, words = pd.DataFrame({"y": y, "g": g}), {"penalty": "none", "family": "poisson"}
        fit = dpglm.fit("y ~ g", table, schema=schema, privacy=budget, seed=seed, progress=False, **words)
        low, high = fit.conf_int().loc["g[T.b]"]
        covered += int(low <= 3.0 <= high)
    assert covered >= 14
