r"""A perturbed minimiser followed by Gaussian releases: claims against exact densities, in one dimension.

The minimiser's densities come from `test_exact_densities`. Where it is w, with loss l(w), a Gaussian release
that differs by ``nu(w)`` standard deviations leaves G(epsilon - l(w); nu(w)): integrated over w that
is the exact delta of both. Rows may be shorter than 1 while the ridge gives them all of the max_leverage,
which one
dimension cannot tell from a ridge matrix.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

from dpglm.errors import MethodError, PrivacyError
from dpglm.privacy.accountant import basic_composition, compose, composed_profile
from dpglm.privacy.calibration import Calibration
from dpglm.privacy.events import ApproximateEvent, GaussianEvent, PerturbedEvent, PureEvent
from dpglm.privacy.gdp import gdp_delta, gdp_mu, gdp_profile
from dpglm.privacy.joint_profile import is_gaussian_at, joint_delta, profile_bound
from dpglm.privacy.theorems import gamma_epsilon, mu_perturbed
from tests.calibrated import calibrate_pair, calibrate_pair_gdp, calibrate_pair_pure
from tests.effort import quick
from tests.oracles.test_exact_densities import (
    BASES,
    QUADRATURE_ERROR,
    RELATIONS,
    Record,
    Relation,
    Table,
    log_densities,
    pairs,
    points,
)

Array = NDArray[np.float64]
STEPS: dict[Relation, int] = {"add-remove": 1, "replace-one": 2}
SENSITIVITY: dict[Relation, float] = {"add-remove": 0.25, "replace-one": math.sqrt(2.0) / 4.0}


def exact(
    pair: tuple[Table, Table],
    base: Table,
    ridge: float,
    scale: float,
    epsilon: float,
    nu: Callable[[Array], Array],
) -> float:
    """The larger of both directions' deltas of the minimiser and a Gaussian release after it."""
    max_leverage = 9.5 * scale + 2.0
    size = int(2000.0 * max_leverage / scale) + 1
    constant = math.log(scale * math.sqrt(2.0 * math.pi))
    b0, first, second = log_densities(
        pair, base, ridge, lambda b: -0.5 * np.square(b / scale) - constant, max_leverage, size
    )
    distance = nu(points(base, ridge, max_leverage, size)[0])
    weight = np.gradient(b0)
    found = 0.0
    for x, z in ((first, second), (second, first)):
        asked = epsilon - (x - z)
        if np.ptp(distance) == 0.0 and distance[0] > 0.0:
            delta = gdp_profile(asked, float(distance[0]))
        else:
            apart = distance > 1e-9
            alone = np.maximum(-np.expm1(np.minimum(asked, 50.0)), 0.0)
            delta = np.where(apart, elementwise(asked, np.where(apart, distance, 1.0)), alone)
        found = max(found, float(np.dot(weight * np.exp(x), delta)))
    return found


def elementwise(epsilons: Array, mu: Array) -> Array:
    """G(epsilon; mu) with an array of each, to 1e-12."""
    upper = norm.logcdf(-epsilons / mu - mu / 2.0) + epsilons
    answer: Array = np.maximum(norm.cdf(-epsilons / mu + mu / 2.0) - np.exp(np.minimum(upper, 0.0)), 0.0)
    return answer


def test_the_elementwise_profile_is_the_profile() -> None:
    epsilons = np.array([-1.0, 0.0, 0.5, 1.0])
    np.testing.assert_allclose(elementwise(epsilons, np.full(4, 0.4)), gdp_profile(epsilons, 0.4), atol=1e-12)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("length", quick([1.0, 0.5], 0.5))
