"""Stochastic ADMM with noisy gradients: ssADMM of the RADMM paper, on all rows by default."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.errors import MethodError
from dpglm.methods.base import Estimate, Problem, methods
from dpglm.methods.iterated import declared_rows, require_positive
from dpglm.papers.radmm.gradient_descent import DescentState, GradientMethod, Sampling
from dpglm.privacy.description import Fact
from dpglm.typing import FloatVector


@methods.register("ssadmm")
@dataclass(frozen=True)
class SSADMM(GradientMethod):
    r"""Linearised ADMM, a noisy gradient a step, the sparse copy z released.

    With f the average loss, step size eta_k, penalty weight rho and multiplier y,

    .. math::

        x^+ &= (x/\eta_k - \tilde g(x) - y + \rho z) / (\rho + 1/\eta_k), \\
        z^+ &= \mathrm{prox}_{h/\rho}(x^+ + y/\rho), \qquad y^+ = y + \rho (x^+ - z^+).

    The gradient is all that is read; x, y, z are post-processing of it. The answer is the proximal step at
    the mean of ``x + y / rho`` over the last three quarters of the steps: exactly sparse.

    Parameters
    ----------
    steps, eta, schedule, clip, coding
        As in `GradientMethod`.
    sampling : {"all", "poisson", "fixed"}
        All rows a step: never less private at equal noise, and accounted for exactly. Each row with
        probability ``rate``, by privacy loss distributions. Or a uniform subset of ``rate * n`` rows without
        replacement (replace-one only).
    rate : float or None
        Of samples; None is one over the root of the declared number of rows.
    rho : float or None
        None is 1 / eta.

    References
    ----------
    The RADMM paper, equations (5) to (7) and Theorem 1, for samples without replacement;
    ``mechanisms/gradient.md`` for the theorems used.

    Examples
    --------
    >>> SSADMM(steps=50).name
    'ssadmm'
    """

    sampling: Sampling = "all"
    rate: float | None = None
    rho: float | None = None

    name: ClassVar[str] = "ssadmm"
    algorithm: ClassVar[str] = "linearised ADMM with noisy gradients"

    @property
    def drawn(self) -> Sampling:
        return self.sampling

    def _check(self) -> None:
        require_positive(self.rho, "rho")
        if self.sampling not in ("all", "poisson", "fixed"):
            raise MethodError(
                "sampling", expected="'all', 'poisson' or 'fixed'", remedy="Leave sampling out for all rows."
            )
        require_positive(self.rate, "rate")
        if self.rate is not None and (self.rate > 1.0 or self.sampling == "all"):
            raise MethodError(
                "rate out of range", expected="a rate in (0, 1] of samples", remedy="Use sampling='poisson'."
            )

    def _rate(self, problem: Problem) -> float:
        if self.sampling == "all":
            return 1.0
        if self.rate is not None:
            return float(self.rate)
        return min(1.0, 1.0 / math.sqrt(declared_rows(problem, self.name)))

    def iterate(self, state: DescentState) -> Estimate:
        return admm(state, state.parts, self.rho)

    def options(self) -> tuple[Fact, ...]:
        return *super().options(), Fact("Penalty weight rho", self.rho)


def admm(state: DescentState, parts: int, rho: float | None) -> Estimate:
    """Linearised ADMM with ``parts`` copies x of one z: one for a curator, one a party for consensus."""
    rho = 1.0 / state.eta if rho is None else rho
    penalty = state.penalty(rho)
    x, y = np.zeros((parts, state.size)), np.zeros((parts, state.size))
    z = np.zeros(state.size)
    mean = np.zeros(state.size)
    for number in range(len(state)):
        inverse = 1.0 / state.steps(number)
        gradient = state.gradient(number, x.ravel()).reshape(parts, state.size)
        x = (inverse * x - gradient - y + rho * z) / (rho + inverse)
        point: FloatVector = (x + y / rho).mean(axis=0)
        z = state.prox(penalty, point, rho)
        y = y + rho * (x - z)
        mean += state.weight(number) * point
    return state.finish(penalty, state.prox(penalty, mean, rho))
