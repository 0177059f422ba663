"""How long a row may be before it counts less, and what the noise of the score is beside sampling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
from scipy.special import chdtri

from dpglm.curator.curator import PricedReleases
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Geometry, Problem
from dpglm.typing import FloatVector

# Rows count less where their numbers, squared, are this many times what they typically are: the first of
# these at which rows lose no more than `MOST_LOST` of all weight, give or take a standard deviation of the
# noise. In a logistic fit it is as many times that as noise multiplies the variance, up to `MOST_LOST_EVER`:
# noise then hides what is lost where a model is wrong. Where scales are known it is what `TAIL` of the rows
# exceed whose numbers are normal and independent.
# With .005, .01 and .02, Adult prints 11, 14 and 15 coefficients of 99 (15 with declared scales), and those
# beside a curve that the formula leaves out are covered .73, .63 and .59 at epsilon 4.
GROWTH: Final = tuple(2.0 ** (k / 4.0) for k in range(17))
MOST_LOST: Final = 0.01
MOST_LOST_EVER: Final = 0.5
TAIL: Final = 0.05
# Where noise is small, rows may be longer: up to the length at which its variance in the score of a number is
# this share of the sampling variance, with rows that weigh so much.
NEGLIGIBLE: Final = 0.01
USUAL_WEIGHT: Final = 0.15


def usual_length(
    problem: Problem, noise: float, moments: Mapping[str, tuple[float, float]], rows: float | None
) -> float:
    """The length, in typical ones, that a share `TAIL` of rows of independent normal numbers exceeds.

    Where a number of rows is known it may be longer, see `NEGLIGIBLE` and `free_length`.
    """
    fixed, count = _fixed(problem.geometry.standardised(moments, 1.0)), len(moments)
    edge = fixed + (1.0 - fixed) * float(chdtri(count, TAIL)) / count
    rows = problem.known_rows if rows is None else rows
    if rows is not None:
        edge = max(edge, free_length(problem.geometry, noise, moments, rows))
    return math.sqrt(edge)


def length_edges(typical: Geometry) -> FloatVector:
    """Squared lengths between classes, in typical ones: numbers grow, and the rest stays."""
    fixed = _fixed(typical)
    return np.asarray(fixed + (1.0 - fixed) * np.array(GROWTH))


def _fixed(typical: Geometry) -> float:
    """Part of a typical row's squared length that no number makes."""
    return sum(term.bound for term in typical.term_columns if term.kind in ("intercept", "levels"))


def row_length(
    classes: ColumnSums, answer: FloatVector, ends: FloatVector, rows: float, free: float, excess: float = 0.0
) -> tuple[float, float]:
    """The squared length, in typical ones, from which on rows count less, and the weight that they lose.

    ``excess`` is that of `excess_noise`.
    """
    counts, noise = answer[int(classes.count_rows) :], float(classes.deviations[-1])
    middles = np.sqrt(ends * np.append(ends[1:], 2.0 * ends[-1]))
    each = np.maximum(1.0 - ends[:, None] / middles, 0.0)  # that a row of a class loses at each edge
    most = min(MOST_LOST * (1.0 + excess), MOST_LOST_EVER)
    allowed = most * rows + noise * np.sqrt((each**2).sum(axis=1))
    enough = np.flatnonzero(each @ counts[1:] <= allowed)
    edge = max(float(ends[enough[0]] if enough.size else ends[-1]), free)
    lost = float(counts[1:] @ np.maximum(1.0 - edge / middles, 0.0)) / rows
    return edge, min(max(lost, 0.0), 1.0)


def free_length(
    geometry: Geometry, noise: float, moments: Mapping[str, tuple[float, float]], rows: float
) -> float:
    """The squared length, in typical ones, up to which noise makes next to nothing of the variance.

    ``noise`` is its variance in each coordinate of the score, in units of what a row with a coordinate of 1
    adds by sampling. The length is no more than the longest row can have: the norm of the map that makes it
    of one of norm 1.
    """
    slope = next(t for t in geometry.standardised(moments, 1.0).term_columns if t.kind == "slope")
    # On average a quarter: the bound is that of two standard deviations.
    free, matrix = NEGLIGIBLE * rows * (slope.bound / 4.0) / noise, geometry.row_matrix(moments, 1.0)
    within = free <= float((matrix**2).sum(axis=0).max())  # no more than the norm's square, and found sooner
    return free if within else min(free, 1.01 * float(np.linalg.norm(matrix, 2)) ** 2)


def noise_of_score(plan: PricedReleases) -> float:
    """Variance of its noise, in units of what a typical row adds by sampling."""
    (minimiser,) = plan.of_kind(PerturbedMinimiser)
    deviation = minimiser.deviation
    for information in plan.of_kind(Information)[-1:]:
        _, deviation = information.pooled(deviation)
    return deviation**2 / USUAL_WEIGHT


def excess_noise(
    geometry: Geometry, noise: float, moments: Mapping[str, tuple[float, float]], rows: float
) -> float:
    """Variance of the noise in the score of a number, in units of the sampling variance.

    ``noise`` as in `free_length`.
    """
    slope = next(t for t in geometry.standardised(moments, 1.0).term_columns if t.kind == "slope")
    return noise / (rows * (slope.bound / 4.0))
