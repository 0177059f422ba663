"""AdaSSP: the reference that linear regression from noisy moments is compared with.

Wang (2018), "Revisiting differentially private linear regression: optimal and adaptive prediction &
estimation in unbounded domain", UAI, Algorithm 2. A third of the budget each goes to the smallest eigenvalue
of X'X, to X'X and to X'y; the ridge is what the noise of X'X needs where that eigenvalue is small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

RHO = 0.05


def adassp(
    gram: Any, cross: Any, *, bound: float, epsilon: float, delta: float, rng: np.random.Generator
) -> Any:
    """The algorithm as printed: add-remove, |x|^2 <= bound, |y| <= 1."""
    part = epsilon / 3.0
    return _solved(
        gram, cross, bound, np.sqrt(np.log(6.0 / delta)) / part, np.log(6.0 / delta) / part, 1.0, rng
    )


def adassp_exact(
    gram: Any, cross: Any, *, bound: float, mu: float, delta: float, rng: np.random.Generator
) -> Any:
    """The same with the exact privacy of Gaussian noise, a third of mu squared each: less noise."""
    scale = np.sqrt(3.0) / mu
    return _solved(gram, cross, bound, scale, scale * np.sqrt(2.0 * np.log(6.0 / delta)), 0.5, rng)


def _solved(
    gram: Any,
    cross: Any,
    bound: float,
    scale: float,
    below: float,
    off_diagonal: float,
    rng: np.random.Generator,
) -> Any:
    size = len(cross)
    least = max(float(np.linalg.eigvalsh(gram)[0]), 0.0)
    least = max(least + scale * bound * rng.normal() - below * bound, 0.0)
    ridge = max(0.0, np.sqrt(size * np.log(2.0 * size**2 / RHO)) * scale * bound - least)
    noise = rng.normal(size=(size, size))
    upper = np.triu(noise, 1) * np.sqrt(off_diagonal)
    symmetric = scale * bound * (upper + upper.T + np.diag(np.diag(noise)))
    right = cross + scale * np.sqrt(bound) * rng.normal(size=size)
    return np.linalg.solve(gram + symmetric + ridge * np.eye(size), right)