def test_composed_claims_are_never_exceeded(relation: Relation, length: float) -> None:
    """At any ridge, with short rows with all of the leverage, beside releases that always differ by nu."""
    steps, highest = STEPS[relation], 0.0
    for scale, max_leverage, share in itertools.product((1.5, 4.0), (0.3, 1.0), (0.2, 1.0)):
        mu = 1.0 / scale
        nu = share * steps * mu
        ridge = length**2 / max_leverage
        for epsilon in (0.5, 1.0):
            claimed = joint_delta(epsilon, mu, max_leverage, steps, nu)
            if claimed < 1e-10:
                continue
            for pair in pairs(relation, ridge, scale, (), length):
                found = exact(pair, (), ridge, scale, epsilon, lambda w, nu=nu: np.full_like(w, nu))  # type: ignore[misc]
                highest = max(highest, found / claimed)
    assert highest <= 1.0 + QUADRATURE_ERROR
    if length == 1.0:  # and they are nearly reached
        assert highest > 0.98


def calibrated(relation: Relation, epsilon: float, delta: float, share: float = 0.5) -> Calibration:
    """A ridge of norm^2 = .7 at k / epsilon, so that the reach is .7 epsilon / k."""
    return calibrate_pair(
        epsilon,
        delta,
        max_leverage_of=lambda scale: 0.7 * epsilon / STEPS[relation],
        relation=relation,
        information_sensitivity=SENSITIVITY[relation],
        share=share,
    )


def curvature_gap(pair: tuple[Table, Table], scale: float) -> Callable[[Array], Array]:
    """How far the curvatures of two tables lie apart at w, in noise scales: both rows on one axis."""

    def gap(w: Array) -> Array:
        sums = []
        for table in pair:
            total = np.zeros_like(w)
            for record in table:
                a = expit(record.offset - w * record.u)
                total += a * (1.0 - a) * record.u**2
            sums.append(total)
        return np.abs(sums[0] - sums[1]) / scale

    return gap


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    quick([(1.0, 1e-5), (0.3, 1e-3), (3.0, 1e-6)], (1.0, 1e-5)),
)
def test_a_calibrated_pair_keeps_its_delta_and_a_fifth_less_noise_is_caught(
    relation: Relation, epsilon: float, delta: float
) -> None:
    steps = STEPS[relation]
    for length in (1.0, math.sqrt(0.7)):
        ridge = length**2 * steps / (0.7 * epsilon)
        worst = {1.0: 0.0, 0.8: 0.0}
        for name in ("empty", "balanced"):
            base = BASES[name]
            for part, found in itertools.product(worst, (calibrated(relation, epsilon, delta),)):
                scale = part * found.score_scale
                always = SENSITIVITY[relation] / (part * found.information_scale)
                for pair in pairs(relation, ridge, scale, base, length):
                    for nu in (
                        curvature_gap(pair, part * found.information_scale),
                        lambda w, always=always: np.full_like(w, always),  # type: ignore[misc]
                    ):
                        worst[part] = max(worst[part], exact(pair, base, ridge, scale, epsilon, nu))
        assert worst[1.0] <= delta * (1.0 + QUADRATURE_ERROR)
        assert length < 1.0 or worst[0.8] > 2.0 * delta


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_small_ridge_breaks_the_plain_gaussian_sum_and_the_claim_sees_it(relation: Relation) -> None:
    """Power: with a quarter of the ridge the Gaussian delta is exceeded many times, the claim is not."""
    steps, scale = STEPS[relation], 1.0 / 0.25
    mu, nu, epsilon = 1.0 / scale, 0.05, 1.0 * STEPS[relation]
    ridge = 0.25 * steps / epsilon
    plain = gdp_delta(epsilon, math.hypot(steps * mu, nu))
    claimed = joint_delta(epsilon, mu, 1.0 / ridge, steps, nu)
    found = 0.0
    for place in np.linspace(0.0, 8.0, 33):
        record = Record(1.0, place * scale / ridge)
        pair: tuple[Table, Table] = ((record,), () if steps == 1 else (Record(-1.0, 60.0),))
        found = max(found, exact(pair, (), ridge, scale, epsilon, lambda w: np.full_like(w, nu)))
    assert plain * 1.5 < found <= claimed * (1.0 + QUADRATURE_ERROR)


