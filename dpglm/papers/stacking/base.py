"""What both stacks are: models, what combines them, and why they cost what they cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpglm.curator.priced_releases import PricedReleases
from dpglm.glm.penalties import Penalty
from dpglm.inference.expectation import EstimateNoise, ExpectedRows
from dpglm.methods.base import Method, Problem
from dpglm.papers.stacking.budget_split import own_ridge
from dpglm.papers.stacking.parts import OnPart
from dpglm.papers.stacking.stack import Combine
from dpglm.papers.stacking.submodel_minimisers import SubmodelMinimisers


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
