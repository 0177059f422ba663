r"""Theorem C, for losses with bounded slopes, against exact densities in one and two dimensions.

The loss is that of counts: slope a - beta with a = min(exp(x w + offset), 1) and beta = y/Y in [0, 1],
curvature a below the bound and 0 beyond. b(w) = -ridge w - sum_i (a_i - beta_i) x_i is a bijection, so the
density of w is that of the noise at b(w) times ridge + sum_i a_i x_i^2 over rows below the bound. Nothing of
the theorem is used here.

Quadrature: trapezoids in the noise b0 of the common records, 300 steps to the scale; the density has jumps
where a row meets its bound, which cost at most half a step of it each: claims may be exceeded by that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from dpglm.errors import MethodError
from dpglm.privacy.accountant import basic_composition, compose, composed_profile
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import BoundedSlopeEvent, GaussianEvent, PureEvent
from dpglm.privacy.gdp import gdp_delta, gdp_mu, gdp_profile
from dpglm.privacy.theorems import bounded_shift
from tests.calibrated import bounded_delta, calibrate_bounded, calibrate_bounded_pure
from tests.effort import quick

Array = NDArray[np.float64]
RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one")
STEPS: dict[Relation, int] = {"add-remove": 1, "replace-one": 2}
SENSITIVITY: dict[Relation, float] = {"add-remove": 1.0, "replace-one": math.sqrt(2.0)}
DENSITY = 300.0  # steps to the scale
QUADRATURE_ERROR = 2e-3


class Row(NamedTuple):
    """``count`` rows x with response beta and a known part of the predictor."""

    x: float
    beta: float
    offset: float
    count: float = 1.0


Table = tuple[Row, ...]
BASES: dict[str, Table] = {
    "empty": (),
    "zeros": (Row(1.0, 0.0, -1.0, 20.0),),
    "balanced": (Row(1.0, 0.3, -1.0, 30.0), Row(-1.0, 0.1, -2.0, 30.0)),
    "large": (Row(0.7, 0.1, -2.0, 3000.0), Row(-0.6, 0.1, -2.0, 3000.0)),
}


def score(w: Array, table: Table) -> tuple[Array, Array]:
    """Sum of slope times x and of curvature times x^2."""
    total, curvature = np.zeros_like(w), np.zeros_like(w)
    for row in table:
        eta = row.x * w + row.offset
        a = np.exp(np.minimum(eta, 0.0))
        total += row.count * row.x * (a - row.beta)
        curvature += row.count * row.x**2 * np.where(eta <= 0.0, a, 0.0)
    return total, curvature


def points(common: Table, ridge: float, max_leverage: float, size: int) -> tuple[Array, Array, Array]:
    """w, its common noise b0(w) and |db0/dw|, at about equal steps of b0 in (-max_leverage, max_leverage)."""
    far = (max_leverage + sum(r.count * abs(r.x) for r in common)) / ridge
    w = np.linspace(far, -far, size)
    for _ in range(8):
        noise = -ridge * w - score(w, common)[0]
        w = np.interp(np.linspace(-max_leverage, max_leverage, size), noise, w)
    total, curvature = score(w, common)
    return w, -ridge * w - total, ridge + curvature


def log_densities(
    pair: tuple[Table, Table],
    common: Table,
    ridge: float,
    log_noise: Callable[[Array], Array],
    max_leverage: float,
    size: int,
) -> tuple[Array, Array, Array, Array]:
    """w, the common noise b0 and, per unit of it, the log densities of w on both tables of the pair."""
    w, b0, slope = points(common, ridge, max_leverage, size)
    logs = []
    for extra in pair:
        total, curvature = score(w, extra)
        logs.append(log_noise(b0 - total) + np.log1p(curvature / slope))
    return w, b0, logs[0], logs[1]


def exact(
    pair: tuple[Table, Table],
    base: Table,
    ridge: float,
    scale: float,
    epsilons: Array,
    nu: Callable[[Array], Array] | None = None,
) -> Array:
    """The larger of both directions' deltas, of the minimiser and a Gaussian release nu(w) apart after it."""
    max_leverage = 9.5 * scale + 3.0
    size = int(2.0 * DENSITY * max_leverage / scale) + 1
    constant = math.log(scale * math.sqrt(2.0 * math.pi))
    w, b0, first, second = log_densities(
        pair, base, ridge, lambda b: -0.5 * np.square(b / scale) - constant, max_leverage, size
    )
    weight = np.gradient(b0)
    found = np.zeros(len(epsilons))
    for x, z in ((first, second), (second, first)):
        for j, epsilon in enumerate(epsilons):
            asked = epsilon - (x - z)
            delta = np.maximum(-np.expm1(np.minimum(asked, 50.0)), 0.0)
            if nu is not None:
                apart = np.maximum(nu(w), 1e-9)
                both = ndtr(-asked / apart + apart / 2) - np.exp(np.minimum(asked, 600.0)) * ndtr(
                    -asked / apart - apart / 2
                )
                delta = np.where(apart > 1e-8, both, delta)
            found[j] = max(found[j], float(np.dot(weight * np.exp(x), delta)))
    return found


