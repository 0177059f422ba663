"""What both stacks are: from groups of columns to releases, and from answers to a stack."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.inference.expectation import EstimateNoise, ExpectedRows
from dpglm.mechanisms.base import Release
from dpglm.methods.base import Estimate, Geometry, Problem, require_positive
from dpglm.papers.stacking.budget_split import BudgetSplit, RidgeModels
from dpglm.papers.stacking.grouping import loadings_of, terms_of
from dpglm.papers.stacking.meta_minimiser import LEFT, MetaMinimiser
from dpglm.papers.stacking.parts import OnPart, Part
from dpglm.papers.stacking.stack import Combine, Stack
from dpglm.papers.stacking.submodel_minimisers import SubmodelMinimisers
from dpglm.privacy.budget import Privacy
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

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
        return [~free[own > 0.0] for own in self.loadings]

    def loaded(self, coefficients: FloatMatrix) -> list[FloatVector]:
        """Models of coded columns, shape (K, p), in the coordinates of each group's loaded columns."""
        models = zip(coefficients, self.loadings, strict=True)
        return [model[own > 0.0] / own[own > 0.0] for model, own in models]

    def coded(self, answers: Sequence[FloatVector]) -> FloatMatrix:
        """The inverse of `loaded`, zero where a group reads nothing, shape (K, p)."""
        coefficients = np.zeros_like(self.loadings)
        for group, answer in enumerate(answers):
            columns = self.loadings[group] > 0.0
            coefficients[group, columns] = self.loadings[group, columns] * answer
        return coefficients


def whole_rows(problem: Problem, models: int = 1) -> Grouping:
    """All columns as the group of each model, with a typical row of norm 1."""
    terms = list(terms_of(problem.geometry))
    loadings = loadings_of(problem.geometry, [terms], np.ones(1), together=False)
    names = tuple(f"part {model + 1}" for model in range(models))
    return Grouping(names, ((),) * models, np.repeat(loadings, models, axis=0))


def distances(centres: Sequence[FloatVector]) -> list[float]:
    """How far from zero the models of a source lie, in loaded coordinates.

    Raises
    ------
    MethodError
        So far, or nowhere: rounding in a solver's certificate grows with it.
    """
    norms = [math.hypot(*centre) for centre in centres]
    if not all(norm <= FARTHEST for norm in norms):  # or no number
        raise MethodError(
            "a source with coefficients that are too large to start from",
            expected=f"a norm of at most {FARTHEST:g} in coded columns",
            remedy="Fit the source with more ridge, or with bounds nearer to its values.",
        )
    return norms


def linear_estimate(
    problem: Problem, coded: FloatVector, constant: float = 0.0, stack: Stack | None = None
) -> Estimate:
    """Coefficients of the log odds, to first order where there is a stack."""
    geometry = problem.geometry
    estimates = np.asarray(geometry.user_from_coded, dtype=np.float64) @ coded
    estimates[~np.asarray(geometry.penalised)] += constant
    coded = np.asarray(geometry.coded_from_user, dtype=np.float64) @ estimates
    return Estimate(coded, estimates, estimates != 0.0, part=stack)


@dataclass(frozen=True)
class Stacking(RidgeModels):
    """What both stacks do with answers."""

    combine: Combine = "model"
    holdout: float = 0.5
    ridge: float | None = None

    def budget(self, problem: Problem, privacy: Privacy | None) -> BudgetSplit:
        """The budget, once the options that all stacks have are good.

        Raises
        ------
        MethodError
            As `BudgetSplit.of`; another way to combine, or a share of held-out rows or a ridge out of range.
        """
        split = BudgetSplit.of(problem, privacy, self.name)
        if self.combine not in get_args(Combine):
            raise MethodError(
                "combine",
                expected=", ".join(map(repr, get_args(Combine))),
                remedy="Leave it out for a meta model.",
            )
        number = isinstance(self.holdout, int | float) and not isinstance(self.holdout, bool)
        if not (number and 0.05 <= self.holdout <= 0.95):
            raise MethodError(
                "holdout out of range", expected="a share from 0.05 to 0.95", remedy="Leave it out: 0.5."
            )
        require_positive(self.ridge, "ridge")
        return split

    def dealt(
        self,
        split: BudgetSplit,
        problem: Problem,
        releases: Sequence[Release],
        *,
        models: int,
        parts: int,
        weight: float,
    ) -> tuple[Release, ...]:
        """Releases of models, each on the next of ``parts`` of the rows; the meta model on rows of its own.

        The meta model has the whole price: its rows are not those of the models. Its ridge pulls to
        ``weight`` for every model: 2 sqrt(K) adds up the log odds of all models, as if groups of columns were
        independent; 2 / sqrt(K) takes their mean. Where rows say little, noise would decide the sign of
        weights that are pulled to zero.
        """
        combined = self.combine == "model" and models > 1
        low = 1.0 - float(self.holdout) if combined else 1.0
        edges = (*(low * part / parts for part in range(parts)), low, *([1.0] if combined else []))
        if len(edges) == 2:
            return tuple(releases)
        on_parts = [OnPart(release, Part(edges, place % parts)) for place, release in enumerate(releases)]
        if combined:
            mask, far = np.arange(models + 1) > 0, weight / LEFT * math.sqrt(models)
            meta = MetaMinimiser(split.alone(replace(problem, strength=None), mask, None, far), weight)
            on_parts.append(OnPart(meta, Part(edges, parts)))
        return tuple(on_parts)

    def stacked(
        self,
        problem: Problem,
        grouping: Grouping,
        answers: Sequence[FloatVector],
        votes: FloatVector,
        meta: Callable[[FloatVector], FloatVector],
    ) -> Estimate:
        """The estimate of a stack whose models answered with coefficients on their loaded columns.

        ``votes``, shape (K,), are public weights. ``meta`` releases the model of answers at the coefficients
        of all models, shape (K * p,).
        """
        coefficients = grouping.coded(answers)
        if len(answers) == 1:  # nothing to combine
            return linear_estimate(problem, coefficients[0])
        if self.combine == "model":
            weights = MetaMinimiser.weights(meta(coefficients.ravel()))
        else:
            weights = np.ones(len(answers)) if self.combine == "majority" else votes
        stack = Stack(grouping.names, grouping.terms, coefficients, self.combine, weights)
        constant = weights[0] if self.combine == "model" else 0.0
        return linear_estimate(problem, stack.linear(), constant, stack)

    def expected(self, problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> EstimateNoise:
        """Of the linear approximation, where the meta model stays at what its ridge pulls to."""
        noises = []
        for release in plan.releases:
            inner, share = release, 1.0
            if isinstance(release, OnPart):
                inner, share = release.inner, release.part.share
            if isinstance(inner, SubmodelMinimisers):
                noises.append(inner.expected_noise(replace(rows, information=share * rows.information)))
        sampling = sum(noise.sampling for noise in noises)
        return EstimateNoise(np.asarray(sampling), np.asarray(sum(noise.noise for noise in noises)))
