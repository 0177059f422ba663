"""Linear regression in two stages: moments on standardised rows, then the score of residuals that are cut.

Declared ranges decide how much noise the first sums have, of means and standard deviations of the numbers and
of the response; numbers are looked at again within closer ranges. The first second moments are taken on rows
and responses in these units, and give a point and the residual standard deviation. Residuals at that point
are a response of small range: their second moments have less noise, and the noise of X'X multiplies only what
the point is wrong by.

Residuals are cut where noise and the cut together cost least. Classes of their size and sign say how much is
cut off: its mean is given back, and standard errors hold what its correlation with a number may be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.special import ndtr

from dpglm.curator.curator import PricedReleases
from dpglm.glm.families.poisson import Poisson
from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.expectation import ExpectedRows, at_level, expected_model, products_of_regression
from dpglm.inference.interval_model import fitted_scales
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.mapped import LengthClasses, Mapped, RowMapping
from dpglm.mechanisms.moments import MomentSums, SecondMoments
from dpglm.mechanisms.residuals import LogCounts, ResidualClasses, Residuals
from dpglm.mechanisms.score_norms import SPREAD, ResidualNorms
from dpglm.mechanisms.span import Span
from dpglm.methods.base import Ask, Geometry, Problem
from dpglm.methods.information import asked_spread, share_of_spread, spread_releases, weighting
from dpglm.methods.measured_numbers import MOST_SHARE, MeasuredNumbers, number_looks, number_sums
from dpglm.methods.normal_equations import (
    LATENT,
    SHARES,
    normal_equations,
    part_weights,
    residual_variance,
    rows_of,
)
from dpglm.methods.residual_cut import COUNT_CUTS, CUTS, Cut
from dpglm.methods.row_length import GROWTH, free_length, length_edges, row_length, usual_length
from dpglm.methods.standardised import CLASSES_SHARE, MEASURED_SHARE, expected_geometry
from dpglm.postprocessing.parts import MeasuredScales
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.calibration import Target
from dpglm.privacy.gdp import SAFETY
from dpglm.typing import FloatVector

# Of mu squared: what is measured first has `MEASURED_SHARE`; then the first moments, the classes of residual
# size, and the moments of residuals, which have the rest.
FIRST_SHARE: Final = 0.2
SIZES_SHARE: Final = 0.05
# Counts have a second point, from moments of residuals at the first one.
STEP_SHARE: Final = 0.15
# Of the second moments of residuals: the noise of X'X multiplies little there.
RESIDUAL_SHARES: Final = {"gram": 0.3, "cross": 0.64, "square": 0.05, "count": 0.01}
# The response is cut so many standard deviations from its mean in the first stage.
FIRST_CUT: Final = 3.0


def in_two_stages(problem: Problem, privacy: Privacy) -> bool:
    """Whether there is an intercept, and noise is Gaussian: a pure epsilon is worth more in one release."""
    geometry = problem.geometry
    constant = any(term.kind == "intercept" for term in geometry.term_columns)
    intercept = constant and not np.all(geometry.penalised)
    return intercept and privacy.definition != "pure"


def two_stage_releases(problem: Problem, privacy: Privacy) -> tuple[Release, ...]:
    """Sums, classes of length, moments, classes of residuals, and moments of residuals; all of the budget.

    Where means and standard deviations are known, the first sums are of the response alone, and there are no
    classes of length.
    """
    geometry, relation, mu = problem.geometry, privacy.relation, Target.of(privacy).ideal_mu

    def price(share: float) -> float:
        return mu * math.sqrt(share) / (1.0 + SAFETY)

    largest = dict.fromkeys(geometry.standardisable, (0.0, MOST_SHARE))
    usual = geometry.standardised(geometry.moments_at(largest), 1.0)
    sums, coordinates = number_sums(problem, privacy, response=True)
    look = price(MEASURED_SHARE * 0.5 * (1.0 - CLASSES_SHARE))
    measured = [
        Mapped(each.inner, of_response(problem, each.mapping))
        for each in number_looks(problem, privacy, look, response=True)
    ]

    def classes(count: int) -> ColumnSums:
        return replace(sums, missing=(), levels=(count + 1,), count_rows=relation == "add-remove")

    if _measures_lengths(problem):
        lengths = classes(len(GROWTH))
        edges = LengthClasses(tuple(length_edges(usual).tolist()), coordinates.constant)
        measured.append(Mapped(lengths.at_price(price(MEASURED_SHARE * CLASSES_SHARE), relation), edges))
    spent = MEASURED_SHARE * (1.0 if _measures_lengths(problem) else 1.0 - CLASSES_SHARE)
    span, bound = Span(usual.term_columns), _bound(problem)
    cuts = CUTS if bound is None else COUNT_CUTS
    sizes = classes(2 * len(cuts)).at_price(price(SIZES_SHARE), relation)
    fractions = tuple(cut / cuts[-1] for cut in cuts)
    begin = _moments(span, relation, price(FIRST_SHARE))
    spread = share_of_spread(problem, pure=False, residuals=True)
    left = 1.0 - spent - FIRST_SHARE - SIZES_SHARE - spread
    shares = (left,) if bound is None else (STEP_SHARE, left - STEP_SHARE)
    ends = [_moments(span, relation, price(share), RESIDUAL_SHARES) for share in shares]
    labels = ("second moments of residuals", "second moments of residuals at the second point")
    *steps, last = (Mapped(end, Residuals(label, bound)) for end, label in zip(ends, labels, strict=False))
    between = spread_releases(spread, ResidualNorms(Residuals(SPREAD, bound)), price(spread), relation)
    return (
        *measured,
        Mapped(begin, of_response(problem, Residuals("second moments of the response"))),
        Mapped(sizes, ResidualClasses(fractions, coordinates.constant, bound)),
        *steps,
        *between,
        last,
    )


def _measures_lengths(problem: Problem) -> bool:
    """Whether rows differ in length by more than is known."""
    return bool(problem.geometry.standardisable) and problem.moments is None


def _moments(
    span: Span, relation: Relation, price: float, shares: Mapping[str, float] = SHARES
) -> SecondMoments:
    unit = SecondMoments(span, "gaussian", 1.0, **part_weights(relation, shares))
    return replace(unit, scale=unit.sensitivity(relation) / price)


def of_response(problem: Problem, mapping: RowMapping) -> RowMapping:
    """The mapping as it reads responses before there is a point: counts as logarithms."""
    bound = _bound(problem)
    return mapping if bound is None else LogCounts(mapping, bound, problem.offset or (0.0, 0.0))


def _bound(problem: Problem) -> float | None:
    """Of counts; None for a response that is a number."""
    return problem.family.bound if isinstance(problem.family, Poisson) else None


def _measured(problem: Problem, plan: PricedReleases, ask: Ask) -> tuple[MeasuredScales, float, float, float]:
    """Scales of the rows, mean and standard deviation of the coded response, and the noise of the mean."""
    geometry, names = problem.geometry, problem.geometry.standardisable
    measured = MeasuredNumbers.of(plan, ask, response=True)
    rows, longer, lost = measured.rows, 1.0, None
    known = problem.moments
    moments = geometry.moments_at(measured.places(names)) if known is None else dict(known)
    if _measures_lengths(problem):
        classes = plan.of_kind(ColumnSums)[2]
        counts = ask(plan.releases[2], geometry.row_matrix(moments, 1.0).ravel())
        free = free_length(geometry, first_noise(plan), moments, rows)
        edge, lost = row_length(
            classes, counts, length_edges(geometry.standardised(moments, 1.0)), rows, free
        )
        longer = math.sqrt(edge)
    elif moments:
        longer = usual_length(problem, first_noise(plan), moments, None)
    natural = np.array([moments[name] for name in names]).reshape(-1, 2)
    scales = MeasuredScales(names, natural[:, 0], natural[:, 1], longer, lost, shortened=False)
    response = (measured.means[-1], measured.deviations[-1], measured.mean_noise[-1])
    mean, deviation, unsure = (2.0 * float(number) for number in response)
    return scales, mean, deviation, unsure


def first_noise(plan: PricedReleases) -> float:
    """Variance of the noise of the first X'y, in units of what a row with a coordinate of 1 adds."""
    first, *_ = plan.of_kind(SecondMoments)
    return (FIRST_CUT * first.cross_deviation) ** 2


