"""What is run: tables at budgets, replications of each, and the seeds that belong to them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from dpglm.privacy.budget import Relation
from studies.coverage.tables import TABLES, design
from studies.jobs import Job

EPSILONS = (0.5, 1.0, 2.0, 4.0)
RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one")
DELTAS = {"approximate": 1e-6, "pure": 0.0}
# Tables whose linear regression is studied: the response is another of their columns.
RESPONSES = {"adult": "hours-per-week", "diabetes130": "time_in_hospital"}
TRUTH, FIT, LINEAR = "truth", "fit", "linear"


@dataclass(frozen=True)
class Cell:
    """One table at one budget; `epsilon` None is the non-private fit of the same responses."""

    table: str
    epsilon: float | None = None
    relation: Relation = "add-remove"
    definition: str = "approximate"

    @property
    def delta(self) -> float:
        """1e-6, or 0 for pure epsilon."""
        return DELTAS[self.definition]

    @property
    def key(self) -> str:
        """A name within its table: seeds of noise depend on it.

        Examples
        --------
        >>> Cell("fair", 1.0).key
        'eps1-add-remove-approximate'
        """
        if self.epsilon is None:
            return "nonprivate"
        return f"eps{self.epsilon:g}-{self.relation}-{self.definition}"

    @classmethod
    def of(cls, job: Job) -> Cell:
        """The cell of a fit."""
        return cls(job["table"], job["epsilon"], job["relation"], job["definition"])


@dataclass(frozen=True)
class Grid:
    """How much is run.

    Parameters
    ----------
    cells : tuple of Cell
    replications : int
        Of every cell.
    continued : int
        Of cells in which a coefficient is below its bar after ``replications``.
    linear : int
        Replications of the linear regressions; 0 for none.
    """

    cells: tuple[Cell, ...]
    replications: int
    continued: int
    linear: int


def _cells(tables: Iterable[str], definition: str) -> tuple[Cell, ...]:
    return tuple(
        Cell(name, epsilon, relation, definition)
        for name, relation, epsilon in product(tables, RELATIONS, EPSILONS)
    )


FULL = Grid(
    (*_cells(TABLES, "approximate"), *_cells(("fair", "randhie"), "pure")),
    replications=300,
    continued=1_000,
    linear=300,
)
QUICK = Grid((Cell("fair", 1.0),), replications=2, continued=2, linear=0)


def truths(grid: Grid, tables: Sequence[str]) -> list[Job]:
    """The true coefficients of each table."""
    return [{"what": TRUTH, "table": name, "design": design(name)} for name in tables]


def fits(grid: Grid, tables: Sequence[str]) -> list[Job]:
    """All replications, those of one table after the other, its non-private fits first."""
    return [
        job
        for name in tables
        for cell in (Cell(name), *(cell for cell in grid.cells if cell.table == name))
        for job in replications(cell, range(grid.replications))
    ]


def replications(cell: Cell, numbers: Iterable[int]) -> list[Job]:
    """Fits of a cell. Runs of another design are never mixed in: its fingerprint is in the job."""
    return [
        {
            "what": FIT,
            "table": cell.table,
            "epsilon": cell.epsilon,
            "relation": cell.relation,
            "definition": cell.definition,
            "number": number,
            "design": design(cell.table),
        }
        for number in numbers
    ]


def linear(grid: Grid, tables: Sequence[str]) -> list[Job]:
    """The linear regressions, one job per cell."""
    return [
        {
            "what": LINEAR,
            "table": name,
            "epsilon": epsilon,
            "relation": relation,
            "replications": grid.linear,
            "design": design(name),
        }
        for name, relation, epsilon in product(RESPONSES, RELATIONS, EPSILONS)
        if grid.linear and name in tables
    ]


def seed_of(*parts: object) -> int:
    """A seed of 128 bits that belongs to these words alone."""
    text = "coverage|" + "|".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])
