"""The two sides of a joint fit on the command line: answer and coordinate."""

from __future__ import annotations

from pathlib import Path

import click

import dpglm
from dpglm.cli.files import FILE, PATH, SAVED, TABLE, check_targets, ledger_at
from dpglm.cli.group import main
from dpglm.cli.options import REPORT, SAVE
from dpglm.cli.output import JSON, give, say
from dpglm.cli.tables import file_of, table_options

RUN = click.option("--run", required=True, help="Name of the run, the same on all sides: charged once.")
FOLDER = click.option("--folder", type=PATH, required=True, help="Shared folder that carries messages.")
TIMEOUT = click.option(
    "--timeout", type=float, default=600.0, show_default=True, help="Seconds to wait for a message."
)


@main.command()
@click.argument("plan", type=SAVED)
@click.argument("data", type=TABLE)
@table_options
@click.option("--site", required=True, help="Name of this site.")
@RUN
@FOLDER
@click.option("--ledger", type=FILE, required=True, help="Existing ledger file to charge.")
@click.option("--journal", type=PATH, help="Where answers are kept; left out: beside the ledger.")
@click.option("--rows", type=int, help="Declared number of rows, where that is private.")
@TIMEOUT
@JSON
def answer(
    plan: Path,
    data: Path,
    site: str,
    run: str,
    folder: Path,
    ledger: Path,
    journal: Path | None,
    rows: int | None,
    timeout: float,
    as_json: bool,
    **form: str,  # of a CSV file
) -> None:
    """Take part in a joint fit of PLAN, a specification, with DATA that stay here: a file, folder or pattern.

    Killed and started again with the same options, it goes on: nothing is charged or drawn twice.
    """
    transcript = dpglm.answer(
        plan,
        file_of(data, **form),
        site=site,
        run=run,
        transport=folder,
        ledger=ledger_at(ledger),
        journal=journal,
        rows=rows,
        timeout=timeout,
    )
    left, messages = transcript.left(site), len(transcript.lines)
    say(
        as_json,
        lambda: {"kind": "answer", "site": site, "run": run, "bytes": left, "messages": messages},
        lambda: f"{left} bytes left site {site!r} in {messages} messages",
    )


@main.command()
@click.argument("plan", type=SAVED)
@click.option("--site", "sites", multiple=True, required=True, help="Name of a site; once for each.")
@RUN
@FOLDER
@click.option("--journal", type=PATH, help="Where answers are kept, to go on from after a restart.")
@click.option("--transcript", type=PATH, help="Write sizes and SHA-256 of all messages here.")
@TIMEOUT
@REPORT
@SAVE
@JSON
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
    as_json: bool,
) -> None:
    """Fit PLAN, a specification, to the tables of all sites, at each of which `dpglm answer` runs."""
    check_targets([plan], report, save)
    fit = dpglm.coordinate(
        plan, sites, run=run, transport=folder, journal=journal, transcript=transcript, timeout=timeout
    )
    give(fit, as_json, report, save)
