"""Proximal gradient descent with noisy gradients: DP-SGD, with a proximal step for the penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.methods.base import Estimate, methods
from dpglm.papers.radmm.gradient_descent import DescentState
from dpglm.papers.radmm.ssadmm import SSADMM


@methods.register("dpsgd")
@dataclass(frozen=True)
class DPSGD(SSADMM):
    r""":math:`x^+ = \mathrm{prox}_{\eta h}(x - \eta \tilde g(x))`, averaged.

    The answer is the proximal step at the mean, over the last three quarters of the steps, of the points
    before it.

    Parameters
    ----------
    steps, eta, schedule, clip, coding, sampling, rate
        As in `SSADMM`. There is no multiplier and no ``rho``.

    References
    ----------
    Abadi et al. (2016), "Deep learning with differential privacy", CCS, for noisy clipped gradients.

    Examples
    --------
    >>> DPSGD(eta=2.0).name
    'dpsgd'
    """

    name: ClassVar[str] = "dpsgd"
    algorithm: ClassVar[str] = "proximal gradient descent with noisy gradients"

    def iterate(self, state: DescentState) -> Estimate:
        x = np.zeros(state.size)
        mean = np.zeros(state.size)
        for number in range(len(state)):
            step = state.step(number)
            point = x - state.steps(number) * state.gradient(number, x)
            penalty = state.penalty(1.0 / step)
            x = state.prox(penalty, point, 1.0 / step)
            mean += state.weight(number) * point
        penalty = state.penalty(1.0 / step)
        return state.finish(penalty, state.prox(penalty, mean, 1.0 / step))
