"""The verbs that read data, or plan to: fit, describe, plan and audit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias, get_args

import click

import dpglm
from dpglm.cli.failures import usable
from dpglm.cli.files import PATH, TABLE, YAML, check_targets, ledger_at
from dpglm.cli.group import main
from dpglm.cli.options import LEDGER, RELATION, REPORT, SAVE, UNIT, budget_of, piece
from dpglm.cli.output import JSON, give, plan_document, say
from dpglm.cli.standard_input import PIPED
from dpglm.cli.tables import file_of, table_options
from dpglm.data.tables.file_lists import table_files
from dpglm.data.tables.files import open_files
from dpglm.postprocessing.record import Goal
from dpglm.postprocessing.store import write_atomically
from dpglm.report.facts import ReportFacts
from dpglm.spec.defaults import DEFAULT_FAMILY, DEFAULT_GOAL, DEFAULT_METHOD, MULTINOMIAL

_Table: TypeAlias = "dpglm.CsvFile | Path"

PRIVACY = click.option("--privacy", required=True, help="epsilon, or epsilon,delta: 1 or 1,1e-6.")
SCHEMA = click.option("--schema", type=YAML, help="YAML file of public bounds and levels.")
DECLARED = click.option("--schema", type=YAML, required=True, help="YAML file of public bounds and levels.")
KEY = click.option("--key", help="Name of the run: under one key the same plan is charged and drawn once.")
PAD_TIME = click.option(
    "--pad-time", type=float, help="Answer at a multiple of so many seconds only: time depends on the rows."
)


def _padded(seconds: float | None) -> AbstractContextManager[None]:
    """Padded time, where it was asked for; not beside a pipe, which was read before the clock starts."""
    context = click.get_current_context()
    if seconds is not None and context.find_root().meta.get(PIPED):
        raise click.UsageError("--pad-time beside a pipe: how long that takes is seen. Name files.", context)
    return nullcontext() if seconds is None else dpglm.padded_time(seconds)


def _model(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a model and its budget."""
    for option in (
        piece("--method", "method", default=DEFAULT_METHOD, show_default=True),
        click.option("--goal", type=click.Choice(get_args(Goal)), default=DEFAULT_GOAL, show_default=True),
        piece(
            "--penalty", "penalty", help="Left out, it follows the goal: none, l2 (predict) or l1/2 (select)."
        ),
        click.option("--weights", help="Column of weights of rows, a declared number with bounds >= 0."),
        piece("--family", "family", default=DEFAULT_FAMILY, show_default=True),
        UNIT,
        RELATION,
        PRIVACY,
    ):
        command = option(command)
    return command


def _charged(verb: Callable[..., Any]) -> Callable[..., None]:
    """The command of a verb that reads DATA at a price: its table, budget and ledger, and what it gives back.

    The verb takes all other options by their names, which click has checked.
    """

    @LEDGER
    @KEY
    @PAD_TIME
    @REPORT
    @SAVE
    @JSON
    @wraps(verb)
    def command(
        data: Path,
        separator: str,
        encoding: str,
        decimal: str,
        schema: Path | None,
        privacy: str,
        relation: str,
        unit: str | None,
        ledger: Path | None,
        pad_time: float | None,
        report: Path | None,
        save: Path | None,
        as_json: bool,
        **asked: Any,
    ) -> None:
        budget, table = budget_of(privacy, relation, unit), file_of(data, separator, encoding, decimal)
        several = asked.get("family") == MULTINOMIAL
        opened, facts = _opened(table, schema, ledger, report, save, folders=several)
        with _padded(pad_time):
            found = verb(table=table, schema=schema, privacy=budget, ledger=opened, **asked)
        give(found, as_json, report, save, facts)

    return command


@main.command()
@click.argument("formula")
@click.argument("data", type=TABLE)
@table_options
@SCHEMA
@_model
@click.option("--strength", type=float, help="Penalty strength per row; left out: from the noise level.")
@_charged
def fit(formula: str, table: _Table, **asked: Any) -> Any:
    """Fit FORMULA to DATA and print the summary.

    DATA is a CSV or Parquet file, a folder of them, or a pattern of their names in quotes: 'visits/*.csv'.
    With --family multinomial, --save and --report name folders, in which each equation has a file.
    """
    return dpglm.fit(formula, table, **asked)


