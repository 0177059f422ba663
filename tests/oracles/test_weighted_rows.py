r"""Claims about the perturbed minimiser against exact densities of weighted rows, short and long.

A row x of weight w moves the noise by a w x and the Jacobian by w a (1 - a) x'P^-1 x; a depends on x'theta
alone. With no other rows, b = -P theta under "no row": b'x / (scale |x|) and x'theta are normal, and their
correlation is -x'P^-1 x / (|x| |P^-1 x|), -1 for a ridge of one number. Given x'theta both log densities are
linear in b'x, so that delta is an integral of closed forms over one normal variable. No theorem is used here.

Quadrature: trapezoids, fine where a row's slope changes; `test_the_quadrature_is_as_good_as_stated`.
"""

from __future__ import annotations

import itertools
import math
from typing import Literal, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from dpglm.privacy.events import PerturbedEvent
from dpglm.privacy.gdp import gdp_mu, gdp_profile
from dpglm.privacy.joint_profile import joint_delta
from dpglm.privacy.theorems import mu_perturbed, perturbed_profile
from tests.oracles.test_exact_densities import Record, gaussian_deltas

Array = NDArray[np.float64]
Relation = Literal["add-remove", "replace-one"]
RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one")
LENGTHS = (0.3, 1.0, 2.0, 5.0, 20.0, 100.0)
QUADRATURE_ERROR = 5e-4
# A ridge of one number; a diagonal with one entry thirty times the other, rows at this angle to the first.
RIDGES = ((1.0, 0.0), (30.0, 0.3), (30.0, 1.2))
PLACES = (-40.0, -3.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0)


class Row(NamedTuple):
    """A row on a line through 0, where its slope changes in deviations of x'theta, and its weight."""

    length: float  # negative on the other side
    place: float

    @property
    def weight(self) -> float:
        return min(1.0, self.length**-2.0)


class Line(NamedTuple):
    """The line of the rows against a diagonal ridge."""

    leverage: float  # d'P^-1 d of its unit vector d
    correlation: float  # of d'theta and -d'b
    scale: float

    @classmethod
    def at(cls, ridge: tuple[float, float], max_leverage: float, rows: tuple[Row, ...], scale: float) -> Line:
        """With the ridge at which ``max_leverage`` is that of a row; ``ridge`` is a ratio and an angle."""
        ratio, angle = ridge
        direction = np.array([math.cos(angle), math.sin(angle)])
        pulled = direction / np.array([1.0, ratio])
        largest = max(row.weight * row.length**2 for row in rows)
        leverage = max_leverage / largest
        return cls(leverage, float(direction @ pulled / np.linalg.norm(pulled)), scale)

    @property
    def deviation(self) -> float:
        """Of d'theta without a row: scale |P^-1 d|."""
        return self.scale * self.leverage / self.correlation


def exact_deltas(line: Line, rows: tuple[Row, ...], epsilons: Array, count: int = 2001) -> Array:
    """Exact delta, both directions, of the first row against the second, or against none; shape (2, k)."""
    fine = np.linspace(-45.0, 45.0, count)
    grids = [np.linspace(-9.5, 9.5, count)]
    # Where slopes change: x'theta = place + logit(a), in deviations of d'theta.
    grids += [(row.place - fine / (line.deviation * row.length)) for row in rows if row.place > -40.0]
    z = np.unique(np.clip(np.concatenate(grids), -9.5, 9.5))
    mass = np.gradient(z) * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    mean, variance = -line.correlation * z, 1.0 - line.correlation**2
    shifts, logs = [], []
    for row in rows:
        eta = line.deviation * row.length * (row.place - z)
        a = expit(eta) if row.place > -40.0 else np.ones_like(z)
        shifts.append(a * row.weight * row.length / line.scale)
        leverage = row.weight * row.length**2 * line.leverage
        logs.append(np.log1p(leverage * a * (1.0 - a)) - 0.5 * shifts[-1] ** 2)
    if len(rows) == 1:
        shifts.append(np.zeros_like(z))
        logs.append(np.zeros_like(z))
    found = np.empty((2, len(epsilons)))
    for way, (i, j) in enumerate(((0, 1), (1, 0))):
        # exp(logs - shifts t) of either, t ~ N(mean, variance) given z.
        masses = [np.exp(logs[n] - shifts[n] * mean + 0.5 * shifts[n] ** 2 * variance) for n in (i, j)]
        gap = shifts[i] - shifts[j]
        for k, epsilon in enumerate(epsilons):
            parts = []
            for n, total in zip((i, j), masses, strict=True):
                # Under this one t has the mean less shift * variance; the first is larger where room > 0.
                room = logs[i] - logs[j] - epsilon - gap * (mean - shifts[n] * variance)
                spread = np.abs(gap) * math.sqrt(variance)
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    share = np.where(spread > 0.0, ndtr(room / spread), room > 0.0)
                parts.append(total * share)
            found[way, k] = float(mass @ (parts[0] - math.exp(epsilon) * parts[1]))
    return found


def tables(relation: Relation, length: float) -> list[tuple[Row, ...]]:
    """A row of a length alone, or against rows of any length on either side."""
    alone = [(Row(length, place),) for place in PLACES]
    if relation == "add-remove":
        return alone
    others = [Row(other, place) for other in (-length, -1.0, -20.0, 0.5) for place in (-40.0, 0.0)]
    return [(*one, other) for one, other in itertools.product(alone[::3], others)]


