"""Copies of the repository to put faults into: the working tree itself is never changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from tests.mutants.mutations import Mutant

ROOT = Path(__file__).parent.parent.parent
LEFT_OUT = (".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "mutants", "*.egg-info", "build")
# Bytecode is recognised by the second of the source's last change: every fault gets its own.
_SECONDS = count(2_000_000_000)


def copied(folder: Path) -> Path:
    """A copy of the repository in ``folder``, without what is not part of it and without this room."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    return folder


@contextmanager
def faulty(folder: Path, mutant: Mutant) -> Iterator[None]:
    """The copy with one fault in it, and as it was afterwards."""
    put(folder, mutant)
    try:
        yield
    finally:
        restore(folder, mutant)


def put(folder: Path, mutant: Mutant) -> None:
    """Write the fault into the copy."""
    _write(folder / mutant.path, mutant.applied((ROOT / mutant.path).read_bytes()))


def restore(folder: Path, mutant: Mutant) -> None:
    """Take the fault out of the copy again."""
    _write(folder / mutant.path, (ROOT / mutant.path).read_bytes())


def _write(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    second = next(_SECONDS)
    os.utime(path, (second, second))
