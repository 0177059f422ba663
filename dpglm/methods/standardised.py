"""Objective perturbation on rows in measured standard deviations.

First come sums of numbers and of their squares, within declared ranges and then within closer ones: declared
ranges decide how much noise the first ones have, and how close the others are. For intervals three releases
follow: classes of row length; the perturbed minimiser on rows that are standardised, of which long ones count
less; the score and the information matrix there, on the same rows. For predictions, and for a short list, it
is the minimiser alone, on rows that are shortened.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.glm.families.binomial import SHIFTED
from dpglm.glm.penalties.base import Penalty
from dpglm.glm.penalties.elastic_net import NoPenalty
from dpglm.inference.coefficients import Scaling
from dpglm.inference.expectation import ExpectedRows
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.either import Either
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.mapped import LengthClasses, Mapped, Standardisation
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.score_norms import ScoreNorms
from dpglm.methods.base import Ask, Geometry, Problem
from dpglm.methods.information import information_release, share_of_spread, spread_releases
from dpglm.methods.measured_numbers import (
    LEAST_SHARE,
    MOST_SHARE,
    MeasuredNumbers,
    number_columns,
    number_looks,
    number_sums,
)
from dpglm.methods.perturbed_objective import (
    RESIDUAL_SHARE,
    calibrated_ridge,
    perturbed_objective,
    releases_information,
)
from dpglm.methods.row_length import (
    GROWTH,
    excess_noise,
    free_length,
    length_edges,
    noise_of_score,
    row_length,
    usual_length,
)
from dpglm.postprocessing.parts import MeasuredScales
from dpglm.privacy.budget import STEPS, Privacy
from dpglm.privacy.calibration import Minimisers, Target, calibrate
from dpglm.privacy.events import Fact
from dpglm.typing import FloatMatrix

# What a guarantee takes for granted where scales are not measured.
KNOWN: Final = "means and standard deviations that are declared as known were released before, or published"
# Share of mu squared (pure: of epsilon) for the sums and the classes, and that of the classes in it; each of
# the two looks at the sums has half of the rest.
MEASURED_SHARE: Final = 0.07
MEASURED_SHARE_PURE: Final = 0.14
CLASSES_SHARE: Final = 0.15
# Without intervals rows are shortened to this many typical lengths: with a shifted loss about all are, so
# that none is weak; else few are.
SHORTENED: Final = 0.7
FEW_SHORTENED: Final = 1.25
# Steepness of the losses that are minimised from so much noise on, in units of the sampling variance: rows
# near even odds then count more, which makes noise smaller and, where the model is wrong, changes what is
# estimated. Set, with `MOST_LOST_EVER`, on two tables and designs with few rows, see ``docs/methods.md``.
STEEPNESSES: Final = (2.0, 4.0)
STEEP_FROM: Final = (2.0, 10.0)
LOSSES: Final = Fact(
    "Loss",
    "logistic; where noise is large one of steepness C = 2 or 4, of the same log odds and price: ridges are "
    "then C times as large, and noise of the information 1.5 to 2 times",
)
# Coefficients above which a map of rows costs more time than scales are worth without intervals.
MOST_ALONE: Final = 300


def standardises(problem: Problem, privacy: Privacy) -> bool:
    """Whether numbers are measured first and long rows count less: a rule in public numbers only.

    For intervals; and for maximum likelihood, where the budget does not pay for intervals.
    """
    if not problem.geometry.standardisable:
        return False
    likelihood = problem.goal == "explain" and not problem.penalty.selects and problem.strength is None
    alone = likelihood and problem.family.link == "logit" and privacy.mu is None
    return (alone and len(problem.geometry.names) <= MOST_ALONE) or releases_information(problem, privacy)


def shortens(problem: Problem) -> bool:
    """Whether numbers can be standardised where no intervals are asked for: a rule in public numbers only.

    A list should be short in the user's contrasts: those of products move with the means that are released.
    Predictions do not mind.
    """
    geometry = problem.geometry
    if not geometry.standardisable or problem.goal == "predict":
        return bool(geometry.standardisable)
    somewhere = geometry.moments_at(dict.fromkeys(geometry.standardisable, (0.3, 0.1)))
    moved = Scaling.of(geometry.standardised(somewhere, 1.0)).mixing
    return bool(np.allclose(moved, Scaling.of(geometry).mixing, atol=1e-6))


def _longest(problem: Problem) -> float:
    return SHORTENED if problem.family.link == SHIFTED else FEW_SHORTENED


def shortened_releases(problem: Problem, privacy: Privacy, penalty: Penalty) -> tuple[Release, ...]:
    """Sums and the minimiser on shortened rows, that just fit the budget; ``penalty`` is convex."""
    share = _measured_share(problem, privacy)
    least = STEPS[privacy.relation] / privacy.epsilon
    scales = calibrate(
        Minimisers(
            None if privacy.mu is not None else lambda scale: 1.0 / least,
            residual_share=RESIDUAL_SHARE,
            measured_share=share,
            ridge_grows=True,
        ),
        Target.of(privacy),
    )
    ridge = max(least * scales.ridge_factor, scales.least_ridge)
    composes = scales.claimed_epsilon is None and privacy.mu is None
    leverage = 1.0 / ridge if composes else None
    square = min(1.0, 1.0 / _longest(problem) ** 2)
    minimiser = perturbed_objective(
        problem, penalty, ridge=ridge, scales=scales, max_leverage=leverage, row_square=square
    )
    last = Mapped(minimiser, Standardisation(shortens=True))
    if not share:
        return (last,)
    look = scales.measured_price * (0.5 if privacy.definition == "pure" else math.sqrt(0.5))
    return *number_looks(problem, privacy, look), last


def _measured_share(problem: Problem, privacy: Privacy) -> float:
    """Of the budget; nothing where scales are known."""
    if problem.moments is not None:
        return 0.0
    return MEASURED_SHARE_PURE if privacy.definition == "pure" else MEASURED_SHARE


def standardised_releases(problem: Problem, privacy: Privacy) -> tuple[Release, ...]:
    """Sums, classes and minimiser, and the information where it is paid for, that just fit the budget."""
    geometry, relation = problem.geometry, privacy.relation
    information = releases_information(problem, privacy)
    # Lengths of typical rows, and with them usual priors and the constant, do not depend on what is measured.
    # A prior that is declared for a whole range does: the ridge is that of the largest standard deviation.
    largest = dict.fromkeys(geometry.standardisable, (0.0, MOST_SHARE))
    usual = geometry.standardised(geometry.moments_at(largest), 1.0)
    standardised = replace(problem, geometry=usual, strength=None)
    pure = privacy.definition == "pure"
    share, spread = _measured_share(problem, privacy), 0.0
    if information:
        spread = share_of_spread(problem, pure=pure)
    ridge, scales = calibrated_ridge(
        standardised, privacy, information=information, weighted=True, measured_share=share + spread
    )
    minimiser = perturbed_objective(
        standardised, NoPenalty(), ridge=ridge, scales=scales, max_leverage=scales.max_leverage
    )

    def price(part: float) -> float:
        left = part / (share + spread)
        return scales.measured_price * (left if pure else math.sqrt(left))

    steep = may_be_steep(problem)
    last: tuple[Release, ...] = (_of_losses(minimiser, steep),)
    if information:
        curvature = information_release(standardised, privacy, scales)
        norms = ScoreNorms(problem.family)
        between = spread_releases(spread, norms, price(spread) if spread else 0.0, relation, scales.law)
        last = (*last, *between, _of_losses(curvature, steep))
    if problem.moments is not None:
        return last
    look, lengths = (
        price(share) * part ** (1.0 if pure else 0.5) for part in (0.5 * (1.0 - CLASSES_SHARE), CLASSES_SHARE)
    )
    sums, coordinates = number_sums(problem, privacy)
    classes = replace(sums, missing=(), levels=(len(GROWTH) + 1,), count_rows=relation == "add-remove")
    edges = LengthClasses(tuple(length_edges(usual).tolist()), coordinates.constant)
    counted = Mapped(classes.at_price(lengths, relation), edges)
    return *number_looks(problem, privacy, look), counted, *last


def _of_losses(release: PerturbedMinimiser | Information, steep: bool) -> Release:
    """A release on standardised rows; where losses may be ``steep``, or the same of one of these."""
    mapped = Mapped(release, Standardisation())
    if not steep:
        return mapped
    others = (Mapped(release.steeper(steepness), Standardisation()) for steepness in STEEPNESSES)
    return Either(mapped, tuple(others), LOSSES)


def _steepness(plan: PricedReleases, excess: float) -> float:
    """Of the loss to minimise where noise is so large, see `excess_noise`."""
    return (1.0, *STEEPNESSES)[bisect_right(STEEP_FROM, excess)] if _may_choose(plan) else 1.0


def _may_choose(plan: PricedReleases) -> bool:
    return len(plan.releases[-1].options) > 1


def place_of(steepness: float) -> int:
    """Of the loss of this steepness, among those of a plan."""
    return (1.0, *STEEPNESSES).index(steepness)


def may_be_steep(problem: Problem) -> bool:
    """Whether a plan has steeper losses, too: a rule in public numbers only.

    There must be some, and a number of rows to choose by. What weights make of their score is not measured, a
    given strength speaks of the loss as it is, and where offsets hide predictors a larger ridge draws more.
    """
    counted = problem.moments is None or problem.known_rows is not None
    plain = not problem.weighted and problem.strength is None and not problem.offset
    return counted and plain and problem.family.steeper(STEEPNESSES[0]) is not problem.family


def measured_scales(problem: Problem, plan: PricedReleases, ask: Ask) -> MeasuredScales:
    """Known scales; or ask for the sums and, where rows are to count less, for the classes."""
    geometry, names = problem.geometry, problem.geometry.standardisable
    shortened = plan.releases[-1].shortens
    longer, lost, excess = _longest(problem), None, 0.0
    if problem.moments is not None:
        moments, known = dict(problem.moments), problem.known_rows
        if not shortened:
            longer = usual_length(problem, noise_of_score(plan), moments, None)
            excess = 0.0 if known is None else excess_noise(geometry, noise_of_score(plan), moments, known)
    else:
        measured = MeasuredNumbers.of(plan, ask)
        rows, moments = measured.rows, geometry.moments_at(measured.places(names))
        if not shortened:
            classes = plan.of_kind(ColumnSums)[-1]
            counts = ask(plan.releases[2], geometry.row_matrix(moments, 1.0).ravel())
            free = free_length(geometry, noise_of_score(plan), moments, rows)
            excess = excess_noise(geometry, noise_of_score(plan), moments, rows)
            edges = length_edges(geometry.standardised(moments, 1.0))
            edge, lost = row_length(classes, counts, edges, rows, free, excess)
            longer = math.sqrt(edge)
    natural = np.array([moments[name] for name in names])
    steepness = _steepness(plan, excess)
    return MeasuredScales(names, natural[:, 0], natural[:, 1], longer, lost, shortened, steepness=steepness)


def expected_geometry(
    problem: Problem, rows: ExpectedRows, noise: float | None
) -> tuple[Geometry, FloatMatrix]:
    """The coding that rows with these moments would lead to, and the map of rows to it, shape (p, p).

    ``noise`` as in `free_length`; None where rows are shortened for want of intervals.
    """
    if not problem.geometry.standardisable:
        return problem.geometry.standardised({}, 1.0), problem.geometry.row_matrix({}, 1.0)
    geometry, moments = problem.geometry, _expected_moments(problem, rows)
    longer = _longest(problem) if noise is None else usual_length(problem, noise, moments, rows.n)
    return geometry.standardised(moments, longer), geometry.row_matrix(moments, longer)


def expected_steepness(problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> float:
    """Of the loss that such rows would lead to."""
    if not _may_choose(plan):
        return 1.0
    moments = _expected_moments(problem, rows)
    return _steepness(plan, excess_noise(problem.geometry, noise_of_score(plan), moments, rows.n))


def _expected_moments(problem: Problem, rows: ExpectedRows) -> Mapping[str, tuple[float, float]]:
    """Known moments, or those of the rows."""
    if problem.moments is not None:
        return problem.moments
    (at, value), slopes = number_columns(problem.geometry)
    places = {}
    for name, (column, unit) in zip(problem.geometry.standardisable, slopes, strict=True):
        mean = float(rows.moments[at, column]) / (value * unit)
        variance = float(rows.moments[column, column]) / unit**2 - mean**2
        places[name] = mean, math.sqrt(max(variance, LEAST_SHARE**2))
    return problem.geometry.moments_at(places)
