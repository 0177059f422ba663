"""Runs of a plan on one table: charge, solve through the curator, and write up what was released."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from dpglm import __version__
from dpglm.curator.curator import Curator
from dpglm.data.coding.design import Design, Response
from dpglm.ledger.ledger import Ledger
from dpglm.ledger.records import Entry
from dpglm.mechanisms.noise import NoiseSource
from dpglm.methods.base import Estimate, Problem, to_response_scale
from dpglm.postprocessing.record import FitRecord, LedgerLine, LedgerState, ResponseFacts, parallel_lines
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
        if spec.method.planned_by_row_count:
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
        return to_response_scale(estimate, model.coding, unit=model.response.unit, shift=model.response.shift)

    def write_up(self, estimate: Estimate, noise: NoiseSource, state: LedgerState | None) -> FitResult:
        """The result: released numbers and public facts."""
        plan, problem = self.plan, self.problem
        spec, model = plan.specification, plan.specification.coded_model
        public_rows = self.design.row_count() if spec.rows_are_public else None
        record = FitRecord(
            specification=spec.to_document(),
            names=model.coding.names,
            link=problem.family.link,
            penalty=problem.penalty.name,
            strength=_strength_per_row(problem, estimate, public_rows),
            strength_sum=estimate.strength_sum,
            estimates=estimate.estimates,
            selected_mask=estimate.selected,
            coded=estimate.coded,
            user_from_coded=model.coding.user_from_coded,
            row_norm=model.coding.row_norm,
            rows_clipped=model.coding.clipping,
            norm_factor=estimate.norm_factor,
            residual=estimate.residual,
            terms=model.coding.terms,
            response=_response_facts(model.response),
            guarantee=self.guarantee,
            spend_lines=parallel_lines(plan.releases.parallel(), self.guarantee),
            description=plan.description,
            random_source="operating system" if noise.private else "seeded generator: NOT PRIVATE",
            n_rows=public_rows,
            ledger=state,
            version=__version__,
            plan_fingerprint=plan.fingerprint,
            released=estimate.released,
            exact_path=estimate.exact_path,
            part=estimate.part,
            row_map=model,
        )
        return FitResult(record)


def ledger_state(ledger: Ledger, entry: Entry) -> LedgerState:
    """The ledger as it stood right after an entry."""
    state = ledger.state(at=entry)
    return LedgerState(**{**state, "entries": tuple(LedgerLine(**line) for line in state["entries"])})


def _strength_per_row(problem: Problem, estimate: Estimate, rows: int | None) -> float | None:
    """As given, or the default's, which is set in sum units, where the number of rows is public."""
    if estimate.strength is not None:
        return estimate.strength
    if isinstance(problem.strength, float):
        return problem.strength
    total = estimate.strength_sum
    return None if total is None or not rows else total / rows


def _response_facts(response: Response) -> ResponseFacts:
    """What the result says of the response."""
    if response.levels:
        return ResponseFacts(response.name, levels=response.levels)
    return ResponseFacts(response.name, bounds=(response.low, response.high))


@contextmanager
def steps(labels: Sequence[str], progress: bool | None) -> Iterator[Callable[[int], None]]:
    """A bar over public steps; no times, since they depend on the data."""
    if progress is False:
        yield lambda index: None
        return
    from tqdm.auto import tqdm

    with tqdm(
        total=len(labels),
        disable=None if progress is None else not progress,
        bar_format="{desc}: {n_fmt}/{total_fmt} |{bar}|",
        leave=False,
    ) as bar:

        def step(index: int) -> None:
            bar.set_description_str(labels[index])
            bar.update(index + 1 - bar.n)

        yield step


@contextmanager
def counting(total: int, progress: bool | None) -> Iterator[Callable[[], None]]:
    """A function to call at each draw.

    Parameters
    ----------
    total : int
        Number of draws.
    progress : bool or None
        None shows the bar in a terminal only.
    """
    if progress is False:
        yield lambda: None
        return
    from tqdm.auto import tqdm

    with tqdm(
        total=total,
        disable=None if progress is None else not progress,
        unit="draw",
        leave=False,
        mininterval=0.5,
    ) as bar:

        def step() -> None:
            bar.update()

        yield step
