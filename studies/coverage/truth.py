"""True coefficients of a table, decided once and kept beside the runs: all replications share them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from scipy.special import expit

from dpglm.typing import BoolVector, FloatVector
from studies.coverage.cells import seed_of
from studies.coverage.nonprivate import nonprivate_fit
from studies.coverage.rows import StudyRows
from studies.coverage.tables import Loaded, StudyTable

# Coefficients whose non-private estimate is within this many standard errors of zero are exactly zero.
ZERO_WIDTH = 2.0


class TruthError(RuntimeError):
    """Kept truths that belong to another design of the same name."""


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
    fingerprint : str
        Hash of formula, schema and number of rows.
    """

    names: tuple[str, ...]
    beta: FloatVector
    intercept: int
    rows: int
    observed_rate: float
    true_rate: float
    fingerprint: str

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
            fingerprint(loaded, rows),
        )

    def write(self, path: Path) -> None:
        """Keep it as JSON."""
        plain = {
            **{name: getattr(self, name) for name in ("intercept", "rows", "true_rate", "fingerprint")},
            "observed_rate": None if np.isnan(self.observed_rate) else self.observed_rate,
            "beta": dict(zip(self.names, self.beta.tolist(), strict=True)),
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(plain, indent=1), encoding="utf-8")
        partial.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self:
        """What `write` kept."""
        plain = json.loads(path.read_text(encoding="utf-8"))
        beta = plain["beta"]
        observed = plain["observed_rate"]
        return cls(
            tuple(beta),
            np.array(list(beta.values())),
            plain["intercept"],
            plain["rows"],
            float("nan") if observed is None else observed,
            plain["true_rate"],
            plain["fingerprint"],
        )


def thinned(fit: Mapping[str, FloatVector], names: tuple[str, ...]) -> FloatVector:
    """Estimates of a non-private fit, those within `ZERO_WIDTH` standard errors of zero set to zero."""
    zero = np.abs(fit["estimate"]) < ZERO_WIDTH * fit["sd"]
    zero &= np.array(names) != "Intercept"
    return np.where(zero, 0.0, fit["estimate"])


def fingerprint(loaded: Loaded, rows: StudyRows) -> str:
    """What truths and runs belong to: formula, schema, number of rows, and truths that are given."""
    given = None if loaded.truth is None else dict(loaded.truth)
    public = [loaded.formula, loaded.schema.to_dict(), rows.row_count(), given]
    return hashlib.sha256(json.dumps(public, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table ready for replications."""

    name: str
    rows: StudyRows
    truth: Truth
    theta: FloatVector
    rates: FloatVector

    @classmethod
    def of(cls, table: StudyTable, out: Path) -> Self:
        """Rows and truths, the truths being made and kept at the first call.

        Raises
        ------
        TruthError
            The folder holds runs of another design under this name.
        """
        loaded = table.load()
        rows = StudyRows.of(loaded)
        path = out / table.name / "truth.json"
        if not path.exists():
            Truth.of(loaded, rows).write(path)
        truth = Truth.read(path)
        if truth.fingerprint != fingerprint(loaded, rows) or truth.names != rows.coding.names:
            raise TruthError(
                f"{path.parent} holds runs of another design of {table.name!r}: move it away, or give --out"
            )
        theta = rows.coding.coded_from_user @ truth.beta
        return cls(table.name, rows, truth, theta, expit(rows.predictor(theta)))

    def response(self, replication: int) -> FloatVector:
        """The response of a replication, shape (n,): the same for every cell of the table."""
        random = np.random.default_rng(seed_of(self.name, replication, "response"))
        return (random.random(self.rates.shape[0]) < self.rates).astype(np.float64)
