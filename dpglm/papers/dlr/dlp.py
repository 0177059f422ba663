"""DLP: the minimiser over the rows of all sites, to a certificate, and noise added to it once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.methods.base import Estimate, Problem, methods
from dpglm.methods.joint import JointMethod, Party
from dpglm.methods.output import Output
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import TRUST, Fact, MethodDescription

TRUSTED = "all sites and their network, which see exact sums and iterates; only the final vector is protected"


@methods.register("dlp")
@dataclass(frozen=True)
class DLP(Output, JointMethod):
    """Output perturbation over a partitioned table: `Output` on the rows of all sites, with one noise.

    The DLR paper adds noise for the exact minimiser to what its iteration ends at. That need not be near the
    minimiser: a record then moves what is output by several times the sensitivity that the noise was set for,
    and the claim is false. Here sums over the rows of all sites are minimised until a certificate says how
    far the minimiser can be, and the noise hides that, too.

    One noise hides one row of all sites. Where a person may be at several sites it would not be enough, so
    that the schema has to say ``sites: disjoint``.

    Parameters
    ----------
    ridge, coding
        As in `Output`; the ridge is n lambda, in sum units over all sites.

    References
    ----------
    The DLR paper, Algorithm 2; ``mechanisms/output_perturbation.md`` for the theorem used.

    Examples
    --------
    >>> DLP(ridge=100.0).name
    'dlp'
    """

    name: ClassVar[str] = "dlp"
    reads_together: ClassVar[bool] = True

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        if problem.strength is not None and problem.count_rows is None:
            raise MethodError(
                "a strength per row with method='dlp' under add-remove, where the number of rows is private",
                expected="a penalty in sum units, over all sites",
                remedy="Use method=dpglm.methods.DLP(ridge=20.0), or relation='replace-one'.",
            )
        # What one site declares of its rows says nothing of those of all sites.
        return super().plan(replace(problem, rows=None, known_rows=None), privacy)

    def join(self, problem: Problem, parties: Mapping[str, Party]) -> Estimate:
        (party,) = parties.values()
        return self.solve(problem, party.plan, party.ask)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        return replace(super().describe(problem, plan), facts=(Fact(TRUST, TRUSTED),))
