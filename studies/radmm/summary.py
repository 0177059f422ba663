"""Means over repetitions, and how methods compare cell by cell."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from studies.jobs import Result
from studies.paired import Difference, Mean, difference, mean_of
from studies.radmm.grid import CODINGS, FAMILIES, STRENGTHS
from studies.radmm.tables import REAL, TITLES


@dataclass(frozen=True)
class Cell:
    """All that a method does not choose; ``strength`` None is the method's own default."""

    table: str
    family: str
    strength: float | None
    epsilon: float | None


@dataclass(frozen=True)
class Share:
    """Cells in which something holds, and in which its contrary does, of those in which it can be asked.

    In the others it is not told apart: a 95 % interval of paired differences contains 0. ``gaps`` are the
    differences that were looked at, one to a cell.
    """

    held: int
    against: int
    of: int
    gaps: tuple[tuple[Cell, Difference], ...] = ()

    @property
    def most(self) -> bool:
        """Whether it holds in more than half of the cells."""
        return 2 * self.held > self.of

    def __str__(self) -> str:
        if not self.of:
            return "-"
        means = [gap.mean for _, gap in self.gaps]
        span = f" ({signed(min(means))} to {signed(max(means))})" if means else ""
        return f"{self.held} of {self.of}, {self.against} against{span}"


def signed(value: float) -> str:
    """Three decimals with a sign and without a leading zero.

    Examples
    --------
    >>> signed(-0.139), signed(1.5)
    ('-.139', '+1.500')
    """
    return f"{value:+.3f}".replace("0.", ".", 1) if abs(value) < 0.9995 else f"{value:+.3f}"


