"""One model at several sites: everything is checked before any site is charged, all before any is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import find_schema, is_table, marks_of
from dpglm.errors import SchemaError
from dpglm.ledger.ledger import Charge, Ledger
from dpglm.mechanisms.noise import NoiseSource
from dpglm.postprocessing.joint_sites import together
from dpglm.postprocessing.record import FitRecord, LedgerState
from dpglm.privacy.guarantee import Guarantee
from dpglm.results.compare import SiteFits
from dpglm.results.fit_result import FitResult
from dpglm.spec.arguments import bar_of, noise_of
from dpglm.spec.charging import at_site, charged, with_row_map
from dpglm.spec.pool import pool
from dpglm.spec.site_names import MOST_SITES, require_site_names

if TYPE_CHECKING:
    from dpglm.spec.plan import Plan, Run


def fit_sites(
    plan: Plan,
    tables: Mapping[str, object],
    *,
    ledger: Ledger | None,
    key: str | None,
    seed: int | None,
    progress: bool | None,
    schemas: Mapping[str, Schema] | None = None,
) -> SiteFits:
    """Run one plan on a table for each site, each under the whole budget and with noise of its own.

    The fits differ from single ones in when they are charged, and in what they promise together. ``tables``
    are from `site_tables`, ``schemas`` from `site_schemas`: sites may declare different numbers of rows.
    """
    sites = tuple(tables)
    labels = ["plan", "charge", *(f"site {index} of {len(sites)}" for index in range(1, len(sites) + 1))]
    with bar_of(progress, labels) as step:
        step()
        at = opened_sites(plan, tables, seed=seed, schemas=schemas)
        step()
        models = {site: run.plan.specification.coded_model for site, run in at.runs.items()}
        charges = site_charges([run.charge for run in at.runs.values()], sites, at.total, once=at.once)

        # Charge before reading: an interrupt from here on loses budget, never privacy.
        answer = partial(solved, at.runs, at.noises, step)
        records = charged(ledger, key, charges, answer, sites=sites, kind=FitRecord)
        fits = {site: FitResult(with_row_map(record, models[site])) for site, record in records.items()}
        return SiteFits(fits, at.total, pool)


def solved(
    runs: dict[str, Run],
    noises: Mapping[str, NoiseSource],
    step: Callable[[], None],
    state: LedgerState | None,
) -> dict[str, FitRecord]:
    """Run one after the other; ``runs`` is emptied, as the rows of each are let go of with it."""
    records: dict[str, FitRecord] = {}
    for name, noise in noises.items():
        step()
        run = runs.pop(name)
        records[name] = run.write_up(run.solve(noise), noise, state)
    return records


@dataclass(frozen=True)
class OpenedSites:
    """A plan at each of several sites: tables are open and checked, and no row was read."""

    runs: dict[str, Run]
    noises: dict[str, NoiseSource]
    once: bool  # whether everybody is at one site only
    total: Guarantee


def opened_sites(
    plan: Plan, tables: Mapping[str, object], *, seed: int | None, schemas: Mapping[str, Schema] | None
) -> OpenedSites:
    """Open every table, under its own schema, with noise of its own; a SchemaError names the site."""
    noises = dict(zip(tables, map(noise_of, site_seeds(seed, len(tables))), strict=True))
    specification = plan.specification
    once = specification.schema.sites == "disjoint"
    if once:
        refuse_twins(tables)
    declared = dict.fromkeys(tables, specification.schema) if schemas is None else schemas
    plans = {
        site: plan if schema == specification.schema else at_site(site, specification.under(schema).plan)
        for site, schema in declared.items()
    }
    runs = {
        site: at_site(site, partial(plans[site]._on, tables[site], seeded=not noise.private))
        for site, noise in noises.items()
    }
    return OpenedSites(runs, noises, once, together([run.guarantee for run in runs.values()], once=once))


def site_seeds(seed: int | None, count: int) -> list[int | None]:
    """A seed for every site, made of the seed and the site's place; None for noise of the operating system.

    Examples
    --------
    >>> len(set(site_seeds(7, 3))), site_seeds(7, 3)[:2] == site_seeds(7, 2), site_seeds(None, 2)
    (3, True, [None, None])
    """
    noise_of(seed)  # refuses what is no seed
    if seed is None:
        return [None] * count
    streams = (np.random.SeedSequence(int(seed), spawn_key=(index,)) for index in range(count))
    return [int.from_bytes(stream.generate_state(4).astype("<u4").tobytes(), "little") for stream in streams]


def site_tables(data: Mapping[Any, object]) -> dict[str, object]:
    """The tables by site, names and kinds checked; no table is opened."""
    if not 1 <= len(data) <= MOST_SITES:
        raise SchemaError(
            f"data of {len(data)} sites",
            expected=f"1 to {MOST_SITES} tables by the name of their site",
            remedy='Write {"north": frame, "south": "south.csv"}.',
        )
    tables = dict(data.items())
    require_site_names(tables)
    for site, table in tables.items():
        if not is_table(table):
            raise SchemaError(
                f"data as a dict whose {site!r} is of type {type(table).__name__} and no table",
                expected="one table a site: a DataFrame, an Arrow table, a query, or paths to CSV or Parquet",
                remedy="For one table given by its columns use pandas.DataFrame(data); for several sites "
                'write {"north": frame, "south": "south.csv"}.',
            )
    return tables


def site_schemas(tables: Mapping[str, object], formula: str | None = None) -> dict[str, Schema]:
    """What the table of each site declares; sites must agree on the columns, the unit and ``sites``."""
    find = partial(find_schema, formula=formula)
    schemas = {site: at_site(site, partial(find, table)) for site, table in tables.items()}
    first, declared = next(iter(schemas.items()))
    for site, other in schemas.items():
        differing = [
            name
            for name in (*declared.variables, *other.variables)
            if _declaration(declared, name) != _declaration(other, name)
        ]
        differing += [name for name in ("unit", "sites") if getattr(declared, name) != getattr(other, name)]
        if differing:
            names = ", ".join(dict.fromkeys(differing))
            raise SchemaError(
                f"site {site!r} declares {names} differently from site {first!r}",
                expected="the same columns, unit and sites declared at every site; rows and title may differ",
                remedy="Pass one schema= for all sites.",
            )
    return schemas


def _declaration(schema: Schema, name: str) -> object:
    """A column's declaration with its labels: the levels 1 and True are equal and are written differently."""
    variable = schema.variables.get(name)
    return variable, getattr(variable, "labels", None)


def refuse_twins(tables: Mapping[str, object]) -> None:
    """Refuse one table at two sites where the schema says that nobody is at two sites."""
    owners: dict[object, str] = {}
    for site, table in tables.items():
        for mark in at_site(site, partial(marks_of, table)):
            owner = owners.setdefault(mark, site)
            if owner != site:
                raise SchemaError(
                    f"one table for the sites {owner!r} and {site!r}, and a schema with sites: disjoint",
                    expected="a table of its own for each site: everybody is declared to be at one site only",
                    remedy="Give each site its own rows, or leave sites: disjoint out of the schema.",
                )


def site_charges(
    charges: Sequence[Charge], sites: Sequence[str], total: Guarantee, *, once: bool
) -> list[Charge]:
    """The charges of all sites: a line for each, or one where everybody is at one site only."""
    if once and len(sites) > 1:
        plans = "".join(dict.fromkeys(plan for _, _, plan in charges))
        return [(total, f"{charges[0][1]} at {len(sites)} sites, one per person", plans)]
    return [
        (guarantee, f"{what} at site {site!r}", plan)
        for (guarantee, what, plan), site in zip(charges, sites, strict=True)
    ]
