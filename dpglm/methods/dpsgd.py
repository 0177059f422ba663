"""Proximal gradient descent with noisy gradients: DP-SGD, with a proximal step for the penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.methods.base import Estimate, methods
from dpglm.methods.gradients import Run
from dpglm.methods.ssadmm import SSADMM


@methods.register("dpsgd")
@dataclass(frozen=True)
class DPSGD(SSADMM):
    r""":math:`x^+ = \mathrm{prox}_{\eta h}(x - \eta \tilde g(x))`, averaged over the last half of the steps.

    The answer is the proximal step at the mean of the points before it.

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

    def iterate(self, run: Run) -> Estimate:
        x = np.zeros(run.size)
        mean, kept = np.zeros(run.size), 0
        for number in range(len(run)):
            step = run.step(number)
            point = x - run.steps(number) * run.gradient(number, x)
            penalty = run.penalty(1.0 / step)
            x = run.prox(penalty, point, 1.0 / step)
            if number >= len(run) // 2:
                mean, kept = mean + point, kept + 1
        penalty = run.penalty(1.0 / step)
        return run.finish(penalty, run.prox(penalty, mean / kept, 1.0 / step))
