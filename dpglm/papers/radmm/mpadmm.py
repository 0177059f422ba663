"""mpADMM of the RADMM paper, with the sensitivity that its steps have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpglm.curator.priced_releases import PricedReleases
from dpglm.inference.coefficients import Scaling
from dpglm.methods.base import Ask, Estimate, Problem, methods
from dpglm.methods.iterated import estimate, require_budget, require_positive, require_steps
from dpglm.papers.radmm.gradient_descent import DescentState, GradientMethod
from dpglm.papers.radmm.printed import printed_mpadmm
from dpglm.papers.radmm.ssadmm import admm
from dpglm.privacy.budget import Privacy
from dpglm.privacy.description import Fact, MethodDescription


@methods.register("mpadmm")
@dataclass(frozen=True)
class MPADMM(GradientMethod):
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

    def _check(self) -> None:
        require_positive(self.rho, "rho")

    @property
    def planned_by_row_count(self) -> bool:
        return self.paper_exact

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        if not self.paper_exact:
            return super().plan(problem, privacy)
        privacy = require_budget(problem, privacy, self.name)
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

    def iterate(self, state: DescentState) -> Estimate:
        return admm(state, 1, 0.5 / state.eta if self.rho is None else self.rho)

    def options(self) -> tuple[Fact, ...]:
        return *super().options(), Fact("Penalty weight rho", self.rho)
