"""Objective perturbation on rows in measured standard deviations, with the information matrix at its result.

Four releases: sums of numbers and of their squares; classes of row length; the perturbed minimiser on rows
that are standardised by these; the information matrix on the same rows. Declared ranges decide how much noise
the first one has, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from scipy.special import chdtri

from dpglm.curator.curator import PricedReleases
from dpglm.glm.penalties.base import TermColumns
from dpglm.glm.penalties.elastic_net import NoPenalty
from dpglm.inference.expectation import ExpectedRows
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.mapped import Coordinates, LengthClasses, Mapped, Standardisation
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Ask, Geometry, Problem
from dpglm.methods.perturbed_objective import (
    calibrated_ridge,
    information_release,
    perturbed_objective,
    releases_information,
)
from dpglm.postprocessing.parts import MeasuredScales
from dpglm.privacy.budget import Privacy
from dpglm.typing import FloatMatrix, FloatVector

# Share of mu squared (pure: of epsilon) for the sums and the classes, and that of the classes in it.
MEASURED_SHARE: Final = 0.05
MEASURED_SHARE_PURE: Final = 0.1
CLASSES_SHARE: Final = 0.4
# A standard deviation is taken to be at least so many of its noise's and this share of the declared range,
# and at most that of a number which is at either end of it.
LEAST_NOISE: Final = 3.0
LEAST_SHARE, MOST_SHARE = 0.01, 0.5
UNIFORM_SHARE: Final = math.sqrt(1.0 / 12.0)
# Rows count less where their numbers, squared, are this many times what they typically are: the first of
# these at which rows lose no more than `MOST_LOST` of all weight, give or take a standard deviation of the
# noise. Where scales are known it is what `TAIL` of the rows exceed whose numbers are normal and independent.
# With .005, .01 and .02, Adult prints 11, 14 and 15 coefficients of 99 (15 with declared scales), and those
# beside a curve that the formula leaves out are covered .73, .63 and .59 at epsilon 4.
GROWTH: Final = tuple(2.0 ** (k / 4.0) for k in range(17))
MOST_LOST: Final = 0.01
TAIL: Final = 0.05
# Where noise is small, rows may be longer: up to the length at which its variance in the score of a number is
# this share of the sampling variance, with rows that weigh so much.
NEGLIGIBLE: Final = 0.01
USUAL_WEIGHT: Final = 0.15


def standardises(problem: Problem, privacy: Privacy) -> bool:
    """Whether numbers are measured first: a rule in public numbers only."""
    return bool(problem.geometry.standardisable) and releases_information(problem, privacy)


def standardised_releases(problem: Problem, privacy: Privacy) -> tuple[Release, ...]:
    """Sums, classes, minimiser and information that just fit the budget."""
    geometry, relation, pure = problem.geometry, privacy.relation, privacy.delta == 0.0
    constant, slopes = _columns(geometry)
    # Lengths of typical rows, and with them usual priors and the constant, do not depend on what is measured.
    # A prior that is declared for a whole range does: the ridge is that of the largest standard deviation.
    largest = dict.fromkeys(geometry.standardisable, (0.0, MOST_SHARE))
    usual = geometry.standardised(geometry.moments_at(largest), 1.0)
    standardised = replace(problem, geometry=usual, strength=None)
    share = 0.0 if problem.moments is not None else MEASURED_SHARE_PURE if pure else MEASURED_SHARE
    ridge, scales = calibrated_ridge(
        standardised, privacy, information=True, weighted=True, measured_share=share
    )
    minimiser = perturbed_objective(
        standardised, NoPenalty(), ridge=ridge, scales=scales, max_leverage=scales.max_leverage
    )
    last = (
        Mapped(minimiser, Standardisation()),
        Mapped(information_release(standardised, scales), Standardisation()),
    )
    if problem.moments is not None:
        return last
    sums = ColumnSums(
        missing=(False,) * len(slopes),
        levels=(),
        groups=1,
        count_rows=True,  # of rows that can be used, which is private under both relations
        law="laplace" if pure else "gaussian",
        scale=1.0,
    )
    classes = replace(sums, missing=(), levels=(len(GROWTH) + 1,), count_rows=relation == "add-remove")
    first, second = (
        scales.measured_price * part ** (1.0 if pure else 0.5)
        for part in (1.0 - CLASSES_SHARE, CLASSES_SHARE)
    )
    return (
        Mapped(sums.at_price(first, relation), Coordinates(constant, slopes)),
        Mapped(classes.at_price(second, relation), LengthClasses(tuple(_edges(usual).tolist()), constant)),
        *last,
    )


def measured_scales(problem: Problem, plan: PricedReleases, ask: Ask) -> MeasuredScales:
    """Known scales; or ask for the sums and the classes."""
    geometry, names = problem.geometry, problem.geometry.standardisable
    if problem.moments is not None:
        moments, longer = problem.moments, _usual_length(problem, plan, problem.moments, None)
        natural = np.array([moments[name] for name in names])
        return MeasuredScales(names, natural[:, 0], natural[:, 1], longer, None)
    sums, classes = plan.of_kind(ColumnSums)
    answer = ask(plan.releases[0])
    rows = max(float(answer[0]), float(sums.deviations[0]), 1.0)  # that can be used
    means, deviations = _moments(sums, answer, rows)
    moments = geometry.moments_at(dict(zip(names, zip(means, deviations, strict=True), strict=True)))
    counts = ask(plan.releases[1], geometry.row_matrix(moments, 1.0).ravel())
    free = _free_length(geometry, plan, moments, rows)
    edge, lost = _row_length(classes, counts, _edges(geometry.standardised(moments, 1.0)), rows, free)
    natural = np.array([moments[name] for name in names])
    return MeasuredScales(names, natural[:, 0], natural[:, 1], math.sqrt(edge), lost)


def expected_geometry(
    problem: Problem, plan: PricedReleases, rows: ExpectedRows
) -> tuple[Geometry, FloatMatrix]:
    """The coding that rows with these moments would lead to, and the map of rows to it, shape (p, p)."""
    geometry = problem.geometry
    moments = problem.moments
    if moments is None:
        (at, value), slopes = _columns(geometry)
        places = {}
        for name, (column, unit) in zip(geometry.standardisable, slopes, strict=True):
            mean = float(rows.moments[at, column]) / (value * unit)
            variance = float(rows.moments[column, column]) / unit**2 - mean**2
            places[name] = mean, math.sqrt(max(variance, LEAST_SHARE**2))
        moments = geometry.moments_at(places)
    longer = _usual_length(problem, plan, moments, rows.n)
    return geometry.standardised(moments, longer), geometry.row_matrix(moments, longer)


def _usual_length(
    problem: Problem, plan: PricedReleases, moments: Mapping[str, tuple[float, float]], rows: float | None
) -> float:
    """The length, in typical ones, that a share `TAIL` of rows of independent normal numbers exceeds.

    Where a number of rows is known it may be longer, see `NEGLIGIBLE`.
    """
    fixed, count = _fixed(problem.geometry.standardised(moments, 1.0)), len(moments)
    edge = fixed + (1.0 - fixed) * float(chdtri(count, TAIL)) / count
    rows = problem.known_rows if rows is None else rows
    if rows is not None:
        edge = max(edge, _free_length(problem.geometry, plan, moments, rows))
    return math.sqrt(edge)


def _columns(geometry: Geometry) -> tuple[tuple[int, float], tuple[tuple[int, float], ...]]:
    """Column of the constant and its value; those of the numbers, and their values per declared range."""

    def place(term: TermColumns) -> tuple[int, float]:
        return term.start, float(term.table[0, 0])

    (constant,) = (place(term) for term in geometry.term_columns if term.kind == "intercept")
    slopes = (place(term) for term in geometry.term_columns if term.label in geometry.standardisable)
    return constant, tuple(slopes)


def _moments(sums: ColumnSums, answer: FloatVector, rows: float) -> tuple[list[float], list[float]]:
    """Means and standard deviations as shares of the declared ranges; the sums are of numbers in [-1, 1]."""
    means = np.clip(answer[1::2] / rows, -1.0, 1.0)
    variances = 0.5 + answer[2::2] / rows - means**2
    # In numbers that are twice a share; what noise alone makes is no more than a uniform number has.
    noise = sums.deviations[2::2] / rows
    least = np.clip(LEAST_NOISE * noise, (2.0 * LEAST_SHARE) ** 2, (2.0 * UNIFORM_SHARE) ** 2)
    deviations = np.sqrt(np.clip(variances, least, (2.0 * MOST_SHARE) ** 2))
    return (0.5 * means).tolist(), (0.5 * deviations).tolist()


def _edges(typical: Geometry) -> FloatVector:
    """Squared lengths between classes, in typical ones: numbers grow, and the rest stays."""
    fixed = _fixed(typical)
    return np.asarray(fixed + (1.0 - fixed) * np.array(GROWTH))


def _fixed(typical: Geometry) -> float:
    """Part of a typical row's squared length that no number makes."""
    return sum(term.bound for term in typical.term_columns if term.kind in ("intercept", "levels"))


