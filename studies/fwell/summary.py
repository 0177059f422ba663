"""Accuracies by table and ranking, paired over folds; recalls by design."""

from __future__ import annotations

from collections.abc import Sequence

from studies.fwell.fits import CLASSIFIERS, counts_of
from studies.fwell.grid import RANDOM, TENTH, TIMED, WITNESS
from studies.jobs import Result
from studies.paired import Difference, Mean, difference, mean_of

# A ranking: its method, its epsilon if it has one, and its strength where it is not the default.
Which = tuple[str, float | None] | tuple[str, float | None, float]


class Runs:
    """Results of the study.

    Parameters
    ----------
    results : sequence of mapping
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = results
        self._folds: dict[tuple[str, Which], dict[tuple[int, int], Result]] = {}
        self._recalls: dict[tuple[str, Which], dict[int, float]] = {}
        for result in results:
            which = (result.get("method", ""), result.get("epsilon"))
            if "strength" in result:
                which = (*which, result["strength"])
            if "accuracy" in result:
                place = (int(result["repeat"]), int(result["fold"]))
                self._folds.setdefault((result["table"], which), {})[place] = result
            elif "recall" in result:
                cell = self._recalls.setdefault((result["table"], which), {})
                cell[int(result["repeat"])] = float(result["recall"])
        self.tables = list(dict.fromkeys(one["table"] for one in results if "accuracy" in one))
        self.designs = list(dict.fromkeys(one["table"] for one in results if "recall" in one))
        self.witness = next((one for one in results if one["study"] == WITNESS), None)
        self.times = [one for one in results if one["study"] == TIMED and "wall" in one]

    def epsilons(self, table: str, method: str = "fwell") -> list[float]:
        """Of a ranking of a table or a design, rising."""
        cells = (*self._folds, *self._recalls)
        found = {which[1] for name, which in cells if name == table and which[0] == method}
        return sorted(one for one in found if one is not None)

    def features(self, table: str) -> int:
        """Number of features."""
        return max(one["counts"][-1] for one in self.results if "counts" in one and one["table"] == table)

    def counts(self, table: str) -> list[int]:
        """Numbers of features that are selected, rising."""
        return counts_of(self.features(table))

    def count_at(self, table: str, share: float = TENTH) -> int:
        """That share of the features."""
        return max(1, round(share * self.features(table)))

    def folds(self, table: str) -> int:
        """Folds of one repeat that were run, times repeats."""
        return max((len(runs) for (name, _), runs in self._folds.items() if name == table), default=0)

    def _values(self, table: str, which: Which, classifier: str, count: int) -> dict[tuple[int, int], float]:
        runs = self._folds.get((table, which), {})
        return {place: one["accuracy"][classifier][one["counts"].index(count)] for place, one in runs.items()}

    def accuracy(self, table: str, which: Which, classifier: str, count: int) -> Mean | None:
        """Mean over folds; None without any."""
        values = self._values(table, which, classifier, count)
        return mean_of([values[place] for place in sorted(values)]) if values else None

    def gap(self, table: str, first: Which, second: Which, classifier: str, count: int) -> Difference | None:
        """``first`` less ``second`` over the folds that both have; None without any."""
        one, other = (self._values(table, which, classifier, count) for which in (first, second))
        both = sorted(one.keys() & other.keys())
        return difference([one[place] for place in both], [other[place] for place in both]) if both else None

    def recall(self, design: str, which: Which) -> Mean | None:
        """Mean over draws; None without any."""
        values = self._recalls.get((design, which), {})
        return mean_of([values[draw] for draw in sorted(values)]) if values else None

    def threshold(self, table: str, method: str) -> float | None:
        """The least epsilon from which on a tenth of the features is better than a random one.

        That is: by the 95 % interval of one classifier at least, here and at all larger epsilons.
        """
        found = None
        for epsilon in reversed(self.epsilons(table, method)):
            if not self.better_than_chance(table, (method, epsilon)):
                break
            found = epsilon
        return found

    def better_than_chance(self, table: str, which: Which) -> bool:
        """Whether a tenth of the features by this ranking is better than a random tenth."""
        count = self.count_at(table)
        gaps = [self.gap(table, which, (RANDOM, None), classifier, count) for classifier in CLASSIFIERS]
        return any(gap is not None and gap.sign == 1 for gap in gaps)
