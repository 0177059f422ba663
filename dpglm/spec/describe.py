"""`dpglm.describe`: a profile of a table, or of one for each site, charged and then run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, Self, TypedDict, Unpack, overload

import numpy as np

from dpglm import __version__
from dpglm.curator.curator import Curator
from dpglm.data.coding.column_table import ColumnTable
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import find_schema, open_source, require_rows
from dpglm.errors import PrivacyError, SchemaError
from dpglm.ledger.ledger import Charge, Ledger
from dpglm.mechanisms.moments import MomentSums
from dpglm.mechanisms.noise import NoiseSource
from dpglm.postprocessing.correlations import ColumnProducts
from dpglm.postprocessing.pooled import edges_of_next_round, pooled
from dpglm.postprocessing.profile import OVERALL, ProfileRecord
from dpglm.postprocessing.quartiles import ClassCounts
from dpglm.postprocessing.record import LedgerState
from dpglm.postprocessing.spending import parallel_lines
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee, disjoint, overlapping
from dpglm.results.profile import Profile, SiteProfiles
from dpglm.spec.arguments import REQUIRED, Required, is_sites, ledger_of, noise_of, privacy_of
from dpglm.spec.charging import at_site, charged
from dpglm.spec.profile_plan import ProfilePlan
from dpglm.spec.sites import refuse_twins, site_charges, site_schemas, site_seeds, site_tables
from dpglm.typing import FloatVector


class DescribeOptions(TypedDict, total=False):
    """Keywords of `describe`."""

    schema: Schema | Mapping[str, Any] | str | PathLike[str] | None
    by: str | None
    columns: Sequence[str] | None
    quartiles: bool
    correlations: bool
    privacy: float | tuple[float, float] | Privacy | Required
    ledger: Ledger | str | PathLike[str] | None
    key: str | None
    seed: int | None


@overload
def describe(  # type: ignore[overload-overlap]  # a mapping is told from tables
    data: Mapping[str, object], **options: Unpack[DescribeOptions]
) -> SiteProfiles: ...
@overload
def describe(data: object, **options: Unpack[DescribeOptions]) -> Profile: ...
def describe(
    data: object,
    *,
    schema: Schema | Mapping[str, Any] | str | PathLike[str] | None = None,
    by: str | None = None,
    columns: Sequence[str] | None = None,
    quartiles: bool = False,
    correlations: bool = False,
    privacy: float | tuple[float, float] | Privacy | Required = REQUIRED,
    ledger: Ledger | str | PathLike[str] | None = None,
    key: str | None = None,
    seed: int | None = None,
) -> Profile | SiteProfiles:
    """Sample characteristics under differential privacy: the "Table 1" that opens a paper.

    One release holds the number of rows, shares of levels, means and standard deviations of numbers. Three
    more hold quartiles, and one correlations, where these are asked for. Exact ones beside a private fit
    would void its guarantee.

    Parameters
    ----------
    data : DataFrame, Arrow table, path to CSV or Parquet, dataset or query; or a dict of them by site
        Private rows, as for `dpglm.fit`. ``{"north": frame, "south": "south.csv"}`` describes each site under
        the whole budget, and all of them together. The ledger is charged as by `dpglm.fit`.
    schema : Schema, dict or path, optional
        Public bounds and levels; looked for as `dpglm.fit` does.
    by : str, optional
        A column with levels: everything is told for each of them, and overall. Groups cost little: a row is
        in one of them.
    columns : sequence of str, optional
        What is described; by default all that the schema declares. Every column adds noise to the others.
    quartiles : bool
        Whether medians and quartiles of numbers are told, too. Half of the budget then goes to them, and the
        noise of all else grows by 1.4 (with a pure epsilon: 2).
    correlations : bool
        Whether correlations of all columns are told, of the rows that have a value in each; ``by`` is one of
        the columns. Half of the budget goes to them; with quartiles, a third to each. A plan with such a
        profile expects how columns overlap, and what they explain of the response.
    privacy : float, (epsilon, delta) or Privacy
        The budget, required.
    ledger : Ledger or path, optional
        Charged before any row is read; a path opens an existing ledger.
    key : str, optional
        As for `dpglm.fit`: the same profile under the same key is charged and drawn once.
    seed : int, optional
        Repeatable noise for tests and simulations; the result is marked NOT PRIVATE.

    Returns
    -------
    Profile or SiteProfiles
        With ``summary()``, ``tidy()``, ``plot()``, ``report(path)``, ``means``, ``sds``, ``shares``,
        ``quartiles`` and more; of sites a `Profile` for each, and ``pooled``.

    Raises
    ------
    PrivacyError, SchemaError
        From public facts alone, before anything is charged or read.
    BudgetExceeded
        The ledger does not cover the profile; nothing was read.

    Notes
    -----
    A row without a value in a column counts for nothing there, and fully in the others, unless the schema
    declares what a missing value is read as. Numbers beyond their bounds are read as the bound.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> table = dpglm.describe(women, columns=["age", "educ"], by="affair", privacy=(1.0, 1e-6), seed=1)
    >>> table.groups
    ('no', 'yes')
    """
    budget = privacy_of(privacy)
    if budget is None:
        raise PrivacyError(
            "privacy=None for a profile", expected="a privacy budget", remedy="Use pandas' own describe()."
        )
    for word, asked in (("quartiles", quartiles), ("correlations", correlations)):
        if not isinstance(asked, bool):
            raise SchemaError(
                f"{word} of type {type(asked).__name__}", expected="True or False", remedy="Use True."
            )
    noise, opened = noise_of(seed), ledger_of(ledger, key)

    def planned(declared: Schema) -> ProfilePlan:
        return ProfilePlan.of(declared, columns, by, budget, quartiles=quartiles, correlations=correlations)

    if is_sites(data):
        tables = site_tables(data)
        schemas = site_schemas(tables) if schema is None else dict.fromkeys(tables, Schema.of(schema))
        plans = {site: planned(declared) for site, declared in schemas.items()}
        return _describe_sites(plans, tables, ledger=opened, key=key, seed=seed)
    runs = {"": _ProfileRun.of(planned(find_schema(data, schema)), data, noise)}
    records = charged(opened, key, [runs[""].charge], partial(_released, runs), kind=ProfileRecord)
    return Profile(records[""])


def _describe_sites(
    plans: Mapping[str, ProfilePlan],
    tables: Mapping[str, object],
    *,
    ledger: Ledger | None,
    key: str | None,
    seed: int | None,
) -> SiteProfiles:
    """A profile of each site, with classes that all sites share; each site is charged the whole budget.

    With quartiles, a site's own profile has the promise of all sites together.
    """
    sites = tuple(tables)
    if OVERALL in sites and plans[sites[0]].by is None:
        raise SchemaError(
            f"a site called {OVERALL!r}",
            expected="another name, since all rows together are called that",
            remedy="Rename it.",
        )
    noises = [noise_of(site_seed) for site_seed in site_seeds(seed, len(sites))]
    once = plans[sites[0]].schema.sites == "disjoint"
    if once:
        refuse_twins(tables)
    runs = {
        site: at_site(site, partial(_ProfileRun.of, plans[site], tables[site], noise))
        for site, noise in zip(sites, noises, strict=True)
    }
    guarantees = [run.guarantee for run in runs.values()]
    total = disjoint(guarantees) if once else overlapping(guarantees)
    charges = site_charges([run.charge for run in runs.values()], sites, total, once=once)
    records = charged(ledger, key, charges, partial(_released, runs), sites=sites, kind=ProfileRecord)
    if plans[sites[0]].rounds:  # classes of one site follow from the answers of all: so does what it promises
        records = {site: replace(record, guarantee=total) for site, record in records.items()}
    profiles = {site: Profile(record) for site, record in records.items()}
    return SiteProfiles(profiles, Profile(pooled(records, total, disjoint=once)))


@dataclass(frozen=True, eq=False)
class _ProfileRun:
    """A plan on a table, which is opened and not read."""

    plan: ProfilePlan
    table: ColumnTable
    noise: NoiseSource

    @classmethod
    def of(cls, plan: ProfilePlan, data: object, noise: NoiseSource) -> Self:
        """Refusals of the table come here, before a charge."""
        table = ColumnTable(open_source(data), plan.schema, plan.numbers, plan.factors, plan.by)
        if plan.privacy.rows_are_public:
            require_rows(data)
        return cls(plan, table, noise)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised of the table."""
        guarantee = self.plan.priced.guarantee
        return guarantee if self.noise.private else guarantee.seeded()

    @property
    def charge(self) -> Charge:
        """What a ledger is charged for the run, and in which words."""
        return self.guarantee, self.plan.what, self.plan.fingerprint

    def record(self, sums: FloatVector, state: LedgerState | None) -> ProfileRecord:
        """What was released at first, with public facts."""
        plan = self.plan
        rows = self.table.row_count() if plan.privacy.rows_are_public else None
        return ProfileRecord(
            columns=tuple(map(plan.profiled, (*plan.numbers, *plan.factors))),
            names=plan.columns,
            schema=plan.schema.to_dict(),
            by=plan.by,
            groups=plan.groups,
            group_rows=(rows,) if rows is not None and plan.by is None else None,
            counted=plan.release.count_rows,
            released=sums.reshape(len(plan.groups), plan.release.width),
            deviations=plan.release.deviations,
            n_rows=rows,
            guarantee=self.guarantee,
            spend_lines=parallel_lines(plan.priced.parallel(), self.guarantee),
            description=plan.description,
            random_source="operating system" if self.noise.private else "seeded generator: NOT PRIVATE",
            ledger=state,
            version=__version__,
            plan_fingerprint=plan.fingerprint,
        )

    def products(self, curator: Curator) -> ColumnProducts | None:
        """What was released of how columns go together, in units of their coordinates."""
        plan = self.plan
        if not plan.products:
            return None
        (release,), sums, unit = plan.products, plan.moments, plan.vectors.unit
        found = MomentSums.of(curator.ask(release), sums.size)
        deviations = (sums.gram_deviation / unit**2, sums.cross_deviation / unit, sums.count_deviation)
        return ColumnProducts(
            columns=tuple(map(plan.profiled, plan.correlated)),
            products=found.gram / unit**2,
            sums=found.cross / unit,
            rows=found.count,
            deviations=np.array(deviations),
        )


def _released(runs: Mapping[str, _ProfileRun], state: LedgerState | None) -> dict[str, ProfileRecord]:
    """Run all releases, round by round: classes of a round follow from what all tables told before."""
    curators = [Curator(run.table, run.plan.priced, run.noise) for run in runs.values()]
    records = [
        run.record(curator.ask(run.plan.release), state)
        for run, curator in zip(runs.values(), curators, strict=True)
    ]
    for rounds in zip(*(run.plan.rounds for run in runs.values()), strict=True):
        edges = edges_of_next_round(records)
        deviation = float(rounds[0].inner.deviations[-1])
        answers = [
            curator.ask(release, edges.ravel()) for curator, release in zip(curators, rounds, strict=True)
        ]
        classes = [
            ClassCounts(edges, answer.reshape(len(record.groups), -1), deviation)
            for record, answer in zip(records, answers, strict=True)
        ]
        records = [replace(record, classes=each) for record, each in zip(records, classes, strict=True)]
    products = [run.products(curator) for run, curator in zip(runs.values(), curators, strict=True)]
    records = [replace(record, products=each) for record, each in zip(records, products, strict=True)]
    return dict(zip(runs, records, strict=True))
