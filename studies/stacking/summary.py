"""Areas under ROC curves by table and cell, paired over repeats."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from studies.jobs import Result
from studies.paired import Difference, Mean, Repeats, Value

KEYS = ("method", "law", "epsilon", "models", "weights", "combine")


def area(result: Result) -> float:
    """The area of the fit."""
    return float(result["auc"])


class Areas(Repeats):
    """Results of the study; a cell is a table and what `studies.stacking.grid.cell` says."""

    def __init__(self, results: Sequence[Result]) -> None:
        super().__init__(results, _cells)

    def runs(self, table: str, which: Mapping[str, Any]) -> dict[int, Result]:
        """Results of a cell by repeat."""
        return self.cell_runs(_key(table, which))

    def mean(self, table: str, which: Mapping[str, Any], value: Value = area) -> Mean | None:
        """Mean over repeats; None without any."""
        return self.cell_mean(_key(table, which), value)

    def gap(
        self,
        table: str,
        first: Mapping[str, Any],
        second: Mapping[str, Any],
        *,
        values: tuple[Value, Value] = (area, area),
    ) -> Difference | None:
        """``first`` less ``second`` over the repeats that both have; None without any."""
        return self.cell_difference(_key(table, first), _key(table, second), values)


def _key(table: str, which: Mapping[str, Any]) -> Hashable:
    return (table, *(which[name] for name in KEYS))


def _cells(result: Result) -> Iterable[Hashable]:
    return [_key(result["table"], result)]
