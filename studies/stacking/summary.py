"""Areas by cell, paired over repeats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from studies.jobs import Result
from studies.paired import Difference, Mean, difference, mean_of
from studies.stacking.grid import cell

KEYS = ("method", "law", "epsilon", "models", "exponent", "combine")
Value = Callable[[Result], float]


def area(one: Result) -> float:
    """The area of the fit."""
    return float(one["auc"])


class Areas:
    """Results of the study by table and cell.

    Parameters
    ----------
    results : sequence of mapping
        As `studies.jobs.run` gives them; refused fits have no area.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = results
        self._by: dict[tuple[Any, ...], dict[int, Result]] = {}
        for one in results:
            if "auc" in one:
                key = (one["table"], *(one[name] for name in KEYS))
                self._by.setdefault(key, {})[int(one["repeat"])] = one

    def tables(self) -> list[str]:
        """Names of the tables, in the order of the study."""
        return list(dict.fromkeys(one["table"] for one in self.results))

    def runs(self, table: str, which: Mapping[str, Any]) -> dict[int, Result]:
        """Results of a cell by repeat."""
        return self._by.get((table, *(which[name] for name in KEYS)), {})

    def mean(self, table: str, which: Mapping[str, Any], value: Value = area) -> Mean | None:
        """Mean over repeats; None without any."""
        found = self.runs(table, which)
        return mean_of([value(found[repeat]) for repeat in sorted(found)]) if found else None

    def gap(
        self,
        table: str,
        first: Mapping[str, Any],
        second: Mapping[str, Any],
        *,
        values: tuple[Value, Value] = (area, area),
    ) -> Difference | None:
        """``first`` less ``second`` over the repeats that both have; None without any."""
        one, other = self.runs(table, first), self.runs(table, second)
        both = sorted(one.keys() & other.keys())
        if not both:
            return None
        return difference(
            [values[0](one[repeat]) for repeat in both], [values[1](other[repeat]) for repeat in both]
        )

    def refusals(self) -> dict[tuple[str, str], int]:
        """What dpglm said no to, by method and text: numbers of fits."""
        found: dict[tuple[str, str], int] = {}
        for one in self.results:
            if "refused" in one:
                key = (one["method"], one["refused"])
                found[key] = found.get(key, 0) + 1
        return found

    @property
    def seconds(self) -> float:
        """Of all fits."""
        return sum(float(one.get("seconds", 0.0)) for one in self.results)

    def repeats(self) -> int:
        """The most repeats of a cell."""
        return max((len(found) for found in self._by.values()), default=0)


def by_epsilon(areas: Areas, table: str, law: str, method: str, epsilon: float) -> Mean | None:
    """The mean of a method in the paper's setting."""
    return areas.mean(table, cell(method, law, epsilon))
