"""The commands of a schema: a draft from a code book, and checks of what was declared."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

import dpglm
from dpglm.cli.files import PATH, TABLE, YAML, ReadPath, check_targets
from dpglm.cli.group import main
from dpglm.cli.output import JSON, say
from dpglm.cli.tables import file_of, table_options
from dpglm.data.codebooks import FORMATS
from dpglm.postprocessing.store import write_atomically

CODEBOOK = click.option(
    "--codebook", type=ReadPath(""), help="Code book: REDCap, DDI, SPSS, Stata, SAS, CSV, ..."
)
FORMAT = click.option(
    "--format", "kind", type=click.Choice(FORMATS), help="Of the code book; left out: guessed."
)


@main.group()
def schema() -> None:
    """Draft a schema from a code book, and check one. Private rows are read by neither."""


@schema.command()
@click.argument("formula")
@click.option("--columns", type=TABLE, help="A CSV or Parquet file of which only the column names are read.")
@CODEBOOK
@FORMAT
@click.option("-o", "--output", type=PATH, help="Write the YAML here; left out, it is printed.")
@JSON
def draft(
    formula: str,
    columns: Path | None,
    codebook: Path | None,
    kind: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print a schema for the columns of FORMULA, with what is still to declare.

    Bounds, levels, labels and missing codes come from the code book. Words such as HIGH and LEVELS stand for
    what it does not tell, with the reason: the file does not load before they are replaced.
    """
    check_targets([path for path in (columns, codebook) if path is not None], output)
    text = dpglm.draft_schema(formula, columns=columns, codebook=codebook, format=kind)
    wrote = None if output is None else write_atomically(output, text)
    say(as_json, lambda: {"kind": "schema draft", "yaml": text}, lambda: "" if wrote else text, wrote)


@schema.command()
@click.argument("schema", type=YAML)
@click.option("--formula", help="Check that every column is declared as the formula uses it.")
@CODEBOOK
@FORMAT
@click.option(
    "--public",
    type=TABLE,
    help="A PUBLIC or SYNTHETIC CSV or Parquet file: its cells are counted and shown. Never private rows.",
)
@table_options
@JSON
def check(
    schema: Path,
    formula: str | None,
    codebook: Path | None,
    kind: str | None,
    public: Path | None,
    as_json: bool,
    **form: str,  # of a CSV file
) -> None:
    """Check SCHEMA against a formula, a code book, and a public or synthetic file.

    The file after --public is read openly, without privacy: which levels are misspelt, which numbers have
    thousands separators, which cells would not be used. NEVER give it private rows, nor a sample of them:
    take made-up rows, or a public table of the same form. The exit status is 1 where something is wrong.
    """
    table = None if public is None else file_of(public, **form)
    found = dpglm.check_schema(schema, formula=formula, codebook=codebook, format=kind, public=table)
    wrong = sum(one.wrong for one in found)

    def text() -> str:
        opened = f"{public} was read openly: it must be public or synthetic."
        last = f"{wrong or 'No'} {'thing' if wrong == 1 else 'things'} to correct."
        return "\n".join([*([] if public is None else [opened]), *map(str, found), last])

    say(
        as_json,
        lambda: {"kind": "schema check", "wrong": wrong, "findings": [asdict(one) for one in found]},
        text,
    )
    if wrong:
        raise click.exceptions.Exit(1)
