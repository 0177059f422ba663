"""A table whose response is a count: drawn as negative binomial, with the spread that the table's own has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np

import dpglm
from dpglm.typing import FloatMatrix, FloatVector
from studies.coverage.grid import seed_of
from studies.coverage.ready import RIDGE, ReadyTable, thinned
from studies.coverage.rows import StudyRows
from studies.coverage.tables import StudyTable
from studies.jobs import Result

MOST_STEPS: Final = 100
CLOSE: Final = 1e-8


@dataclass(frozen=True, eq=False)
class ReadyCounts(ReadyTable):
    """A `ReadyTable` whose response has mean m = exp(x'beta) and variance m + spread m^2.

    Private fits read the table as a user's do: `dpglm.fit` itself is judged. Maximum likelihood is Poisson
    regression with a dispersion, as R's quasipoisson.

    Parameters
    ----------
    observed : ndarray, shape (n,)
        The table's own counts.
    spread : float
        By moments, at the coefficients that are fitted to them.
    """

    observed: FloatVector
    spread: float

    @classmethod
    def of(cls, table: StudyTable) -> Self:
        """Truths from a non-private fit."""
        loaded = table.load()
        assert loaded.truth is None, "truths of counts"
        rows = StudyRows.of(loaded, table.family)
        observed = loaded.frame[loaded.formula.split(" ~ ")[0]].to_numpy(dtype=np.float64)
        fit = cls(table, rows, np.zeros(len(rows.model.coding.names)), observed, 0.0)
        estimates, errors = fit.likelihood(observed)
        mean = fit._means(fit._coded(estimates))
        spread = float((((observed - mean) ** 2 - mean).sum()) / (mean**2).sum())
        assert spread > 0.0, "counts that spread more than Poisson's"
        return cls(table, rows, thinned(estimates, errors, fit.names), observed, spread)

    def response(self, number: int) -> FloatVector:
        random = np.random.default_rng(seed_of(self.name, number, "response"))
        return self._drawn(random)

    def likelihood(self, y: FloatVector) -> tuple[FloatVector, FloatVector]:
        X = self.rows.wide()
        theta = self._coded(np.where(np.array(self.names) == "Intercept", np.log(y.mean()), 0.0))
        ridge = RIDGE * np.eye(len(theta))

        def loss(theta: FloatVector) -> float:
            return float(self._means(theta).sum() - y @ (theta @ X) + 0.5 * RIDGE * theta @ theta)

        for _ in range(MOST_STEPS):
            mean = self._means(theta)
            step = np.linalg.solve((X * mean) @ X.T + ridge, X @ (y - mean) - RIDGE * theta)
            while np.abs(step).max() >= CLOSE and not loss(theta + step) <= loss(theta):
                step = 0.5 * step
            theta = theta + step
            if np.abs(step).max() < CLOSE:
                return self._user(theta), self._poisson_errors(y, theta)
        raise AssertionError("the non-private fit did not converge")

    def naive_errors(self, y: FloatVector, beta: FloatVector) -> FloatVector:
        return self._poisson_errors(y, self._coded(beta))

    def fit(self, plan: Any, y: FloatVector, seed: int) -> dpglm.FitResult:
        """What `dpglm.fit` does with the table and this response."""
        response = self.formula.split(" ~ ")[0]
        fit = plan.fit(self.rows.loaded.frame.assign(**{response: y}), seed=seed, progress=False)
        assert isinstance(fit, dpglm.FitResult)
        return fit

    def to_json(self) -> Result:
        """Rates are mean counts; clipped is the share of drawn counts beyond the bound."""
        variable = self.schema.variables[self.formula.split(" ~ ")[0]]
        assert isinstance(variable, dpglm.Numeric)
        drawn = self._drawn(np.random.default_rng(seed_of(self.name, "clipped")))
        return {
            **super().to_json(),
            "observed_mean": float(self.observed.mean()),
            "true_mean": float(self._mean.mean()),
            "spread": self.spread,
            "clipped": float(np.mean(drawn > variable.high)),
        }

    def _drawn(self, random: np.random.Generator) -> FloatVector:
        shape = 1.0 / self.spread
        rate = self._mean * random.gamma(shape, self.spread, size=len(self._mean))
        return random.poisson(rate).astype(np.float64)

    @cached_property
    def _mean(self) -> FloatVector:
        return self._means(self._coded(self.beta))

    def _means(self, theta: FloatVector) -> FloatVector:
        return np.asarray(np.exp(np.clip(theta @ self.rows.wide(), -30.0, 30.0)))

    def _poisson_errors(self, y: FloatVector, theta: FloatVector) -> FloatVector:
        """Of Poisson regression, times the root of Pearson's dispersion."""
        X, mean = self.rows.wide(), self._means(theta)
        dispersion = float(((y - mean) ** 2 / mean).sum()) / (len(y) - len(theta))
        covariance: FloatMatrix = np.linalg.pinv((X * mean) @ X.T, hermitian=True)
        return np.sqrt(dispersion * self._spread(covariance))
