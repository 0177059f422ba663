"""A table whose response has ordered levels: rows of persons and stages, some of which a response needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from dpglm.typing import FloatVector
from studies.coverage.grid import seed_of
from studies.coverage.ready import ReadyTable, thinned
from studies.coverage.rows import StudyRows
from studies.coverage.tables import StudyTable
from studies.jobs import Result


@dataclass(frozen=True, eq=False)
class ReadyLevels(ReadyTable):
    """A `ReadyTable` with the rows that persons of the highest level have: one for each stage.

    A response has, for each of these rows, whether the person is above the stage; it is NaN where the person
    does not reach it. Responses follow the model of continuation ratios that is fitted.

    Parameters
    ----------
    observed : ndarray, shape (n,)
        Place of each person's own level, from 0.
    """

    observed: FloatVector

    @classmethod
    def of(cls, table: StudyTable) -> Self:
        """Truths of a simulated table as it says, else from a non-private fit."""
        loaded = table.load()
        response = loaded.formula.split(" ~ ")[0]
        levels = list(loaded.schema.variables[response].levels)  # type: ignore[union-attr]
        observed = loaded.frame[response].map({level: place for place, level in enumerate(levels)})
        top = loaded.frame.assign(**{response: levels[-1]})
        rows = StudyRows.of(replace(loaded, frame=top), table.family)
        names = rows.model.coding.names
        fit = cls(table, rows, np.zeros(len(names)), observed.to_numpy(dtype=np.float64))
        assert len(fit._stages) == rows.row_count(), "a row for each person and stage"
        if loaded.truth is None:
            beta = thinned(*fit.likelihood(fit.own_response()), names)
        else:
            unknown = set(loaded.truth) - set(names)
            assert not unknown, f"true coefficients of no column: {sorted(unknown)}"
            beta = np.array([loaded.truth.get(name, 0.0) for name in names])
        return replace(fit, beta=beta)

    def own_response(self) -> FloatVector:
        """That of the table."""
        return _above(np.repeat(self.observed, self._count), self._stages)

    def response(self, number: int) -> FloatVector:
        """Of every row, ones and zeros up to the first zero of the person, then NaN."""
        random = np.random.default_rng(seed_of(self.name, number, "response"))
        above = (random.random(len(self._mean)) < self._mean).reshape(-1, self._count)
        level = np.cumprod(above, axis=1).sum(axis=1)
        return _above(np.repeat(level, self._count), self._stages)

    def to_json(self) -> Result:
        """Rates are shares of persons above the lowest level."""
        drawn = self._mean.reshape(-1, self._count)[:, 0]
        simulated = self.rows.loaded.truth is not None
        observed = float("nan") if simulated else float(np.mean(self.observed > 0))
        rates = {"observed_rate": observed, "true_rate": float(drawn.mean())}
        return {**super().to_json(), "rows": len(self.observed), **rates}

    @property
    def _count(self) -> int:
        """Of stages: as many as there are levels but one."""
        periods = self.rows.model.periods
        assert periods is not None
        return len(periods.values)

    @cached_property
    def _stages(self) -> FloatVector:
        return np.tile(np.arange(self._count, dtype=np.float64), len(self.observed))

    @cached_property
    def _mean(self) -> FloatVector:
        """Probability of being above a stage, of those who reach it, shape (n stages,)."""
        predictor = self._coded(self.beta) @ self.rows.wide()
        return np.asarray(1.0 / (1.0 + np.exp(-predictor)))


def _above(level: FloatVector, stage: FloatVector) -> FloatVector:
    """Whether a person of a level is above a stage; NaN where it is not reached."""
    return np.where(stage > level, np.nan, (level > stage).astype(np.float64))
