"""mpADMM as it was printed, whose privacy claim does not hold: for reproduction, NOT PRIVATE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.noise import NoiseSource
from dpglm.methods.base import Problem
from dpglm.methods.iterated import public_rows
from dpglm.papers.reproduction import Printed, printed_fields, unprotected
from dpglm.privacy.budget import Privacy
from dpglm.typing import FloatVector


@dataclass(frozen=True, eq=False)
class PrintedMPADMM(Printed):
    """Algorithm 2 of the RADMM paper on all rows: noise of one scale on x, y and z after every step.

    Releases z of the last step before its noise, scaled coefficients, shape (p,).

    Parameters
    ----------
    eta, rho : float
    """

    eta: float = 1.0
    rho: float = 0.5

    name: ClassVar[str] = "printed mpADMM"

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        average, rho, inverse = self._average(rows), self.rho, 1.0 / self.eta
        x, y, z = np.zeros(rows.size), np.zeros(rows.size), np.zeros(rows.size)
        exact = z
        for _ in range(self.rounds):
            x = (inverse * x - average.gradient(x) - y + rho * z) / (rho + inverse)
            exact = self._prox(x + y / rho, rho)
            y = y + rho * (x - exact)
            x, y, z = (value + noise.normal(rows.size, scale=self.scale) for value in (x, y, exact))
        return exact


def printed_mpadmm(
    problem: Problem, privacy: Privacy, *, rounds: int, eta: float, rho: float
) -> PricedReleases:
    """Algorithm 2 of the RADMM paper, sensitivities (24) to (26), Theorem 3 and Proposition 1.

    Raises
    ------
    MethodError
        A pure budget.
    """
    fields = printed_fields(problem, privacy, rounds, rho)
    if privacy.delta == 0.0:
        raise MethodError(
            "paper_exact with a pure epsilon",
            expected="the printed setting, with a delta",
            remedy="Use privacy=(1.0, 1e-6).",
        )
    # The least over alpha of alpha S + log(1/delta) / (alpha - 1) is S + 2 sqrt(S log(1/delta)).
    log_delta = -math.log(privacy.delta)
    total = (math.sqrt(log_delta + privacy.epsilon) - math.sqrt(log_delta)) ** 2
    sensitivity = 2.0 / (public_rows(problem, "mpadmm") * (1.0 + eta * rho))
    scale = sensitivity * math.sqrt(rounds * (2.0 + rho**2) / (2.0 * total))
    return unprotected(PrintedMPADMM(**fields, scale=scale, eta=eta, rho=rho))
