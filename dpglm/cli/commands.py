"""The verbs on the command line: fit, describe, plan, audit and pool; others in files beside it."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

import dpglm
from dpglm.cli.ledger import ledger as ledger_commands
from dpglm.cli.options import PATH, RELATION, UNIT, budget_of
from dpglm.cli.schema import schema as schema_commands
from dpglm.cli.tables import file_of, table_options
from dpglm.cli.verify import verify
from dpglm.data.tables.file_lists import table_files
from dpglm.errors import DpglmError, StoreError
from dpglm.postprocessing.record import Goal
from dpglm.postprocessing.site_pool import Effects
from dpglm.postprocessing.store import writable, write_atomically
from dpglm.spec.defaults import DEFAULT_FAMILY, DEFAULT_GOAL, DEFAULT_METHOD

if TYPE_CHECKING:
    from dpglm.results.result import Result

PRIVACY = click.option("--privacy", required=True, help="epsilon, or epsilon,delta: 1 or 1,1e-6.")
SCHEMA = click.option("--schema", type=PATH, help="YAML file of public bounds and levels.")
LEDGER = click.option("--ledger", type=PATH, help="Existing ledger file to charge.")
KEY = click.option("--key", help="Name of the run: under one key the same plan is charged and drawn once.")
PAD_TIME = click.option(
    "--pad-time", type=float, help="Answer at a multiple of so many seconds only: time depends on the rows."
)
REPORT = click.option("--report", type=PATH, help="Write the HTML privacy report here.")
SAVE = click.option("--save", type=PATH, help="Write the result as JSON here.")


class _Guarded(click.Group):
    """Turns our errors and the system's into a message and an exit status; nothing else is caught."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except DpglmError as error:
            raise click.ClickException(f"{type(error).__name__}\n{error}") from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # a reader that went away, such as head: click ends quietly
            if error.filename is None:
                # What standard output could not take would be tried again at exit.
                sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            raise click.ClickException(f"{error.strerror}: {error.filename or 'standard output'}") from None


@click.group(cls=_Guarded)
@click.version_option(package_name="dpglm")
def main() -> None:
    """R-style statistics under differential privacy."""


def _padded(seconds: float | None) -> AbstractContextManager[None]:
    """Padded time, where it was asked for."""
    return nullcontext() if seconds is None else dpglm.padded_time(seconds)


