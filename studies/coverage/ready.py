"""A table with its true coefficients, from which the responses of all replications are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
import scipy.linalg
from scipy.special import expit

import dpglm
from dpglm.mechanisms.noise import SeededNoise
from dpglm.optim.minimise import minimise
from dpglm.rows import JoinedRows
from dpglm.spec.plan import Plan, Run
from dpglm.typing import FloatMatrix, FloatVector, is_intercept
from studies.coverage.grid import seed_of
from studies.coverage.rows import StudyRows
from studies.coverage.tables import StudyTable
from studies.jobs import Result

# Coefficients whose non-private estimate is within this many standard errors of zero are exactly zero.
ZERO_WIDTH = 2.0
# Next to nothing beside any score of data; it keeps coefficients finite where a level is all one class.
RIDGE = 1e-3
TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False)
class ReadyTable:
    """Coded rows, what is true of them, and their fits; see `studies.coverage.cell.Ready`.

    Parameters
    ----------
    table : StudyTable
    rows : StudyRows
        With the table's own response.
    beta : ndarray, shape (p,)
        True coefficients, in the user's units.
    """

    table: StudyTable
    rows: StudyRows
    beta: FloatVector

    @classmethod
    def of(cls, table: StudyTable) -> Self:
        """Truths of a simulated table as it says, else from a non-private fit."""
        loaded = table.load()
        rows = StudyRows.of(loaded, table.family)
        names = rows.model.coding.names
        if loaded.truth is None:
            fit = cls(table, rows, np.zeros(len(names)))
            beta = thinned(*fit.likelihood(rows.responses()), names)
        else:
            unknown = set(loaded.truth) - set(names)
            assert not unknown, f"true coefficients of no column: {sorted(unknown)}"
            beta = np.array([loaded.truth.get(name, 0.0) for name in names])
        return cls(table, rows, beta)

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def family(self) -> str:
        return self.table.family

    @property
    def formula(self) -> str:
        return self.rows.loaded.formula

    @property
    def schema(self) -> dpglm.Schema:
        return self.rows.loaded.schema

    @property
    def names(self) -> tuple[str, ...]:
        return self.rows.model.coding.names

    def response(self, number: int) -> FloatVector:
        """Coded: zeros and ones, or numbers in [-1, 1] where residuals of other rows are added to a mean."""
        random = np.random.default_rng(seed_of(self.name, number, "response"))
        if self.family == "gaussian":
            drawn = self._mean + random.choice(self._residuals, size=len(self._mean))
            return np.asarray(np.clip(drawn, -1.0, 1.0))
        return (random.random(len(self._mean)) < self._mean).astype(np.float64)

    def nonprivate(self, number: int) -> tuple[FloatVector, FloatVector]:
        """Kept for the other cells of the table."""
        return _nonprivate(self, number)

    def likelihood(self, y: FloatVector) -> tuple[FloatVector, FloatVector]:
        """Least squares, or the logistic fit with a ridge of .001: estimates and standard errors."""
        if self.family == "gaussian":
            theta = self._inverse @ (self.rows.wide() @ y)
            deviation = float(np.std(y - theta @ self.rows.wide()))
            return self._user(theta), self._unit * deviation * np.sqrt(self._spread(self._inverse))
        loss = self.rows.answered(y).loss()
        start = self.rows.model.coding.coded_from_user @ self.beta
        linear = np.zeros(self.rows.size)
        minimum = minimise(loss, linear=linear, ridge=RIDGE, tolerance=TOLERANCE, start=start)
        assert minimum.certified, "the non-private fit did not converge"
        return self._user(minimum.theta), self._logistic_errors(y, minimum.theta)

    def naive_errors(self, y: FloatVector, beta: FloatVector) -> FloatVector:
        """Of least squares with the residuals at ``beta``, or of the logistic information there."""
        theta = self._coded(beta)
        if self.family == "gaussian":
            deviation = float(np.std(y - theta @ self.rows.wide()))
            return self._unit * deviation * np.sqrt(self._spread(self._inverse))
        return self._logistic_errors(y, theta)

    def fit(self, plan: Plan, y: FloatVector, seed: int) -> dpglm.FitResult:
        """The plan on the coded rows: what `dpglm.fit` does once it has read a table."""
        design = plan.specification.coded_model.design(self.rows.loaded.frame)
        problem = plan.specification.problem(design)
        run = Run(plan, JoinedRows((self.rows.answered(y).released(),)), problem, plan.guarantee.seeded())
        noise = SeededNoise(seed)
        return run.result(run.write_up(run.solve(noise), noise, None))

    def to_json(self) -> Result:
        """What a page says of the table."""
        beta = self.beta[[not is_intercept(name) for name in self.names]]
        drawn = self.family == "binomial"
        simulated = self.rows.loaded.truth is not None
        return {
            "rows": self.rows.row_count(),
            "coefficients": len(beta),
            "zeros": int((beta == 0.0).sum()),
            "observed_rate": float(self.rows.responses().mean()) if drawn and not simulated else float("nan"),
            "true_rate": float(self._mean.mean()) if drawn else float("nan"),
            "clipped": self._clipped() if self.family == "gaussian" else float("nan"),
        }

    def _clipped(self) -> float:
        """Share of drawn responses that are beyond their bounds."""
        random = np.random.default_rng(seed_of(self.name, "clipped"))
        return float(np.mean(np.abs(self._mean + random.choice(self._residuals, size=len(self._mean))) > 1.0))

    @property
    def _unit(self) -> float:
        """Of a coded response, in the user's units."""
        return self.rows.model.response.unit if self.family == "gaussian" else 1.0

    @cached_property
    def _shift(self) -> FloatVector:
        """The middle of the response's bounds, as part of the intercept."""
        shift = self.rows.model.response.shift if self.family == "gaussian" else 0.0
        return shift * (np.array(self.names) == "Intercept")

    def _user(self, theta: FloatVector) -> FloatVector:
        return self._unit * (self.rows.model.coding.user_from_coded @ theta) + self._shift

    def _coded(self, beta: FloatVector) -> FloatVector:
        return np.asarray(self.rows.model.coding.coded_from_user @ ((beta - self._shift) / self._unit))

    @cached_property
    def _mean(self) -> FloatVector:
        """Expected coded response of each row, shape (n,)."""
        predictor = self._coded(self.beta) @ self.rows.wide()
        return predictor if self.family == "gaussian" else np.asarray(expit(predictor))

    @cached_property
    def _residuals(self) -> FloatVector:
        """Of least squares with all coefficients, coded, shape (n,)."""
        y = self.rows.responses()
        return np.asarray(y - (self._inverse @ (self.rows.wide() @ y)) @ self.rows.wide())

    @cached_property
    def _inverse(self) -> FloatMatrix:
        """Of X'X, shape (p, p)."""
        X = self.rows.wide()
        return np.asarray(np.linalg.pinv(X @ X.T, hermitian=True))

    def _spread(self, covariance: FloatMatrix) -> FloatVector:
        """Diagonal of a coded covariance in the user's coefficients."""
        user = self.rows.model.coding.user_from_coded
        return np.einsum("ij,jk,ik->i", user, covariance, user)

    def _logistic_errors(self, y: FloatVector, theta: FloatVector) -> FloatVector:
        loss = self.rows.answered(y).loss()
        information = loss.hessian(theta) + RIDGE * np.eye(self.rows.size)
        # C (L L')^-1 C' has the squared lengths of L^-1 C' as its diagonal.
        factor = scipy.linalg.cholesky(information, lower=True)
        user = self.rows.model.coding.user_from_coded
        return np.sqrt((scipy.linalg.solve_triangular(factor, user.T, lower=True) ** 2).sum(axis=0))


@lru_cache(maxsize=1_000)
def _nonprivate(ready: ReadyTable, number: int) -> tuple[FloatVector, FloatVector]:
    return ready.likelihood(ready.response(number))


def thinned(estimate: FloatVector, sd: FloatVector, names: tuple[str, ...]) -> FloatVector:
    """Estimates, those within `ZERO_WIDTH` standard errors of zero set to zero."""
    zero = np.abs(estimate) < ZERO_WIDTH * sd
    zero &= [not is_intercept(name) for name in names]
    return np.where(zero, 0.0, estimate)
