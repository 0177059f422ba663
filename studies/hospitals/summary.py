"""Areas under ROC curves, mean over branches or branch by branch, paired over repeats."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from studies.hospitals.grid import LAWS
from studies.jobs import Result
from studies.paired import Difference, Mean, Repeats, Value, mean_of


class Areas(Repeats):
    """Results of the study; a cell is a network, a kind of budget and a method."""

    def __init__(self, results: Sequence[Result]) -> None:
        super().__init__(results, _cells)

    def sites(self, table: str) -> list[str]:
        """Names of the branches."""
        return next((list(one["auc"]) for one in self.results if one["table"] == table and "auc" in one), [])

    def runs(self, table: str, law: str, method: str) -> dict[int, Result]:
        """Results by repeat."""
        return self.cell_runs((table, law, method))

    def mean(self, table: str, law: str, method: str, site: str | None = None) -> Mean | None:
        """Mean over repeats of the mean area of all branches, or of one."""
        return self.cell_mean((table, law, method), _area(site))

    def main(self, table: str, law: str, method: str) -> Mean | None:
        """Mean area at the main hospital of what it fitted."""
        areas = [one["main"] for one in self.runs(table, law, method).values() if "main" in one]
        return mean_of(areas) if areas else None

    def gap(
        self, table: str, law: str, first: str, second: str, site: str | None = None
    ) -> Difference | None:
        """``first`` less ``second`` over the repeats that both have, for the mean of branches or for one."""
        values = (_area(site), _area(site))
        return self.cell_difference((table, law, first), (table, law, second), values)

    def best(self, table: str, law: str, methods: Sequence[str], site: str | None = None) -> set[str]:
        """The method of largest mean, and those whose paired interval with it holds 0, as in the paper."""
        means = {
            method: found.value
            for method in methods
            if (found := self.mean(table, law, method, site)) is not None
        }
        if not means:
            return set()
        first = max(means, key=lambda method: means[method])
        gaps = {method: self.gap(table, law, first, method, site) for method in means if method != first}
        return {first, *(method for method, gap in gaps.items() if gap is not None and gap.sign != 1)}


def _cells(result: Result) -> Iterable[Hashable]:
    laws = LAWS if result["law"] is None else (result["law"],)  # without privacy: beside both
    return [(result["table"], law, result["method"]) for law in laws]


def _area(site: str | None) -> Value:
    def value(result: Result) -> float:
        areas: dict[str, float] = result["auc"]
        return areas[site] if site is not None else sum(areas.values()) / len(areas)

    return value
