"""Rows to fit and rows to predict: real tables, and the simulations of two papers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import dpglm
from dpglm.typing import BoolVector, FloatVector
from studies import real_tables

if TYPE_CHECKING:
    import pandas as pd

# Survey weights say nothing of a person.
LEFT_OUT: Final = {"adult": ("fnlwgt",)}
# Real tables with two classes in the rows that are left out.
REAL: Final = (
    *("waveform", "heart_disease", "pima", "wdbc", "sonar", "gusto", "adult", "ipums_br", "diabetes130"),
    "kddcup99",
)
# Less than 1,000 rows.
FEW_ROWS: Final = ("heart_disease", "pima", "wdbc", "sonar")
SIMULATED: Final = {"first simulation": 10_000, "second simulation": 32_000}
# Of the 494,021 connections of KDD Cup; the first paper has 60,000 of them.
MOST: Final = 125_000
SHARE: Final = 0.8
TESTED: Final = 10_000
COLUMNS: Final = 100


@dataclass(frozen=True, eq=False)
class Split:
    """Four fifths of a table and the rest, or simulated rows and 10,000 more of them.

    Parameters
    ----------
    train, test : DataFrame
    schema : Schema
    formula : str
    positive : ndarray, shape (k,)
        Which test rows have the response's second level.
    """

    train: pd.DataFrame
    test: pd.DataFrame
    schema: dpglm.Schema
    formula: str
    positive: BoolVector

    @property
    def response(self) -> str:
        """Its name."""
        return self.formula.split(" ~ ")[0]


def absence(name: str) -> str | None:
    """Why a table is not on this machine; None where it is."""
    return None if name in SIMULATED or real_tables.available(name) else real_tables.absence(name)


@cache
def split(name: str) -> Split:
    """The rows of a table, always the same; all tables stay in memory."""
    return _simulated(name) if name in SIMULATED else _real(name)


def _real(name: str) -> Split:
    table = real_tables.table(name)
    frame = table.frame()
    order = np.random.default_rng(0).permutation(len(frame))[:MOST]
    cut = int(SHARE * len(order))
    schema = table.schema()
    train, test = frame.iloc[order[:cut]], frame.iloc[order[cut:]]
    formula = table.formula(left_out=LEFT_OUT.get(name, ()))
    read = schema.clean(test, [table.response])
    return Split(train, test, schema, formula, np.asarray(read[table.response] == 1))


def _simulated(name: str) -> Split:
    """Normal columns with correlations .5 to the power of their distance, within bounds of three deviations.

    The first has eight signals and the sign of the predictor as response, the second twenty and a logistic
    model with an extra N(0, 1) in the predictor.
    """
    import pandas as pd

    random, rows = np.random.default_rng([20_261_125, len(name)]), SIMULATED[name]
    distance = np.abs(np.subtract.outer(range(COLUMNS), range(COLUMNS)))
    X = random.normal(size=(rows + TESTED, COLUMNS)) @ np.linalg.cholesky(0.5**distance).T
    w: FloatVector = np.zeros(COLUMNS)
    if name.startswith("first"):
        w[:8] = (10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 0.5)
        positive = X @ w >= 0.0
    else:
        w[:10] = np.arange(1, 11) / 2.0
        w[10:20] = -w[:10]
        predictor = X @ w + random.normal(size=len(X))
        positive = random.random(len(X)) < 1.0 / (1.0 + np.exp(-predictor))
    names = [f"x{j + 1}" for j in range(COLUMNS)]
    frame = pd.DataFrame(X, columns=names).assign(y=positive.astype(int))
    declared: dict[str, Any] = {**dict.fromkeys(names, (-3.0, 3.0)), "y": [0, 1]}
    formula = "y ~ " + " + ".join(names)
    return Split(frame[:rows], frame[rows:], dpglm.Schema.of(declared), formula, positive[rows:])