def _row_length(
    classes: ColumnSums, answer: FloatVector, ends: FloatVector, rows: float, free: float
) -> tuple[float, float]:
    """The squared length, in typical ones, from which on rows count less, and the weight that they lose."""
    counts, noise = answer[int(classes.count_rows) :], float(classes.deviations[-1])
    middles = np.sqrt(ends * np.append(ends[1:], 2.0 * ends[-1]))
    each = np.maximum(1.0 - ends[:, None] / middles, 0.0)  # that a row of a class loses at each edge
    allowed = MOST_LOST * rows + noise * np.sqrt((each**2).sum(axis=1))
    enough = np.flatnonzero(each @ counts[1:] <= allowed)
    edge = max(float(ends[enough[0]] if enough.size else ends[-1]), free)
    lost = float(counts[1:] @ np.maximum(1.0 - edge / middles, 0.0)) / rows
    return edge, min(max(lost, 0.0), 1.0)


def _free_length(
    geometry: Geometry, plan: PricedReleases, moments: Mapping[str, tuple[float, float]], rows: float
) -> float:
    """The squared length, in typical ones, up to which noise makes next to nothing of the variance.

    It is no more than the longest row can be: the norm of the map that makes it of one of norm 1.
    """
    (minimiser,) = plan.of_kind(PerturbedMinimiser)
    slope = next(t for t in geometry.standardised(moments, 1.0).term_columns if t.kind == "slope")
    square = slope.bound / 4.0  # on average: the bound is that of two standard deviations
    free = NEGLIGIBLE * rows * USUAL_WEIGHT * square / minimiser.deviation**2
    return min(free, 1.01 * float(np.linalg.norm(geometry.row_matrix(moments, 1.0), 2)) ** 2)
