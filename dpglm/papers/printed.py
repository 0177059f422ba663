"""DPSC and mpADMM as they were printed, whose privacy claims do not hold: for reproduction, NOT PRIVATE."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.inference.coefficients import Scaling
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.unclaimed import UnclaimedRelease
from dpglm.methods.base import Problem
from dpglm.methods.iterated import prox, public_rows
from dpglm.optim.loss import ChunkLoss
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.events import Fact, ReleaseDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import FloatVector

REASON = "reproduction of a printed algorithm whose privacy claim does not hold"


@dataclass(frozen=True, eq=False)
class Printed(UnclaimedRelease):
    """The average loss in scaled coefficients, and no claim.

    Parameters
    ----------
    family : Family
    penalty : Penalty
        On scaled coefficients; strength per row.
    scaling : Scaling
    scale : float
        Of the noise, in the algorithm's own units.
    rounds : int
    """

    family: Family
    penalty: Penalty
    scaling: Scaling
    scale: float
    rounds: int

    def describe(self, relation: Relation) -> ReleaseDescription:
        return ReleaseDescription(
            name=self.name,
            released="the answer of an algorithm as it was printed",
            sensitivity=self.sensitivity(relation),
            noise="as printed",
            scale=self.scale,
            theorem="none: NOT PRIVATE (reproduction)",
            facts=(Fact("Rounds", self.rounds), Fact("Penalty strength per row", self.penalty.weight)),
        )

    def _gradient_on(self, rows: Rows) -> Callable[[FloatVector], FloatVector]:
        """The gradient of the average loss as a function of scaled coefficients."""
        count = max(rows.row_count(), 1)
        loss = ChunkLoss(rows.chunks, self.family, size=rows.size, row_count=count)
        mixing = self.scaling.mixing
        return lambda scaled: np.asarray(mixing.T @ loss.gradient(mixing @ scaled) / count)

    def _prox(self, point: FloatVector, quadratic: float) -> FloatVector:
        return prox(self.penalty, point, quadratic, self.scaling)


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
        gradient, c = self._gradient_on(rows), self.c
        b = noise.k_norm(rows.size, scale=self.scale)
        w, V = np.zeros(rows.size), np.zeros(rows.size)
        for _ in range(self.rounds):
            Z = self._prox(w - V / c, c)
            for _ in range(self.inner):
                w = w - self.alpha * (gradient(w) - c * (Z - w + V / c) + c * b)
            V = V + c * (Z - w)
        return np.concatenate([w, self._prox(w - V / c, c)])


@dataclass(frozen=True, eq=False)
class PrintedMPADMM(Printed):
    """Algorithm 2 of the RADMM paper on all rows: noise of one scale on x, y and z after every step.

    Releases x of the last step with its noise, as printed: scaled coefficients, shape (p,), none of them 0.

    Parameters
    ----------
    eta, rho : float
    """

    eta: float = 1.0
    rho: float = 0.5

    name: ClassVar[str] = "printed mpADMM"

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        gradient, rho, inverse = self._gradient_on(rows), self.rho, 1.0 / self.eta
        x, y, z = np.zeros(rows.size), np.zeros(rows.size), np.zeros(rows.size)
        for _ in range(self.rounds):
            x = (inverse * x - gradient(x) - y + rho * z) / (rho + inverse)
            z = self._prox(x + y / rho, rho)
            y = y + rho * (x - z)
            x, y, z = (value + noise.normal(rows.size, scale=self.scale) for value in (x, y, z))
        return x


def printed_dpsc(
    problem: Problem, privacy: Privacy, *, rounds: int, c: float, inner: int, alpha: float
) -> PricedReleases:
    """Algorithms 1 to 3 of the DPSC paper at the printed price K (8 gamma + 2.8) / (4 c n).

    Raises
    ------
    MethodError
        A budget with a delta, or one for which the formula leaves no noise.
    """
    fields = _fields(problem, privacy, rounds, c)
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
    return _unprotected(PrintedDPSC(**fields, scale=1.0 / gamma, c=c, inner=inner, alpha=alpha))


def printed_mpadmm(
    problem: Problem, privacy: Privacy, *, rounds: int, eta: float, rho: float
) -> PricedReleases:
    """Algorithm 2 of the RADMM paper, sensitivities (24) to (26), Theorem 3 and Proposition 1.

    Raises
    ------
    MethodError
        A pure budget.
    """
    fields = _fields(problem, privacy, rounds, rho)
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
    return _unprotected(PrintedMPADMM(**fields, scale=scale, eta=eta, rho=rho))


def _unprotected(release: Printed) -> PricedReleases:
    """The plan of a printed algorithm: no guarantee."""
    return PricedReleases((release,), Guarantee.none(REASON), None)


def _fields(problem: Problem, privacy: Privacy, rounds: int, quadratic: float) -> dict[str, Any]:
    """Fields of `Printed` but the scale, its penalty against proximal steps of curvature ``quadratic``.

    Raises
    ------
    MethodError
        No strength, or another relation than the printed one.
    """
    if privacy.relation != "replace-one":
        raise MethodError(
            "paper_exact under add-remove",
            expected="the printed setting, replace-one",
            remedy="Use relation='replace-one'.",
        )
    if problem.strength is None:
        raise MethodError(
            "paper_exact without a strength",
            expected="a strength per row: the papers take it from a fit without noise",
            remedy="Use strength=0.01, say.",
        )
    scaling = Scaling.of(problem.geometry)
    penalty = problem.penalty.with_scale(np.full(int(scaling.penalised.sum()), quadratic))
    return {
        "family": problem.family,
        "penalty": penalty.with_strength(float(problem.strength)),
        "scaling": scaling,
        "rounds": rounds,
    }
