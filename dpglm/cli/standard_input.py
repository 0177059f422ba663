"""Standard input and pipes in the place of a file: kept in memory, and read as often as a file is."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO, Final

import click

STANDARD_INPUT: Final = "-"
# In the context of a run: whether standard input was read, and any pipe.
_READ: Final = "dpglm.standard_input"
PIPED: Final = "dpglm.piped"
_MAGIC: Final = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz"}


def standard_input(context: click.Context, ending: str) -> Path:
    """`in_memory` of standard input, which is read once: a UsageError for a second file that is ``-``."""
    root = context.find_root()
    if _READ in root.meta:
        raise click.UsageError("'-' for two files: standard input is read once.", context)
    root.meta[_READ] = True
    closed = sys.stdin is None
    return in_memory(io.BytesIO() if closed else sys.stdin.buffer, "standard-input", context, ending)


def in_memory(stream: BinaryIO, name: str, context: click.Context, ending: str) -> Path:
    """A path under which all of a stream can be read again and again, until the command ends.

    Rows may be private: they are in memory without a name, and on no disk. The path is a link to them.

    Parameters
    ----------
    stream : file
    name, ending : str
        Of the path; the ending of a table, ``".csv"``, gives way to what its first bytes say.
    context : click.Context
        Of the command that reads.

    Raises
    ------
    UsageError
        A system without unnamed files in memory.
    """
    if not hasattr(os, "memfd_create"):
        raise click.UsageError("Only Linux keeps a pipe in memory to read it again. Name a file.", context)
    root = context.find_root()
    root.meta[PIPED] = True
    memory = os.fdopen(os.memfd_create(name), "w+b")
    root.call_on_close(memory.close)
    shutil.copyfileobj(stream, memory)
    memory.seek(0)
    begun = memory.read(4)
    if ending == ".csv":
        ending = next((end for magic, end in _MAGIC.items() if begun.startswith(magic)), ending)
    folder = tempfile.TemporaryDirectory(prefix="dpglm-")
    root.call_on_close(folder.cleanup)
    link = Path(folder.name) / f"{name}{ending}"
    link.symlink_to(f"/proc/{os.getpid()}/fd/{memory.fileno()}")
    return link
