"""What is run: designs at budgets, and replications of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from studies.coverage.designs.registry import DESIGNS
from studies.coverage.grid import FIT, RELATIONS, TRUTH, Cell
from studies.jobs import Job
from studies.study import Part

EPSILONS = (0.5, 1.0, 4.0)
# Pure epsilon is for few coefficients.
PURE_UP_TO = 20


@dataclass(frozen=True)
class Grid:
    """Cells, whose ``table`` is the name of a design, and the replications of each."""

    cells: tuple[Cell, ...]
    replications: int

    @property
    def names(self) -> list[str]:
        """Names of the designs."""
        return list(dict.fromkeys(cell.table for cell in self.cells))


def _cells() -> tuple[Cell, ...]:
    return tuple(
        Cell(design.name, epsilon, relation, definition)
        for design in DESIGNS.values()
        for definition in ("approximate", *(("pure",) if design.p <= PURE_UP_TO else ()))
        for relation, epsilon in product(RELATIONS, EPSILONS)
    )


FULL = Grid(_cells(), replications=300)
QUICK = Grid((Cell("rows_500", 4.0), Cell("rows_1500", 4.0)), replications=2)


def part(grid: Grid, asked: Part) -> Grid:
    """The cells that were asked for; ``only`` names designs, kinds or halves.

    Raises
    ------
    ValueError
        A word names no design, kind or half; or no cell is left.

    Examples
    --------
    >>> part(FULL, Part(only=("strong",), epsilons=(1.0,), replications=40)).names
    ['slopes_strong', 'slopes_signs', 'slopes_three', 'slopes_three_large']
    """
    words = {word for one in DESIGNS.values() for word in (one.name, one.kind, one.half)}
    if unknown := set(asked.only) - words:
        raise ValueError(f"no design, kind or half {sorted(unknown)}; there are {', '.join(sorted(words))}")

    def wanted(cell: Cell) -> bool:
        one = DESIGNS[cell.table]
        return (
            (not asked.only or bool({one.name, one.kind, one.half} & set(asked.only)))
            and (not asked.epsilons or cell.epsilon in asked.epsilons)
            and (not asked.relations or cell.relation in asked.relations)
            and (not asked.definitions or cell.definition in asked.definitions)
        )

    cells = tuple(filter(wanted, grid.cells))
    if not cells:
        raise ValueError("the study has no such cell")
    return replace(grid, cells=cells, replications=asked.replications or grid.replications)


def truths(grid: Grid, names: Sequence[str]) -> list[Job]:
    """What is to be covered in each design."""
    return [{"what": TRUTH, "table": name, "design": DESIGNS[name].fingerprint} for name in names]


def fits(grid: Grid, names: Sequence[str]) -> list[Job]:
    """All replications, those of one design after the other, its non-private fits first.

    A design that is changed has another fingerprint: its earlier results are not mixed in.
    """
    return [
        {
            "what": FIT,
            "table": name,
            "epsilon": cell.epsilon,
            "relation": cell.relation,
            "definition": cell.definition,
            "number": number,
            "design": DESIGNS[name].fingerprint,
        }
        for name in names
        for cell in (Cell(name), *(cell for cell in grid.cells if cell.table == name))
        for number in range(grid.replications)
    ]
