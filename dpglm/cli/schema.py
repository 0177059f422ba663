"""The commands of a schema: a draft from a code book, and checks of what was declared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from dpglm.cli.options import PATH
from dpglm.cli.tables import file_of, table_options
from dpglm.data.codebooks.check import Finding, against_codebook, against_formula, against_public
from dpglm.data.codebooks.draft import SchemaDraft
from dpglm.data.codebooks.files import opened, records
from dpglm.data.formula.columns import formula_columns
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import open_source
from dpglm.errors import SchemaError
from dpglm.postprocessing.store import writable, write_atomically

FORMATS: Final[dict[str, Callable[..., SchemaDraft]]] = {
    "redcap": Schema.from_redcap,
    "csv": Schema.from_csv_dictionary,
    "ddi": Schema.from_ddi,
    "table-schema": Schema.from_table_schema,
    "pandera": Schema.from_pandera,
    "spss": Schema.from_spss,
    "stata": Schema.from_stata,
    "sas": Schema.from_sas,
}
_ENDS: Final = {
    **dict.fromkeys((".sav", ".zsav", ".por"), "spss"),
    ".dta": "stata",
    **dict.fromkeys((".sas7bdat", ".xpt"), "sas"),
    ".xml": "ddi",
    ".json": "table-schema",
    **dict.fromkeys((".yaml", ".yml"), "pandera"),
}
CODEBOOK = click.option("--codebook", type=PATH, help="Code book: REDCap, DDI, SPSS, Stata, SAS, CSV, ...")
FORMAT = click.option(
    "--format", "kind", type=click.Choice([*FORMATS]), help="Of the code book; left out: guessed."
)


@click.group()
def schema() -> None:
    """Draft a schema from a code book, and check one. Private rows are read by neither."""


@schema.command()
@click.argument("formula")
@click.option("--columns", type=PATH, help="A CSV or Parquet file of which only the column names are read.")
@CODEBOOK
@FORMAT
@click.option("-o", "--output", type=PATH, help="Write the YAML here; left out, it is printed.")
def draft(
    formula: str, columns: Path | None, codebook: Path | None, kind: str | None, output: Path | None
) -> None:
    """Print a schema for the columns of FORMULA, with what is still to declare.

    Bounds, levels, labels and missing codes come from the code book. Words such as HIGH and LEVELS stand for
    what it does not tell, with the reason: the file does not load before they are replaced.
    """
    if output is not None:
        writable(output)
    names = None if columns is None else open_source(columns).column_names
    if codebook is None:
        text = Schema.template(names, formula=formula)
    else:
        text = draft_of(codebook, kind).of_formula(formula, columns=names).to_yaml()
    if output is None:
        click.echo(text, nl=False)
    else:
        click.echo(f"wrote {write_atomically(output, text)}")


@schema.command()
@click.argument("schema", type=PATH)
@click.option("--formula", help="Check that every column is declared as the formula uses it.")
@CODEBOOK
@FORMAT
@click.option(
    "--public",
    type=PATH,
    help="A PUBLIC or SYNTHETIC CSV or Parquet file: its cells are counted and shown. Never private rows.",
)
@table_options
def check(
    schema: Path,
    formula: str | None,
    codebook: Path | None,
    kind: str | None,
    public: Path | None,
    separator: str,
    encoding: str,
    decimal: str,
) -> None:
    """Check SCHEMA against a formula, a code book, and a public or synthetic file.

    The file after --public is read openly, without privacy: which levels are misspelt, which numbers have
    thousands separators, which cells would not be used. NEVER give it private rows, nor a sample of them:
    take made-up rows, or a public table of the same form. The exit status is 1 where something is wrong.
    """
    declared = Schema.from_yaml(schema)
    names = [*declared.variables]
    found: list[Finding] = []
    if formula is not None:
        found += against_formula(declared, formula)
        names = [use.name for use in formula_columns(formula)]
    if codebook is not None:
        found += against_codebook(declared, draft_of(codebook, kind), names)
    if public is not None:
        click.echo(f"{public} is read openly: it must be public or synthetic.")
        found += against_public(declared, file_of(public, separator, encoding, decimal), names)
    for one in found:
        click.echo(str(one))
    wrong = sum(one.wrong for one in found)
    click.echo(f"{len(names)} columns checked, {wrong} things to correct.")
    if wrong:
        raise click.exceptions.Exit(1)


def draft_of(path: Path, kind: str | None) -> SchemaDraft:
    """The draft of a code book, of a kind that its name and its first line tell."""
    if kind is None:
        kind = _ENDS.get(path.suffix.lower())
    if kind is None:
        header, _ = records(opened(path, "a code book").text, "a code book")
        redcap = {"fieldtype", "variablefieldname"} <= {_letters(name) for name in header}
        redcap = redcap or {"field_name", "field_type"} <= set(header)
        kind = "redcap" if redcap else "csv"
    if kind not in FORMATS:
        raise SchemaError(f"a code book of kind {kind}", expected=", ".join(FORMATS), remedy="Use --format.")
    return FORMATS[kind](path)


def _letters(heading: str) -> str:
    return "".join(letter for letter in heading.lower() if letter.isalnum())