@dataclass(frozen=True, eq=False)
class FirstStage:
    """What is released before there is a point."""

    scales: MeasuredScales
    geometry: Geometry  # of standardised rows
    matrix: FloatVector  # (p * p,), the map to them
    constant: TermColumns
    origin: FloatVector  # (p,), the mean of the coded response, as a coefficient of the constant
    unit: float  # beyond which the response less its mean was cut
    sums: MomentSums  # of the response less its mean, in that unit
    model: ScoreAndInformation  # their normal equations

    @classmethod
    def of(cls, problem: Problem, plan: PricedReleases, ask: Ask) -> FirstStage:
        """Ask for it."""
        scales, mean, deviation, unsure = _measured(problem, plan, ask)
        geometry = problem.geometry.standardised(scales.moments, scales.longer)
        matrix = problem.geometry.row_matrix(scales.moments, scales.longer).ravel()
        first, *more = plan.of_kind(SecondMoments)
        constant = next(term for term in geometry.term_columns if term.kind == "intercept")
        origin = np.zeros(first.size)
        origin[constant.start] = mean / constant.table[0, 0]
        unit = FIRST_CUT * deviation
        asked = np.concatenate([matrix, origin, [unit]])
        sums = MomentSums.of(ask(plan.releases[-2 - len(more) - problem.weighted], asked), first.size)
        model = normal_equations(sums, first, geometry.term_columns)
        # The mean is known, and the constant is what it is wrong by, and what a typical row is away from 0.
        level = np.full(1, (deviation + 2.0 * unsure) / unit / abs(constant.table[0, 0]))
        terms = tuple(
            replace(term, prior=np.minimum(term.prior, level)) if term.kind == "intercept" else term
            for term in model.term_columns
        )
        model = replace(model, term_columns=terms)
        return cls(scales, geometry, matrix, constant, origin, unit, sums, model)


