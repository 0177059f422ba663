"""Plans of algorithms as they were printed, whose claims do not hold: for reproduction, NOT PRIVATE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpglm.curator.priced_releases import PricedReleases
from dpglm.errors import MethodError
from dpglm.inference.scaling import Scaling
from dpglm.methods.base import Problem
from dpglm.methods.iterated import public_rows
from dpglm.papers.printed import PrintedDPSC, PrintedMPADMM
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee

REASON = "reproduction of a printed algorithm whose privacy claim does not hold"


@dataclass(frozen=True)
class Reproduction:
    """What the printed algorithms are given.

    Parameters
    ----------
    problem : Problem
        With a strength per row.
    privacy : Privacy
        The printed claim.
    rounds : int

    Raises
    ------
    MethodError
        No strength, or another relation than the printed one.
    """

    problem: Problem
    privacy: Privacy
    rounds: int

    def __post_init__(self) -> None:
        if self.privacy.relation != "replace-one":
            raise MethodError(
                "paper_exact under add-remove",
                expected="the printed setting, replace-one",
                remedy="Use relation='replace-one'.",
            )
        if self.problem.strength is None:
            raise MethodError(
                "paper_exact without a strength",
                expected="a strength per row: the papers take it from a fit without noise",
                remedy="Use strength=0.01, say.",
            )

    def dpsc(self, c: float, inner: int, alpha: float) -> PricedReleases:
        """Algorithms 1 to 3 of the DPSC paper at the printed price K (8 gamma + 2.8) / (4 c n).

        Raises
        ------
        MethodError
            A budget with a delta, or one for which the formula leaves no noise.
        """
        if self.privacy.delta != 0.0:
            raise MethodError(
                "paper_exact with a delta", expected="the printed setting, pure", remedy="Use privacy=1.0."
            )
        rows = public_rows(self.problem, "dpsc")
        gamma = (4.0 * c * rows * self.privacy.epsilon / self.rounds - 2.8) / 8.0
        if not gamma > 0.0:
            raise MethodError(
                f"{self.rounds} iterations at c={c:g}: the printed formula has no noise for this epsilon",
                expected="a larger c, epsilon or number of rows, or fewer iterations",
                remedy="Use iterations=10.",
            )
        release = PrintedDPSC(**self._common(c), scale=1.0 / gamma, c=c, inner=inner, alpha=alpha)
        return PricedReleases((release,), Guarantee.none(REASON), None)

    def mpadmm(self, eta: float, rho: float) -> PricedReleases:
        """Algorithm 2 of the RADMM paper, sensitivities (24) to (26), Theorem 3 and Proposition 1.

        Raises
        ------
        MethodError
            A pure budget.
        """
        if self.privacy.delta == 0.0:
            raise MethodError(
                "paper_exact with a pure epsilon",
                expected="the printed setting, with a delta",
                remedy="Use privacy=(1.0, 1e-6).",
            )
        rows = public_rows(self.problem, "mpadmm")
        # The least over alpha of alpha S + log(1/delta) / (alpha - 1) is S + 2 sqrt(S log(1/delta)).
        log_delta = -math.log(self.privacy.delta)
        total = (math.sqrt(log_delta + self.privacy.epsilon) - math.sqrt(log_delta)) ** 2
        sensitivity = 2.0 / (rows * (1.0 + eta * rho))
        scale = sensitivity * math.sqrt(self.rounds * (2.0 + rho**2) / (2.0 * total))
        release = PrintedMPADMM(**self._common(rho), scale=scale, eta=eta, rho=rho)
        return PricedReleases((release,), Guarantee.none(REASON), None)

    def _common(self, quadratic: float) -> dict[str, Any]:
        assert self.problem.strength is not None, "checked on construction"
        scaling = Scaling.of(self.problem.geometry)
        size = int(scaling.penalised.sum())
        penalty = self.problem.penalty.with_scale(np.full(size, quadratic))
        return {
            "family": self.problem.family,
            "penalty": penalty.with_strength(float(self.problem.strength)),
            "mixing": scaling.mixing,
            "penalised": scaling.penalised,
            "rounds": self.rounds,
        }