class Fits:
    """Results of all fits of a study.

    Parameters
    ----------
    results : sequence of mapping
        Jobs with their results.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = [one for one in results if one["study"] == "fit"]
        self._by: dict[tuple[str, Cell], list[Result]] = defaultdict(list)
        for one in self.results:
            cell = Cell(one["table"], one["family"], one["strength"], one["epsilon"])
            self._by[one["method"], cell].append(one)

    def tables(self) -> list[str]:
        """Names of the tables, in the order of the study."""
        return list(dict.fromkeys(one["table"] for one in self.results))

    def epsilons(self) -> list[float]:
        """Budgets of private fits, in order."""
        return sorted({float(one["epsilon"]) for one in self.results if one["epsilon"] is not None})

    def mean(self, method: str, cell: Cell, measure: str) -> Mean | None:
        """Of a measure in a cell; None where nothing was run or everything was refused.

        ``"objective"`` is the average loss of test rows plus the cell's strength times the l1 norm.
        """
        kept = [one for one in self._by.get((method, cell), ()) if "refused" not in one]
        values = [_value(one, measure) for one in kept]
        return mean_of(values) if values else None

    def ceiling(self, cell: Cell, measure: str, *, strength: float | None = None) -> Mean | None:
        """Of fits without privacy on the cell's table, at its strength or the least one of the study."""
        chosen = strength or cell.strength or STRENGTHS[0]
        return self.mean("nonprivate", Cell(cell.table, cell.family, chosen, None), measure)

    def cells(
        self,
        *,
        tables: Iterable[str] = REAL,
        strengths: Iterable[float | None] = STRENGTHS,
        most: float = math.inf,
    ) -> list[Cell]:
        """Private cells that were run, by table, strength and largest epsilon."""
        wanted = set(product(tables, FAMILIES, strengths))
        found = {cell: None for _, cell in self._by if (cell.table, cell.family, cell.strength) in wanted}
        return [cell for cell in found if cell.epsilon is not None and cell.epsilon <= most]

    def gap(self, method: str, other: str, cell: Cell, measure: str) -> Difference | None:
        """Of a measure in a cell, ``method`` less ``other``, paired by fold or draw; None without any."""
        first, second = (
            {int(one["draw"]): one for one in self._by.get((name, cell), ()) if "refused" not in one}
            for name in (method, other)
        )
        both = sorted(first.keys() & second.keys())
        if not both:
            return None
        return difference(
            [_value(first[draw], measure) for draw in both], [_value(second[draw], measure) for draw in both]
        )

    def alike(self, methods: Sequence[str], cells: Iterable[Cell]) -> list[Cell]:
        """Cells in which all of these methods have the same coding: a strength then means the same to them.

        What is printed has the clipped coding, in which lengths are measured.
        """
        return [
            cell
            for cell in cells
            if len({one.get("coding", CODINGS[0]) for name in methods for one in self._by[name, cell]}) == 1
        ]

    def by_draw(self, method: str, cells: Iterable[Cell]) -> dict[int, float]:
        """Mean accuracy over cells by fold or draw, less that of fits without privacy at their strengths."""
        lost: dict[int, list[float]] = defaultdict(list)
        for cell in cells:
            without = Cell(cell.table, cell.family, cell.strength, None)
            most = {int(one["draw"]): one for one in self._by["nonprivate", without]}
            for one in self._by[method, cell]:
                draw = int(one["draw"])
                if "refused" not in one and draw in most:
                    lost[draw].append(float(one["accuracy"]) - float(most[draw]["accuracy"]))
        return {draw: mean_of(values).value for draw, values in lost.items()}

    def above(self, method: str, others: Sequence[str], cells: Iterable[Cell], measure: str) -> Share:
        """Cells in which ``method`` is above every other one; against: in which it is below one of them.

        A single fold or draw has no interval, and its sign counts.
        """
        return self._beside(method, others, cells, measure, 1)

    def below(self, method: str, others: Sequence[str], cells: Iterable[Cell], measure: str) -> Share:
        """Cells in which ``method`` is below every other one; against: in which it is above one of them."""
        return self._beside(method, others, cells, measure, -1)

    def _beside(
        self, method: str, others: Sequence[str], cells: Iterable[Cell], measure: str, side: int
    ) -> Share:
        held = against = 0
        nearest = []
        for cell in cells:
            gaps = [gap for other in others if (gap := self.gap(method, other, cell, measure)) is not None]
            if len(gaps) < len(others):
                continue
            signs = [side * sign(gap) for gap in gaps]
            held += min(signs) > 0
            against += min(signs) < 0
            nearest.append((cell, min(gaps, key=lambda gap: side * gap.mean)))
        return Share(held, against, len(nearest), tuple(nearest))

    def best(self, methods: Sequence[str], cell: Cell, measure: str) -> tuple[str, Mean] | None:
        """The method with the largest mean."""
        found = [(method, mean) for method in methods if (mean := self.mean(method, cell, measure))]
        return max(found, key=lambda pair: pair[1].value) if found else None

    def refusals(self) -> dict[tuple[str, str], set[str]]:
        """What dpglm said no to: tables, families and budgets by method and text."""
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for one in self.results:
            if "refused" in one:
                where = f"{TITLES[one['table']]}, {FAMILIES[one['family']]}, epsilon {one['epsilon']:g}"
                found[one["method"], one["refused"]].add(where)
        return dict(found)

    def repetitions(self, method: str, table: str, strength: float | None) -> int:
        """The most repetitions of a cell."""
        return max(
            (
                len(kept)
                for (name, cell), kept in self._by.items()
                if (name, cell.table, cell.strength) == (method, table, strength)
            ),
            default=0,
        )


def sign(gap: Difference) -> int:
    """1 or -1 where it is told apart; a single pair has no interval, and its sign counts."""
    if gap.count > 1:
        return gap.sign
    return int(gap.mean > 0.0) - int(gap.mean < 0.0)


def _value(one: Result, measure: str) -> float:
    if measure == "objective":
        return float(one["loss"] + one["strength"] * one["length"])
    return float(one[measure])
