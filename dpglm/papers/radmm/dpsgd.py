"""Proximal gradient descent with noisy gradients: DP-SGD, with a proximal step for the penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.methods.base import Estimate, methods
from dpglm.papers.radmm.descent import Run
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

    def iterate(self, run: Run) -> Estimate:
        x = np.zeros(run.size)
        mean = np.zeros(run.size)
        for number in range(len(run)):
            step = run.step(number)
            point = x - run.steps(number) * run.gradient(number, x)
            penalty = run.penalty(1.0 / step)
            x = run.prox(penalty, point, 1.0 / step)
            mean += run.weight(number) * point
        penalty = run.penalty(1.0 / step)
        return run.finish(penalty, run.prox(penalty, mean, 1.0 / step))
