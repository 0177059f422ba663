"""The claims about all rows of a person against exact densities of the minimiser, in one and two dimensions.

The quadrature is that of ``test_exact_densities.py``. The rows of a person have equal shares of 1 and bend at
places of their own, so that their slopes are not those of any single row.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import expit

from dpglm.privacy.events import PersonEvent, perturbed_event
from dpglm.privacy.gdp import gdp_mu, gdp_profile
from dpglm.privacy.joint_profile import profile_bound
from dpglm.privacy.person_profile import person_joint_delta, person_mu, person_profile
from dpglm.privacy.theorems import gamma_epsilon
from tests.effort import quick
from tests.oracles.test_exact_densities import (
    BASES,
    QUADRATURE_ERROR,
    Array,
    Record,
    Table,
    gaussian_deltas,
    points,
    pure_loss,
)

PERSONS = {
    "two alike": ((1.0, 0.0), (1.0, 0.0)),
    "two apart": ((1.0, -1.5), (1.0, 1.5)),
    "two against each other": ((1.0, 0.5), (-1.0, 0.5)),
    "three": ((1.0, -3.0), (0.6, 0.0), (1.0, 2.0)),
    "twenty": tuple((1.0, place) for place in np.linspace(-4.0, 5.0, 20).tolist()),
}


def person(name: str, ridge: float, scale: float, base: Table, at: float, *, whole: bool = False) -> Table:
    """Rows whose slopes fall from 1 to 0 at their places, in units of where the minimiser is likely to be.

    ``whole`` rows count in full and not by their share.
    """
    w = points(base, ridge, 6.0 * scale, 2001)[0]
    rows = PERSONS[name]
    share = 1.0 if whole else 1.0 / len(rows)
    places = np.interp([at + place for _, place in rows], np.linspace(-6.0, 6.0, 2001), w)
    return tuple(Record(u, float(u * where), share) for (u, _), where in zip(rows, places, strict=True))


def worst(
    steps: int, ridge: float, scale: float, epsilons: Array, claimed: Array, *, whole: bool = False
) -> float:
    """Largest exact delta over the claimed one."""
    found = 0.0
    for base_name, name, at in itertools.product(("empty", "shifted"), PERSONS, (-2.0, 0.0, 2.5, 4.0)):
        base = BASES[base_name]
        first = person(name, ridge, scale, base, at, whole=whole)
        others: list[Table] = [()]
        if steps == 2:
            others = [
                tuple(Record(-row.u, -row.offset, row.count) for row in first),
                tuple(Record(-row.u, 60.0, row.count) for row in first),
                (Record(-1.0, 60.0),),
            ]
        for second in others:
            exact = gaussian_deltas((first, second), base, ridge, scale, epsilons)
            found = max(found, float(np.max(exact / claimed)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("scale", quick([0.5, 1.5, 5.0], 5.0))
def test_claims_for_persons_are_never_exceeded(steps: int, scale: float) -> None:
    for ridge in (0.05, 0.5, 2.0, 2.0 * scale**2):
        epsilons = np.array([0.0, 0.1, 0.5, 1.0, 2.5]) * (1.0 if scale > 1 else 4.0)
        claimed = person_profile(epsilons, 1.0 / scale, 1.0 / ridge, steps)
        felt = claimed > 1e-12
        assert worst(steps, ridge, scale, epsilons[felt], claimed[felt]) <= 1.0 + QUADRATURE_ERROR


def test_a_claim_is_attained_by_rows_that_are_alike_and_broken_by_rows_that_count_in_full() -> None:
    """At an epsilon where the ridge costs nothing, the claim is within 2 % of what a single row attains."""
    scale, ridge, epsilon = 5.0, 2.0, np.array([1.0])
    claimed = person_profile(epsilon, 1.0 / scale, 1.0 / ridge, 1)
    assert 0.98 <= worst(1, ridge, scale, epsilon, claimed) <= 1.0 + QUADRATURE_ERROR
    assert worst(1, ridge, scale, epsilon, claimed, whole=True) > 100.0


@pytest.mark.parametrize("steps", [1, 2])
def test_pure_claims_for_persons_are_never_exceeded(steps: int) -> None:
    relation = "replace-one" if steps == 2 else "add-remove"
    for rate, ridge in itertools.product((0.1, 0.5, 2.0), (0.2, 1.0, 10.0)):
        claimed = gamma_epsilon(rate, ridge, relation=relation, shared=True)
        for name, at in itertools.product(PERSONS, (-2.0, 0.0, 2.0)):
            first = person(name, ridge, 1.0 / rate, (), at)
            second = tuple(Record(-row.u, -row.offset, row.count) for row in first) if steps == 2 else ()
            assert pure_loss((first, second), (), ridge, rate) <= claimed * (1.0 + 1e-9)


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("s", [0.0, 0.02, 0.5, 3.0])
def test_a_mu_for_persons_covers_their_profile_at_every_epsilon(mu: float, s: float) -> None:
    epsilons = np.concatenate([np.linspace(0.0, 12.0 * mu + s, 997), [20.0 * mu + s]])
    own = person_profile(epsilons, mu, s, 1)
    assert np.all(own <= gdp_profile(epsilons, person_mu(mu, s)) * (1.0 + 1e-6) + 1e-300)


@pytest.mark.parametrize(("mu", "s"), [(0.2, 0.4), (0.1, 0.9), (0.7, 0.2)])
def test_the_price_for_persons_is_close_to_that_of_a_row(mu: float, s: float) -> None:
    """No less than it, as a person may have one row; and little more where delta is small."""
    epsilons = np.linspace(max(s, 3.0 * mu), 6.0 * mu + s, 20)
    own, row = person_profile(epsilons, mu, s, 1), profile_bound(epsilons, mu, s, 1)
    assert np.all(own >= gdp_profile(epsilons, mu))
    for epsilon, delta, least in zip(epsilons, own, row, strict=True):
        if least < 1e-5:
            assert gdp_mu(float(epsilon), float(delta)) <= 1.006 * gdp_mu(float(epsilon), float(least))


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_beside_gaussian_releases_the_profile_is_the_integral(steps: int, epsilon: float) -> None:
    """The mean of the profile over N(epsilon - nu^2/2, nu^2), by a fine quadrature, is no more."""
    mu, s, beside = 0.25, 0.3, 0.4
    x = np.linspace(-12.0, 12.0, 40_001)
    e = epsilon - beside**2 / 2.0 + beside * x
    profile = person_profile(np.abs(e), mu, s, steps)
    both = np.where(e < 0.0, 1.0 - np.exp(-np.abs(e)) * (1.0 - profile), profile)
    fine = float(trapezoid(both * np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi), x))
    claimed = person_joint_delta(epsilon, mu, s, steps, beside)
    assert fine * (1.0 - 1e-3) <= claimed <= fine * 1.02
    # Shifted Gaussian profiles, for what the integral cannot do, are no less.
    event = PersonEvent(mu, s, "replace-one" if steps == 2 else "add-remove")
    shifted = event.factor * gdp_profile(epsilon - event.shift, math.hypot(event.total_mu, beside))
    assert claimed <= float(shifted) * 1.02


def planar(
    directions: Array, places: Array, share: float, ridge: float, scale: float, epsilon: float
) -> float:
    """Exact delta, both directions, of a person against nobody in two dimensions, without other rows."""
    axis = np.linspace(-8.0, 8.0, 601) * scale
    b0 = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    moved = np.zeros_like(b0)
    hessian = np.zeros((*b0.shape[:2], 2, 2))
    for u, place in zip(directions, places, strict=True):
        a = expit(place * scale / ridge + b0 @ u / ridge)
        moved += share * a[..., None] * u
        hessian += share * (a * (1.0 - a))[..., None, None] * np.outer(u, u)
    jacobian = np.log(np.linalg.det(np.eye(2) + hessian / ridge))
    logs = [
        -0.5 * np.sum(np.square((b0 + moved) / scale), axis=-1) + jacobian,
        -0.5 * np.sum(np.square(b0 / scale), axis=-1),
    ]
    cell = (axis[1] - axis[0]) ** 2 / (2.0 * math.pi * scale**2)
    found = 0.0
    for x, z in (logs, logs[::-1]):
        kept = np.maximum(-np.expm1(np.minimum(epsilon + z - x, 50.0)), 0.0)
        found = max(found, float(cell * np.sum(np.exp(x) * kept)))
    return found


LONG = pytest.mark.audit
ANGLES = [
    (0.0, 0.5),
    pytest.param((0.0, 1.57), marks=LONG),
    pytest.param((0.0, 2.1, 4.2), marks=LONG),
    pytest.param((0.0, 0.3, 0.6), marks=LONG),
]


@pytest.mark.slow
@pytest.mark.parametrize("angles", ANGLES, ids=str)
def test_persons_in_the_plane_keep_their_claim(angles: tuple[float, ...]) -> None:
    directions = np.array([[math.cos(angle), math.sin(angle)] for angle in angles])
    for scale, ridge, epsilon in ((3.0, 1.0, 1.0), (3.0, 0.3, 0.5), (1.5, 0.5, 2.0)):
        claimed = float(person_profile(np.array([epsilon]), 1.0 / scale, 1.0 / ridge, 1)[0])
        full = 0.0
        for places in itertools.product((-1.0, 1.5, 60.0), repeat=len(angles)):
            at = np.array(places)
            assert planar(directions, at, 1.0 / len(angles), ridge, scale, epsilon) <= claimed * (1.0 + 2e-3)
            full = max(full, planar(directions, at, 1.0, ridge, scale, epsilon))
        # Rows that count in full are seen, but where delta is large anyway.
        assert full > 2.0 * claimed or claimed > 0.01


def test_bounded_slopes_of_persons_pay_for_the_jacobian_of_all_rows() -> None:
    event = perturbed_event(0.2, 0.1, "add-remove", bounded=True, shared=True)
    assert event.shift == pytest.approx(0.1)
    assert event.total_mu == person_mu(0.2) > 0.2
    twice = perturbed_event(0.2, 0.1, "replace-one", bounded=True, shared=True)
    assert twice.factor == pytest.approx(math.exp(0.1))
    assert twice.total_mu == 2.0 * person_mu(0.2)