def pairs(
    relation: Relation, ridge: float, scale: float, base: Table, norm: float = 1.0
) -> Iterator[tuple[Table, Table]]:
    """Neighbouring rows whose means reach the bound where w has its mass, or never, or throughout."""
    w = points(base, ridge, 6.0 * scale, 2001)[0]
    places = [float(np.interp(z, np.linspace(-6.0, 6.0, 2001), w)) for z in (-4.0, -1.0, 0.0, 1.0, 4.0)]
    offsets = [*(-norm * place for place in places), 60.0 + norm * abs(w).max(), -60.0 - norm * abs(w).max()]
    for offset, beta in itertools.product(offsets, (0.0, 0.5, 1.0)):
        if relation == "add-remove":
            yield (Row(norm, beta, offset),), ()
            continue
        for x, other, gamma in ((-norm, -offset, beta), (norm, offset, 1.0 - beta), (-norm, offsets[5], 0.0)):
            yield (Row(norm, beta, offset),), (Row(x, gamma, other),)


def test_two_corners_cost_no_more_than_one_interval() -> None:
    """K of proof Step 7 in closed form: corners m1 and -m2 against G(e; m1 + m2)."""
    rng = np.random.default_rng(0)
    z = np.linspace(-14.0, 14.0, 40_001)
    density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) * (z[1] - z[0])
    for _ in range(300):
        m1, m2 = rng.uniform(0.0, 3.0, 2)
        epsilon = float(rng.uniform(0.0, 4.0))
        loss = np.maximum(m1 * z + m1**2 / 2, -m2 * z + m2**2 / 2)
        found = float(density @ np.maximum(0.0, -np.expm1(np.minimum(epsilon - loss, 0.0))))
        assert found <= gdp_delta(epsilon, m1 + m2) + 1e-6


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("length", quick([1.0, 0.5], 0.5))
def test_claims_are_never_exceeded_at_any_ridge(relation: Relation, length: float) -> None:
    """Short rows with all of the leverage, beside releases that always differ by nu, at real epsilons."""
    steps, highest = STEPS[relation], 0.0
    for scale, max_leverage, share in itertools.product((0.7, 4.0), (0.05, 1.0), (0.0, 1.0)):
        mu = 1.0 / scale
        beside = share * steps * mu
        ridge = length**2 / max_leverage
        epsilons = steps * mu * np.array([-2.0, 0.0, 0.5, 2.0]) + bounded_shift(max_leverage)
        claimed = np.array([bounded_delta(e, mu, max_leverage, steps, beside) for e in epsilons.tolist()])
        for pair in pairs(relation, ridge, scale, (), length):
            nu = (lambda w, beside=beside: np.full_like(w, beside)) if share else None
            found = exact(pair, (), ridge, scale, epsilons, nu)
            highest = max(highest, float(np.max(found / claimed)))
    assert highest <= 1.0 + QUADRATURE_ERROR


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    quick([(1.0, 1e-5), (0.3, 1e-3), (3.0, 1e-6)], (1.0, 1e-5)),
)
def test_calibrated_noise_keeps_its_delta_and_a_fifth_less_is_caught(
    relation: Relation, epsilon: float, delta: float
) -> None:
    max_leverage = 0.06 * epsilon
    found = calibrate_bounded(
        epsilon,
        delta,
        max_leverage_of=lambda scale: max_leverage,
        relation=relation,
        information_sensitivity=SENSITIVITY[relation],
    )
    always = SENSITIVITY[relation] / found.information_scale
    worst = {1.0: 0.0, 0.8: 0.0}
    for name, part in itertools.product(("empty", "balanced"), worst):
        base, scale = BASES[name], part * found.score_scale
        for pair in pairs(relation, 1.0 / max_leverage, scale, base):
            delta_found = exact(
                pair,
                base,
                1.0 / max_leverage,
                scale,
                np.array([epsilon]),
                lambda w, part=part: np.full_like(w, always / part),  # type: ignore[misc]
            )
            worst[part] = max(worst[part], float(delta_found[0]))
    assert worst[1.0] <= delta * (1.0 + QUADRATURE_ERROR)
    assert worst[0.8] > 2.0 * delta


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_shift_is_needed_at_a_small_ridge_and_the_claim_covers_it(relation: Relation) -> None:
    """Power: without J the Gaussian delta is exceeded many times."""
    steps, scale = STEPS[relation], 4.0
    epsilon, max_leverage = 1.0 * steps, 4.0
    plain = gdp_delta(epsilon, steps / scale)
    claimed = bounded_delta(epsilon, 1.0 / scale, max_leverage, steps, 0.0)
    found = 0.0
    for place in np.linspace(-8.0, 8.0, 65):
        row = Row(1.0, 0.0, -place * scale * max_leverage)
        pair: tuple[Table, Table] = ((row,), () if steps == 1 else (Row(-1.0, 0.0, 1e4),))
        found = max(found, float(exact(pair, (), 1.0 / max_leverage, scale, np.array([epsilon]))[0]))
    assert 3.0 * plain < found <= claimed * (1.0 + QUADRATURE_ERROR)


