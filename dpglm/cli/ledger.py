"""The commands of a ledger: its charges, signed heads, and which table it is for."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

import dpglm
from dpglm.cli.options import PATH, RELATION, UNIT, budget_of
from dpglm.errors import LedgerError
from dpglm.ledger.signing import new_keys, write_once
from dpglm.postprocessing.store import write_atomically
from dpglm.typing import SHORTEST_KEY


@click.group()
def ledger() -> None:
    """Look at a privacy ledger, sign its head, and tell which table it is for."""


@ledger.command()
@click.argument("path", type=PATH)
def show(path: Path) -> None:
    """Print the budget, the balance and every charge of the ledger at PATH, after checking its hash chain."""
    opened = dpglm.Ledger(path, budget=None)
    opened.verify()
    click.echo(str(opened))


@ledger.command()
@click.argument("path", type=PATH)
@click.option("--budget", required=True, help="epsilon, or epsilon,delta: 3 or 3,1e-5.")
@click.option("--dataset", required=True, help="Name of the data set the budget belongs to.")
@click.option("--table", type=PATH, help="CSV or Parquet file, or a folder of them: its keyed fingerprint.")
@click.option("--table-key", type=PATH, help="File of the secret key of that fingerprint.")
@RELATION
@UNIT
def create(
    path: Path,
    budget: str,
    dataset: str,
    table: Path | None,
    table_key: Path | None,
    relation: str,
    unit: str | None,
) -> None:
    """Make a new ledger at PATH."""
    noted = None
    if table is not None and table_key is not None:
        noted = dpglm.table_fingerprint(table, key=table_key)
    elif table is not None or table_key is not None:
        raise LedgerError(
            "one of --table and --table-key",
            expected="both, or neither",
            remedy="Make a key by: dpglm ledger table-key table.key",
        )
    amount = budget_of(budget, relation, unit, "--budget")
    click.echo(str(dpglm.Ledger(path, budget=amount, dataset=dataset, table=noted)))


@ledger.command()
@click.argument("private", type=PATH)
@click.argument("public", type=PATH)
def keys(private: Path, public: Path) -> None:
    """Make a pair of Ed25519 keys to sign heads with: new PEM files PRIVATE, for you alone, and PUBLIC."""
    new_keys(private, public)
    click.echo(f"wrote {private} (keep it secret) and {public} (give it to everybody)")


@ledger.command()
@click.argument("path", type=PATH)
@click.option("--key", type=PATH, required=True, help="PEM file of your private key.")
@click.option("--save", type=PATH, help="Write the signed head here; left out, it is printed.")
def sign(path: Path, key: Path, save: Path | None) -> None:
    """Sign the head of the ledger at PATH: all of its lines up to now, as JSON text."""
    text = dpglm.Ledger(path, budget=None).sign_head(key)
    if save is None:
        click.echo(text)
    else:
        click.echo(f"wrote {write_atomically(save, text)}")


@ledger.command()
@click.argument("path", type=PATH)
@click.option("--head", type=PATH, required=True, help="File of the signed head.")
@click.option("--public-key", type=PATH, required=True, help="PEM file of the owner's public key.")
def verify(path: Path, head: Path, public_key: Path) -> None:
    """Check that the ledger at PATH is whole and holds all lines up to a signed head."""
    text = head.read_text(encoding="utf-8", errors="replace")
    opened = dpglm.Ledger(path, budget=None)
    opened.verify(head=text, public_key=public_key)
    click.echo(f"Ledger {opened.dataset!r} is whole and holds all that was signed.")


@ledger.command("table-key")
@click.argument("path", type=PATH)
def table_key(path: Path) -> None:
    """Make a secret key for fingerprints of tables: a new file PATH, for you alone."""
    write_once(path, secrets.token_bytes(SHORTEST_KEY), mode=0o600)
    click.echo(f"wrote {path} (keep it secret: with it, guesses of a table can be tested)")


@ledger.command()
@click.argument("paths", type=PATH, nargs=-1, required=True)
def tables(paths: tuple[Path, ...]) -> None:
    """Tell which of the ledgers at PATHS note one table; the exit status is 1 where two of them do."""
    numbers: dict[str, int] = {}
    noted = [dpglm.Ledger(path, budget=None).table for path in paths]
    for path, table in zip(paths, noted, strict=True):
        number = None if table is None else numbers.setdefault(table, len(numbers) + 1)
        click.echo(f"{path}: " + ("no table is noted" if number is None else f"table {number}"))
    if len(numbers) < sum(table is not None for table in noted):
        click.echo("Ledgers of the same number are for one table: what it gives away is the sum of both.")
        raise click.exceptions.Exit(1)
