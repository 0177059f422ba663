"""Without noise tests, contrasts, means and predictions of a fit are those of statsmodels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import patsy
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import dpglm
from tests.silence import Silence

FORMULA = "affair ~ age*religious + C(occupation) + educ"
SCHEMA = {"x": (-4, 4), "z": (0, 10), "j": list("abcd"), "y": (-20, 20), "v": (0, 60), "w": (0.5, 3)}
# Rows are kept in float32, which moves coefficients by about 1e-7 of their size.
CLOSE = {"rtol": 1e-6, "atol": 1e-6}


@pytest.fixture(scope="module")
def women() -> pd.DataFrame:
    return dpglm.load_data("fair")


@pytest.fixture(scope="module")
def pair(women: pd.DataFrame) -> tuple[dpglm.FitResult, object]:
    peer = smf.glm(
        FORMULA,
        women.assign(affair=(women["affair"] == "yes").astype(float)),
        family=sm.families.Binomial(),
    ).fit(tol=1e-12)
    return dpglm.fit(FORMULA, women, penalty="none", privacy=None), peer


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    draw, n = np.random.default_rng(3), 2500
    frame = pd.DataFrame(
        {"x": draw.normal(size=n).clip(-4, 4), "z": draw.uniform(0, 10, n), "j": draw.choice(list("abcd"), n)}
    )
    eta = 0.3 * frame["x"] + 0.1 * frame["z"] + frame["j"].map({"a": 0, "b": 0.2, "c": 0.4, "d": -0.3})
    frame["w"] = draw.uniform(0.5, 3, n)
    return frame.assign(y=eta + draw.normal(size=n), v=draw.poisson(frame["w"] * np.exp(eta)))


def test_errors_tests_and_criteria_of_a_logistic_fit(pair: tuple[dpglm.FitResult, object]) -> None:
    fit, peer = pair
    np.testing.assert_allclose(fit.bse, peer.bse, **CLOSE)
    np.testing.assert_allclose(fit.pvalues, peer.pvalues, **CLOSE)
    np.testing.assert_allclose(fit.conf_int(), peer.conf_int(), **CLOSE)
    np.testing.assert_allclose(fit.cov_params(), peer.cov_params(), **CLOSE)
    np.testing.assert_allclose([fit.llf, fit.aic, fit.bic], [peer.llf, peer.aic, peer.bic_llf], rtol=1e-6)


@pytest.mark.parametrize(("response", "family"), [("y", "gaussian"), ("v", "poisson")])
def test_errors_tests_and_criteria_of_other_families(table: pd.DataFrame, response: str, family: str) -> None:
    terms = "x*C(j) + z" + (" + offset(np.log(w))" if family == "poisson" else "")
    fit = dpglm.fit(f"{response} ~ {terms}", table, schema=SCHEMA, family=family, privacy=None)
    offset = np.log(table["w"]) if family == "poisson" else None
    peers = {"gaussian": sm.families.Gaussian(), "poisson": sm.families.Poisson()}
    peer = smf.glm(f"{response} ~ x*C(j) + z", table, family=peers[family], offset=offset).fit(tol=1e-12)
    names = list(fit.names)
    np.testing.assert_allclose(fit.params, peer.params[names], **CLOSE)
    np.testing.assert_allclose(fit.bse, peer.bse[names], **CLOSE)
    np.testing.assert_allclose([fit.llf, fit.aic, fit.bic], [peer.llf, peer.aic, peer.bic_llf], rtol=1e-6)


def test_tests_of_terms(pair: tuple[dpglm.FitResult, object]) -> None:
    fit, peer = pair
    theirs = peer.wald_test_terms(scalar=True).table.drop("Intercept")
    ours = fit.anova(type=3).set_index("term").loc[theirs.index]
    # A statistic doubles the relative error of a coefficient that is moved in its seventh digit.
    np.testing.assert_allclose(ours["statistic"], theirs["statistic"].astype(float), rtol=5e-6)
    np.testing.assert_array_equal(ours["df"], theirs["df_constraint"].astype(int))
    one = fit.wald_test("C(occupation)")
    assert one.statistic == pytest.approx(ours["statistic"]["C(occupation)"])
    assert fit.wald_test("occupation").statistic == one.statistic


def test_type_two_tests_a_term_without_those_that_contain_it(table: pd.DataFrame) -> None:
    fit = dpglm.fit("y ~ x*j + z", table, schema=SCHEMA, family="gaussian", privacy=None)
    without = smf.ols("y ~ x + j + z", table).fit()
    whole = smf.ols("y ~ x*j + z", table).fit()
    expected = sm.stats.anova_lm(whole, typ=2)
    ours = fit.anova().set_index("term")
    for term in ("x", "j", "x:j", "z"):
        # An F statistic times its degrees of freedom is that of Wald.
        chi2 = expected["F"][term] * expected["df"][term]
        assert ours["statistic"][term] == pytest.approx(chi2, rel=1e-5), term
    assert not np.isclose(ours["statistic"]["x"], without.tvalues["x"] ** 2, rtol=1e-5)


def test_contrasts(pair: tuple[dpglm.FitResult, object]) -> None:
    fit, peer = pair
    ours = fit.contrast([{"age": 10, "educ": -1}, {"occupation": {3: 1, 5: -1}}, {"C(occupation)[T.3]": 1}])
    rows = np.zeros((3, len(peer.params)))
    places = {name.replace(".0]", "]"): at for at, name in enumerate(peer.params.index)}
    rows[0, [places["age"], places["educ"]]] = 10.0, -1.0
    rows[1, [places["C(occupation)[T.3]"], places["C(occupation)[T.5]"]]] = 1.0, -1.0
    rows[2, places["C(occupation)[T.3]"]] = 1.0
    theirs = peer.t_test(rows)
    np.testing.assert_allclose(ours["estimate"], theirs.effect, **CLOSE)
    np.testing.assert_allclose(ours["std_error"], theirs.sd.ravel(), **CLOSE)
    np.testing.assert_allclose(ours["p_value"], theirs.pvalue, **CLOSE)
    np.testing.assert_allclose(ours[["conf_low", "conf_high"]], theirs.conf_int(), **CLOSE)


def test_predictions_and_their_errors(pair: tuple[dpglm.FitResult, object], women: pd.DataFrame) -> None:
    fit, peer = pair
    new = women.iloc[[0, 17, 900, 4000]]
    ours, theirs = fit.predict(new, se=True), peer.get_prediction(new).summary_frame()
    np.testing.assert_allclose(ours[["mean", "se", "ci_lower", "ci_upper"]], theirs, **CLOSE)
    linear = fit.predict(new, "link", se=True, interval=0.9)
    np.testing.assert_allclose(linear["mean"], fit.predict(new, "link"), **CLOSE)
    assert list(ours.index) == list(new.index)


def test_means_and_effects_are_the_delta_method(
    pair: tuple[dpglm.FitResult, object], women: pd.DataFrame
) -> None:
    fit, peer = pair
    grid = fit.grid(age=[25, 40], religious=[1, 4], educ=[12, 16], occupation=[2, 3])
    ours = fit.margins("occupation", grid=grid)
    mean, covariance = peer.get_prediction(grid).predicted_mean, peer.cov_params().to_numpy()
    layout = patsy.dmatrix(FORMULA.split("~")[1], women).design_info
    rows = np.asarray(patsy.build_design_matrices([layout], grid)[0])
    slopes = (mean * (1.0 - mean))[:, None] * rows
    for at, level in enumerate((2, 3)):
        inside = (grid["occupation"] == level).to_numpy()
        gradient = slopes[inside].mean(axis=0)
        assert ours["estimate"][at] == pytest.approx(mean[inside].mean(), rel=1e-6)
        assert ours["std_error"][at] == pytest.approx(np.sqrt(gradient @ covariance @ gradient), rel=1e-5)
    effect = fit.margins(effect="age", grid=grid)
    params = dict(zip(peer.params.index, peer.params, strict=True))
    step = params["age"] + params["age:religious"] * grid["religious"].to_numpy()
    assert effect["estimate"][0] == pytest.approx((mean * (1.0 - mean) * step).mean(), rel=1e-6)


def test_a_private_fit_without_noise_has_the_same_contrasts(
    women: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpglm.spec.arguments.OsNoise", Silence)
    exact = dpglm.fit("affair ~ age + religious + C(occupation)", women, privacy=None)
    # No number is so far out that its row counts less.
    fit = dpglm.fit(
        "affair ~ age + religious + C(occupation)",
        women,
        privacy=(1e12, 1e-6),
        method=dpglm.methods.Objective(scales="declared"),
    )
    for ours, theirs in (
        (fit.contrast({"age": 10}), exact.contrast({"age": 10})),
        (fit.margins("occupation"), exact.margins("occupation")),
        (fit.margins(effect="age"), exact.margins(effect="age")),
    ):
        errors = theirs["std_error"].to_numpy()
        # The ridge of 1e-4 is undone to first order; errors rest on the information at the estimate.
        np.testing.assert_allclose(ours["estimate"], theirs["estimate"], atol=1e-3 * errors.min())
        np.testing.assert_allclose(ours["std_error"], errors, rtol=2e-3)
