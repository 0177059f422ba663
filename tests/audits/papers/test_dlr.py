"""Output perturbation of the DLR paper (DLP): what is output moves further than its noise is set for.

The noise of its Algorithm 2 is right for the minimiser of the whole objective. What Algorithm 1 ends at
after K rounds of M gradient steps need not be near it. No noise is drawn: sensitivities are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from dpglm.typing import FloatMatrix

RIDGE, ROWS = 1.0, 20
PRINTED = 2.0 / (ROWS * RIDGE)


def iterates(parts: Sequence[FloatMatrix], *, c: float, step: float, inner: int, rounds: int) -> FloatMatrix:
    """Algorithm 1 on computers that are all neighbours, itself included: w of each, shape (J, p).

    Parameters
    ----------
    parts : sequence of ndarray, shape (n_j, p)
        Each computer's rows, times their responses of -1 or 1.
    """
    count, size = len(parts), parts[0].shape[1]
    whole = sum(len(own) for own in parts)
    w: FloatMatrix = np.zeros((count, size))
    V = np.zeros((count, count, size))
    for _ in range(rounds):
        Z = (c * w[None] - V).sum(axis=1) / (RIDGE / count + c * count)
        for j, own in enumerate(parts):
            for _ in range(inner):
                slope = -expit(-own @ w[j]) @ own / whole
                w[j] = w[j] - step * (slope + (c * (w[j] - Z) - V[:, j]).sum(axis=0))
        V += c * (Z[:, None] - w[None])
    return w


def moved(*, c: float, step: float, inner: int, rounds: int) -> float:
    """How far one of twenty rows moves the first computer's w, in printed sensitivities."""
    ends = []
    for changed in (1.0, -1.0):
        rows = np.ones((ROWS, 1))
        rows[0] = changed
        halves = np.split(rows, 2)
        ends.append(iterates(halves, c=c, step=step, inner=inner, rounds=rounds)[0])
    return float(np.linalg.norm(ends[0] - ends[1])) / PRINTED


def test_the_output_of_dlp_moves_further_than_its_noise_is_set_for() -> None:
    assert moved(c=0.001, step=2.0, inner=100, rounds=5) > 8.0


def test_near_the_minimiser_the_printed_sensitivity_of_dlp_holds() -> None:
    assert 0.1 < moved(c=1.0, step=0.2, inner=200, rounds=300) < 1.0
