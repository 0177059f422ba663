"""The two tables of the study: the paper's simulation, and rows of KDD Cup 1999."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

import dpglm
from dpglm.typing import BoolVector, FloatVector
from studies import real_tables

SIMULATION, KDD = "simulation", "kddcup99"
SIGNALS = (10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 0.5)
BOUND = 3.0
TEST_ROWS, KDD_TEST_ROWS = 1_000, 10_000
# The paper's 60,000 examples, 38,420 of them positive; good connections are its positive class.
KDD_POSITIVE = 38_420 / 60_000


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows to fit, rows to test, and what is public about both.

    Parameters
    ----------
    train, test : DataFrame
    formula : str
    schema : Schema
    response, first : str, object
        Name of the response, and its first level: a fit predicts the probability of the second.
    names : tuple of str
        Coefficients without the intercept where the truth is known, else empty.
    truth : ndarray, shape (p,)
        True coefficients of ``names``.
    """

    train: pd.DataFrame
    test: pd.DataFrame
    formula: str
    schema: dpglm.Schema
    response: str
    first: object
    names: tuple[str, ...]
    truth: FloatVector

    def second(self, frame: pd.DataFrame) -> BoolVector:
        """Which rows have the response's second level."""
        return np.asarray(frame[self.response] != self.first, dtype=np.bool_)


def absence(name: str) -> str | None:
    """Why the table called ``name`` cannot be studied on this machine, or None."""
    return None if name == SIMULATION or real_tables.available(name) else real_tables.absence(name)


def sample(name: str, rows: int, number: int, columns: int) -> Sample:
    """The first ``rows`` rows of draw ``number``, and its test rows: more rows of a draw contain fewer.

    Parameters
    ----------
    name : {"simulation", "kddcup99"}
    columns : int
        Of the simulation; KDD Cup has its own.
    """
    return _simulated(rows, number, columns) if name == SIMULATION else _connections(rows, number)


@lru_cache(maxsize=2)
def _simulated(rows: int, number: int, columns: int) -> Sample:
    """Normal columns with correlations .5 to the power of their distance; y = 1 where w'x >= 0."""
    random = np.random.default_rng([20_260, number])
    distance = np.abs(np.subtract.outer(range(columns), range(columns)))
    X = random.normal(size=(TEST_ROWS + rows, columns)) @ np.linalg.cholesky(0.5**distance).T
    truth: FloatVector = np.zeros(columns)
    truth[: len(SIGNALS)] = SIGNALS
    y = (X @ truth >= 0.0).astype(int)
    names = tuple(f"x{j + 1}" for j in range(columns))
    frame = pd.DataFrame(X, columns=list(names)).assign(y=y)
    bounds = {**dict.fromkeys(names, (-BOUND, BOUND)), "y": [0, 1]}
    return Sample(
        train=frame[TEST_ROWS:],
        test=frame[:TEST_ROWS],
        formula="y ~ " + " + ".join(names),
        schema=dpglm.Schema.of(bounds, rows=rows, unit="one row"),
        response="y",
        first=0,
        names=names,
        truth=truth,
    )


@lru_cache(maxsize=2)
def _connections(rows: int, number: int) -> Sample:
    """Connections in a random order with the paper's share of good ones, in every block of rows."""
    real, frame = real_tables.table(KDD), _kdd_frame()
    random = np.random.default_rng([20_261, number])
    good = (frame["label"] == "normal").to_numpy()
    whole = KDD_TEST_ROWS + rows
    # Which places hold good connections is drawn first, so that fewer rows are the beginning of more.
    kinds = random.random(len(frame))[:whole] < KDD_POSITIVE
    places = np.empty(whole, dtype=np.int64)
    for kind in (True, False):
        places[kinds == kind] = random.permutation(np.flatnonzero(good == kind))[: int((kinds == kind).sum())]
    chosen = frame.iloc[places]
    return Sample(
        train=chosen[KDD_TEST_ROWS:],
        test=chosen[:KDD_TEST_ROWS],
        formula=real.formula(),
        schema=real.schema(),
        response=real.response,
        first="normal",
        names=(),
        truth=np.zeros(0),
    )


@lru_cache(maxsize=1)
def _kdd_frame() -> pd.DataFrame:
    return real_tables.table(KDD).frame()
