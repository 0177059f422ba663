"""Tables as they are named on the command line: options of a CSV file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

import dpglm

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
DECIMALS = {"point": ".", "comma": ","}


def table_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a CSV file."""
    for option in (
        click.option("--encoding", default="utf-8", show_default=True, help="Of a CSV file: latin-1, say."),
        click.option(
            "--separator",
            type=click.Choice([*SEPARATORS]),
            default="comma",
            show_default=True,
            help="What stands between the fields of a CSV file.",
        ),
        click.option(
            "--decimal",
            type=click.Choice([*DECIMALS]),
            default="point",
            show_default=True,
            help="The decimal mark in the numbers of a CSV file.",
        ),
    ):
        command = option(command)
    return command


def file_of(path: Path, separator: str, encoding: str, decimal: str) -> dpglm.CsvFile | Path:
    """A table's file, with how it is written where that is not as usual."""
    plain = (separator, encoding, decimal) == ("comma", "utf-8", "point")
    return path if plain else dpglm.CsvFile(path, SEPARATORS[separator], encoding, DECIMALS[decimal])
