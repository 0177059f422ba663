"""A table whose response has levels without an order: one equation for each of them but the first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import softmax

import dpglm
from dpglm.typing import FloatMatrix, FloatVector
from studies.coverage.grid import seed_of
from studies.coverage.ready import ReadyTable, thinned
from studies.coverage.rows import StudyRows
from studies.coverage.tables import StudyTable
from studies.jobs import Result


@dataclass(frozen=True, eq=False)
class ReadyUnordered(ReadyTable):
    """A `ReadyTable` whose coefficients are those of all equations, one after the other.

    A response is the place of each row's level, from 0. Responses follow the multinomial model, and private
    fits read the table as a user's do: `dpglm.fit` itself is judged.

    Parameters
    ----------
    observed : ndarray, shape (n,)
        Place of each row's own level.
    """

    observed: FloatVector

    @classmethod
    def of(cls, table: StudyTable) -> Self:
        """Truths from non-private fits of each level against the first."""
        loaded = table.load()
        assert loaded.truth is None, "truths of several equations"
        response = loaded.formula.split(" ~ ")[0]
        levels = loaded.schema.variables[response].levels  # type: ignore[union-attr]
        observed = loaded.frame[response].map({level: place for place, level in enumerate(levels)})
        # Coded rows are the same whatever the response: it is none of their terms.
        two = replace(
            loaded,
            frame=loaded.frame.assign(**{response: levels[0]}),
            schema=dpglm.Schema({**loaded.schema.variables, response: dpglm.Categorical(levels[:2])}),
        )
        rows = StudyRows.of(two, "binomial")
        whole = replace(rows, loaded=loaded)
        size = len(rows.model.coding.names) * (len(levels) - 1)
        fit = cls(table, whole, np.zeros(size), observed.to_numpy(dtype=np.float64))
        beta = thinned(*fit.likelihood(fit.observed), fit.names)
        return replace(fit, beta=beta)

    @property
    def names(self) -> tuple[str, ...]:
        terms = self.rows.model.coding.names
        return tuple(f"{term}[{level}]" for level in self._levels[1:] for term in terms)

    def response(self, number: int) -> FloatVector:
        random = np.random.default_rng(seed_of(self.name, number, "response"))
        passed = self._mean.cumsum(axis=1) < random.random((len(self._mean), 1))
        return np.asarray(passed[:, :-1].sum(axis=1), dtype=np.float64)

    def likelihood(self, y: FloatVector) -> tuple[FloatVector, FloatVector]:
        found = [one.likelihood(_against(y, place)) for place, one in self._equations(self.beta)]
        return np.concatenate([beta for beta, _ in found]), np.concatenate([sd for _, sd in found])

    def naive_errors(self, y: FloatVector, beta: FloatVector) -> FloatVector:
        return np.concatenate(
            [one.naive_errors(_against(y, place), one.beta) for place, one in self._equations(beta)]
        )

    def fit(self, plan: Any, y: FloatVector, seed: int) -> Any:
        """What `dpglm.fit` does with the table and this response."""
        response = self.formula.split(" ~ ")[0]
        drawn = np.array(self._levels, dtype=object)[y.astype(np.intp)]
        return plan.fit(self.rows.loaded.frame.assign(**{response: drawn}), seed=seed, progress=False)

    def to_json(self) -> Result:
        """Rates are shares of rows at another level than the first."""
        alike = super().to_json()
        rates = {
            "observed_rate": float(np.mean(self.observed > 0)),
            "true_rate": float(1.0 - self._mean[:, 0].mean()),
        }
        return {**alike, **rates}

    def _equations(self, beta: FloatVector) -> list[tuple[int, ReadyTable]]:
        parts = np.split(beta, len(self._levels) - 1)
        return [(place, ReadyTable(self.table, self.rows, part)) for place, part in enumerate(parts, start=1)]

    @property
    def _levels(self) -> tuple[Any, ...]:
        response = self.formula.split(" ~ ")[0]
        return tuple(self.schema.variables[response].levels)  # type: ignore[union-attr]

    @cached_property
    def _mean(self) -> FloatMatrix:  # type: ignore[override]
        """Probability of each level, shape (n, levels)."""
        odds = [one._coded(one.beta) @ self.rows.wide() for _, one in self._equations(self.beta)]
        return np.asarray(softmax(np.column_stack([np.zeros(len(odds[0])), *odds]), axis=1))


def _against(y: FloatVector, place: int) -> FloatVector:
    """Whether a row is at a level, or at the first; NaN elsewhere."""
    return np.where((y == 0) | (y == place), (y == place).astype(np.float64), np.nan)
