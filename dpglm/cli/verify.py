"""The verb verify on the command line: does a file agree with itself?"""

from __future__ import annotations

import json
from pathlib import Path

import click

import dpglm
from dpglm.cli.options import PATH
from dpglm.errors import DpglmError

DIFFERS = 3


class _Unreadable(click.ClickException):
    exit_code = 2


@click.command()
@click.argument("file", type=PATH)
@click.option("--result", type=PATH, help="The saved result of a report that does not hold it.")
@click.option("--ledger", type=PATH, help="The ledger that was charged: checked, too.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def verify(file: Path, result: Path | None, ledger: Path | None, as_json: bool) -> None:
    """Compute the numbers of FILE, a report or a saved result, again; reads no data.

    The exit status is 0 where all that was checked agrees, 3 where something differs, and 2 where a file
    cannot be read.
    """
    try:
        found = dpglm.verify(file, result=result, ledger=ledger)
    except DpglmError as error:
        raise _Unreadable(f"{type(error).__name__}\n{error}") from None
    click.echo(json.dumps(found.to_dict(), indent=1) if as_json else str(found))
    if not found.passed:
        raise click.exceptions.Exit(DIFFERS)