@main.command()
@click.argument("data", type=TABLE)
@table_options
@SCHEMA
@click.option("--by", help="A column with levels: everything is told for each of them, and overall.")
@click.option(
    "--column", "columns", multiple=True, help="A column to describe, once for each; by default all."
)
@click.option("--quartiles", is_flag=True, help="Medians and quartiles of numbers, for half of the budget.")
@click.option("--correlations", is_flag=True, help="Correlations of all columns, for half of the budget.")
@PRIVACY
@RELATION
@UNIT
@_charged
def describe(table: _Table, columns: tuple[str, ...], **asked: Any) -> Any:
    """Describe DATA and print the table of sample characteristics.

    DATA is a CSV or Parquet file, a folder of them, or a pattern of their names in quotes: 'visits/*.csv'.
    """
    return dpglm.describe(table, columns=columns or None, **asked)


@main.command()
@click.argument("formula")
@DECLARED
@click.option("--n", type=int, required=True, help="Expected number of rows.")
@_model
@click.option("--delta", help="delta, if not in --privacy: 1e-6.")
@click.option("--rate", type=float, help="Expected share of the response's second level; left out: declared.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Coverage of intervals.")
@click.option(
    "-o", "--save", type=PATH, help="Write the specification as JSON here, for show, answer and coordinate."
)
@JSON
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
    as_json: bool,
    **model: Any,  # family, penalty, goal, method: click checks them
) -> None:
    """Print what a fit of FORMULA can be expected to give; reads no data."""
    check_targets([schema], None, save)
    budget = budget_of(privacy if delta is None else f"{privacy},{delta}", relation, unit)
    planned = dpglm.plan(formula, schema, n=n, privacy=budget, **model)
    if isinstance(planned, dpglm.LevelPlan):
        if save is not None or rate is not None:
            raise click.UsageError(
                "--save and --rate are of one equation: plan each level by a call of its own."
            )
        say(as_json, lambda: plan_document(planned), lambda: str(planned.summary()))
        return
    expected = planned.expected(rate=rate, level=level)
    wrote = None if save is None else write_atomically(save, planned.specification.to_json())
    say(
        as_json,
        lambda: {**plan_document(planned), "rows": expected.tidy(), "notes": expected.summary().notes},
        lambda: str(expected.summary()),
        wrote,
    )


@main.command()
@click.argument("formula")
@DECLARED
@click.option("--n", type=int, help="Expected number of rows, where the plan needs one.")
@_model
@click.option("--trials", default="quick", show_default=True, help="Draws on each table, or quick.")
@click.option("--confidence", type=float, default=0.9999, show_default=True)
@JSON
def audit(
    formula: str,
    schema: Path,
    n: int | None,
    privacy: str,
    relation: str,
    unit: str | None,
    trials: str,
    confidence: float,
    as_json: bool,
    **model: Any,  # family, penalty, goal, method: click checks them
) -> None:
    """Draw the releases of a fit of FORMULA on neighbouring tables made of the schema; reads no data.

    The exit status is 1 where the draws refute the promise.
    """
    planned = dpglm.plan(formula, schema, n=n, privacy=budget_of(privacy, relation, unit), **model)
    if isinstance(planned, dpglm.LevelPlan):
        raise click.UsageError("A multinomial fit is audited in Python: plan.equations[level].audit().")
    draws: Any = int(trials) if trials.isascii() and trials.isdigit() else trials
    found = planned.audit(trials=draws, confidence=confidence)
    head = {"kind": "audit", "passed": found.passed, "formula": formula, "method": found.method}
    say(
        as_json,
        lambda: {**head, "confidence": confidence, "rows": found.tidy(), "notes": found.summary().notes},
        lambda: str(found.summary()),
    )
    if not found.passed:
        raise click.exceptions.Exit(1)


def _opened(
    data: _Table,
    schema: Path | None,
    ledger: Path | None,
    report: Path | None,
    save: Path | None,
    *,
    folders: bool = False,
) -> tuple[dpglm.Ledger | None, ReportFacts]:
    """The ledger, and the facts beside it that a report will state.

    Bad paths are found before anything is charged: afterwards the result would be lost and paid for.
    """
    with usable():
        open_files(data)  # reads the names of columns
        tables = [Path(file) for file in table_files(data)]
    read = [*tables, *(path for path in (schema, ledger) if path is not None)]
    check_targets(read, report, save, folders=folders)
    if ledger is None:
        return None, ReportFacts()
    opened = ledger_at(ledger)
    with usable():
        return opened, ReportFacts.of(None if report is None else opened)
