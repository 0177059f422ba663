"""Perturbed minimisers at a price: a pure epsilon each, or a mu for one or for all groups together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties import Penalty
from dpglm.glm.penalties.elastic_net import L2, NoPenalty
from dpglm.mechanisms.noise import NoiseLaw
from dpglm.mechanisms.objective_perturbation import CENTRE, PerturbedMinimiser
from dpglm.methods.base import Method, Problem
from dpglm.methods.iterated import gaussian_total
from dpglm.methods.perturbed_objective import RESIDUAL_SHARE, gdp_ridge, require_near_offsets, tolerance_at
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import Calibration, Minimisers, Target, calibrate
from dpglm.privacy.gdp import SAFETY
from dpglm.privacy.theorems import free_ridge
from dpglm.typing import BoolVector

# What may go inside the objective of a model, beside its ridge.
PENALTIES = ("none", "l1", "l2", "elastic_net")


@dataclass(frozen=True)
class BudgetSplit:
    """What a minimiser may cost: a pure epsilon, or a mu."""

    privacy: Privacy
    mu: float | None  # of all Gaussian releases that one row is in; None for a pure budget

    @classmethod
    def of(cls, problem: Problem, privacy: Privacy | None, name: str) -> BudgetSplit:
        """The budget of a stack.

        Raises
        ------
        MethodError
            No budget, add-remove, or a family or penalty that stacks do not have.
        """
        privacy = problem.require_budget(privacy, name)
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

    def share(self, part: float) -> BudgetSplit:
        """That part of a pure epsilon."""
        assert self.mu is None, "Gaussian releases of groups are priced together"
        return replace(self, privacy=replace(self.privacy, epsilon=part * self.privacy.epsilon))

    def alone(
        self, problem: Problem, penalised: BoolVector, ridge: float | None, far: float = 0.0
    ) -> PerturbedMinimiser:
        """One minimiser for the whole price; ``far`` from zero lies what its ridge pulls to."""
        target = Target.of(self.privacy)
        if self.mu is not None:
            target = Target(self.privacy.relation, mu=self.mu)
        elif ridge is None:
            epsilon = self.privacy.epsilon * (1.0 - RESIDUAL_SHARE) * (1.0 - SAFETY)
            ridge = free_ridge(epsilon, relation=self.privacy.relation)
        ridge, scales = gdp_ridge(target, ridge)
        return _minimiser(problem, penalised, ridge, scales, far)

    def together(
        self, problem: Problem, masks: Sequence[BoolVector], ridge: float | None, fars: Sequence[float]
    ) -> tuple[PerturbedMinimiser, ...]:
        """Gaussian minimisers on groups of columns that cost no more than one."""
        assert self.mu is not None, "a pure epsilon is dealt out to the groups"
        if len(masks) == 1:
            return (self.alone(problem, masks[0], ridge, fars[0]),)
        target = Target(self.privacy.relation, mu=self.mu)
        scales = calibrate(Minimisers(None, residual_share=RESIDUAL_SHARE), target)
        least = scales.least_ridge
        if ridge is not None and ridge < least:
            raise MethodError(
                f"ridge={ridge:g} for models that are released together",
                expected=f"at least {least:.6g} at this budget",
                remedy="Leave ridge out.",
            )
        price = scales.residual_price / math.sqrt(len(masks)) * (1.0 - SAFETY)
        scales = replace(scales, residual_price=price)
        own = least if ridge is None else ridge
        groups = zip(masks, fars, strict=True)
        return tuple(_minimiser(problem, mask, own, scales, far) for mask, far in groups)


def _minimiser(
    problem: Problem, penalised: BoolVector, ridge: float, scales: Calibration, far: float
) -> PerturbedMinimiser:
    size = len(penalised)
    deviation = NoiseLaw(scales.law, scales.score_scale, size).deviation
    tolerance = tolerance_at(deviation, size, ridge)
    require_near_offsets(problem, tolerance)
    penalty: Penalty = NoPenalty()
    if problem.strength is not None:
        penalty = problem.penalty.with_strength(float(problem.strength))
    minimiser = PerturbedMinimiser(
        family=problem.family,
        ridge=ridge,
        law=scales.law,
        scale=scales.score_scale,
        tolerance=max(tolerance, far / CENTRE),
        residual_noise_scale=1.0,
        penalty=penalty,
        penalty_rows=None,
        mixing=np.eye(size),
        penalised=penalised,
    )
    if not minimiser.within_double_precision(np.array([far])):
        raise MethodError(
            f"a ridge of {ridge:g} times what it pulls to, larger than double precision follows",
            expected="a smaller ridge, or a larger budget: this one leaves its centre as it is",
            remedy="Leave ridge out; or use privacy=1.0.",
        )
    return replace(minimiser, residual_noise_scale=minimiser.residual_noise_for(scales.residual_price))


class RidgeModels(Method):
    """A method whose models have a ridge of their own, whatever penalty stands in the specification."""

    tunable: ClassVar[bool] = False

    def inside(self, penalty: Penalty, strength: object) -> Penalty:
        return L2() if strength is None and penalty.strength is None else penalty