def solve_in_two_stages(
    problem: Problem, plan: PricedReleases, ask: Ask
) -> tuple[ScoreAndInformation, float, Geometry, MeasuredScales]:
    """The linear model of the coded response on standardised rows, their number, coding, and scales."""
    stage = FirstStage.of(problem, plan, ask)
    first, second = plan.of_kind(SecondMoments)
    size, constant, origin, unit, model = first.size, stage.constant, stage.origin, stage.unit, stage.model
    # The mean is taken up by the constant, and is no part of what priors speak of.
    point = LinearModel(fitted_scales(LinearModel(replace(model, dispersion=0.0)))).mean
    deviation = unit * math.sqrt(residual_variance(stage.sums, first, point, model.dispersion))
    point = unit * point
    priors = tuple(replace(term, prior=unit * term.prior) for term in model.term_columns)

    at = np.concatenate([stage.matrix, origin + point])
    counts = ask(plan.releases[-2 - problem.weighted], np.append(at, CUTS[-1] * deviation))
    rows = rows_of(stage.sums, first)
    beyond = rows * ndtr(-np.array(CUTS))
    cut = Cut.of(plan.of_kind(ColumnSums)[-1], counts, second.cross_deviation, size, rows, (beyond, beyond))
    unit, taken = cut.place * deviation, cut.taken()
    spread = asked_spread(plan, ask, np.append(at, unit))
    residuals = MomentSums.of(ask(plan.releases[-1], np.append(at, unit)), size)
    weights = 1.0 / first.gram_deviation**2, 1.0 / second.gram_deviation**2
    information = np.average([stage.sums.gram, residuals.gram], axis=0, weights=weights)
    left, rows = residual_variance(residuals, second, np.zeros(size), 1.0), rows_of(residuals, second)
    typical = information[constant.start] / (constant.table[0, 0] * rows)  # the mean of the rows
    left += taken.squares / (cut.place**2 * rows)
    part = weighting(spread, left * float(np.trace(residuals.gram)))
    released = ScoreAndInformation(
        term_columns=priors,
        centre=point,
        score=unit * residuals.cross + deviation * taken.removed * typical,
        information=information,
        score_scale=math.hypot(unit * second.cross_deviation, deviation * taken.bias),
        information_scale=1.0 / math.sqrt(sum(weights)),
        dispersion=part * unit**2 * left,
        initial_variance=np.concatenate([term.prior**2 for term in priors]),
        third_derivative_bound=0.0,
        origin=origin,
        weighting=part,
        level_error=deviation * taken.error / (constant.table[0, 0] * rows),
    )
    return released, rows, stage.geometry, replace(stage.scales, residual_cut=unit)


def expected_in_two_stages(problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> Contrasts:
    """The coefficients in the linear model that releases make on average, where residuals are cut early."""
    first, second = plan.of_kind(SecondMoments)
    geometry, matrix = expected_geometry(problem, rows, first_noise(plan))
    found = matrix @ rows.information @ matrix.T
    scale = math.sqrt(rows.response_variance)
    # The mean is known, and the constant is what a typical row is away from it.
    latent = (replace(term, prior=scale / LATENT * term.prior) for term in geometry.term_columns)
    terms = at_level(latent, scale)
    noise, explained = FIRST_CUT * scale * first.cross_deviation, rows.explained * rows.response_variance
    away = products_of_regression(
        terms, found, noise, first.gram_deviation, rows.dispersion, rows.n * explained
    )
    model = expected_model(
        terms,
        found,
        products=away,
        score_scale=CUTS[0] * math.sqrt(rows.dispersion) * second.cross_deviation,
        information_scale=(first.gram_deviation**-2 + second.gram_deviation**-2) ** -0.5,
        dispersion=rows.dispersion,
        third_derivative_bound=0.0,
    )
    return Contrasts(model, geometry.user_from_coded)
