"""DPSC as it was printed, whose privacy claim does not hold: for reproduction, NOT PRIVATE."""

from __future__ import annotations

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
class PrintedDPSC(Printed):
    """Algorithms 1 to 3 of the DPSC paper: one b for all iterations, ``inner`` gradient steps each.

    ``b`` has density proportional to exp(-|b| / scale) and enters the objective as c b'w, the loss averaged.
    Releases w of the last iteration, which is the printed output, and the sparse Z that follows from it,
    scaled coefficients, shape (2 p,).

    Parameters
    ----------
    c, alpha : float
        Augmentation, and size of a gradient step.
    inner : int
    """

    c: float = 1.0
    inner: int = 10
    alpha: float = 0.5

    name: ClassVar[str] = "printed DPSC"

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        average, c = self._average(rows), self.c
        b = noise.gamma_norm(rows.size, rate=1.0 / self.scale)
        w, V = np.zeros(rows.size), np.zeros(rows.size)
        for _ in range(self.rounds):
            Z = self._prox(w - V / c, c)
            for _ in range(self.inner):
                w = w - self.alpha * (average.gradient(w) - c * (Z - w + V / c) + c * b)
            V = V + c * (Z - w)
        return np.concatenate([w, self._prox(w - V / c, c)])


def printed_dpsc(
    problem: Problem, privacy: Privacy, *, rounds: int, c: float, inner: int, alpha: float
) -> PricedReleases:
    """Algorithms 1 to 3 of the DPSC paper at the printed price K (8 gamma + 2.8) / (4 c n).

    Raises
    ------
    MethodError
        A budget with a delta, or one for which the formula leaves no noise.
    """
    fields = printed_fields(problem, privacy, rounds, c)
    if privacy.delta != 0.0:
        raise MethodError(
            "paper_exact with a delta", expected="the printed setting, pure", remedy="Use privacy=1.0."
        )
    gamma = (4.0 * c * public_rows(problem, "dpsc") * privacy.epsilon / rounds - 2.8) / 8.0
    if not gamma > 0.0:
        raise MethodError(
            f"{rounds} iterations at c={c:g}: the printed formula has no noise for this epsilon",
            expected="a larger c, epsilon or number of rows, or fewer iterations",
            remedy="Use iterations=10.",
        )
    return unprotected(PrintedDPSC(**fields, scale=1.0 / gamma, c=c, inner=inner, alpha=alpha))
