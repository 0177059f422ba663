"""No noise at all: what remains is the deterministic part of a release, up to the grid of its noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpglm.mechanisms.noise import NoiseSource


class Silence(NoiseSource):
    """Draws nothing."""

    private = True

    def bytes(self, count: int) -> bytes:
        raise AssertionError("silence draws nothing")

    def normal(self, size: int, *, scale: float) -> Any:
        return np.zeros(size)

    def k_norm(self, size: int, *, scale: float) -> Any:
        return np.zeros(size)

    def whole_k_norm(self, size: int) -> Any:
        return np.zeros(size, dtype=np.int64)

    def whole_normal(self, size: int) -> Any:
        return np.zeros(size, dtype=np.int64)

    def whole_laplace(self, size: int) -> Any:
        return np.zeros(size, dtype=np.int64)