@pytest.mark.parametrize("base", list(BASES))
def test_bases_with_many_rows_hide_no_exceedance(base: str) -> None:
    for relation in RELATIONS:
        steps, scale, max_leverage = STEPS[relation], 3.0, 0.5
        epsilons = np.array([0.0, 0.7, 1.5])
        claimed = np.array(
            [bounded_delta(e, 1.0 / scale, max_leverage, steps, 0.0) for e in epsilons.tolist()]
        )
        for pair in pairs(relation, 1.0 / max_leverage, scale, BASES[base]):
            found = exact(pair, BASES[base], 1.0 / max_leverage, scale, epsilons)
            assert (found <= claimed * (1.0 + QUADRATURE_ERROR)).all()


@pytest.mark.parametrize("relation", RELATIONS)
def test_pure_claims_are_never_exceeded_and_a_fifth_less_noise_is_caught(relation: Relation) -> None:
    for epsilon, max_leverage in itertools.product((0.3, 4.0), (0.02, 0.1)):
        found = calibrate_bounded_pure(
            epsilon,
            max_leverage_of=lambda scale, max_leverage=max_leverage: max_leverage,  # type: ignore[misc]
            relation=relation,
            information_sensitivity=1.0,
            share=0.0,
        )
        worst = {1.0: 0.0, 1.25: 0.0}
        for name, part in itertools.product(("empty", "balanced"), worst):
            rate = part / found.score_scale
            for pair in pairs(relation, 1.0 / max_leverage, 1.0 / rate, BASES[name]):
                _, _, x, z = log_densities(
                    pair,
                    BASES[name],
                    1.0 / max_leverage,
                    lambda b, rate=rate: -rate * np.abs(b),  # type: ignore[misc]
                    60.0 / rate,
                    4001,
                )
                worst[part] = max(worst[part], float(np.max(np.abs(x - z))))
        assert worst[1.0] <= epsilon * (1.0 - 0.01) * (1.0 + 1e-9)
        assert worst[1.25] > epsilon * (1.0 - 0.01)


