"""What is filed, on the command line: reports, exports, and checks that they agree with themselves."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final, get_args

import click

import dpglm
from dpglm.cli.failures import DIFFERS, Unusable
from dpglm.cli.files import FILE, PATH, RESULT, SAVED, YAML, check_targets
from dpglm.cli.group import main
from dpglm.cli.output import JSON, say
from dpglm.cli.saved import kind_of, saved, saved_fits
from dpglm.errors import DpglmError, StoreError
from dpglm.report.exports import ExportKind

FACTS: Final = click.option(
    "--facts", type=YAML, help="report.yaml: organisation, purpose, legal basis, signatory, ..."
)
BINARY: Final[ExportKind] = "ro-crate"


@main.command()
@click.argument("file", type=RESULT)
@click.option("-o", "--output", type=PATH, required=True, help="Write the HTML page here.")
@FACTS
@click.option(
    "--answer",
    "answers",
    nargs=2,
    multiple=True,
    metavar="QUESTION TEXT",
    help="Of 'Choices outside the software': bounds, exploration, repeats, formula, tuning, ...",
)
@JSON
def report(
    file: Path, output: Path, facts: Path | None, answers: tuple[tuple[str, str], ...], as_json: bool
) -> None:
    """Write the privacy report of FILE, a saved fit, profile or ranking, as one HTML page.

    Of a folder of equations each has a page, in a folder.
    """
    check_targets([path for path in (file, facts) if path is not None], output, folders=file.is_dir())
    found = saved(file)
    if isinstance(found, dpglm.ModelSpec):
        raise StoreError(
            f"{file.name}, which holds {kind_of(found)}",
            expected="a saved fit, profile or ranking",
            remedy="A plan has released nothing yet; dpglm show shows it.",
        )
    page = found.report(output, choices=dict(answers), facts=facts)
    alarm = found.summary().alarm
    say(as_json, lambda: {"kind": "page", "private": not alarm, "alarm": alarm}, lambda: alarm, page)


@main.command()
@click.argument("kind", type=click.Choice(get_args(ExportKind)))
@click.argument("file", type=RESULT)
@FACTS
@click.option("-o", "--output", type=PATH, help="Write it here; left out, text is printed.")
@JSON
def export(kind: ExportKind, file: Path, facts: Path | None, output: Path | None, as_json: bool) -> None:
    """Write FILE, a saved fit or a folder of equations, as what is filed or printed elsewhere.

    registry: a record for the registry of deployments of differential privacy. ro-crate: a Five Safes
    RO-Crate, a zip. dpia: paragraphs for a data-protection impact assessment. methods: a paragraph for a
    journal. What people did not state is "not stated"; nothing is approved.
    """
    if output is None and kind == BINARY:
        raise click.UsageError("A crate is a zip: name it by -o fit.zip.")
    check_targets([path for path in (file, facts) if path is not None], output)
    fit = saved_fits(file)
    with tempfile.TemporaryDirectory() as folder:
        wrote = fit.export(kind, Path(folder) / "export" if output is None else output, facts=facts)
        text = None if output is not None else wrote.read_text(encoding="utf-8")
    say(as_json, lambda: {"kind": "export", "of": kind, "text": text}, lambda: text or "", output)


@main.command()
@click.argument("file", type=RESULT)
@click.option("--result", type=SAVED, help="The saved result of a report that does not hold it.")
@click.option("--ledger", type=FILE, help="The ledger that was charged: checked, too.")
@JSON
def verify(file: Path, result: Path | None, ledger: Path | None, as_json: bool) -> None:
    """Compute the numbers of FILE, a report, a saved result or a folder of equations, again; reads no data.

    The exit status is 0 where all that was checked agrees, 3 where something differs, and 2 where a file
    cannot be read.
    """
    try:
        found = dpglm.verify(file, result=result, ledger=ledger)
    except DpglmError as error:
        raise Unusable(error) from None
    say(as_json, found.to_dict, lambda: str(found))
    if not found.passed:
        raise click.exceptions.Exit(DIFFERS)
