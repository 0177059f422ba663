"""Without noise the private path gives the peers' numbers, on the original scale."""

from __future__ import annotations

import numpy as np
import pandas as pd
import patsy
import pytest
import statsmodels.formula.api as smf

import dpglm
from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.data.tables.sources import declared
from dpglm.inference.coefficients import Scaling
from tests.oracles.peers import logistic
from tests.silence import Silence

FAIR = (
    "affair ~ age + yrs_married + children + religious + educ + {first} + C(occupation_husb) + rate_marriage"
)
RANDHIE = "visit ~ lncoins + idp + lpi + fmde + physlm + disea + hlthg + hlthf + hlthp"


@pytest.fixture
def noiseless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpglm.spec.arguments.OsNoise", Silence)


def as_peers_see_it(frame: pd.DataFrame, response: str) -> pd.DataFrame:
    return frame.assign(**{response: (frame[response] == "yes").astype(float)})


@pytest.mark.parametrize(
    "first",
    [
        "C(occupation)",
        "C(occupation, Treatment(reference=3))",
        "C(occupation, Sum)",
        "C(occupation, Helmert)",
        "C(occupation, Diff)",
        "C(occupation, Poly)",
    ],
)
@pytest.mark.usefixtures("noiseless")
def test_no_penalty_equals_logit_on_fair_for_every_contrast(first: str) -> None:
    frame = dpglm.load_data("fair")
    formula = FAIR.format(first=first)
    # epsilon so large that the ridge that privacy needs, 2 / epsilon, is below rounding.
    fit = dpglm.fit(formula, frame, penalty="none", privacy=1e12, goal="predict")
    peer = smf.logit(formula, as_peers_see_it(frame, "affair")).fit(disp=0, tol=1e-12, maxiter=100)
    # The schema declares levels 1..6; the frame holds 1.0..6.0, which is how patsy names them.
    assert list(fit.names) == [name.replace(".0]", "]") for name in peer.params.index]
    # Both solvers stop at 1e-8 or better; float32 storage of rows moves coefficients by about 1e-7.
    np.testing.assert_allclose(fit._record.estimates, peer.params.to_numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["fair", "randhie"])
@pytest.mark.usefixtures("noiseless")
def test_without_noise_intervals_are_those_of_logit(name: str) -> None:
    frame = dpglm.load_data(name)
    formulas = {"fair": FAIR.format(first="C(occupation)"), "randhie": RANDHIE}
    formula, response = formulas[name], {"fair": "affair", "randhie": "visit"}[name]
    fit = dpglm.fit(formula, frame, penalty="none", privacy=(1e12, 1e-6))
    peer = smf.logit(formula, as_peers_see_it(frame, response)).fit(disp=0, tol=1e-12, maxiter=100)
    order = [name.replace("[T.1]", "").replace("[1]", "").replace(".0]", "]") for name in fit.names]
    names = [name.replace(".0]", "]") for name in peer.params.index]
    places = [names.index(name) for name in order]
    errors = peer.bse.to_numpy()[places]
    assert fit.bse.notna().all()
    # The curvature is taken at the estimate, the ridge of 1e-4 (on rows that all have full weight, and so are
    # divided by the longest) is undone to first order.
    np.testing.assert_allclose(
        fit._record.estimates, peer.params.to_numpy()[places], atol=1e-4 * errors.min()
    )
    np.testing.assert_allclose(fit.bse.to_numpy(), errors, rtol=1e-3)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.cov_params())), errors, rtol=1e-3)
    assert np.nanmax(fit.tidy()["privacy_se"] / errors) < 1e-3


@pytest.mark.usefixtures("noiseless")
def test_no_penalty_equals_logit_on_randhie() -> None:
    frame = dpglm.load_data("randhie")
    fit = dpglm.fit(RANDHIE, frame, penalty="none", privacy=(1e12, 1e-6), goal="predict")
    peer = smf.logit(RANDHIE, as_peers_see_it(frame, "visit")).fit(disp=0, tol=1e-12, maxiter=100)
    estimates = pd.Series(
        fit._record.estimates, [name.replace("[T.1]", "").replace("[1]", "") for name in fit.names]
    )
    np.testing.assert_allclose(estimates[peer.params.index], peer.params.to_numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("strength", [0.001, 0.01, 0.05])
@pytest.mark.usefixtures("noiseless")
def test_l1_equals_scikit_learn_with_the_same_objective(strength: float) -> None:
    frame = dpglm.load_data("fair")
    formula = FAIR.format(first="C(occupation)")
    fit = dpglm.fit(formula, frame, penalty="l1", strength=strength, privacy=1e12)
    model = parse(formula, declared(frame))
    scaling = Scaling.of(Coding.of(model))
    columns = patsy.dmatrix(formula.split("~")[1], frame)[:, 1:] / scaling.lengths[1:]
    y = (frame["affair"] == "yes").to_numpy()
    # liblinear penalises the intercept, saga does not; centred columns help saga converge.
    peer = logistic(
        l1_ratio=1.0,
        solver="saga",
        C=1.0 / (strength * len(y)),
        tol=1e-10,
        max_iter=20_000,
        fit_intercept=True,
    ).fit(columns - columns.mean(axis=0), y)
    np.testing.assert_allclose(
        fit._record.estimates[1:], peer.coef_[0] / scaling.lengths[1:], rtol=1e-5, atol=1e-5
    )
    assert list(fit._record.selected_mask[1:]) == list(np.abs(peer.coef_[0]) > 1e-6)


@pytest.mark.usefixtures("noiseless")
def test_the_nonprivate_fit_equals_logit_and_says_it_is_not_private() -> None:
    frame = dpglm.load_data("fair")
    fit = dpglm.fit("affair ~ age * religious", frame, penalty="none", privacy=None)
    peer = smf.logit("affair ~ age * religious", as_peers_see_it(frame, "affair")).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(fit._record.estimates, peer.params.to_numpy(), rtol=1e-6, atol=1e-6)
    assert "NOT PRIVATE" in str(fit.summary())
    assert not fit.privacy.private
