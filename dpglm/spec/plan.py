"""Plans, the releases of a specification with their price, and runs of a plan on a table."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, Unpack, overload

from dpglm import __version__
from dpglm.auditing import audit
from dpglm.curator.curator import Curator, PricedReleases
from dpglm.curator.secure_site import SecureSite
from dpglm.data.tables.sources import require_rows
from dpglm.errors import MethodError
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.noise import NoiseSource
from dpglm.methods.base import Ask, Estimate, Problem, to_response_scale
from dpglm.methods.joint import JointMethod
from dpglm.planning import tables
from dpglm.planning.advice import advice
from dpglm.planning.expectation import Expectation
from dpglm.planning.expected_rows import expected_rate
from dpglm.postprocessing.record import FitRecord, LedgerState, ResponseFacts
from dpglm.postprocessing.spending import parallel_lines
from dpglm.privacy.events import MethodDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.results.fit_result import FitResult
from dpglm.spec import arguments, joint, sites
from dpglm.spec.charging import at_scales, charged, with_row_map
from dpglm.tables.table import Summarised, Table
from dpglm.wide_maps import MOST_DENSE, too_wide

if TYPE_CHECKING:
    from dpglm.auditing.result import Audit
    from dpglm.ledger.ledger import Charge
    from dpglm.results.compare import SiteFits
    from dpglm.spec.model_spec import ModelSpec

STEPS: Final = ("charge", "read and solve", "write up")


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Summarised):
    """What a fit will release and what that costs: made from public facts, before any row is read.

    An ethics board can approve it by its `fingerprint`, which stands in ledger, result and report. Its
    ``problem`` is what the method was given, ``releases`` are in their order, and on ``n``, the expected
    number of rows, none of them depends.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> plan = dpglm.plan(
    ...     "affair ~ age + religious", women, n=6366, penalty="none", privacy=(1.0, 1e-6)
    ... )
    >>> [line.name for line in plan.description.releases][-2:]
    ['perturbed minimiser', 'information matrix']
    >>> fit = plan.fit(women, seed=1)
    >>> fit.plan_fingerprint == plan.fingerprint
    True
    """

    specification: ModelSpec
    problem: Problem
    releases: PricedReleases
    n: int | None = None

    def __post_init__(self) -> None:
        requested, paid = self.specification.privacy, self.releases.privacy
        if requested != paid and (self.guarantee.private or paid is not None):
            raise MethodError(
                "releases of another budget than the specification's",
                expected="a plan as its specification makes it",
                remedy="Use ModelSpec.of(...).plan(), or dpglm.plan(...).",
            )

    def __repr__(self) -> str:
        return f"<Plan {self.specification.formula!r}: {self.guarantee.statement()}>"

    @property
    def guarantee(self) -> Guarantee:
        """What the fit will promise, and so its price."""
        return self.releases.guarantee

    @property
    def names(self) -> tuple[str, ...]:
        """The user's coefficients."""
        return self.specification.coded_model.coding.names

    @cached_property
    def description(self) -> MethodDescription:
        """What is released, with sensitivity, noise and theorem, and how the method works."""
        return self.specification.method.describe(self.problem, self.releases)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of specification, releases and guarantee, 64 hexadecimal digits."""
        content = {
            "specification": json.loads(self.specification.to_json()),
            "description": asdict(self.description),
            "guarantee": self.guarantee.to_dict(),
        }
        return hashed(content)

    @cached_property
    def advice(self) -> tuple[str, ...]:
        """What would make the fit tell more, at most three sentences; empty where it tells enough."""
        return advice(self)

    @property
    def what(self) -> str:
        """The words of a ledger's line: formula, method and penalty."""
        spec = self.specification
        weights = "" if spec.weights is None else f", weights {spec.weights}"
        return f"{spec.formula}  [{spec.method.name}, {self.problem.penalty.name}{weights}]"

    @overload
    def fit(  # type: ignore[overload-overlap]  # a mapping is told from tables
        self, data: Mapping[str, object], **options: Unpack[arguments.RunOptions]
    ) -> FitResult | SiteFits: ...
    @overload
    def fit(self, data: object, **options: Unpack[arguments.RunOptions]) -> FitResult: ...
    def fit(
        self,
        data: object,
        *,
        ledger: arguments.LedgerOption = None,
        key: str | None = None,
        seed: int | None = None,
        progress: bool | None = None,
    ) -> FitResult | SiteFits:
        """Charge the plan, then run it on a table, or on tables by site, as `dpglm.fit` does.

        What the ledger keeps under ``key`` is given back: nothing is charged, read or drawn.

        Raises
        ------
        SchemaError
            The table cannot be opened or lacks a column; nothing was charged.
        BudgetExceeded
            The ledger does not cover the plan; nothing was read.
        LedgerError
            Another plan was charged under ``key``, or no answer was kept; nothing was read.
        """
        noise, opened = arguments.noise_of(seed), arguments.ledgers_of(ledger, key)
        if arguments.is_sites(data):
            tables_of = sites.site_tables(data)
            return joint.run_at_sites(self, tables_of, ledger=opened, key=key, seed=seed, progress=progress)
        opened = arguments.one_ledger(opened)
        if isinstance(self.specification.method, JointMethod):
            self.specification.method.require_sites(("",))
        with arguments.bar_of(progress, STEPS) as step:
            run = self._on(data, seeded=not noise.private)
            step()

            def answer(state: LedgerState | None) -> dict[str, FitRecord]:
                step()
                estimate = run.solve(noise)
                step()
                return {"": run.write_up(estimate, noise, state)}

            # Charge before reading: an interrupt from here on loses budget, never privacy.
            records = charged(opened, key, [run.charge], answer, kind=FitRecord)
            return run.result(records[""])

    def _on(self, data: object, *, seeded: bool) -> Run:
        """Open a table; only the names of its columns are read, and its number of rows where it is public.

        A SchemaError where it lacks a column, or has no rows.
        """
        spec, plan = self.specification, self
        design = spec.coded_model.design(data)
        if spec.rows_are_public:
            require_rows(data)
        problem = spec.problem(design)
        if spec.method.planned_by_row_count:
            plan = replace(plan, releases=spec.method.plan(problem, spec.privacy))
        seed_tells = seeded and spec.privacy is not None
        return Run(plan, design, problem, plan.guarantee.seeded() if seed_tells else plan.guarantee)

    def audit(
        self,
        *,
        trials: int | Literal["quick"] = 10_000,
        confidence: float = 0.9999,
        progress: bool | None = True,
        seed: int | None = None,
    ) -> Audit:
        """A lower bound on what the plan gives away; see `dpglm.audit`."""
        return audit.audited_plan(
            self, trials=trials, confidence=confidence, progress=progress, noise=arguments.noise_of(seed)
        )

    def expected(
        self, n: int | None = None, *, rate: float | None = None, level: float = 0.95
    ) -> Expectation:
        """What the fit can be expected to give, to print, tabulate and plot; costs no privacy.

        Parameters
        ----------
        n : int, optional
            Expected number of rows; by default that of the plan.
        rate : float, optional
            Expected share of the response's second level; by default what the schema declares as its share,
            else one half.
        level : float
            Coverage of the intervals.

        Raises
        ------
        MethodError
            No number of rows, or numbers out of range.
        """
        rows = arguments.row_count_of(self.n if n is None else n)
        if len(self.names) > MOST_DENSE:
            raise too_wide("expectations", len(self.names))
        model = self.specification.coded_model
        share = expected_rate(model) if rate is None else arguments.rate_of(rate)
        expectation = Expectation(self, rows, share, arguments.level_of(level))
        # Refusals come from this call, not from a later one.
        _ = expectation.parts, expectation.half_width
        return expectation

    def summary(self) -> Table:
        """Releases and price and, where a number of rows is known, the precision to expect."""
        expects = self.n is not None and len(self.names) <= MOST_DENSE
        return self.expected().summary() if expects else tables.price_table(self)


