"""DP-ADMM of Huang et al.: parties with rows of their own, whose noisy copies agree on one z."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpglm.curator.priced_releases import PricedReleases
from dpglm.errors import MethodError
from dpglm.methods.base import Estimate, Problem, methods
from dpglm.methods.iterated import require_positive
from dpglm.papers.radmm.gradient_descent import DescentState, GradientMethod
from dpglm.papers.radmm.ssadmm import admm
from dpglm.privacy.budget import Privacy
from dpglm.privacy.description import Fact


@methods.register("dp-admm", "dp_admm")
@dataclass(frozen=True)
class DPADMM(GradientMethod):
    r"""Consensus ADMM over J parties: each reads its rows, and adds its own noise to its own gradient.

    .. math:: x_i^+ = (x_i/\eta - \tilde g_i(x_i) - y_i + \rho z) / (\rho + 1/\eta), \quad
              z^+ = \mathrm{prox}_{h/\rho}(\mathrm{mean}_i (x_i^+ + y_i/\rho)), \quad
              y_i^+ = y_i + \rho (x_i^+ - z^+).

    Rows are dealt out to parties by their place. A row is with one party, so that all parties together pay
    what one pays; every party's noise is as large as a curator's would be: the price of not trusting one.

    Parameters
    ----------
    steps, eta, schedule, clip, coding
        As in `GradientMethod`.
    parties : int
        J, replace-one only.
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

    parties: int = 2
    rho: float | None = None

    name: ClassVar[str] = "dp-admm"
    algorithm: ClassVar[str] = "consensus ADMM of parties with noisy gradients"

    @property
    def shares(self) -> int:
        return self.parties

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        if privacy is not None and privacy.relation != "replace-one" and self.parties > 1:
            raise MethodError(
                "parties under add-remove, where a row more moves others to another party",
                expected="relation='replace-one'",
                remedy="Use Privacy(1.0, 1e-6), whose relation is replace-one.",
            )
        return super().plan(problem, privacy)

    def _check(self) -> None:
        require_positive(self.rho, "rho")
        if not isinstance(self.parties, int) or not 1 <= self.parties <= 1000:
            raise MethodError(
                "parties out of range", expected="a whole number from 1 to 1000", remedy="Use parties=2."
            )

    def iterate(self, state: DescentState) -> Estimate:
        return admm(state, state.parts, self.rho)

    def options(self) -> tuple[Fact, ...]:
        return *super().options(), Fact("Penalty weight rho", self.rho), Fact("Parties", self.parties)
