"""Runs of a plan on one table: charge, solve through the curator, and write up what was released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from dpglm import __version__
from dpglm.curator.curator import Curator
from dpglm.data.coding.design import Design
from dpglm.ledger.ledger import Entry, Ledger
from dpglm.mechanisms.noise.source import NoiseSource
from dpglm.methods.base import Estimate, Problem
from dpglm.methods.response_scale import to_response_scale
from dpglm.privacy.guarantee import Guarantee
from dpglm.results.fit_result import FitResult

if TYPE_CHECKING:
    from dpglm.spec.plan import Plan


@dataclass(frozen=True, eq=False)
class Run:
    """A plan and the table that it will be run on; no row has been read.

    Attributes
    ----------
    plan : Plan
    design : Design
        The rows, unread.
    problem : Problem
        That of the plan, with the table's own number of rows where that is public.
    guarantee : Guarantee
        That of the plan, or what a seed leaves of it.
    """

    plan: Plan
    design: Design
    problem: Problem
    guarantee: Guarantee

    @classmethod
    def of(cls, plan: Plan, data: object, *, seeded: bool) -> Self:
        """Open a table; only the names of its columns are read.

        Raises
        ------
        SchemaError
            The table cannot be opened or lacks a column.
        """
        spec = plan.specification
        design = spec.coded_model.design(data)
        problem = spec.problem(design)
        if not plan.guarantee.private and spec.rows_are_public:
            # A reproduction without a promise may set its noise by the number of rows.
            plan = replace(plan, releases=spec.method.plan(problem, spec.privacy))
        seed_tells = seeded and spec.privacy is not None
        return cls(plan, design, problem, plan.guarantee.seeded() if seed_tells else plan.guarantee)

    def charge(self, ledger: Ledger | None) -> LedgerState | None:
        """Take what was planned from the ledger; its state right afterwards."""
        if ledger is None:
            return None
        entry = ledger.charge(self.guarantee, what=self.plan.what, plan=self.plan.fingerprint)
        return ledger_state(ledger, entry)

    def solve(self, noise: NoiseSource) -> Estimate:
        """Read the rows, by the planned releases only."""
        model, releases = self.plan.specification.coded_model, self.plan.releases
        ask = Curator(self.design, releases, noise).ask
        estimate = self.plan.specification.method.solve(self.problem, releases, ask)
        return to_response_scale(
            estimate, model.coding, unit=model.response.unit, shift=model.response.shift
        )