def test_the_integral_agrees_with_a_fine_riemann_sum() -> None:
    """E D(e) over e, D by the same closed forms but integrated plainly: below the claim, by little."""
    for steps, mu, max_leverage, nu, epsilon, coarse in (
        (1, 0.2, 0.6, 0.2, 1.0, 1.02),
        (1, 0.05, 0.12, 0.05, 0.2, 1.02),
        (2, 0.12, 0.3, 0.2, 1.0, 1.04),
        (2, 0.12, 0.4, 0.2, 1.0, 1.04),
        (2, 0.12, 0.7, 0.1, 1.0, 1.25),
    ):
        z = np.linspace(-9.0, 9.0, 20_001)
        weight = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
        e = epsilon - nu * z - nu**2 / 2.0
        bound = profile_bound(np.abs(e), mu, max_leverage, steps)
        profile = np.where(e >= 0, bound, -np.expm1(-np.abs(e)) + np.exp(-np.abs(e)) * bound)
        expected = float(weight @ profile)
        found = joint_delta(epsilon, mu, max_leverage, steps, nu)
        assert expected * (1 - 1e-4) <= found <= expected * coarse
        assert found >= gdp_delta(epsilon, math.hypot(steps * mu, nu))


def test_where_theorem_b_holds_the_profile_alone_is_gaussian() -> None:
    # Two rows: from 2 s on, and up to mu^2. One row: from s - mu^2 / 2 on.
    for epsilon, gaussian in ((1.0, True), (0.99, False), (0.0145, False), (0.0144, True)):
        assert is_gaussian_at(epsilon, 0.12, 0.5, 2) == gaussian
    assert is_gaussian_at(0.5, 0.12, 0.507, 1)
    assert not is_gaussian_at(0.0699, 0.4, 0.15, 1)
    assert is_gaussian_at(0.0701, 0.4, 0.15, 1)
    assert joint_delta(1.0, 0.12, 0.5, 2, 0.0) == pytest.approx(gdp_delta(1.0, 0.24), rel=1e-12)


@pytest.mark.parametrize("relation", RELATIONS)
def test_calibrated_pairs_spend_what_was_asked(relation: Relation) -> None:
    steps = STEPS[relation]
    for epsilon, delta in itertools.product((0.1, 1.0, 8.0), (1e-9, 1e-6, 1e-2)):

        def max_leverage_of(scale: float, epsilon: float = epsilon) -> float:
            return 0.1 * epsilon / (0.5 * steps) + 0.9 / max(2.0 * steps / epsilon, scale**2 / 100.0)

        found = calibrate_pair(
            epsilon,
            delta,
            max_leverage_of=max_leverage_of,
            relation=relation,
            information_sensitivity=SENSITIVITY[relation],
        )
        assert found.max_leverage == max_leverage_of(found.score_scale)
        events = [
            PerturbedEvent(1.0 / found.score_scale, found.max_leverage, relation),
            GaussianEvent(SENSITIVITY[relation] / found.information_scale),
            GaussianEvent(found.residual_price),
        ]
        spent = basic_composition(events, delta)
        assert epsilon * (1.0 - 1e-4) <= spent <= epsilon
        ideal = steps / (gdp_mu(epsilon, delta) * math.sqrt(0.99 * 0.5))
        assert ideal <= found.score_scale <= 1.03 * ideal


def test_gdp_pairs_follow_theorem_a2() -> None:
    for relation, mu in itertools.product(RELATIONS, (0.1, 1.0)):
        found = calibrate_pair_gdp(mu, relation=relation, information_sensitivity=SENSITIVITY[relation])
        tilt = mu_perturbed(found.score_scale, found.least_ridge, relation=relation)
        assert tilt == STEPS[relation] / found.score_scale
        total = math.hypot(tilt, SENSITIVITY[relation] / found.information_scale, found.residual_price)
        assert mu * (1.0 - 1e-8) <= total <= mu


