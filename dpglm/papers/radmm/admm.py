"""Gradient methods of the RADMM paper and their rivals: ssADMM, mpADMM, consensus DP-ADMM and DP-SGD."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.inference.coefficients import Scaling
from dpglm.mechanisms.gradient import Gradient
from dpglm.methods.base import Ask, Estimate, Problem, methods, require_positive
from dpglm.methods.iterated import declared_rows, estimate, require_steps
from dpglm.methods.joint import JointMethod, Party
from dpglm.papers.printed import printed_mpadmm
from dpglm.papers.radmm.gradient_descent import DescentState, GradientMethod
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import TRUST, Fact, MethodDescription
from dpglm.typing import FloatVector

TRUSTED = (
    "each party its own curator only: epsilon per record against anyone who sees all messages, the other "
    "parties and the network included"
)
SIMULATED = "one curator, who holds all rows: this simulates parties, to which rows are dealt by place"


class _ADMM(GradientMethod):
    """Linearised ADMM with one copy x of z for each part of the rows."""

    rho: float | None
    # The default, in units of 1 / eta.
    default_rho: ClassVar[float] = 1.0

    def _check(self) -> None:
        require_positive(self.rho, "rho")

    def iterate(self, state: DescentState) -> Estimate:
        rho = self.default_rho / state.eta if self.rho is None else self.rho
        penalty = state.penalty(rho)
        x, y = np.zeros((state.parts, state.size)), np.zeros((state.parts, state.size))
        z, mean = np.zeros(state.size), np.zeros(state.size)
        for number in range(len(state)):
            inverse = 1.0 / state.steps(number)
            gradient = state.gradient(number, x.ravel()).reshape(x.shape)
            x = (inverse * x - gradient - y + rho * z) / (rho + inverse)
            point: FloatVector = (x + y / rho).mean(axis=0)
            z = state.prox(penalty, point, rho)
            y = y + rho * (x - z)
            mean += state.weight(number) * point
        return state.finish(penalty, mean, rho)

    def options(self) -> tuple[Fact, ...]:
        return *super().options(), Fact("Penalty weight rho", self.rho)


@methods.register("ssadmm")
@dataclass(frozen=True)
class SSADMM(_ADMM):
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

    sampling: Literal["all", "poisson", "fixed"] = "all"
    rate: float | None = None
    rho: float | None = None

    name: ClassVar[str] = "ssadmm"
    algorithm: ClassVar[str] = "linearised ADMM with noisy gradients"

    def _check(self) -> None:
        super()._check()
        if self.sampling not in ("all", "poisson", "fixed"):
            raise MethodError(
                "sampling", expected="'all', 'poisson' or 'fixed'", remedy="Leave sampling out for all rows."
            )
        require_positive(self.rate, "rate")
        if self.rate is not None and (self.rate > 1.0 or self.sampling == "all"):
            raise MethodError(
                "rate out of range", expected="a rate in (0, 1] of samples", remedy="Use sampling='poisson'."
            )

    def _gradient(self, problem: Problem, of_all_rows: Gradient) -> Gradient:
        if self.sampling == "all":
            return of_all_rows
        rate = self.rate
        if rate is None:
            rate = min(1.0, 1.0 / math.sqrt(declared_rows(problem, self.name)))
        return replace(of_all_rows, sampling=self.sampling, rate=float(rate))


@methods.register("mpadmm")
@dataclass(frozen=True)
class MPADMM(_ADMM):
    r"""ADMM whose x is perturbed once a pass over all rows; z and y are computed from the noisy x.

    One row replaced moves x by at most :math:`2 C \eta / (n (1 + \eta \rho))`, a factor eta more than
    printed: the printed noise keeps its claim for eta <= 1 only. Noise on x of standard deviation s is noise
    on the sum of gradients of standard deviation :math:`n s (\rho + 1/\eta)`, which is how it is drawn here:
    every eta and every penalty keep the same claim.

    Parameters
    ----------
    steps, eta, schedule, clip, coding
        As in `GradientMethod`.
    rho : float or None
        None is 1 / (2 eta).
    paper_exact : bool
        Runs the algorithm with the printed noise on x, y and z, for reproduction only: the result is NOT
        PRIVATE, and a ledger refuses it.

    References
    ----------
    The RADMM paper, equations (24) to (26); ``mechanisms/gradient.md`` for the theorem used.

    Examples
    --------
    >>> MPADMM().name
    'mpadmm'
    """

    rho: float | None = None
    paper_exact: bool = False

    name: ClassVar[str] = "mpadmm"
    algorithm: ClassVar[str] = "ADMM with a perturbed primal variable"
    default_rho: ClassVar[float] = 0.5

    @property
    def planned_by_row_count(self) -> bool:
        return self.paper_exact

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        if not self.paper_exact:
            return super().plan(problem, privacy)
        privacy = problem.require_budget(privacy, self.name)
        for name in ("eta", "rho"):
            require_positive(getattr(self, name), name)
        require_steps(self.steps, "steps")
        rounds, eta, rho = self.steps or 20, self.eta or 1.0, self.rho or 0.5
        return printed_mpadmm(problem, privacy, rounds=rounds, eta=eta, rho=rho)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        if not self.paper_exact:
            return super().solve(problem, plan, ask)
        return estimate(Scaling.of(problem.geometry), ask(plan.releases[0]))

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        if self.paper_exact:
            return MethodDescription("mpADMM as printed", plan.describe(), "in every step")
        return super().describe(problem, plan)


@methods.register("dp-admm", "dp_admm")
@dataclass(frozen=True)
class DPADMM(_ADMM, JointMethod):
    r"""Consensus ADMM over J parties: each reads its rows, and adds its own noise to its own gradient.

    .. math:: x_i^+ = (x_i/\eta - \tilde g_i(x_i) - y_i + \rho z) / (\rho + 1/\eta), \quad
              z^+ = \mathrm{prox}_{h/\rho}(\mathrm{mean}_i (x_i^+ + y_i/\rho)), \quad
              y_i^+ = y_i + \rho (x_i^+ - z^+).

    Tables by site, ``{"north": frame, "south": frame}``, are the parties: each site has its own curator,
    noise and charge, and g_i is the gradient of its rows over the mean number of rows of a site. **One table
    is a simulation of parties**: rows are dealt out to them by their place, and one curator holds all. A row
    is with one party, so that all together pay what one pays; every party's noise is as large as a curator's
    would be: the price of not trusting one.

    Parameters
    ----------
    steps, eta, schedule, clip, coding
        As in `GradientMethod`.
    parties : int or None
        J of a simulation on one table, replace-one only; None is 2. Tables by site have as many as sites.
    rho : float or None
        None is 1 / eta.

    References
    ----------
    Huang, Hu, Guo, Chan-Tin and Gong (2019), "DP-ADMM: ADMM-based distributed learning with differential
    privacy", IEEE TIFS; ``mechanisms/gradient.md`` for the theorem used.

    Examples
    --------
    >>> DPADMM(parties=4).name
    'dp-admm'
    """

    parties: int | None = None
    rho: float | None = None

    name: ClassVar[str] = "dp-admm"
    algorithm: ClassVar[str] = "consensus ADMM of parties with noisy gradients"

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        if privacy is not None and privacy.relation != "replace-one" and self._count > 1:
            raise MethodError(
                "parties under add-remove, where a row more moves others to another party",
                expected="relation='replace-one'",
                remedy="Use Privacy(1.0, 1e-6), whose relation is replace-one.",
            )
        return super().plan(problem, privacy)

    def _check(self) -> None:
        super()._check()
        if not isinstance(self._count, int) or not 1 <= self._count <= 1000:
            raise MethodError(
                "parties out of range", expected="a whole number from 1 to 1000", remedy="Use parties=2."
            )

    def _gradient(self, problem: Problem, of_all_rows: Gradient) -> Gradient:
        return replace(of_all_rows, parts=self._count)

    @property
    def _count(self) -> int:
        return 2 if self.parties is None else self.parties

    @property
    def at_site(self) -> DPADMM:
        if self.parties is None or self.parties == 1:
            return replace(self, parties=1)
        raise MethodError(
            f"parties={self.parties} beside tables by site, which are the parties",
            expected="as many parties as sites",
            remedy="Leave parties out.",
        )

    def join(self, problem: Problem, parties: Mapping[str, Party]) -> Estimate:
        return self.iterate(DescentState(self, problem, tuple(parties.values())))

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        found = super().describe(problem, plan)
        if self._count == 1:
            return replace(found, facts=(Fact(TRUST, TRUSTED), *found.facts))
        how = f"{found.algorithm}, simulated on one table"
        return replace(found, algorithm=how, facts=(Fact(TRUST, SIMULATED), *found.facts))

    def options(self) -> tuple[Fact, ...]:
        count = () if self._count == 1 else (Fact("Simulated parties", self._count),)
        return *super().options(), *count


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
        x, mean = np.zeros(state.size), np.zeros(state.size)
        for number in range(len(state)):
            step = state.step(number)
            point = x - state.steps(number) * state.gradient(number, x)
            penalty = state.penalty(1.0 / step)
            x = state.prox(penalty, point, 1.0 / step)
            mean += state.weight(number) * point
        return state.finish(penalty, mean, 1.0 / step)
