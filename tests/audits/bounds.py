"""Lower bounds on delta from draws, for tables of one block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from dpglm.noise import SeededNoise
from dpglm.optim.rows import Block
from dpglm.releases import Release
from dpglm.typing import FloatVector

# Every bound holds with probability 1 - FAILURE over the draws.
FAILURE = 1e-4
DRAWS = 30_000


class OneBlock:
    """A table of given rows."""

    def __init__(self, block: Block) -> None:
        self._block, self.size = block, len(block.X)

    def blocks(self) -> list[Block]:
        return [self._block]

    def row_count(self) -> int:
        return len(self._block.y)


def draws(
    release: Release, block: Block, seed: int, at: FloatVector | None = None, count: int = DRAWS
) -> NDArray[np.float64]:
    """Outputs of the release as the code draws them, shape (count, m)."""
    noise, rows = SeededNoise(seed), OneBlock(block)
    return np.array([release.run(rows, at, noise) for _ in range(count)])


def lower_bound(
    first: NDArray[np.float64], second: NDArray[np.float64], lines: NDArray[np.float64], epsilon: float
) -> float:
    """A lower bound on delta at epsilon from draws of a statistic on two neighbouring tables.

    Half-lines fixed beforehand, both sides and directions; Clopper-Pearson, split over all of them.
    """
    level = FAILURE / (2 * 2 * 2 * len(lines))
    best = 0.0
    for one, other in ((first, second), (second, first)):
        for line in lines:
            for side in (1.0, -1.0):
                often, seldom = int((side * one < side * line).sum()), int((side * other < side * line).sum())
                low = beta.ppf(level, often, len(one) - often + 1) if often else 0.0
                high = beta.ppf(1 - level, seldom + 1, len(other) - seldom) if seldom < len(other) else 1.0
                best = max(best, low - np.exp(epsilon) * high)
    return float(best)
