"""What is run: joint fits by epsilon, number of sites and how unlike they are; times; GUSTO's regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studies.dlr.fits import METHODS
from studies.dlr.tables import ALIKE, APART, GUSTO
from studies.jobs import Job

SIMULATED = "simulated sites"


@dataclass(frozen=True)
class Grid:
    """How much is run.

    Parameters
    ----------
    sites : tuple of int
        Numbers of sites that share 20,000 rows.
    epsilons : tuple of float
    repeats : int
        Data sets, each with noise of its own.
    times : tuple of (int, int, int)
        Rows, columns and sites of the table of times; 1 site is the general fitter.
    regions : int
        Draws of noise for GUSTO.
    """

    sites: tuple[int, ...]
    epsilons: tuple[float, ...]
    repeats: int
    times: tuple[tuple[int, int, int], ...]
    regions: int


TIMES = (*((10_000, 1_000, parts) for parts in (1, 5, 10, 100)), (100_000, 1_000, 1), (100_000, 1_000, 5))
FULL = Grid((2, 5, 10, 50), (0.5, 1.0, 4.0), 10, TIMES, 10)
QUICK = Grid((2,), (4.0,), 2, ((500, 20, 1), (500, 20, 5)), 0)


def jobs(grid: Grid, tables: Sequence[str]) -> list[Job]:
    """Fits of one data set after the other, then GUSTO's, then the times."""
    found: list[Job] = []
    if SIMULATED in tables:
        for repeat in range(grid.repeats):
            for kind in (ALIKE, APART):
                for count in grid.sites:
                    about = {"what": "fit", "sites": count, "kind": kind, "repeat": repeat}
                    found += [
                        {**about, "method": method, "epsilon": epsilon}
                        for method in METHODS
                        for epsilon in (grid.epsilons if method != "nonprivate" else (None,))
                    ]
    if GUSTO in tables:
        found += [
            {"what": "regions", "epsilon": epsilon, "effects": effects, "repeat": repeat}
            for repeat in range(grid.regions)
            for epsilon in grid.epsilons
            for effects in ("common", "random")
        ]
    if SIMULATED in tables:
        found += [
            {"what": "time", "rows": rows, "columns": columns, "sites": parts}
            for rows, columns, parts in grid.times
        ]
    return found
