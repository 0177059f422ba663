"""What is run: tables or designs at budgets, one job for each cell, and the seeds that belong to it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from dpglm.privacy.budget import Privacy, Relation
from studies.jobs import Job
from studies.study import Part

RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one")
DELTAS = {"approximate": 1e-6, "pure": 0.0}
# How numbers are scaled: as `dpglm.fit` does it, or by declared ranges, to compare with.
MEASURED, DECLARED = "measured", "declared"


@dataclass(frozen=True)
class Cell:
    """One table or simulated design at one budget."""

    table: str
    epsilon: float
    relation: Relation = "add-remove"
    definition: str = "approximate"
    scales: str = MEASURED

    @property
    def privacy(self) -> Privacy:
        """With a delta of 1e-6, or 0 for pure epsilon."""
        return Privacy(self.epsilon, DELTAS[self.definition], relation=self.relation)

    @property
    def key(self) -> str:
        """A name within its table: seeds of noise depend on it.

        Examples
        --------
        >>> Cell("fair", 1.0).key
        'eps1-add-remove-approximate'
        """
        own = "" if self.scales == MEASURED else f"-{self.scales}"
        return f"eps{self.epsilon:g}-{self.relation}-{self.definition}{own}"

    @classmethod
    def of(cls, job: Job) -> Cell:
        """The cell of a job."""
        return cls(job["table"], job["epsilon"], job["relation"], job["definition"], job["scales"])


@dataclass(frozen=True)
class Grid:
    """Cells, and the replications of each; ``others`` has those of tables that have another number."""

    cells: tuple[Cell, ...]
    replications: int
    others: Mapping[str, int] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of the tables."""
        return list(dict.fromkeys(cell.table for cell in self.cells))


def cells_of(
    tables: Iterable[str], epsilons: Iterable[float], definition: str = "approximate", scales: str = MEASURED
) -> tuple[Cell, ...]:
    """All of these, under both relations."""
    return tuple(
        Cell(name, epsilon, relation, definition, scales)
        for name, relation, epsilon in product(tables, RELATIONS, epsilons)
    )


def jobs(grid: Grid, names: Sequence[str], fingerprint: Callable[[str], str]) -> list[Job]:
    """One job a cell, those of one table after the other.

    A table that is changed has another fingerprint: its earlier results are not mixed in.
    """
    return [
        {
            "table": name,
            "epsilon": cell.epsilon,
            "relation": cell.relation,
            "definition": cell.definition,
            "scales": cell.scales,
            "replications": grid.others.get(name, grid.replications),
            "design": fingerprint(name),
        }
        for name in names
        for cell in grid.cells
        if cell.table == name
    ]


def part(grid: Grid, asked: Part, words: Mapping[str, Collection[str]]) -> Grid:
    """The cells that were asked for; ``words`` has what a table may be asked for by, beside its name.

    Raises
    ------
    ValueError
        A word names no table; or no cell is left.
    """
    known = set(words) | {word for own in words.values() for word in own}
    if unknown := set(asked.only) - known:
        raise ValueError(f"nothing called {sorted(unknown)}; there are {', '.join(sorted(known))}")

    def wanted(cell: Cell) -> bool:
        return (
            (not asked.only or bool({cell.table, *words[cell.table]} & set(asked.only)))
            and (not asked.epsilons or cell.epsilon in asked.epsilons)
            and (not asked.relations or cell.relation in asked.relations)
            and (not asked.definitions or cell.definition in asked.definitions)
        )

    cells = tuple(filter(wanted, grid.cells))
    if not cells:
        raise ValueError("the study has no such cell")
    if asked.replications:
        return Grid(cells, asked.replications)
    return replace(grid, cells=cells)


def seed_of(*parts: object) -> int:
    """A seed of 128 bits that belongs to these words alone."""
    text = "coverage|" + "|".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])
