"""What both stacks are: from groups of columns to releases, and from answers to a stack."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.glm.penalties import Penalty
from dpglm.inference.expectation import EstimateNoise, ExpectedRows
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Ask, Estimate, Geometry, Method, Problem
from dpglm.papers.stacking.budget_split import BudgetSplit, own_ridge
from dpglm.papers.stacking.grouping import loadings_of, terms_of
from dpglm.papers.stacking.meta_minimiser import LEFT, MetaMinimiser
from dpglm.papers.stacking.parts import OnPart, Part
from dpglm.papers.stacking.stack import Combine, Stack
from dpglm.papers.stacking.submodel_minimisers import SubmodelMinimisers
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector

# Coded coefficients of a source may be this large: rounding in sums over rows stays below the tolerance.
FARTHEST = 1e3


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of columns of one table.

    Parameters
    ----------
    names : tuple of str
    terms : tuple of tuple of str
        What each reads, for people; empty for everything.
    loadings : ndarray, shape (K, p)
        Factors of the coded columns, 0 for those that a group does not read.
    """

    names: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]
    loadings: FloatMatrix

    def masks(self, geometry: Geometry) -> list[BoolVector]:
        """Which of the columns of each group a penalty may touch: all but the intercept."""
        free = np.zeros(self.loadings.shape[1], dtype=np.bool_)
        for block in geometry.term_columns:
            free[block.columns] = block.kind == "intercept"
        return [~free[self.columns(group)] for group in range(len(self.names))]

    def columns(self, group: int) -> IntVector:
        """Coded columns of a group."""
        return np.flatnonzero(self.loadings[group])


def whole_rows(problem: Problem) -> Grouping:
    """All columns as one group, whose typical row has norm 1."""
    terms = list(terms_of(problem.geometry))
    loadings = loadings_of(problem.geometry, [terms], np.ones(1), together=False)
    return Grouping(("all",), ((),), loadings)


def meta_release(pricing: BudgetSplit, problem: Problem, models: int, weight: float) -> MetaMinimiser:
    """The model of answers, for the whole price: its rows are not those of the models.

    Its ridge pulls to ``weight`` for every model: 2 sqrt(K) adds up the log odds of all models, as if groups
    of columns were independent; 2 / sqrt(K) takes their mean. Where rows say little, noise would decide the
    sign of weights that are pulled to zero.
    """
    plain = replace(problem, strength=None)
    mask = np.arange(models + 1) > 0
    far = weight / LEFT * math.sqrt(models)
    return MetaMinimiser(pricing.alone(plain, mask, None, far), weight)


def require_combine(combine: object, holdout: object) -> None:
    """Refuse another way to combine, or a share of held-out rows that is none."""
    if combine not in get_args(Combine):
        raise MethodError(
            "combine",
            expected=", ".join(map(repr, get_args(Combine))),
            remedy="Leave it out for a meta model.",
        )
    if isinstance(holdout, bool) or not isinstance(holdout, int | float) or not 0.05 <= holdout <= 0.95:
        raise MethodError(
            "holdout out of range", expected="a share from 0.05 to 0.95", remedy="Leave it out: 0.5."
        )


def dealt(
    releases: Sequence[Release], edges: tuple[float, ...], places: Sequence[int]
) -> tuple[Release, ...]:
    """Each release on its part of the rows."""
    return tuple(OnPart(release, Part(edges, place)) for release, place in zip(releases, places, strict=True))


def stacked(
    problem: Problem,
    grouping: Grouping,
    answers: Sequence[FloatVector],
    combine: Combine,
    votes: FloatVector,
    meta: Callable[[FloatVector], FloatVector],
) -> Estimate:
    """The estimate of a stack.

    Parameters
    ----------
    problem : Problem
    grouping : Grouping
    answers : sequence of ndarray
        Coefficients of each model on its loaded columns.
    combine : {"model", "majority", "weighted"}
    votes : ndarray, shape (K,)
        Public weights of votes.
    meta : callable
        Releases the model of answers at the coefficients of all models, shape (K * p,).
    """
    coefficients = np.zeros_like(grouping.loadings)
    for group, answer in enumerate(answers):
        columns = grouping.columns(group)
        coefficients[group, columns] = grouping.loadings[group, columns] * answer
    if len(answers) == 1:  # nothing to combine
        return _linear(problem, coefficients[0], 0.0, None)
    if combine == "model":
        weights = MetaMinimiser.weights(meta(coefficients.ravel()))
    else:
        weights = np.ones(len(answers)) if combine == "majority" else votes
    stack = Stack(grouping.names, grouping.terms, coefficients, combine, weights)
    return _linear(problem, stack.linear(), weights[0] if combine == "model" else 0.0, stack)


