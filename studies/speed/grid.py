"""What is run: contests with their sizes, in full and quickly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from studies import real_tables
from studies.jobs import Job, Result
from studies.real_tables import available
from studies.speed import machine
from studies.speed.fit_rows import PATHS
from studies.speed.measure import core_count
from studies.speed.rows import KINDS
from studies.study import Part


@dataclass(frozen=True)
class Entry:
    """A contest: its kind, its sizes, and the number of rounds."""

    row: str
    sizes: dict[str, Any]
    rounds: int = 5


@dataclass(frozen=True)
class Grid:
    """All contests."""

    entries: tuple[Entry, ...]

    @property
    def names(self) -> list[str]:
        """Of the kinds."""
        return list(dict.fromkeys(entry.row for entry in self.entries))


def curve(axis: str, values: Sequence[float], rounds: int = 3, **sizes: Any) -> tuple[Entry, ...]:
    """Contests of all sizes on an axis, and of diffprivlib where it can be asked."""
    kinds = [f"cost_{axis}", f"diffprivlib_{axis}"]
    return tuple(
        Entry(kind, {**sizes, axis: value}, rounds) for kind in kinds if kind in KINDS for value in values
    )


def of(rows: int, columns: int, **more: Any) -> dict[str, Any]:
    """Sizes."""
    return {"rows": rows, "columns": columns, **more}


FULL = Grid(
    (
        Entry("fit", of(100_000, 100)),
        Entry("nonprivate_peers", of(100_000, 100), 3),
        Entry("blas", of(100_000, 100)),
        Entry("threads", of(1_000_000, 50), 3),
        Entry("design_adult", {}),
        Entry("design_kdd", {}, 3),
        Entry("parquet", of(3_000_000, 50, files=1), 3),
        Entry("dask", of(3_000_000, 50, files=1), 3),
        Entry("parquet", of(10_000_000, 50, files=8, frame=False), 2),
        Entry("levels", {"rows": 50_000, "count": 1_000}, 3),
        Entry("levels", {"rows": 50_000, "count": 10_000}, 2),
        Entry("wide", of(20_000, 1_000), 3),
        Entry("wide", of(20_000, 1_900), 2),
        Entry("plan", of(20_000, 1_000), 3),
        Entry("without_privacy", of(50_000, 30)),
        Entry("gradients", of(50_000, 30, steps=100), 3),
        Entry("kdd", {}, 3),
        Entry("start", {}, 8),
        Entry("audit", {"columns": 5, "trials": "quick"}, 1),
        *(
            Entry("path", {"penalty": penalty, "columns": columns, "condition": condition}, 3)
            for penalty, columns, condition in PATHS
        ),
        *curve("rows", (1_000, 10_000, 100_000, 1_000_000), columns=30),
        *curve("columns", (10, 30, 100, 300, 1_000), rows=20_000),
        *curve("levels", (10, 100, 1_000, 10_000), 2, rows=50_000),
        *curve("threads", (1, 2, 4, 8, 16), rows=1_000_000, columns=50),
        *curve("epsilon", (0.01, 0.1, 1.0, 10.0, 100.0), rows=50_000, columns=30),
    )
)
QUICK = Grid(
    (
        Entry("fit", of(2_000, 5), 2),
        Entry("nonprivate_peers", of(2_000, 5), 1),
        Entry("blas", of(2_000, 5), 1),
        Entry("threads", of(2_000, 5), 1),
        Entry("design_adult", {"rows": 2_000}, 1),
        Entry("parquet", of(2_000, 5, files=1), 1),
        Entry("parquet", of(3_000, 5, files=2, frame=False), 1),
        Entry("dask", of(2_000, 5, files=1), 1),
        Entry("levels", {"rows": 1_000, "count": 20}, 1),
        Entry("wide", of(1_000, 40), 1),
        Entry("plan", of(1_000, 40), 1),
        Entry("without_privacy", of(1_000, 5), 1),
        Entry("gradients", of(1_000, 5, steps=3), 1),
        Entry("start", {}, 1),
        Entry("audit", {"columns": 1, "trials": 200}, 1),
        Entry("path", {"penalty": "l1", "columns": 20, "condition": 10.0}, 1),
        *curve("rows", (500, 1_000), 1, columns=3),
        *curve("columns", (2, 4), 1, rows=500),
        *curve("levels", (3, 6), 1, rows=500),
        *curve("threads", (1, 2), 1, rows=500, columns=3),
        *curve("epsilon", (0.5, 5.0), 1, rows=500, columns=3),
    )
)


def jobs(grid: Grid, names: Sequence[str], results: Sequence[Result]) -> list[Job]:
    """One job a round, those of one contest after the other, while its processes have their rows."""
    return [
        {"row": entry.row, **entry.sizes, "round": number}
        for entry in grid.entries
        if entry.row in names and entry.sizes.get("threads", 1) <= core_count()
        for number in range(entry.rounds)
    ]


def absence(name: str) -> str | None:
    """Why a row is not measured on this machine; None where it is."""
    kind = KINDS[name]
    if kind.data is not None and not available(kind.data):
        return real_tables.absence(kind.data)
    if missing := [one for one in kind.modules if machine.version(one) is None]:
        return f"{', '.join(missing)}: not installed"
    if missing := [one for one in kind.peers if one not in machine.peers()]:
        return f"{', '.join(missing)}: not in .venv-peers, which make benchmark makes"
    return None


def part(grid: Grid, asked: Part) -> Grid:
    """The contests of these rows, with so many rounds.

    Raises
    ------
    ValueError
        There is no such row, or something else was asked for.
    """
    if unknown := set(asked.only) - set(grid.names):
        raise ValueError(f"nothing called {sorted(unknown)}; there are {', '.join(grid.names)}")
    if asked.epsilons or asked.relations or asked.definitions:
        raise ValueError("the study of speed has rows and rounds only: --only and --reps")
    entries = [entry for entry in grid.entries if entry.row in (asked.only or grid.names)]
    return Grid(tuple(replace(entry, rounds=asked.replications or entry.rounds) for entry in entries))
