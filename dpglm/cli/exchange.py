"""The two sides of a joint fit on the command line: answer and coordinate."""

from __future__ import annotations

from pathlib import Path

import click

import dpglm
from dpglm.cli.commands import REPORT, SAVE, check_targets, give
from dpglm.cli.commands import main as main
from dpglm.cli.options import PATH
from dpglm.cli.tables import file_of, table_options

RUN = click.option("--run", required=True, help="Name of the run, the same on all sides: charged once.")
FOLDER = click.option("--folder", type=PATH, required=True, help="Shared folder that carries messages.")
TIMEOUT = click.option(
    "--timeout", type=float, default=600.0, show_default=True, help="Seconds to wait for a message."
)


@main.command()
@click.argument("plan", type=PATH)
@click.argument("data", type=PATH)
@table_options
@click.option("--site", required=True, help="Name of this site.")
@RUN
@FOLDER
@click.option("--ledger", type=PATH, required=True, help="Existing ledger file to charge.")
@click.option("--journal", type=PATH, help="Where answers are kept; left out: beside the ledger.")
@click.option("--rows", type=int, help="Declared number of rows, where that is private.")
@TIMEOUT
def answer(
    plan: Path,
    data: Path,
    separator: str,
    encoding: str,
    decimal: str,
    site: str,
    run: str,
    folder: Path,
    ledger: Path,
    journal: Path | None,
    rows: int | None,
    timeout: float,
) -> None:
    """Take part in a joint fit of PLAN, a specification, with DATA that stay here: a file, folder or pattern.

    Killed and started again with the same options, it goes on: nothing is charged or drawn twice.
    """
    transcript = dpglm.answer(
        plan,
        file_of(data, separator, encoding, decimal),
        site=site,
        run=run,
        transport=folder,
        ledger=dpglm.Ledger(ledger, budget=None),
        journal=journal,
        rows=rows,
        timeout=timeout,
    )
    click.echo(f"{transcript.left(site)} bytes left site {site!r} in {len(transcript.lines)} messages")


@main.command()
@click.argument("plan", type=PATH)
@click.option("--site", "sites", multiple=True, required=True, help="Name of a site; once for each.")
@RUN
@FOLDER
@click.option("--journal", type=PATH, help="Where answers are kept, to go on from after a restart.")
@click.option("--transcript", type=PATH, help="Write sizes and SHA-256 of all messages here.")
@TIMEOUT
@REPORT
@SAVE
def coordinate(
    plan: Path,
    sites: tuple[str, ...],
    run: str,
    folder: Path,
    journal: Path | None,
    transcript: Path | None,
    timeout: float,
    report: Path | None,
    save: Path | None,
) -> None:
    """Fit PLAN, a specification, to the tables of all sites, at each of which `dpglm answer` runs."""
    check_targets([plan], report, save)
    fit = dpglm.coordinate(
        plan, sites, run=run, transport=folder, journal=journal, transcript=transcript, timeout=timeout
    )
    give(fit, report, save)