def _linear(problem: Problem, coded: FloatVector, constant: float, stack: Stack | None) -> Estimate:
    """Coefficients of the log odds, to first order where there is a stack."""
    geometry = problem.geometry
    estimates = np.asarray(geometry.user_from_coded, dtype=np.float64) @ coded
    estimates[~np.asarray(geometry.penalised)] += constant
    coded = np.asarray(geometry.coded_from_user, dtype=np.float64) @ estimates
    return Estimate(coded, estimates, estimates != 0.0, part=stack)


def pull(grouping: Grouping, coefficients: FloatMatrix) -> FloatVector:
    """Where ridges pull to: models of coded columns, shape (K, p), in the coordinates of loaded ones."""
    centres = [
        coefficients[group, columns] / grouping.loadings[group, columns]
        for group in range(len(grouping.names))
        for columns in [grouping.columns(group)]
    ]
    return np.concatenate(centres)


def answers_of(
    grouping: Grouping, releases: Sequence[Release], ask: Ask, centre: FloatVector | None = None
) -> list[FloatVector]:
    """Coefficients of each model, released together or one by one."""
    ends = np.cumsum([len(grouping.columns(group)) for group in range(len(grouping.names))])
    starts = [0, *ends.tolist()]
    if len(releases) == 1:
        return np.split(ask(releases[0], centre), ends[:-1])
    return [
        ask(release, None if centre is None else centre[starts[group] : starts[group + 1]])
        for group, release in enumerate(releases)
    ]


def distances(grouping: Grouping, source: FloatMatrix | None) -> list[float]:
    """How far from zero the models of a source lie, in loaded coordinates.

    Raises
    ------
    MethodError
        So far, or nowhere: rounding in a solver's certificate grows with it.
    """
    norms = [0.0] * len(grouping.names)
    for group in range(len(norms) if source is not None else 0):
        columns = grouping.columns(group)
        norms[group] = math.hypot(*(source[group, columns] / grouping.loadings[group, columns]))  # type: ignore[index]
        if not norms[group] <= FARTHEST:  # or no number
            raise MethodError(
                "a source with coefficients that are too large to start from",
                expected=f"a norm of at most {FARTHEST:g} in coded columns",
                remedy="Fit the source with more ridge, or with bounds nearer to its values.",
            )
    return norms


def joined(minimisers: tuple[PerturbedMinimiser, ...], grouping: Grouping) -> tuple[Release, ...]:
    """One release of several models that are priced together."""
    return (SubmodelMinimisers(minimisers, grouping.loadings),)


@dataclass(frozen=True)
class Stacking(Method):
    """What both stacks do with answers."""

    combine: Combine = "model"
    holdout: float = 0.5
    ridge: float | None = None

    coding: ClassVar[Literal["centred", "reference"]] = "centred"  # type: ignore[misc]

    def inside(self, penalty: Penalty, strength: object) -> Penalty:
        return own_ridge(penalty, strength)

    def expected(self, problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> EstimateNoise:
        """Of the linear approximation, where the meta model stays at what its ridge pulls to."""
        parts = [release.part.share for release in plan.of_kind(OnPart)]
        inner = [release.inner for release in plan.of_kind(OnPart)] or list(plan.releases)
        submodels = [
            submodel.expected_noise(replace(rows, information=share * rows.information))
            for submodel, share in zip(inner, parts or [1.0] * len(inner), strict=True)
            if isinstance(submodel, SubmodelMinimisers)
        ]
        sampling = sum(submodel.sampling for submodel in submodels)
        noise = sum(submodel.noise for submodel in submodels)
        return EstimateNoise(np.asarray(sampling), np.asarray(noise)).scaled(self.weight_of_each(problem))

    def weight_of_each(self, problem: Problem) -> float:
        """Of a submodel's coefficients in the linear approximation: models of groups of columns add up."""
        return 1.0

    def edges(self, models: int) -> tuple[float, ...]:
        """Shares of the rows of models, and of those that the meta model reads, where there is one."""
        if self.combine != "model" or models == 1:
            return (0.0, 1.0)
        return (0.0, 1.0 - float(self.holdout), 1.0)
