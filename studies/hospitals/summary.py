"""Mean areas over sites, paired over repeats; and areas site by site."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from studies.hospitals.grid import LAWS, METHODS
from studies.jobs import Result
from studies.paired import Difference, Mean, difference, mean_of

Runs = dict[int, dict[str, float]]


class Areas:
    """Results of the study by network, kind of budget and method.

    Parameters
    ----------
    results : sequence of mapping
        As `studies.jobs.run` gives them.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = results

    @cached_property
    def _by(self) -> dict[tuple[str, str, str], dict[int, Result]]:
        found: dict[tuple[str, str, str], dict[int, Result]] = {}
        for one in self.results:
            if "auc" not in one:
                continue
            for law in LAWS if one["law"] is None else (one["law"],):  # without privacy: beside both
                found.setdefault((one["table"], law, one["method"]), {})[int(one["repeat"])] = one
        return found

    def tables(self) -> list[str]:
        """Names of the networks, in the order of the study."""
        return list(dict.fromkeys(one["table"] for one in self.results))

    def sites(self, table: str) -> list[str]:
        """Names of the branches."""
        return next((list(one["auc"]) for one in self.results if one["table"] == table and "auc" in one), [])

    def runs(self, table: str, law: str, method: str) -> dict[int, Result]:
        """Results by repeat."""
        return self._by.get((table, law, method), {})

    def mean(self, table: str, law: str, method: str, site: str | None = None) -> Mean | None:
        """Mean over repeats of the mean area of all branches, or of one."""
        found = self.runs(table, law, method)
        return mean_of([_area(found[repeat], site) for repeat in sorted(found)]) if found else None

    def main(self, table: str, law: str, method: str) -> Mean | None:
        """Mean area at the main hospital of what it fitted."""
        found = [one["main"] for one in self.runs(table, law, method).values() if "main" in one]
        return mean_of(found) if found else None

    def gap(
        self, table: str, law: str, first: str, second: str, site: str | None = None
    ) -> Difference | None:
        """``first`` less ``second`` over the repeats that both have, for the mean of branches or for one."""
        one, other = self.runs(table, law, first), self.runs(table, law, second)
        both = sorted(one.keys() & other.keys())
        if not both:
            return None
        return difference([_area(one[at], site) for at in both], [_area(other[at], site) for at in both])

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

    def refusals(self) -> dict[tuple[str, str], int]:
        """What dpglm said no to, by label of the method and text: numbers of jobs."""
        found: dict[tuple[str, str], int] = {}
        for one in self.results:
            if "refused" in one:
                key = (METHODS[one["method"]], one["refused"])
                found[key] = found.get(key, 0) + 1
        return found

    @property
    def seconds(self) -> float:
        """Of all fits."""
        return sum(float(one.get("seconds", 0.0)) for one in self.results)

    def repeats(self) -> int:
        """The most repeats of a cell."""
        return max((len(found) for found in self._by.values()), default=0)


def _area(one: Result, site: str | None) -> float:
    areas: dict[str, float] = one["auc"]
    return areas[site] if site is not None else sum(areas.values()) / len(areas)
