"""One model of several holders: a curator, a permit, noise and a charge for each, and one result."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dpglm.curator.secure_site import SecureAsk, SecureSite
from dpglm.data.schema.schema import Schema
from dpglm.errors import MethodError
from dpglm.ledger.ledger import Charge, Ledger
from dpglm.mechanisms.pairwise_masks import require_cryptography
from dpglm.methods.base import Ask, Estimate, Problem
from dpglm.methods.joint import JointMethod, Party
from dpglm.postprocessing.joint_sites import JointSite, JointSites, site_lines, together
from dpglm.postprocessing.record import FitRecord, LedgerState
from dpglm.postprocessing.spending import parallel_lines
from dpglm.results.compare import SiteFits
from dpglm.results.fit_result import FitResult
from dpglm.rows import JoinedRows
from dpglm.spec.arguments import bar_of, noise_of
from dpglm.spec.charging import at_site, charged, charged_apart
from dpglm.spec.site_names import require_site_names
from dpglm.spec.sites import OpenedSites, fit_sites, opened_sites, site_charges
from dpglm.spec.weighting import require_one_table

if TYPE_CHECKING:
    from dpglm.spec.plan import Plan, Run

STEPS: Final = ("plan", "charge", "read and solve", "write up")


def run_at_sites(
    plan: Plan,
    tables: Mapping[str, object],
    *,
    ledger: Ledger | Mapping[str, Ledger] | None,
    key: str | None,
    seed: int | None,
    progress: bool | None,
    schemas: Mapping[str, Schema] | None = None,
) -> FitResult | SiteFits:
    """A fit for each site or, by a joint method, one fit of all sites; ``tables`` are from `site_tables`."""
    method = plan.specification.method
    require_one_table(plan.specification.weights)
    if isinstance(method, JointMethod):
        if method.at_site != method:
            raise MethodError(
                f"a plan of method={method.name!r} on one table, for tables by site",
                expected="a plan for each site",
                remedy="Use dpglm.fit(formula, {site: table}, ...), which makes it.",
            )
        return fit_joint(
            plan, method, tables, ledger=ledger, key=key, seed=seed, progress=progress, schemas=schemas
        )
    if isinstance(ledger, Mapping):
        raise MethodError(
            f"a ledger for each site with method={method.name!r}, which makes a fit for each site",
            expected="one ledger, or a joint method such as 'dlvp'",
            remedy="Fit each site by itself with its own ledger.",
        )
    return fit_sites(plan, tables, ledger=ledger, key=key, seed=seed, progress=progress, schemas=schemas)


def fit_joint(
    plan: Plan,
    method: JointMethod,
    tables: Mapping[str, object],
    *,
    ledger: Ledger | Mapping[str, Ledger] | None,
    key: str | None,
    seed: int | None,
    progress: bool | None,
    schemas: Mapping[str, Schema] | None,
) -> FitResult:
    """Run a joint method on a table for each site: all is checked, then all is charged, then rows are read.

    Each site has the releases of the plan, noise of its own and its own guarantee. A ledger for each site is
    charged by itself; one ledger has a line for each site, or one line where everybody is at one site only.
    """
    sites = tuple(tables)
    method.require_sites(sites)
    _require_ledgers(ledger, key, sites)
    with bar_of(progress, STEPS) as step:
        step()
        # Sums under masks are those of one plan for all rows, whatever each site declares of its own.
        at = opened_sites(plan, tables, seed=seed, schemas=None if method.masks else schemas)
        if method.reads_together and len(sites) > 1:
            require_disjoint(method, plan)
        step()

        def charges(names: Sequence[str]) -> list[Charge]:
            lines = [at.runs[site].charge for site in names]
            total = together([at.runs[site].guarantee for site in names], once=at.once)
            return site_charges(lines, names, total, once=at.once)

        def answer(state: LedgerState | None, own: Mapping[str, LedgerState]) -> dict[str, FitRecord]:
            step()
            record = joined(method, at, _asks(method, at), state, own)
            step()
            return {"": record}

        # Charge before reading: an interrupt from here on loses budget, never privacy.
        if isinstance(ledger, Mapping):
            records = answer(None, charged_apart({site: ledger[site] for site in sites}, charges))
        else:
            run: Callable[[LedgerState | None], dict[str, FitRecord]] = partial(answer, own={})
            records = charged(ledger, key, charges(sites), run, kind=FitRecord)
        return at.runs[sites[0]].result(records[""])


def secure_site(
    plan: Plan, name: str, table: object, *, run: str, ledger: Ledger | None = None, seed: int | None = None
) -> SecureSite:
    """One site of a fit by secure sums, by itself: its table is open and its ledger charged; no row was read.

    Whoever carries messages begins here at each site, with the plan that all of them approved. ``run`` is the
    same at all sites and that of no other run. A site that was begun again has new keys, and is another run.

    Raises
    ------
    MethodError
        A plan of another method, or one where a person may be at several sites; nothing was charged.
    SchemaError, BudgetExceeded, LedgerError
        As for `dpglm.fit`, with the name of the site.
    """
    method = plan.specification.method
    if not isinstance(method, JointMethod) or not method.masks:
        raise MethodError(
            f"a plan of method={method.name!r} for a site of a secure sum",
            expected="method='secure-sum'",
            remedy="Use method=dpglm.methods.SecureSum(..., sites=10).",
        )
    require_disjoint(method, plan)
    require_site_names({name: table})
    require_cryptography()
    noise = noise_of(seed)
    opened = at_site(name, partial(plan._on, table, seeded=not noise.private))
    if ledger is not None:
        # Charge before reading: an interrupt from here on loses budget, never privacy.
        lines = site_charges([opened.charge], [name], opened.guarantee, once=False)
        at_site(name, partial(ledger.charge_all, lines))
    return opened.secure_site(name, noise, run=run)


def require_disjoint(method: JointMethod, plan: Plan) -> None:
    """Refuse one noise for all sites where a person may be at several, by a MethodError."""
    if plan.specification.schema.sites != "disjoint":
        raise MethodError(
            f"method={method.name!r}, whose noise hides one row, where a person may be at several sites",
            expected="a schema with sites: disjoint, which says that everybody is at one site only",
            remedy="Write sites: disjoint into the schema if it is so, or use method='dlvp'.",
        )


def _require_ledgers(
    ledger: Ledger | Mapping[str, Ledger] | None, key: str | None, sites: Sequence[str]
) -> None:
    """Refuse ledgers by site that are not one for each, or that a key would have to keep together."""
    if not isinstance(ledger, Mapping):
        return
    if set(ledger) != set(sites):
        other = sorted(map(str, set(ledger) ^ set(sites)))
        raise MethodError(
            f"ledgers by site, and {other[0]!r} in one of ledgers and tables only",
            expected="a ledger for each site, and no other",
            remedy='Write ledger={"north": north_ledger, "south": south_ledger}.',
        )
    if key is not None:
        raise MethodError(
            "a key with a ledger for each site",
            expected="one ledger, which keeps the answer under the key",
            remedy="Leave key out, or use one ledger for all sites.",
        )


def joined(
    method: JointMethod,
    at: OpenedSites,
    asks: Mapping[str, Ask],
    state: LedgerState | None = None,
    own: Mapping[str, LedgerState] = MappingProxyType({}),
) -> FitRecord:
    """Read, by the planned releases of every site only, and write up one record of all sites.

    ``asks`` is how each site is asked, here or in another process; of sums under masks all sites are asked
    at once, by ``asks[""]``. ``own`` are the ledgers of sites.
    """
    runs, first = at.runs, next(iter(at.runs))
    problem = problem_of_all([run.problem for run in runs.values()])
    if method.masks:
        declared = runs[first].problem  # of all sites
        problem = replace(problem, rows=declared.rows, known_rows=declared.known_rows)
    whole = replace(
        runs[first],
        design=JoinedRows(tuple(run.design for run in runs.values())),
        problem=problem,
        guarantee=at.total,
    )
    estimate = _estimate(method, whole, at, asks)
    record = whole.write_up(whole.placed(estimate), at.noises[first], state)
    lines = {site: parallel_lines(run.plan.releases.parallel(), run.guarantee) for site, run in runs.items()}
    sites = [
        JointSite(
            site,
            run.guarantee,
            run.design.row_count() if run.plan.specification.rows_are_public else None,
            run.plan.fingerprint,
            own.get(site),
        )
        for site, run in runs.items()
    ]
    return replace(
        record,
        spend_lines=site_lines(lines, once=at.once) if len(sites) > 1 else record.spend_lines,
        part=JointSites(
            tuple(sites), at.once, apart=method.masks or not method.reads_together, masked=method.masks
        ),
    )


def _asks(method: JointMethod, at: OpenedSites) -> dict[str, Ask]:
    """How the sites are asked that are all in this process."""
    if method.masks:
        run = f"{next(iter(at.runs.values())).plan.fingerprint}/{secrets.token_hex(16)}"
        return {
            "": SecureAsk([own.secure_site(site, at.noises[site], run=run) for site, own in at.runs.items()])
        }
    return {site: run.ask(at.noises[site]) for site, run in at.runs.items()}


def _estimate(method: JointMethod, whole: Run, at: OpenedSites, asks: Mapping[str, Ask]) -> Estimate:
    """What a joint method makes of the releases of all sites, in coded units."""
    if method.masks:
        return method.join(whole.problem, {"": Party(whole.problem, whole.plan.releases, asks[""])})
    if method.reads_together:
        noise = next(iter(at.noises.values()))  # one for all: the vector leaves once
        party = Party(whole.problem, whole.plan.releases, whole.ask(noise))
        return method.join(whole.problem, {"": party})
    parties = {site: Party(run.problem, run.plan.releases, asks[site]) for site, run in at.runs.items()}
    return method.join(whole.problem, parties)


def problem_of_all(problems: Sequence[Problem]) -> Problem:
    """The problem of the rows of all sites: numbers of rows are sums, where every site has one."""

    def whole(rows: Sequence[int | None]) -> int | None:
        known = [count for count in rows if count is not None]
        return sum(known) if len(known) == len(rows) else None

    counts = [problem.count_rows for problem in problems]
    counted = [count for count in counts if count is not None]
    return replace(
        problems[0],
        rows=whole([problem.rows for problem in problems]),
        known_rows=whole([problem.known_rows for problem in problems]),
        count_rows=(lambda: sum(count() for count in counted)) if len(counted) == len(counts) else None,
    )
