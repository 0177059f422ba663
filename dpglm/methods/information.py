"""What is released at a perturbed minimiser: information, a score beside it, and how much the score varies.

Without weights the variance of a score is the information, times the dispersion; of counts it may be many
times that. With shares s <= 1 it is the sum of s^2 times what one row adds, the information that of s: at
most as much. The ratio is released where standard errors are paid for, and no variance of residuals is.
"""

from __future__ import annotations

import math
from typing import Final, Literal

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.inference.expectation import ExpectedRows
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.either import choosing
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.mapped import RowMapping
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.score_norms import SPREAD, spread_of_score
from dpglm.mechanisms.span import Span
from dpglm.methods.base import Ask, Problem
from dpglm.privacy.budget import STEPS, Privacy, Relation
from dpglm.privacy.calibration import Calibration
from dpglm.typing import FloatVector

# Of mu squared, or of a pure epsilon.
SPREAD_SHARE: Final = 0.02
SPREAD_SHARE_PURE: Final = 0.04
# No shares of a whole table make the score vary less.
LEAST: Final = 2.0**-12
_UNIT: Final = Calibration(1.0, information_scale=1.0)


def information_release(problem: Problem, privacy: Privacy, scales: Calibration = _UNIT) -> Information:
    """The second release of the plan: of a logistic loss, and with Gaussian noise, a score is beside it."""
    weight = problem.family.score_weight / math.sqrt(STEPS[privacy.relation])
    weight *= releases_score(problem, privacy)
    span = Span(problem.geometry.term_columns)
    return Information(problem.family, scales.information_scale, scales.law, span, score_weight=weight)


def releases_score(problem: Problem, privacy: Privacy) -> bool:
    """Whether the score is released beside the information: pure noise grows with what is released."""
    return problem.family.score_weight > 0.0 and privacy.definition != "pure"


def released_by(
    problem: Problem, plan: PricedReleases, ask: Ask, before: FloatVector | None = None, place: int = 0
) -> ScoreAndInformation:
    """Ask for both releases, the last ones of the plan; ``before`` stands before the points they are at.

    ``place`` is that of their loss among those of the plan.
    """
    (minimiser,) = plan.of_kind(PerturbedMinimiser, place)
    *spreads, information = plan.of_kind(Information, place)
    first, last = plan.releases[-2 - len(spreads)], plan.releases[-1]
    centre = ask(first, choosing(first, before, place))
    at = centre if before is None else np.concatenate([before, centre])
    size, ridge = len(centre), minimiser.ridges
    # Where rows are read as they are, their map is none.
    spread = asked_spread(plan, ask, np.concatenate([np.eye(size).ravel(), at]) if before is None else at)
    answer = ask(last, choosing(last, at, place))
    found = answer[: size * size].reshape(size, size)
    share, score_scale = information.pooled(minimiser.deviation)
    score = ridge * centre
    if share:
        score += share * (-answer[size * size :] / information.score_weight - score)
    usual = minimiser.family.dispersion * float(np.trace(found))
    part = weighting(spread, usual) if problem.weighted else 1.0
    times = variance_of_score(spread, usual) if problem.family.response_kind == "count" else part
    return ScoreAndInformation(
        term_columns=problem.geometry.term_columns,
        centre=centre,
        score=score,
        information=found,
        score_scale=score_scale,
        information_scale=information.deviation,
        dispersion=times * minimiser.family.dispersion,
        initial_variance=minimiser.deviation**2 / ridge**2,
        third_derivative_bound=problem.family.third_derivative_bound,
        logistic=problem.family.link == "logit" and not problem.offset,
        weighting=part,
        ridge=ridge if share else None,
    )


def share_of_spread(problem: Problem, *, pure: bool, residuals: bool = False) -> float:
    """Of the budget; nothing without weights, but for counts whose ``residuals`` are not measured either."""
    if not problem.weighted and (residuals or problem.family.response_kind != "count"):
        return 0.0
    return SPREAD_SHARE_PURE if pure else SPREAD_SHARE


def spread_releases(
    share: float,
    mapping: RowMapping,
    price: float,
    relation: Relation,
    law: Literal["gaussian", "gamma"] = "gaussian",
) -> tuple[Release, ...]:
    """The release, where a share of the budget goes to it; it stands before the last one of a plan."""
    return (spread_of_score(mapping, price, relation, law),) if share else ()


def asked_spread(plan: PricedReleases, ask: Ask, at: FloatVector) -> tuple[float, float] | None:
    """The sum of squared shares times squared scores, and its noise; None where it is not planned."""
    if len(plan.releases) < 2 or plan.releases[-2].name != SPREAD:
        return None
    first, *_ = plan.of_kind(Information)
    return float(ask(plan.releases[-2], at)[0]), first.deviation


def weighting(spread: tuple[float, float] | None, information: float) -> float:
    """Variance of the weighted score per unit of its information, in traces, one deviation of noise up.

    At most 1, which no shares exceed; 1 where no spread was released.

    Examples
    --------
    >>> weighting((30.0, 10.0), 100.0), weighting((-30.0, 200.0), 100.0), weighting(None, 100.0)
    (0.4, 1.0, 1.0)
    """
    return min(variance_of_score(spread, information), 1.0)


def variance_of_score(spread: tuple[float, float] | None, information: float) -> float:
    """The same without a limit, of counts: they may vary by many times their mean.

    Examples
    --------
    >>> variance_of_score((600.0, 20.0), 100.0)
    6.2
    """
    if spread is None or not information > 0.0:
        return 1.0
    found, noise = spread
    return max((max(found, 0.0) + noise) / information, LEAST)


def expected_variance(
    problem: Problem, plan: PricedReleases, rows: ExpectedRows, information: float
) -> float:
    """What `variance_of_score` is expected to be of counts, and 1 of anything else.

    ``information`` is the trace of the expected one of the rows as they are read.
    """
    if problem.family.response_kind != "count":
        return 1.0
    (first, *_), usual = plan.of_kind(Information), rows.dispersion * information
    return rows.overdispersion + (first.deviation / usual if usual > 0.0 else math.inf)
