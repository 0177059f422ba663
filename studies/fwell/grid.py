"""What is run: rankings of the folds of tables and of simulated designs, a broken promise, and times."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from studies.fwell.tables import TABLES
from studies.jobs import Job, key_of
from studies.selection.features import JUDGED_ON, SET_ON

DELTA: Final = 1e-6
# Numbers of features that are selected, as shares of all; the paper's first experiment has a tenth.
SHARES: Final = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
TENTH: Final = 0.1
# The paper's "no privacy", its second experiment, and its smallest epsilon.
ONE, SECOND, LEAST = 1.0, 0.01, 1e-8
DESIGNS: Final = {design.name: design for design in (*SET_ON, *JUDGED_ON)}
SWEPT: Final = tuple(design.name for design in SET_ON)
# Random orders of the features of a fold, of which the mean accuracy is told.
ORDERS: Final = 10
WITNESS: Final = "witness"
TIMED: Final = "time"
# Strengths of which a reader may think that the paper tuned to one of them.
STRENGTHS: Final = (0.001, 0.01, 0.1, 1.0, 10.0)


@dataclass(frozen=True)
class Entry:
    """A ranking: its label, what it promises, and what `dpglm.rank_features` is given."""

    label: str
    promise: str
    options: Mapping[str, Any] = field(default_factory=dict)


NOT_PRIVATE: Final = "NOT PRIVATE"
ORIGINAL, PASS, PRINTED, RANDOM = "original", "single-pass", "printed", "random"
# With rows of its own design as a public table: on designs only.
REFERENCE, REFERENCE_ROWS = "reference", 600
CORRECTED: Final = ("fwell", "fwell-kmeans", "fwell-block")
LINEAR: Final = ("objective", "marginal")
METHODS: Final = {
    ORIGINAL: Entry("FWELL", NOT_PRIVATE),
    PASS: Entry("FWELL, Algorithm 1", NOT_PRIVATE, {"single_pass": True}),
    PRINTED: Entry("Private FWELL as printed", NOT_PRIVATE, {"paper_exact": True}),
    "fwell": Entry("prototypes", "(epsilon, 1e-6)", {"method": "fwell"}),
    "fwell-kmeans": Entry("clusters", "(epsilon, 1e-6)", {"method": "fwell-kmeans"}),
    "fwell-block": Entry("blocks", "(epsilon, 1e-6)", {"method": "fwell-block"}),
    REFERENCE: Entry("margins to 600 public rows", "(epsilon, 1e-6)", {"method": "fwell"}),
    "objective": Entry("objective", "(epsilon, 1e-6)", {"method": "objective"}),
    "marginal": Entry("marginal", "(epsilon, 1e-6)", {"method": "marginal"}),
    RANDOM: Entry("features in a random order", "reads no row"),
}
# Those that have an epsilon.
BUDGETED: Final = (PRINTED, *CORRECTED, *LINEAR)


@dataclass(frozen=True)
class Grid:
    """How much is run.

    Parameters
    ----------
    tables : tuple of str
    folds, repeats : int
        Of the cross-validation; small tables are dealt to folds so many times.
    large_folds : int
        Folds of the two tables of thousands of columns that are run.
    epsilons, large_epsilons : tuple of float
    designs, judged : tuple of str
        Simulated designs at all of ``design_epsilons``, and those at two of them.
    draws, neighbour_draws : int
        Of each design, and those on which neighbours among all rows are searched for, which takes a second.
    rows : int or None
        Most rows of a table or of a design, for quick looks.
    """

    tables: tuple[str, ...]
    folds: int
    repeats: int
    large_folds: int
    epsilons: tuple[float, ...]
    large_epsilons: tuple[float, ...]
    designs: tuple[str, ...]
    judged: tuple[str, ...]
    design_epsilons: tuple[float, ...]
    judged_epsilons: tuple[float, ...]
    draws: int
    neighbour_draws: int
    rows: int | None


FULL = Grid(
    tables=tuple(TABLES),
    folds=10,
    repeats=3,
    large_folds=3,
    epsilons=(SECOND, 0.1, ONE, 4.0, 16.0, 64.0),
    large_epsilons=(SECOND, ONE, 16.0, 256.0),
    designs=SWEPT,
    judged=tuple(design.name for design in JUDGED_ON),
    design_epsilons=(0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    judged_epsilons=(0.5, 4.0),
    draws=20,
    neighbour_draws=5,
    rows=None,
)
QUICK = Grid(
    tables=("sonar", "wdbc"),
    folds=2,
    repeats=1,
    large_folds=1,
    epsilons=(SECOND, ONE),
    large_epsilons=(),
    designs=("linear", "two thresholds", "XOR"),
    judged=(),
    design_epsilons=(0.5, 4.0),
    judged_epsilons=(),
    draws=2,
    neighbour_draws=1,
    rows=300,
)


def jobs(grid: Grid, tables: Sequence[str]) -> list[Job]:
    """All jobs: the cheap ones first, then those of one fold after the other."""
    found: list[dict[str, Any]] = [{"study": WITNESS}]
    found += _of_designs(grid)
    for name in sorted(tables, key=lambda name: TABLES[name].large):
        found += _of_table(grid, name)
    if "basehock" in tables:
        methods = (ORIGINAL, *CORRECTED, *LINEAR)
        found += [{"study": TIMED, "table": "basehock", "method": method} for method in methods]
    return list({key_of(job): job for job in found}.values())


def _of_designs(grid: Grid) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for draw in range(grid.draws):
        for names, epsilons in (
            (grid.designs, grid.design_epsilons),
            (grid.judged, grid.judged_epsilons),
        ):
            for name in names:
                which = {"study": "design", "table": name, "repeat": draw, "rows": grid.rows}
                if draw < grid.neighbour_draws:
                    found.append({**which, "method": ORIGINAL, "epsilon": None})
                    spent = [one for one in epsilons if one in (0.5, 4.0)]
                    found += [{**which, "method": PRINTED, "epsilon": epsilon} for epsilon in spent]
                for method in (*BUDGETED[1:], REFERENCE):
                    found += [{**which, "method": method, "epsilon": epsilon} for epsilon in epsilons]
    return found


def _of_table(grid: Grid, name: str) -> list[dict[str, Any]]:
    large = TABLES[name].large
    found: list[dict[str, Any]] = []
    epsilons = grid.large_epsilons if large else grid.epsilons
    for repeat in range(1 if large else grid.repeats):
        for fold in range(grid.large_folds if large else grid.folds):
            which = {
                "study": "fold",
                "table": name,
                "repeat": repeat,
                "fold": fold,
                "folds": grid.folds,
                "rows": grid.rows,
            }
            for method in (ORIGINAL, PASS):
                found.append({**which, "method": method, "epsilon": None})
            found.append({**which, "method": RANDOM, "epsilon": None, "orders": ORDERS})
            # Neighbours among thousands of columns take seconds: as printed at the epsilons of the paper.
            spent = [LEAST, *(one for one in epsilons if not large or one <= ONE)]
            found += [{**which, "method": PRINTED, "epsilon": epsilon} for epsilon in spent]
            for method in BUDGETED[1:]:
                found += [{**which, "method": method, "epsilon": epsilon} for epsilon in epsilons]
            if not large:
                tuned = [one for one in STRENGTHS if one != 0.1]
                found += [
                    {**which, "method": method, "epsilon": epsilon, "strength": strength}
                    for method, epsilon in ((ORIGINAL, None), (PRINTED, ONE), (PRINTED, SECOND))
                    for strength in tuned
                ]
    return found


def seed_of(job: Job) -> int:
    """A seed of the job's own."""
    return int.from_bytes(hashlib.sha256(key_of(job).encode()).digest()[:6], "big")
