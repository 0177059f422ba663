"""Results on disk: one file a chunk of replications, never changed once written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.coverage.cells import Cell

Arrays = dict[str, NDArray[Any]]


def write_chunk(
    out: Path, cell: Cell, first: int, results: Mapping[str, NDArray[Any]], facts: Mapping[str, object]
) -> Path:
    """Write replications ``first``, ``first + 1``, ...: a whole file or none.

    Parameters
    ----------
    out : Path
        Folder of the runs.
    cell : Cell
        Which cell.
    first : int
        Number of the first replication.
    results : mapping of str to ndarray, shape (replications, p)
        Coefficient-level numbers; kept in single precision.
    facts : mapping of str to number or text
        What else to keep: seconds, hash of the code.
    """
    count = len(next(iter(results.values())))
    path = out / cell.table / cell.key / f"{first:06d}-{first + count - 1:06d}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept: Arrays = {
        name: array if array.dtype == np.bool_ else array.astype(np.float32)
        for name, array in results.items()
    }
    kept |= {f"fact_{name}": np.array(value) for name, value in facts.items()}
    partial = path.with_suffix(f".partial{os.getpid()}")
    with partial.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **kept)
    partial.replace(path)
    return path


def done(out: Path, cell: Cell) -> set[int]:
    """Replications that are on disk."""
    return {number for path in chunks(out, cell) for number in _numbers(path)}


def missing_chunks(out: Path, cell: Cell, replications: int, size: int) -> list[range]:
    """Runs of at most ``size`` replications below ``replications`` that are not on disk."""
    there = done(out, cell)
    found: list[range] = []
    for number in range(replications):
        if number in there:
            continue
        last = found[-1] if found else range(0)
        if last and last.stop == number and number % size:
            found[-1] = range(last.start, number + 1)
        else:
            found.append(range(number, number + 1))
    return found


def read_cell(out: Path, cell: Cell, *, most: int | None = None) -> Arrays:
    """All replications of a cell in order; ``number`` says which, ``fact_*`` are one value a replication.

    Returns
    -------
    dict of str to ndarray, shape (replications, ...)
        Empty where the cell was not run. Where chunks overlap the first one counts.
    """
    parts: list[Arrays] = []
    there: set[int] = set()
    for path in chunks(out, cell):
        numbers = np.array(_numbers(path))
        fresh = np.array([n not in there and (most is None or n < most) for n in numbers], dtype=np.bool_)
        there.update(numbers[fresh].tolist())
        with np.load(path, allow_pickle=False) as kept:
            part = {
                name: np.repeat(kept[name], len(numbers)) if name.startswith("fact_") else kept[name]
                for name in kept.files
            }
        if fresh.any():
            parts.append({name: array[fresh] for name, array in {**part, "number": numbers}.items()})
    if not parts:
        return {}
    order = np.argsort(np.concatenate([part["number"] for part in parts]))
    return {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}


def chunks(out: Path, cell: Cell) -> list[Path]:
    """Files of a cell, in order."""
    return sorted((out / cell.table / cell.key).glob("??????-??????.npz"))


def cells_in(out: Path) -> list[Cell]:
    """Cells with results, non-private ones too."""
    folders = {path.parent for path in out.glob("*/*/??????-??????.npz")}
    return sorted(
        (Cell.of_key(folder.parent.name, folder.name) for folder in folders),
        key=lambda cell: (cell.table, cell.definition, cell.relation, cell.epsilon or 0.0),
    )


def _numbers(path: Path) -> range:
    first, last = path.stem.split("-")
    return range(int(first), int(last) + 1)