def hashed(content: object) -> str:
    """SHA-256 of plain values, 64 hexadecimal digits; neither the kind of a number nor the order of keys in
    objects counts, except of options, whose order may mean something. Numbers count to twelve digits:
    machines compute with other last ones, and a plan is to be the same on all of them.
    """

    def plain(value: object, ordered: bool = False) -> object:
        if isinstance(value, Mapping):
            items = [(str(key), plain(item, ordered or key == "options")) for key, item in value.items()]
            return items if ordered else sorted(items, key=lambda item: item[0])
        if isinstance(value, list | tuple):
            return [plain(item, ordered) for item in value]
        if isinstance(value, float) and math.isfinite(value):
            value = float(f"{value:.12g}")
            return int(value) if value.is_integer() and abs(value) < 2**53 else value
        return value

    return hashlib.sha256(json.dumps(plain(content), default=str).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Run:
    """A plan and the table that it will be run on; no row has been read."""

    plan: Plan
    design: Rows
    problem: Problem  # with the table's own number of rows where that is public
    guarantee: Guarantee  # the plan's, or what a seed leaves of it

    @property
    def charge(self) -> Charge:
        """What a ledger is charged for the run, and in which words."""
        return self.guarantee, self.plan.what, self.plan.fingerprint

    def solve(self, noise: NoiseSource) -> Estimate:
        """Read the rows, by the planned releases only."""
        method, releases = self.plan.specification.method, self.plan.releases
        return self.placed(method.solve(self.problem, releases, self.ask(noise)))

    def ask(self, noise: NoiseSource) -> Ask:
        """How a method gets at the rows: each planned release once, in order."""
        return Curator(self.design, self.plan.releases, noise).ask

    def secure_site(self, name: str, noise: NoiseSource, *, run: str) -> SecureSite:
        """The site as a holder of secure sums; ``run`` is the same at all sites, and that of no other run."""
        method, releases = self.plan.specification.method, self.plan.releases
        sites = method.sites if isinstance(method, JointMethod) else None
        assert sites is not None, "a plan for so many sites"
        return SecureSite(name, Curator(self.design, releases, noise), releases, sites=sites, run=run)

    def placed(self, estimate: Estimate) -> Estimate:
        """The estimate of a method in units of the response."""
        model = at_scales(self.plan.specification.coded_model, estimate)
        return to_response_scale(estimate, model.coding, unit=model.response.unit, shift=model.response.shift)

    def write_up(self, estimate: Estimate, noise: NoiseSource, state: LedgerState | None) -> FitRecord:
        """The record: released numbers and public facts."""
        plan, problem = self.plan, estimate.problem or self.problem
        spec, model = plan.specification, at_scales(plan.specification.coded_model, estimate)
        coding, response, scales = model.coding, model.response, estimate.scales
        public_rows = self.design.row_count() if spec.rows_are_public else None
        strength, total = estimate.strength, estimate.strength_sum
        if strength is None and isinstance(problem.strength, float):
            strength = problem.strength
        elif strength is None and total is not None and public_rows:
            strength = total / public_rows  # the default's, which is set in sum units
        return FitRecord(
            specification=spec.to_document(),
            names=coding.names,
            link=problem.family.link,
            penalty=problem.penalty.name,
            strength=strength,
            strength_sum=total,
            estimates=estimate.estimates,
            selected_mask=estimate.selected,
            coded=estimate.coded,
            user_from_coded=coding.user_from_coded,
            row_norm=coding.row_norm,
            rows_clipped=scales.long_rows(coding.row_norm) if scales else coding.clipping,
            residual=estimate.residual,
            terms=coding.terms,
            response=ResponseFacts(
                response.name,
                levels=response.levels,
                bounds=None if response.levels else (response.low, response.high),
            ),
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
            scales=scales,
            part=estimate.part,
        )

    def result(self, record: FitRecord) -> FitResult:
        """The result that predicts, of a record just written or kept by a ledger."""
        return FitResult(with_row_map(record, self.plan.specification.coded_model))
