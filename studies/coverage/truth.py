"""True coefficients of a table: all replications of all cells draw their responses from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from scipy.special import expit

from dpglm.typing import BoolVector, FloatVector
from studies.coverage.fits import nonprivate_fit
from studies.coverage.grid import seed_of
from studies.coverage.rows import StudyRows
from studies.coverage.tables import Loaded, StudyTable

# Coefficients whose non-private estimate is within this many standard errors of zero are exactly zero.
ZERO_WIDTH = 2.0


@dataclass(frozen=True, eq=False)
class Truth:
    """What the responses of a table are drawn from. Coefficient-level numbers only.

    Parameters
    ----------
    names : tuple of str
        The user's columns.
    beta : ndarray, shape (p,)
        True coefficients on the user's scale.
    intercept : int
        Place of the intercept, which is no coefficient of the study; -1 if there is none.
    rows : int
        Number of rows.
    observed_rate, true_rate : float
        Share of successes in the table (NaN if simulated), and its expectation under ``beta``.
    """

    names: tuple[str, ...]
    beta: FloatVector
    intercept: int
    rows: int
    observed_rate: float
    true_rate: float

    @property
    def studied(self) -> BoolVector:
        """All coefficients but the intercept, shape (p,)."""
        return np.asarray(np.arange(len(self.names)) != self.intercept)

    @classmethod
    def of(cls, loaded: Loaded, rows: StudyRows) -> Self:
        """Truths of a simulated table as it says, else from a non-private fit."""
        names = rows.coding.names
        if loaded.truth is None:
            beta = thinned(nonprivate_fit(rows), names)
        else:
            unknown = set(loaded.truth) - set(names)
            assert not unknown, f"true coefficients of no column: {sorted(unknown)}"
            beta = np.array([loaded.truth.get(name, 0.0) for name in names])
        rates = expit(rows.predictor(rows.coding.coded_from_user @ beta))
        return cls(
            names,
            beta,
            names.index("Intercept") if "Intercept" in names else -1,
            rows.row_count(),
            float(rows.responses().mean()) if loaded.truth is None else float("nan"),
            float(rates.mean()),
        )

    def to_json(self) -> dict[str, object]:
        """As a job store keeps it."""
        return {**vars(self), "names": list(self.names), "beta": self.beta.tolist()}

    @classmethod
    def of_json(cls, entry: Mapping[str, Any]) -> Self:
        """What `to_json` gave."""
        values = {field.name: entry[field.name] for field in fields(cls)}
        return cls(**{**values, "names": tuple(entry["names"]), "beta": np.array(entry["beta"])})


def thinned(fit: Mapping[str, FloatVector], names: tuple[str, ...]) -> FloatVector:
    """Estimates of a non-private fit, those within `ZERO_WIDTH` standard errors of zero set to zero."""
    zero = np.abs(fit["estimate"]) < ZERO_WIDTH * fit["sd"]
    zero &= np.array(names) != "Intercept"
    return np.where(zero, 0.0, fit["estimate"])


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table ready for replications."""

    name: str
    rows: StudyRows
    truth: Truth
    theta: FloatVector
    rates: FloatVector

    @classmethod
    def of(cls, table: StudyTable) -> Self:
        """Rows and truths."""
        loaded = table.load()
        rows = StudyRows.of(loaded)
        truth = Truth.of(loaded, rows)
        theta = rows.coding.coded_from_user @ truth.beta
        return cls(table.name, rows, truth, theta, expit(rows.predictor(theta)))

    def response(self, replication: int) -> FloatVector:
        """The response of a replication, shape (n,): the same for every cell of the table."""
        random = np.random.default_rng(seed_of(self.name, replication, "response"))
        return (random.random(self.rates.shape[0]) < self.rates).astype(np.float64)
