"""What is true of every registered family; a new one is tested here without being listed."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit

from dpglm.errors import MethodError
from dpglm.glm.families import families
from dpglm.glm.families.binomial import Binomial, ShiftedBinomial, SteepBinomial, shifted_mean

# With the losses that are no family of their own.
FAMILIES = {
    **{name: families[name] for name in families},
    "shifted binomial": ShiftedBinomial,
    "steep binomial": SteepBinomial,
    "steepest binomial": lambda: SteepBinomial(4.0),
}
every_family = pytest.mark.parametrize("name", list(FAMILIES))
law = settings(derandomize=True, deadline=None, max_examples=100)
moderate = arrays(np.float64, 5, elements=st.floats(-30.0, 30.0))
extreme = arrays(np.float64, 5, elements=st.floats(-1e4, 1e4))
responses = arrays(np.float64, 5, elements=st.sampled_from([0.0, 1.0]))
WIDTH = 1e-4


def off_the_kink(family, eta, y):
    """Off kinks of the slope, across which no difference quotient is meant.

    Counts have one where the mean meets the bound, the huberised hinge at both ends of its parabola.
    """
    kinks = []
    if family.response_kind == "count":
        kinks = [np.log(family.mean(np.array([1e3]))[0])]
    if family.name == "huber_svm":
        kinks = [(2 * y - 1) * (1 + end) for end in (-family.width, family.width)]
    for kink in kinks:
        eta = np.where(np.abs(eta - kink) < 2 * WIDTH, kink + 2 * WIDTH, eta)
    return eta


def central_difference(function, eta, y):
    return (function(eta + WIDTH, y) - function(eta - WIDTH, y)) / (2 * WIDTH)


@every_family
@law
@given(eta=moderate, y=responses)
def test_slope_is_the_derivative_of_the_loss(name, eta, y):
    family = FAMILIES[name]()
    eta = off_the_kink(family, eta, y)
    # Truncation WIDTH^2 / 6 of the third derivative, rounding 30 * 2e-16 / WIDTH.
    np.testing.assert_allclose(
        family.slope(eta, y), central_difference(family.loss, eta, y), rtol=1e-7, atol=1e-8
    )


@every_family
@law
@given(eta=moderate, y=responses)
def test_curvature_is_the_derivative_of_the_slope(name, eta, y):
    family = FAMILIES[name]()
    eta = off_the_kink(family, eta, y)
    np.testing.assert_allclose(
        family.curvature(eta, y), central_difference(family.slope, eta, y), rtol=1e-7, atol=1e-8
    )


@every_family
@law
@given(eta=extreme, other=extreme, y=responses, share=st.floats(0.0, 1.0))
def test_loss_is_convex_and_curvature_not_negative(name, eta, other, y, share):
    family = FAMILIES[name]()
    between = family.loss(share * eta + (1 - share) * other, y)
    chord = share * family.loss(eta, y) + (1 - share) * family.loss(other, y)
    rounding = 1e-11 + 1e-14 * np.abs(chord)  # losses are up to 1e4, or to 1e8 where they are squares
    assert (between <= chord + rounding).all()
    assert (family.curvature(eta, y) >= 0.0).all()


@every_family
@law
@given(eta=extreme, y=responses)
def test_slope_and_curvature_keep_their_bounds(name, eta, y):
    family = FAMILIES[name]()
    rounding = 1 + 4 * np.finfo(float).eps  # the bounds are those of real numbers
    if family.slope_max is not None:
        assert (np.abs(family.slope(eta, y)) <= rounding * family.slope_max).all()
    if family.curvature_max is not None:
        assert (family.curvature(eta, y) <= rounding * family.curvature_max).all()
    for each, slope in zip(family.curvature(eta, y), np.abs(family.slope(eta, y)) + 2.0**-49, strict=True):
        assert each <= rounding * family.curvature_total(np.array([slope]))


@every_family
def test_bounds_are_attained_so_that_no_smaller_ones_would_do(name):
    family = FAMILIES[name]()
    eta = np.linspace(-50.0, 50.0, 10001)
    y = np.zeros_like(eta)
    if family.slope_max is not None:
        assert np.abs(family.slope(eta, y)).max() > (1 - 1e-9) * family.slope_max
    if family.curvature_max is not None:
        near = eta[family.curvature(eta, y).argmax()] + np.linspace(-0.01, 0.01, 10001)
        assert family.curvature(near, np.zeros_like(near)).max() > (1 - 1e-9) * family.curvature_max


@every_family
@pytest.mark.parametrize("size", [1.0, 40.0, 745.0, 1e4])
def test_far_out_everything_is_finite_without_a_warning(name, size):
    family = FAMILIES[name]()
    if family.slope_max is None:
        pytest.skip("a family without a slope bound may overflow far out")
    eta, y = np.array([-size, -size, size, size]), np.array([0.0, 1.0, 0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (family.loss(eta, y), family.slope(eta, y), family.curvature(eta, y)):
            assert np.isfinite(values).all()
        if family.likelihood:
            assert np.isfinite(family.mean(eta)).all()


@every_family
@law
@given(eta=moderate, y=responses)
def test_slopes_of_a_row_stay_in_an_interval_that_holds_zero(name, eta, y):
    family = FAMILIES[name]()
    if family.slope_range is None:
        return
    ends = [family.slope(np.full_like(y, end), y) for end in (-1e4, 1e4)]
    assert (ends[0] <= family.slope(eta, y)).all()
    assert (family.slope(eta, y) <= ends[1]).all()
    assert (ends[1] - ends[0] <= family.slope_range).all()
    assert (ends[0] <= 0.0).all()
    assert (ends[1] >= 0.0).all()


@every_family
@law
@given(eta=moderate, y=responses)
def test_slope_is_the_mean_minus_the_response(name, eta, y):
    family = FAMILIES[name]()
    if not family.likelihood or family.link not in {"logit", "identity", "log"}:
        return  # true of likelihoods with canonical links only
    np.testing.assert_allclose(family.slope(eta, y), family.dispersion * (family.mean(eta) - y), rtol=1e-14)


@every_family
@law
@given(eta=moderate)
def test_a_logistic_family_ties_its_curvature_to_its_slope(name, eta):
    family = FAMILIES[name]()
    if not family.logistic:
        return
    for y in (np.zeros_like(eta), np.ones_like(eta)):
        share = np.abs(family.slope(eta, y))
        tied, found = family.steepness * share * (1.0 - share), family.curvature(eta, y)
        # 1 - share keeps 1e-16 of 1, however small it is.
        reached = (family.steepness == 1.0) | ((2.0 * y - 1.0) * eta < 0.0)
        np.testing.assert_allclose(found[reached], tied[reached], rtol=1e-12, atol=5e-15)
        assert (found <= tied * (1 + 1e-12) + 5e-15).all()


@every_family
def test_a_margin_loss_refuses_an_expected_response(name):
    family = FAMILIES[name]()
    if family.link != "margin":
        assert family.mean(np.zeros(2)).shape == (2,)
    else:
        with pytest.raises(MethodError, match="no probability"):
            family.mean(np.zeros(2))


@law
@given(eta=moderate)
def test_the_shifted_mean_is_the_probability_at_which_a_predictor_minimises_the_mean_shifted_loss(eta):
    chance = shifted_mean(eta)
    one, zero = (ShiftedBinomial().slope(eta, np.full(5, y)) for y in (1.0, 0.0))
    np.testing.assert_allclose(chance * one + (1.0 - chance) * zero, 0.0, atol=1e-12)
    np.testing.assert_allclose(chance + shifted_mean(-eta), 1.0, rtol=1e-12)
    assert (np.diff(shifted_mean(np.linspace(-20.0, 20.0, 99))) > 0.0).all()


steepnesses = st.sampled_from([1.0, 1.5, 2.0, 3.0, 4.0])


@law
@given(eta=moderate, truth=moderate, steepness=steepnesses)
def test_a_steep_score_is_the_logistic_one_times_a_weight_of_the_predictor(eta, truth, steepness):
    """So its mean is zero at the log odds, and its variance at most so many times its mean derivative."""
    steep, one, zero = SteepBinomial(steepness), np.ones_like(eta), np.zeros_like(eta)
    weight = steep.information(eta, one) / (expit(eta) * expit(-eta))
    np.testing.assert_allclose(steep.slope(eta, one), -weight * expit(-eta), rtol=1e-12)
    np.testing.assert_allclose(steep.slope(eta, zero), weight * expit(eta), rtol=1e-12)
    chance = expit(truth)
    mean = chance * steep.slope(eta, one) + (1.0 - chance) * steep.slope(eta, zero)
    np.testing.assert_allclose(mean, weight * (expit(eta) - chance), rtol=1e-9, atol=1e-12)
    assert ((weight >= 1 - 1e-12) & (weight <= steep.dispersion * (1 + 1e-12))).all()
    assert (steep.information(eta, one) <= steep.information_max * (1 + 1e-15)).all()


def test_a_loss_of_steepness_1_is_the_logistic_one():
    eta, y = np.linspace(-9.0, 9.0, 50), np.arange(50) % 2.0
    for name in ("loss", "slope", "curvature", "information"):
        of = getattr(SteepBinomial(1.0), name)(eta, y)
        np.testing.assert_allclose(of, getattr(Binomial(), name)(eta, y), rtol=1e-12)