@pytest.mark.parametrize("angle", quick([0.0, 0.6, math.pi / 2, 2.3, math.pi], 0.6, math.pi))
def test_two_dimensional_claims_are_never_exceeded(angle: float) -> None:
    """A row replaced by one at an angle, or left out, no common records: w = -b0 / ridge."""
    scale, max_leverage = 2.0, 0.5
    axis = np.linspace(-8.0, 8.0, 641) * scale
    b0 = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    cell = (axis[1] - axis[0]) ** 2 / (2.0 * math.pi * scale**2)
    directions = np.array([1.0, 0.0]), np.array([math.cos(angle), math.sin(angle)])

    def log_density(x: Array | None, beta: float, place: float) -> Array:
        if x is None:
            return -0.5 * np.sum(np.square(b0 / scale), axis=-1)
        eta = -(b0 @ x) * max_leverage + place * scale * max_leverage
        a = np.exp(np.minimum(eta, 0.0))
        noise = b0 - (a - beta)[..., None] * x
        return -0.5 * np.sum(np.square(noise / scale), axis=-1) + np.log1p(
            max_leverage * np.where(eta <= 0, a, 0)
        )

    for (beta, gamma), (first, second), epsilon in itertools.product(
        ((0.0, 0.0), (0.5, 0.5), (0.0, 1.0), (0.3, 0.8)), ((0.0, 0.0), (60.0, 60.0), (2.0, -2.0)), (0.5, 1.5)
    ):
        one = log_density(directions[0], beta, first)
        for steps, other in (
            (2, log_density(directions[1], gamma, second)),
            (1, log_density(None, 0.0, 0.0)),
        ):
            claimed = bounded_delta(epsilon, 1.0 / scale, max_leverage, steps, 0.0)
            for x, z in ((one, other), (other, one)):
                lost = np.maximum(-np.expm1(np.minimum(epsilon + z - x, 50.0)), 0.0)
                assert cell * np.sum(np.exp(x) * lost) <= claimed * (1.0 + 5e-3)


@pytest.mark.parametrize("relation", RELATIONS)
def test_calibrated_releases_spend_what_was_asked(relation: Relation) -> None:
    steps = STEPS[relation]
    for epsilon, delta, share in itertools.product((0.1, 1.0, 8.0), (1e-9, 1e-6, 1e-2), (0.0, 0.5)):

        def max_leverage_of(scale: float, epsilon: float = epsilon) -> float:
            return 0.02 * epsilon + 0.9 / max(20.0 * steps / epsilon, scale**2 / 100.0)

        found = calibrate_bounded(
            epsilon,
            delta,
            max_leverage_of=max_leverage_of,
            relation=relation,
            information_sensitivity=SENSITIVITY[relation],
            share=share,
        )
        events = [
            BoundedSlopeEvent(1.0 / found.score_scale, found.max_leverage, relation),
            GaussianEvent(SENSITIVITY[relation] / found.information_scale),
            GaussianEvent(found.residual_price),
        ]
        spent = basic_composition(events, delta)
        assert epsilon * (1.0 - 1e-4) <= spent <= epsilon
        ideal = steps / (gdp_mu(epsilon, delta) * math.sqrt(0.99 * (1.0 - share)))
        assert ideal <= found.score_scale <= 1.15 * ideal


def test_events_compose_by_shift_and_factor() -> None:
    one = BoundedSlopeEvent(0.2, 0.1, "add-remove")
    two = BoundedSlopeEvent(0.1, 0.1, "replace-one")
    shift = math.log1p(0.1)
    assert (one.shift, one.factor) == (shift, 1.0)
    assert two.shift == shift
    assert two.factor == pytest.approx(1.1)
    # Two of them and a Gaussian one: shifts add, factors multiply.
    epsilon = basic_composition([one, two, GaussianEvent(0.2)], 1e-6)
    left = gdp_profile(np.array([epsilon - 2 * shift]), math.hypot(0.2, 0.2, 0.2))[0]
    assert 1.1 * left == pytest.approx(1e-6, rel=1e-6)
    for events in ([one, two, GaussianEvent(0.2)], [two, GaussianEvent(0.2), PureEvent(0.1)], [two]):
        spent = compose(events, delta=1e-6)
        assert spent <= basic_composition(events, 1e-6)
        assert composed_profile(events, [basic_composition(events, 1e-6)])[0] <= 1e-6 * (1 + 1e-8)
    # A pure release beside it: the numeric composition is no worse than adding.
    both = compose([two, GaussianEvent(0.2), PureEvent(0.1)], delta=1e-6)
    assert compose([two, GaussianEvent(0.2)], delta=1e-6) < both


def test_a_ridge_that_is_too_small_is_refused() -> None:
    for calibrate, more in ((calibrate_bounded, (1e-6,)), (calibrate_bounded_pure, ())):
        with pytest.raises(MethodError, match="ridge too small"):
            calibrate(  # type: ignore[operator]
                0.1,
                *more,
                max_leverage_of=lambda scale: 1.0,
                relation="add-remove",
                information_sensitivity=1.0,
            )
        with pytest.raises(MethodError, match="share"):
            calibrate(  # type: ignore[operator]
                1.0,
                *more,
                max_leverage_of=lambda s: 0.1,
                relation="add-remove",
                information_sensitivity=1.0,
                share=1.0,
            )
