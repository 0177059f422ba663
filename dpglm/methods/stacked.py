"""What stacks share: groups of columns, releases at a price, and the stack that comes of their answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties import Penalty
from dpglm.glm.penalties.l2 import L2
from dpglm.glm.penalties.none import NoPenalty
from dpglm.inference.stack import Combine, Stack
from dpglm.methods.base import Ask, Estimate, Geometry, Problem
from dpglm.methods.composable import composable
from dpglm.methods.grouping import loadings_of, terms_of
from dpglm.methods.iterated import gaussian_total, require_budget
from dpglm.methods.tilted import tolerance_at
from dpglm.privacy.accounting import SAFETY
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import free_ridge, gamma_rate
from dpglm.releases import BlockMinimisers, MetaMinimiser, OnPart, Part, PerturbedMinimiser, Release
from dpglm.releases.meta import LEFT
from dpglm.releases.minimiser import CENTRE, NEIGHBOURS
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector

# Share of epsilon (or of mu squared) that hides what the solver left over (Theorem A4).
BLUR_SHARE = 0.01
# Coded coefficients of a source may be this large: rounding in sums over rows stays below the tolerance.
FARTHEST = 1e3
# What may go inside the objective of a model, beside its ridge.
PENALTIES = ("none", "l1", "l2", "elastic_net")


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
        for block in geometry.blocks:
            free[block.columns] = block.kind == "intercept"
        return [~free[self.columns(place)] for place in range(len(self.names))]

    def columns(self, place: int) -> IntVector:
        """Coded columns of a group."""
        return np.flatnonzero(self.loadings[place])


@dataclass(frozen=True)
class Pricing:
    """What a minimiser may cost: a pure epsilon, or a mu.

    Parameters
    ----------
    privacy : Privacy
    mu : float or None
        Of all Gaussian releases that one row is in; None for a pure budget.
    """

    privacy: Privacy
    mu: float | None

    @classmethod
    def of(cls, problem: Problem, privacy: Privacy | None, name: str) -> Pricing:
        """The budget of a stack.

        Raises
        ------
        MethodError
            No budget, add-remove, or a family or penalty that stacks do not have.
        """
        privacy = require_budget(problem, privacy, name)
        if privacy.relation == "add-remove":
            raise MethodError(
                f"method={name!r} under add-remove",
                expected="replace-one: rows are dealt to parts by their place",
                remedy="Leave relation out.",
            )
        if problem.family.name != "binomial":
            raise MethodError(
                f"method={name!r} for family {problem.family.name!r}",
                expected="family='binomial', whose answers are probabilities",
                remedy="Use method='auto'.",
            )
        if problem.strength is not None and problem.penalty.name not in PENALTIES:
            raise MethodError(
                f"penalty {problem.penalty.name!r} with a strength in method={name!r}",
                expected="'l1', 'l2' or 'elastic_net', inside the objective of each model",
                remedy="Leave strength out: the models have the ridge that privacy needs.",
            )
        pure = privacy.delta == 0.0 and privacy.mu is None
        return cls(privacy, None if pure else gaussian_total(privacy, name))

    def share(self, part: float) -> Pricing:
        """That part of a pure epsilon."""
        assert self.mu is None, "Gaussian releases of groups are priced together"
        return replace(self, privacy=replace(self.privacy, epsilon=part * self.privacy.epsilon))

    def alone(
        self, problem: Problem, penalised: BoolVector, ridge: float | None, far: float = 0.0
    ) -> PerturbedMinimiser:
        """One minimiser for the whole price; ``far`` from zero lies what its ridge pulls to."""
        relation = self.privacy.relation
        if self.mu is not None:
            tilt, price = self.mu * math.sqrt(1.0 - BLUR_SHARE), self.mu * math.sqrt(BLUR_SHARE)
            ridge, found = composable(tilt, relation, ridge)
            return _minimiser(problem, penalised, "gaussian", ridge, found.scale, price, far)
        epsilon = self.privacy.epsilon * (1.0 - BLUR_SHARE) * (1.0 - SAFETY)
        ridge = free_ridge(epsilon, relation=relation) if ridge is None else ridge
        rate = gamma_rate(epsilon, ridge, relation=relation)
        price = self.privacy.epsilon * BLUR_SHARE * (1.0 - SAFETY)
        return _minimiser(problem, penalised, "gamma", ridge, 1.0 / rate, price, far)

    def together(
        self, problem: Problem, masks: Sequence[BoolVector], ridge: float | None, fars: Sequence[float]
    ) -> tuple[PerturbedMinimiser, ...]:
        """Gaussian minimisers on groups of columns that cost no more than one."""
        assert self.mu is not None, "a pure epsilon is dealt out to the groups"
        if len(masks) == 1:
            return (self.alone(problem, masks[0], ridge, fars[0]),)
        scale = NEIGHBOURS[self.privacy.relation] / (self.mu * math.sqrt(1.0 - BLUR_SHARE)) * (1.0 + SAFETY)
        least = 2.0 * scale**2 * (1.0 + SAFETY)
        if ridge is not None and ridge < least:
            raise MethodError(
                f"ridge={ridge:g} for models that are released together",
                expected=f"at least {least:.6g} at this budget",
                remedy="Leave ridge out.",
            )
        price = self.mu * math.sqrt(BLUR_SHARE / len(masks)) * (1.0 - SAFETY)
        own = least if ridge is None else ridge
        return tuple(
            _minimiser(problem, mask, "gaussian", own, scale, price, far)
            for mask, far in zip(masks, fars, strict=True)
        )


def _minimiser(
    problem: Problem, penalised: BoolVector, law: str, ridge: float, scale: float, price: float, far: float
) -> PerturbedMinimiser:
    size = len(penalised)
    tolerance = tolerance_at(scale if law == "gaussian" else scale * math.sqrt(size + 1.0), size, ridge)
    penalty: Penalty = NoPenalty()
    if problem.strength is not None:
        penalty = problem.penalty.with_strength(float(problem.strength))
    found = PerturbedMinimiser(
        family=problem.family,
        ridge=ridge,
        law="gaussian" if law == "gaussian" else "gamma",
        scale=scale,
        tolerance=max(tolerance, far / CENTRE),
        blur_scale=1.0,
        penalty=penalty,
        penalty_rows=None,
        mixing=np.eye(size),
        penalised=penalised,
    )
    if not found.reaches(np.array([far])):
        raise MethodError(
            f"a ridge of {ridge:g} times the source's coefficients, larger than double precision follows",
            expected="a smaller ridge: this one leaves the source as it is",
            remedy="Leave ridge out.",
        )
    return replace(found, blur_scale=found.blur_for(price))


def own_ridge(penalty: Penalty, strength: object) -> Penalty:
    """The penalty of models that have a ridge of their own and were given no strength."""
    return L2() if strength is None and penalty.strength is None else penalty


def whole_rows(problem: Problem) -> Grouping:
    """All columns as one group, whose typical row has norm 1."""
    terms = list(terms_of(problem.geometry))
    members = [terms] if terms else []
    loadings = loadings_of(problem.geometry, members, np.ones(len(members)), together=False)
    return Grouping(("all",), ((),), loadings)


def meta_release(pricing: Pricing, problem: Problem, models: int, weight: float) -> MetaMinimiser:
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
    for place, answer in enumerate(answers):
        columns = grouping.columns(place)
        coefficients[place, columns] = grouping.loadings[place, columns] * answer
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
    return Estimate(coded, estimates, estimates != 0.0, {}, stack=stack)


def pull(grouping: Grouping, coefficients: FloatMatrix) -> FloatVector:
    """Where ridges pull to: models of coded columns, shape (K, p), in the coordinates of loaded ones."""
    found = [
        coefficients[place, columns] / grouping.loadings[place, columns]
        for place in range(len(grouping.names))
        for columns in [grouping.columns(place)]
    ]
    return np.concatenate(found)


def answers_of(
    grouping: Grouping, releases: Sequence[Release], ask: Ask, centre: FloatVector | None = None
) -> list[FloatVector]:
    """Coefficients of each model, released together or one by one."""
    ends = np.cumsum([len(grouping.columns(place)) for place in range(len(grouping.names))])
    starts = [0, *ends.tolist()]
    if len(releases) == 1:
        return np.split(ask(releases[0], centre), ends[:-1])
    return [
        ask(release, None if centre is None else centre[starts[place] : starts[place + 1]])
        for place, release in enumerate(releases)
    ]


def distances(grouping: Grouping, source: FloatMatrix | None) -> list[float]:
    """How far from zero the models of a source lie, in loaded coordinates.

    Raises
    ------
    MethodError
        So far, or nowhere: rounding in a solver's certificate grows with it.
    """
    found = [0.0] * len(grouping.names)
    for place in range(len(found) if source is not None else 0):
        columns = grouping.columns(place)
        found[place] = math.hypot(*(source[place, columns] / grouping.loadings[place, columns]))  # type: ignore[index]
        require_near(found[place])
    return found


def require_near(far: float) -> None:
    """Refuse a source farther from zero than double precision follows, or one that is no number."""
    if not far <= FARTHEST:
        raise MethodError(
            "a source with coefficients that are too large to start from",
            expected=f"a norm of at most {FARTHEST:g} in coded columns",
            remedy="Fit the source with more ridge, or with bounds nearer to its values.",
        )


def joined(minimisers: tuple[PerturbedMinimiser, ...], grouping: Grouping) -> tuple[Release, ...]:
    """One release of several models that are priced together."""
    return (BlockMinimisers(minimisers, grouping.loadings),)