def test_pure_pairs_follow_theorem_a1() -> None:
    for relation, epsilon, max_leverage in itertools.product(RELATIONS, (0.3, 2.0), (0.01, 3.0)):
        found = calibrate_pair_pure(
            epsilon,
            max_leverage_of=lambda scale, max_leverage=max_leverage: max_leverage,  # type: ignore[misc]
            relation=relation,
            information_sensitivity=SENSITIVITY[relation],
        )
        tilt = gamma_epsilon(1.0 / found.score_scale, found.ridge_factor / max_leverage, relation=relation)
        total = tilt + SENSITIVITY[relation] / found.information_scale + found.residual_price
        assert epsilon * (1.0 - 1e-8) <= total <= epsilon
        assert found.ridge_factor >= 1.0


def test_a_reach_that_no_noise_helps_is_refused() -> None:
    with pytest.raises(MethodError, match="ridge too small"):
        calibrate_pair(
            0.1, 1e-6, max_leverage_of=lambda scale: 50.0, relation="add-remove", information_sensitivity=0.25
        )
    with pytest.raises(MethodError, match="share"):
        calibrated("add-remove", 1.0, 1e-6, share=1.0)
    with pytest.raises(PrivacyError):
        PerturbedEvent(0.0, 1.0, "add-remove")


def test_compositions_with_other_events_hold_together() -> None:
    event = PerturbedEvent(0.2, 0.4, "add-remove")
    alone = basic_composition([event], 1e-6)
    assert joint_delta(alone, 0.2, 0.4, 1, 0.0) <= 1e-6
    assert basic_composition([event, PureEvent(0.5)], 1e-6) == pytest.approx(alone + 0.5, rel=1e-12)
    both = basic_composition([event, ApproximateEvent(0.5, 5e-7)], 1e-6)
    assert both == pytest.approx(0.5 + basic_composition([event], 5e-7), rel=1e-12)
    two = basic_composition([event, event], 1e-6)
    assert two == pytest.approx(
        basic_composition([GaussianEvent(0.2 * math.sqrt(2))], 1e-6) + 2 * event.shift, rel=1e-12
    )
    assert basic_composition([event], 0.0) == math.inf
    mixed = [event, PureEvent(0.5), GaussianEvent(0.3)]
    assert compose([event], delta=1e-6) == alone
    assert compose(mixed, delta=1e-6) <= basic_composition(mixed, 1e-6)
    # The shift form with a randomised response: never below the same sum without the shift.
    bare = compose([GaussianEvent(0.2), PureEvent(0.5), GaussianEvent(0.3)], delta=1e-6)
    assert bare <= compose(mixed, delta=1e-6) <= bare + event.shift + 1e-9


def test_the_curve_passes_through_the_price_and_is_the_gaussian_one_without_a_minimiser() -> None:
    events = [PerturbedEvent(0.12, 0.3, "replace-one"), GaussianEvent(0.2), GaussianEvent(0.03)]
    for delta in (1e-3, 1e-6):
        epsilon = basic_composition(events, delta)
        found = composed_profile(events, [epsilon, 1.01 * epsilon])
        assert delta * 0.999 <= found[0] <= delta
        assert found[1] < found[0]
    plain = composed_profile(events[1:], [0.0, 0.5])
    np.testing.assert_allclose(plain, gdp_profile([0.0, 0.5], math.hypot(0.2, 0.03)), rtol=1e-12)
    with_points = composed_profile([*events, PureEvent(0.5), ApproximateEvent(0.1, 1e-3)], [0.5, 1.6])
    assert with_points[0] == 1.0
    assert with_points[1] == pytest.approx(1e-3 + composed_profile(events, [1.0])[0], rel=1e-6)
    # Several minimisers: the shifts add.
    twice = composed_profile([events[0], events[0]], [1.0])
    shift = 2.0 * math.log1p(0.3 / 4.0)
    assert twice[0] == pytest.approx(gdp_delta(1.0 - shift, 0.24 * math.sqrt(2.0)), rel=1e-12)
