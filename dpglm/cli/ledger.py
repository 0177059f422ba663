"""The commands of a ledger: its charges, signed heads, and which table it is for."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import click

import dpglm
from dpglm.cli.failures import Unusable
from dpglm.cli.files import FILE, PATH, SAVED, TABLE, ledger_at
from dpglm.cli.group import main
from dpglm.cli.options import RELATION, UNIT, budget_of
from dpglm.cli.output import JSON, Document, say
from dpglm.errors import LedgerError
from dpglm.ledger.signing import new_keys, write_once
from dpglm.postprocessing.store import write_atomically
from dpglm.typing import SHORTEST_KEY


@main.group()
def ledger() -> None:
    """Look at a privacy ledger, sign its head, and tell which table it is for."""


@ledger.command()
@click.argument("path", type=FILE)
@JSON
def show(path: Path, as_json: bool) -> None:
    """Print the budget, the balance and every charge of the ledger at PATH, after checking its hash chain."""
    opened = ledger_at(path)
    opened.verify()
    say(as_json, lambda: _document(opened), lambda: str(opened))


@ledger.command()
@click.argument("path", type=PATH)
@click.option("--budget", required=True, help="epsilon, or epsilon,delta: 3 or 3,1e-5.")
@click.option("--dataset", required=True, help="Name of the data set the budget belongs to.")
@click.option("--table", type=TABLE, help="CSV or Parquet file, or a folder of them: its keyed fingerprint.")
@click.option("--table-key", type=FILE, help="File of the secret key of that fingerprint.")
@RELATION
@UNIT
@JSON
def create(
    path: Path,
    budget: str,
    dataset: str,
    table: Path | None,
    table_key: Path | None,
    relation: str,
    unit: str | None,
    as_json: bool,
) -> None:
    """Make a new ledger at PATH."""
    noted = None
    if table is not None and table_key is not None:
        noted = dpglm.table_fingerprint(table, key=table_key)
    elif table is not None or table_key is not None:
        one_of_two = LedgerError(
            "one of --table and --table-key",
            expected="both, or neither",
            remedy="Make a key by: dpglm ledger table-key table.key",
        )
        raise Unusable(one_of_two)
    amount = budget_of(budget, relation, unit, "--budget")
    made = dpglm.Ledger(path, budget=amount, dataset=dataset, table=noted)
    say(as_json, lambda: _document(made), lambda: str(made))


@ledger.command()
@click.argument("private", type=PATH)
@click.argument("public", type=PATH)
@JSON
def keys(private: Path, public: Path, as_json: bool) -> None:
    """Make a pair of Ed25519 keys to sign heads with: new PEM files PRIVATE, for you alone, and PUBLIC."""
    new_keys(private, public)
    if as_json:
        say(True, lambda: {"kind": "keys"}, str, private, public)
    else:
        click.echo(f"wrote {private} (keep it secret) and {public} (give it to everybody)")


@ledger.command()
@click.argument("path", type=FILE)
@click.option("--key", type=FILE, required=True, help="PEM file of your private key.")
@click.option("-o", "--save", type=PATH, help="Write the signed head here; left out, it is printed.")
@JSON
def sign(path: Path, key: Path, save: Path | None, as_json: bool) -> None:
    """Sign the head of the ledger at PATH: all of its lines up to now, as JSON text."""
    text = ledger_at(path).sign_head(key)
    wrote = None if save is None else write_atomically(save, text)
    say(
        as_json,
        lambda: {"kind": "signed head", "head": json.loads(text)},
        lambda: text if wrote is None else "",
        wrote,
    )


@ledger.command()
@click.argument("path", type=FILE)
@click.option("--head", type=SAVED, required=True, help="File of the signed head.")
@click.option("--public-key", type=FILE, required=True, help="PEM file of the owner's public key.")
@JSON
def verify(path: Path, head: Path, public_key: Path, as_json: bool) -> None:
    """Check that the ledger at PATH is whole and holds all lines up to a signed head."""
    text = head.read_text(encoding="utf-8", errors="replace")
    opened = ledger_at(path)
    opened.verify(head=text, public_key=public_key)
    say(
        as_json,
        lambda: {**_document(opened), "passed": True},
        lambda: f"Ledger {opened.dataset!r} is whole and holds all that was signed.",
    )


@ledger.command("table-key")
@click.argument("path", type=PATH)
@JSON
def table_key(path: Path, as_json: bool) -> None:
    """Make a secret key for fingerprints of tables: a new file PATH, for you alone."""
    write_once(path, secrets.token_bytes(SHORTEST_KEY), mode=0o600)
    if as_json:
        say(True, lambda: {"kind": "table key"}, str, path)
    else:
        click.echo(f"wrote {path} (keep it secret: with it, guesses of a table can be tested)")


@ledger.command()
@click.argument("paths", type=FILE, nargs=-1, required=True)
@JSON
def tables(paths: tuple[Path, ...], as_json: bool) -> None:
    """Tell which of the ledgers at PATHS note one table; the exit status is 1 where two of them do."""
    numbers: dict[str, int] = {}
    noted = [ledger_at(path).table for path in paths]
    places = [None if table is None else numbers.setdefault(table, len(numbers) + 1) for table in noted]
    shared = len(numbers) < sum(table is not None for table in noted)

    def text() -> str:
        lines = [
            f"{path}: " + ("no table is noted" if place is None else f"table {place}")
            for path, place in zip(paths, places, strict=True)
        ]
        sums = "Ledgers of the same number are for one table: what it gives away is the sum of both."
        return "\n".join([*lines, *([sums] if shared else [])])

    found = [{"path": str(path), "table": place} for path, place in zip(paths, places, strict=True)]
    say(as_json, lambda: {"kind": "tables", "shared": shared, "ledgers": found}, text)
    if shared:
        raise click.exceptions.Exit(1)


def _document(opened: dpglm.Ledger) -> Document:
    """What a ledger says, without the fingerprint of its table."""
    return {
        "kind": "ledger",
        **opened.state(),
        "relation": opened.budget.relation,
        "unit": opened.budget.unit,
        "head": opened.head,
        "table_noted": opened.table is not None,
    }
