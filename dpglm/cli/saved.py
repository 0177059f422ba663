"""The verbs of saved files, which read no private table and are free: show, refit, predict, compare, pool."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, get_args

import click

import dpglm
from dpglm.cli.failures import usable
from dpglm.cli.files import FILE, PATH, RESULT, SAVED, TABLE, check_targets, ledger_at
from dpglm.cli.group import main
from dpglm.cli.options import REPORT, SAVE, piece
from dpglm.cli.output import JSON, Document, give, plan_document, result_document, say
from dpglm.cli.tables import file_of, table_options
from dpglm.errors import StoreError
from dpglm.postprocessing import store
from dpglm.postprocessing.record import SPECIFICATION
from dpglm.postprocessing.site_pool import Effects
from dpglm.results.charges import kept_fits, paid_lines
from dpglm.tables.table import Table

FORMATS: Final[dict[str, Callable[[Table], str]]] = {
    "text": str,
    "markdown": Table.to_markdown,
    "html": Table.to_html,
    "latex": Table.to_latex,
}


_LEDGER: Final = b"SQLite format 3\0"


def saved(path: Path) -> Any:
    """The fit, profile, ranking or specification that a file holds, or the equations in a folder."""
    if path.is_dir():
        return dpglm.load(path)
    with open(path, "rb") as file:
        begun = file.read(len(_LEDGER))
    if begun == _LEDGER or not begun:
        raise StoreError(
            f"{path.name}, which is {'a ledger' if begun else 'empty'} and no saved result",
            expected="a file that --save wrote",
            remedy=f"Use dpglm ledger show {path.name}." if begun else "Correct the path, or save it again.",
        )
    text = store.read_text(path)
    if text.lstrip("\ufeff \r\n\t").startswith("<"):
        raise StoreError(
            f"{path.name}, which is a page and no saved result",
            expected="a file that --save wrote",
            remedy=f"Use dpglm verify {path.name}: a report shows itself in a browser.",
        )
    mark = store.mark_in(text)
    if mark == SPECIFICATION:
        with usable():
            return dpglm.ModelSpec.from_json(text)
    if mark == "dpglm-profile":
        return dpglm.Profile.load(path)
    if mark == "dpglm-ranking":
        return dpglm.FeatureRanking.load(path)
    return dpglm.load(path)


def saved_fits(path: Path) -> dpglm.FitResult | dpglm.LevelFits:
    """A fit, or the equations of one."""
    found = saved(path)
    if not isinstance(found, dpglm.FitResult | dpglm.LevelFits):
        raise StoreError(
            f"{path.name}, which holds {kind_of(found)}",
            expected="a saved fit",
            remedy="Use a file that dpglm fit --save wrote; dpglm show shows this one.",
        )
    return found


@main.command()
@click.argument("file", type=RESULT)
@click.option("--n", type=int, help="Number of rows to expect, of a plan.")
@click.option("--format", "form", type=click.Choice([*FORMATS]), default="text", show_default=True)
@JSON
def show(file: Path, n: int | None, form: str, as_json: bool) -> None:
    """Print the summary of FILE: a saved fit, profile, ranking or plan, or a folder of equations."""
    found = saved(file)
    if isinstance(found, dpglm.ModelSpec):
        planned = found.plan(n=n)
        say(as_json, lambda: plan_document(planned), lambda: FORMATS[form](planned.summary()))
    elif n is not None:
        raise click.UsageError(f"--n is of a plan, and {file.name} holds {kind_of(found)}.")
    else:
        say(as_json, lambda: result_document(found), lambda: FORMATS[form](found.summary()))


@main.command()
@click.argument("file", type=RESULT)
@piece("--penalty", "penalty", help="l1, l2, scad, ...; left out, it stays, and a submodel has none.")
@click.option("--strength", type=float, help="Per row where the number of rows is public; left out: by BIC.")
@click.option("--drop", multiple=True, help="A term or data column to leave out, once for each.")
@click.option(
    "--merge",
    nargs=3,
    multiple=True,
    metavar="COLUMN NAME LEVELS",
    help="Levels that become one: --merge job other x,y.",
)
@SAVE
@JSON
def refit(
    file: Path,
    penalty: str | None,
    strength: float | None,
    drop: tuple[str, ...],
    merge: tuple[tuple[str, str, str], ...],
    save: Path | None,
    as_json: bool,
) -> None:
    """Fit FILE, a saved fit, again with another penalty, or without some of its terms: free."""
    check_targets([file], save, folders=file.is_dir())
    merged: dict[str, dict[str, list[str]]] = {}
    for column, name, levels in merge:
        merged.setdefault(column, {})[name] = next(csv.reader([levels], skipinitialspace=True), [])
    fit = saved_fits(file).refit(penalty, strength=strength, drop=drop or None, merge=merged or None)
    give(fit, as_json, None, save)


@main.command()
@click.argument("file", type=RESULT)
@click.argument("data", type=TABLE)
@table_options
@click.option("--what", type=click.Choice(["mean", "link", "class"]), default="mean", show_default=True)
@click.option("--se", is_flag=True, help="Standard errors and intervals, noise included.")
@click.option("--interval", type=float, metavar="LEVEL", help="Coverage of intervals: 0.95.")
@click.option("-o", "--output", type=PATH, help="Write the CSV here; left out, it is printed.")
@JSON
def predict(
    file: Path,
    data: Path,
    what: Any,  # click checks it
    se: bool,
    interval: float | None,
    output: Path | None,
    as_json: bool,
    **form: str,  # of a CSV file
) -> None:
    """Predict the rows of DATA, a table, by FILE, a saved fit: a line of CSV for each row, in order.

    Of a row that cannot be predicted the values are empty. DATA need no response.
    """
    import pandas as pd

    table = file_of(data, **form)
    check_targets([file, data], output)
    fit = saved_fits(file)
    if isinstance(fit, dpglm.LevelFits) and (se or interval is not None):
        raise click.UsageError("--se and --interval are of one equation: name its file.")
    with usable():
        found: object = fit.predict(table, what, interval=interval, se=se)
    frame = found if isinstance(found, pd.DataFrame) else pd.DataFrame({"prediction": found})
    alarm = fit.summary().alarm
    if alarm and not as_json:
        click.echo(alarm, err=True)
    text = frame.to_csv(index=False)
    wrote = None if output is None else store.write_atomically(output, text)
    document: Document = {"kind": "predictions", "private": not alarm, "alarm": alarm, "what": what}
    say(as_json, lambda: {**document, "rows": frame}, lambda: "" if output is not None else text, wrote)


@main.command()
@click.argument("files", type=RESULT, nargs=-1)
@click.option("--ledger", type=FILE, help="Which of its lines paid for what; alone: all fits that it keeps.")
@click.option("--format", "form", type=click.Choice([*FORMATS]), default="text", show_default=True)
@JSON
def compare(files: tuple[Path, ...], ledger: Path | None, form: str, as_json: bool) -> None:
    """Print coefficients of FILES, saved fits or folders of equations, side by side, with each guarantee.

    A ledger alone stands for the fits whose answers it keeps, those that were charged under a key.
    """
    stems = Counter(path.stem for path in files)
    names = [path.stem if stems[path.stem] == 1 else str(path) for path in files]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise click.UsageError(f"{twice[0]} is named twice.")
    opened = None if ledger is None else ledger_at(ledger)
    fits: dict[str, dpglm.FitResult] = {}
    for name, path in zip(names, files, strict=True):
        found = saved_fits(path)
        each = {"": found} if isinstance(found, dpglm.FitResult) else found
        fits |= {f"{name}: {level}" if level else name: fit for level, fit in each.items()}
    if not fits and opened is None:
        raise click.UsageError("Name saved fits, or a ledger that keeps some.")
    if not fits and opened is not None:
        fits = {name: dpglm.FitResult(record) for name, record in kept_fits(opened).items()}
    table = dpglm.compare(fits, ledger=opened)
    records = {name: fit._record for name, fit in fits.items()}
    say(
        as_json,
        lambda: {
            "kind": "comparison",
            "alarm": table.alarm,
            "fits": {name: result_document(fit) for name, fit in fits.items()},
            "notes": table.notes,
            **({} if opened is None else {"ledger": opened.state(), "paid_by": paid_lines(records, opened)}),
        },
        lambda: FORMATS[form](table),
    )


@main.command()
@click.argument("fits", type=SAVED, nargs=-1, required=True)
@click.option("--effects", type=click.Choice(get_args(Effects)), default="common", show_default=True)
@click.option("--fixed", multiple=True, help="With random effects: a coefficient that all sites share.")
@click.option(
    "--disjoint/--overlapping",
    default=None,
    help="Whether nobody is at two sites; left out, as the schemas of all sites say.",
)
@REPORT
@SAVE
@JSON
def pool(
    fits: tuple[Path, ...],
    effects: Effects,
    fixed: tuple[str, ...],
    disjoint: bool | None,
    report: Path | None,
    save: Path | None,
    as_json: bool,
) -> None:
    """Pool FITS, saved results of one model at several sites, and print the summary; reads no data."""
    check_targets(fits, report, save)
    pooled = dpglm.pool(fits, effects=effects, fixed=fixed, disjoint=disjoint)
    give(pooled, as_json, report, save)


def kind_of(found: object) -> str:
    """What a file holds, in words."""
    known = {
        dpglm.FitResult: "a fit",
        dpglm.LevelFits: "the equations of a multinomial fit",
        dpglm.Profile: "a profile",
        dpglm.FeatureRanking: "a ranking",
        dpglm.ModelSpec: "a plan",
    }
    return next(words for kind, words in known.items() if isinstance(found, kind))