def worst(
    relation: Relation,
    length: float,
    ridge: tuple[float, float],
    scale: float,
    max_leverage: float,
    epsilons: Array,
    claimed: Array,
) -> float:
    highest = 0.0
    for rows in tables(relation, length):
        line = Line.at(ridge, max_leverage, rows, scale)
        highest = max(highest, float(np.max(exact_deltas(line, rows, epsilons) / claimed)))
    return highest


def test_the_quadrature_is_as_good_as_stated() -> None:
    epsilons = np.array([0.0, 0.5, 1.0])
    for ridge, length, places in itertools.product(RIDGES, (0.3, 5.0, 100.0), ((0.0, -2.0), (3.0, -40.0))):
        rows = Row(length, places[0]), Row(-2.0, places[1])
        line = Line.at(ridge, 1.0, rows, 4.0)
        coarse, fine = (exact_deltas(line, rows, epsilons, count) for count in (2001, 8001))
        np.testing.assert_allclose(coarse, fine, rtol=QUADRATURE_ERROR, atol=1e-13)
    # And the densities are those of another integral, over the noise in steps of 1/1000.
    for length, place in ((1.0, 2.0), (2.0, 0.5)):
        rows = (Row(length, place),)
        line = Line.at((1.0, 0.0), 0.8, rows, 4.0)
        ridge = 1.0 / line.leverage
        record = Record(length, line.deviation * length * place, rows[0].weight)
        other = gaussian_deltas(((record,), ()), (), ridge, 4.0, epsilons)
        np.testing.assert_allclose(
            exact_deltas(line, rows, epsilons), other, rtol=QUADRATURE_ERROR, atol=1e-12
        )


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("length", LENGTHS)
def test_profiles_are_never_exceeded_by_rows_of_any_length(relation: Relation, length: float) -> None:
    """At the leverage of Theorem B, at twice that, and where Theorem A2 holds; short rows with all of it."""
    steps, reached = RELATIONS.index(relation) + 1, 0.0
    for ridge, epsilon, delta in itertools.product(RIDGES, (0.3, 3.0), (1e-6, 1e-2)):
        scale = steps / gdp_mu(epsilon, delta)
        for max_leverage in (epsilon / steps, 2.0 * epsilon / steps, 0.5 / scale**2):
            epsilons = epsilon * np.array([0.0, 0.6, 1.0])
            claims = (
                [joint_delta(e, 1.0 / scale, max_leverage, steps, 0.0) for e in epsilons.tolist()],
                perturbed_profile(epsilons, scale, 1.0 / max_leverage, relation=relation),
                [
                    PerturbedEvent(1.0 / scale, max_leverage, relation).delta(e, 0.0)
                    for e in epsilons.tolist()
                ],
            )
            claimed = np.min(claims, axis=0)
            reached = max(reached, worst(relation, length, ridge, scale, max_leverage, epsilons, claimed))
    assert reached <= 1.0 + QUADRATURE_ERROR
    # Rows of norm 1 reach the claim: the attack would see any noise that is too small.
    assert length != 1.0 or reached > 0.999


@pytest.mark.parametrize("relation", RELATIONS)
def test_gaussian_differential_privacy_holds_at_every_real_epsilon(relation: Relation) -> None:
    for part, scale, ridge, length in itertools.product((1.0, 0.25), (0.7, 3.0), RIDGES[:2], LENGTHS):
        max_leverage = 0.5 / (part * scale**2)
        mu = mu_perturbed(scale, 1.0 / max_leverage, relation=relation)
        epsilons = mu * np.array([-1.0, 0.0, 0.5, 3.0])
        claimed = gdp_profile(epsilons, mu)
        assert (
            worst(relation, length, ridge, scale, max_leverage, epsilons, claimed) <= 1.0 + QUADRATURE_ERROR
        )


def power(ridge: tuple[float, float], length: float, cut: float) -> float:
    """Exact delta over the claim of 1e-6 at epsilon 1, with the ridge cut."""
    scale = 1.0 / gdp_mu(1.0, 1e-6)
    epsilons, claimed = np.array([1.0]), np.array([1e-6])
    assert joint_delta(1.0, 1.0 / scale, 1.0, 1, 0.0) == pytest.approx(1e-6, rel=1e-9)
    highest = 0.0
    for place in np.linspace(0.0, 6.0, 25):
        rows = (Row(length, place),)
        line = Line.at(ridge, 1.0 / cut, rows, scale)
        highest = max(highest, float(np.max(exact_deltas(line, rows, epsilons) / claimed)))
    return highest


@pytest.mark.parametrize("ridge", RIDGES)
def test_a_ridge_cut_too_far_is_caught(ridge: tuple[float, float]) -> None:
    """At a quarter by rows of norm 1, at a tenth by long rows too: the attack has teeth at every length."""
    assert power(ridge, 1.0, 0.25) > 10.0
    for length in LENGTHS[1:]:
        assert power(ridge, length, 1.0) <= 1.0 + QUADRATURE_ERROR
        assert power(ridge, length, 0.1) > 50.0