def _model(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a model and its budget."""
    for option in (
        click.option("--method", default=DEFAULT_METHOD, show_default=True),
        click.option("--goal", type=click.Choice(get_args(Goal)), default=DEFAULT_GOAL, show_default=True),
        click.option("--penalty", help="Left out, it follows the goal: none, l2 (predict) or l1/2 (select)."),
        click.option("--family", default=DEFAULT_FAMILY, show_default=True),
        UNIT,
        RELATION,
        PRIVACY,
    ):
        command = option(command)
    return command


@main.command()
@click.argument("formula")
@click.argument("data", type=PATH)
@table_options
@SCHEMA
@_model
@click.option("--strength", type=float, help="Penalty strength per row; left out: from the noise level.")
@LEDGER
@KEY
@PAD_TIME
@REPORT
@SAVE
def fit(
    formula: str,
    data: Path,
    separator: str,
    encoding: str,
    decimal: str,
    schema: Path | None,
    privacy: str,
    relation: str,
    unit: str | None,
    ledger: Path | None,
    key: str | None,
    pad_time: float | None,
    report: Path | None,
    save: Path | None,
    **model: Any,  # family, penalty, strength, goal, method: click checks them
) -> None:
    """Fit FORMULA to DATA and print the summary.

    DATA is a CSV or Parquet file, a folder of them, or a pattern of their names in quotes: 'visits/*.csv'.
    """
    _check_files(data, schema, ledger, report, save)
    budget = budget_of(privacy, relation, unit)
    charged = None if ledger is None else dpglm.Ledger(ledger, budget=None)
    table = file_of(data, separator, encoding, decimal)
    with _padded(pad_time):
        fitted = dpglm.fit(formula, table, schema=schema, privacy=budget, ledger=charged, key=key, **model)
    give(fitted, report, save)


@main.command()
@click.argument("data", type=PATH)
@table_options
@SCHEMA
@click.option("--by", help="A column with levels: everything is told for each of them, and overall.")
@click.option(
    "--column", "columns", multiple=True, help="A column to describe, once for each; by default all."
)
@click.option("--quartiles", is_flag=True, help="Medians and quartiles of numbers, for half of the budget.")
@PRIVACY
@RELATION
@UNIT
@LEDGER
@KEY
@PAD_TIME
@REPORT
@SAVE
def describe(
    data: Path,
    separator: str,
    encoding: str,
    decimal: str,
    schema: Path | None,
    by: str | None,
    columns: tuple[str, ...],
    quartiles: bool,
    privacy: str,
    relation: str,
    unit: str | None,
    ledger: Path | None,
    key: str | None,
    pad_time: float | None,
    report: Path | None,
    save: Path | None,
) -> None:
    """Describe DATA and print the table of sample characteristics.

    DATA is a CSV or Parquet file, a folder of them, or a pattern of their names in quotes: 'visits/*.csv'.
    """
    _check_files(data, schema, ledger, report, save)
    budget = budget_of(privacy, relation, unit)
    charged = None if ledger is None else dpglm.Ledger(ledger, budget=None)
    table = file_of(data, separator, encoding, decimal)
    with _padded(pad_time):
        told = dpglm.describe(
            table,
            schema=schema,
            by=by,
            columns=columns or None,
            quartiles=quartiles,
            privacy=budget,
            ledger=charged,
            key=key,
        )
    give(told, report, save)


@main.command()
@click.argument("formula")
@click.option("--schema", type=PATH, required=True, help="YAML file of public bounds and levels.")
@click.option("--n", type=int, required=True, help="Expected number of rows.")
@_model
@click.option("--delta", help="delta, if not in --privacy: 1e-6.")
@click.option("--rate", type=float, help="Expected share of the response's second level; left out: declared.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Coverage of intervals.")
@click.option("--save", type=PATH, help="Write the specification as JSON here, for answer and coordinate.")
def plan(
    formula: str,
    schema: Path,
    n: int,
    privacy: str,
    delta: str | None,
    relation: str,
    unit: str | None,
    rate: float | None,
    level: float,
    save: Path | None,
    **model: Any,  # family, penalty, goal, method: click checks them
) -> None:
    """Print what a fit of FORMULA can be expected to give; reads no data."""
    check_targets([schema], None, save)
    budget = budget_of(privacy if delta is None else f"{privacy},{delta}", relation, unit)
    planned = dpglm.plan(formula, schema, n=n, privacy=budget, **model)
    click.echo(str(planned.expected(rate=rate, level=level).summary()))
    if save is not None:
        click.echo(f"wrote {write_atomically(save, planned.specification.to_json())}")


@main.command()
@click.argument("formula")
@click.option("--schema", type=PATH, required=True, help="YAML file of public bounds and levels.")
@click.option("--n", type=int, help="Expected number of rows, where the plan needs one.")
@_model
@click.option("--trials", default="quick", show_default=True, help="Draws on each table, or quick.")
@click.option("--confidence", type=float, default=0.9999, show_default=True)
def audit(
    formula: str,
    schema: Path,
    n: int | None,
    privacy: str,
    relation: str,
    unit: str | None,
    trials: str,
    confidence: float,
    **model: Any,  # family, penalty, goal, method: click checks them
) -> None:
    """Draw the releases of a fit of FORMULA on neighbouring tables made of the schema; reads no data.

    The exit status is 1 where the draws refute the promise.
    """
    planned = dpglm.plan(formula, schema, n=n, privacy=budget_of(privacy, relation, unit), **model)
    draws: Any = int(trials) if trials.isascii() and trials.isdigit() else trials
    found = planned.audit(trials=draws, confidence=confidence)
    click.echo(str(found.summary()))
    if not found.passed:
        raise click.exceptions.Exit(1)


@main.command()
@click.argument("fits", type=PATH, nargs=-1, required=True)
@click.option("--effects", type=click.Choice(get_args(Effects)), default="common", show_default=True)
@click.option("--fixed", multiple=True, help="With random effects: a coefficient that all sites share.")
@click.option(
    "--disjoint/--overlapping",
    default=None,
    help="Whether nobody is at two sites; left out, as the schemas of all sites say.",
)
@REPORT
@SAVE
def pool(
    fits: tuple[Path, ...],
    effects: Effects,
    fixed: tuple[str, ...],
    disjoint: bool | None,
    report: Path | None,
    save: Path | None,
) -> None:
    """Pool FITS, saved results of one model at several sites, and print the summary; reads no data."""
    check_targets(fits, report, save)
    give(dpglm.pool(fits, effects=effects, fixed=fixed, disjoint=disjoint), report, save)


main.add_command(ledger_commands)
main.add_command(schema_commands)
main.add_command(verify)


def give(result: Result[Any], report: Path | None, save: Path | None) -> None:
    """Write and print a result, which is paid for: it is shown even where a disk is full."""
    written = []
    try:
        if save is not None:
            written.append(result.save(save))
        if report is not None:
            written.append(result.report(report))
    finally:
        click.echo(str(result.summary()))
        for path in written:
            click.echo(f"wrote {path}")


def _check_files(
    data: Path, schema: Path | None, ledger: Path | None, report: Path | None, save: Path | None
) -> None:
    """Find bad paths before anything is charged: afterwards the result would be lost and paid for."""
    read = [*map(Path, table_files(data)), *(path for path in (schema, ledger) if path is not None)]
    check_targets(read, report, save)


def check_targets(read: Sequence[Path], report: Path | None, save: Path | None) -> None:
    """Find targets that cannot be written, or that are what is read."""
    taken = {path.resolve() for path in read}
    for target in [path for path in (save, report) if path is not None]:
        writable(target)
        if target.resolve() in taken:
            raise StoreError(
                f"{str(target)!r} for two files",
                expected="paths of their own for what is read, --save and --report",
                remedy="Choose another path.",
            )
        taken.add(target.resolve())
