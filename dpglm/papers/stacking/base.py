"""What both stacks are: models, what combines them, and why they cost what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dpglm.glm.penalties import Penalty
from dpglm.methods.base import Method
from dpglm.papers.stacking.budget_split import own_ridge
from dpglm.papers.stacking.stack import Combine


@dataclass(frozen=True)
class Stacking(Method):
    """What both stacks do with answers."""

    combine: Combine = "model"
    holdout: float = 0.5
    ridge: float | None = None

    coding: ClassVar[Literal["centred", "reference"]] = "centred"  # type: ignore[misc]

    def inside(self, penalty: Penalty, strength: object) -> Penalty:
        return own_ridge(penalty, strength)

    def edges(self, models: int) -> tuple[float, ...]:
        """Shares of the rows of models, and of those that the meta model reads, where there is one."""
        if self.combine != "model" or models == 1:
            return (0.0, 1.0)
        return (0.0, 1.0 - float(self.holdout), 1.0)
