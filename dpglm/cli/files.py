"""Files that the command line names: to read, to write, and standard input."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

import dpglm
from dpglm.cli.failures import Unusable, usable
from dpglm.cli.standard_input import STANDARD_INPUT, in_memory, standard_input
from dpglm.errors import StoreError
from dpglm.postprocessing.store import free_folder, writable


class ReadPath(click.Path):
    """A file that is there and may be read; ``-`` is standard input.

    Parameters
    ----------
    ending : str or None
        Of what standard input holds, for those who look at the names of files; None takes no ``-``.
    """

    def __init__(self, ending: str | None) -> None:
        super().__init__(path_type=Path)
        self._ending = ending

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        if ctx is None or ctx.resilient_parsing:
            return path
        if os.fspath(value) == STANDARD_INPUT and self._ending is not None:
            return standard_input(ctx, self._ending)
        try:
            mode = os.stat(value).st_mode
            if stat.S_ISFIFO(mode) and self._ending is not None:
                with open(value, "rb") as stream:
                    return in_memory(stream, "pipe", ctx, self._ending)
            why = "it is a folder" if stat.S_ISDIR(mode) else None
            why = why or (None if os.access(value, os.R_OK) else "it may not be read")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "no path"
        return path if why is None else self.refused(os.fspath(value), why)

    def refused(self, value: str, why: str) -> Path:
        """A failure in words; a table may be more than a file, and is given back."""
        found = StoreError(
            f"{value!r} cannot be read: {why}",
            expected="the path of a file" + ("" if self._ending is None else ", or - for standard input"),
            remedy="Correct the path.",
        )
        raise Unusable(found)


class TablePath(ReadPath):
    """A table: a file, or a folder of files or a pattern, of which `table_files` says what is wrong."""

    def refused(self, value: str, why: str) -> Path:
        """The path as it is."""
        return Path(value)


class SavedPath(ReadPath):
    """A saved result, or a folder of the equations of one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return Path(value) if os.path.isdir(value) else super().convert(value, param, ctx)


PATH = click.Path(path_type=Path)  # of a file to write, or of a folder of them
FILE = ReadPath(None)  # a file with a place of its own: a ledger, a key
SAVED = ReadPath(".json")
RESULT = SavedPath(".json")
YAML = ReadPath(".yaml")
TABLE = TablePath(".csv")


def ledger_at(path: Path) -> dpglm.Ledger:
    """The ledger in a file that is there; what is none cannot be read."""
    with usable():
        return dpglm.Ledger(path, budget=None)


def check_targets(read: Iterable[Path], *targets: Path | None, folders: bool = False) -> None:
    """Find targets that cannot be written, as files or as folders of them, or that are what is read."""
    taken = {path.resolve() for path in read}
    for target in [path for path in targets if path is not None]:
        (free_folder if folders else writable)(target)
        if target.resolve() in taken:
            raise StoreError(
                f"{str(target)!r} for two files",
                expected="a path of its own for each file that is read or written",
                remedy="Choose another path.",
            )
        taken.add(target.resolve())
