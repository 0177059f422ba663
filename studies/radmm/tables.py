"""The tables of the paper's figures: two real ones, and rows drawn from its simulation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

import dpglm
from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.inference.coefficients import Scaling
from dpglm.typing import BoolVector, FloatVector
from studies import real_tables
from studies.coverage.tables import table as coverage_table

if TYPE_CHECKING:
    import pandas as pd

FOLDS = 10
ROWS, ROWS_TEST, COLUMNS, BOUND = 40_000, 10_000, 100, 3.0
SIGNALS = tuple(k / 2 for k in range(1, 11))
RELEVANT = 2 * len(SIGNALS)
TITLES = {"adult": "Adult", "ipums_br": "IPUMS-BR", "simulated": "simulation"}
REAL = ("adult", "ipums_br")


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to fit and rows to judge by, with what is public about both.

    Parameters
    ----------
    train, test : DataFrame
    schema : Schema
        With the number of training rows, which is public under replace-one.
    formula : str
    positive : BoolVector
        Response of each test row, shape (k,).
    relevant : BoolVector or None
        Which penalised columns have a signal, shape (p - 1,); None for real tables.
    truth : FloatVector or None
        Linear predictor of test rows by the true coefficients, shape (k,).
    """

    train: pd.DataFrame
    test: pd.DataFrame
    schema: dpglm.Schema
    formula: str
    positive: BoolVector
    relevant: BoolVector | None = None
    truth: FloatVector | None = None

    def length(self, estimates: FloatVector) -> float:
        """The l1 norm that a strength multiplies: of scaled coefficients in the clipped coding.

        Columns are centred, divided by their declared width, and rows cut to norm 1, whatever the
        method's own coding: one unit for all methods.
        """
        scaling = _scaling(self.formula, self.schema)
        scaled = scaling.from_user(np.asarray(estimates, dtype=np.float64))
        return float(np.abs(scaled[scaling.penalised]).sum())


def missing(name: str) -> str | None:
    """Why a table cannot be studied here; None where it can."""
    if name not in REAL or real_tables.available(name):
        return None
    return real_tables.absence(name)


@lru_cache(maxsize=2)
def split(name: str, draw: int, rows: int | None = None) -> Split:
    """Fold ``draw`` of ten of a real table, or simulated table number ``draw``.

    Parameters
    ----------
    name : str
        One of `TITLES`.
    draw : int
        For real tables the fold that is left out, 0 to 9.
    rows : int or None
        No more training rows than this, and half as many test rows: for quick looks.
    """
    if name == "simulated":
        return _simulated(draw, rows)
    frame, schema, formula, response, level = _real(name)
    order = np.random.default_rng(20_261_121).permutation(len(frame))
    test = np.sort(order[draw % FOLDS :: FOLDS])
    train = np.setdiff1d(np.arange(len(frame)), test)
    if rows is not None:
        random = np.random.default_rng(draw)
        train, test = (
            np.sort(random.permutation(train)[:rows]),
            np.sort(random.permutation(test)[: rows // 2]),
        )
    rest = frame.iloc[test].reset_index(drop=True)
    return Split(
        train=frame.iloc[train].reset_index(drop=True),
        test=rest,
        schema=dpglm.Schema.of(schema, rows=len(train)),
        formula=formula,
        positive=(rest[response].astype(str) == level).to_numpy(),
    )


@lru_cache(maxsize=2)
def _real(name: str) -> tuple[pd.DataFrame, dpglm.Schema, str, str, str]:
    if name == "adult":
        loaded = coverage_table("adult").load()
        return loaded.frame, loaded.schema, loaded.formula, "income", ">50K"
    table = real_tables.table(name)
    return table.frame(), table.schema(), table.formula(), table.response, "1"


def _simulated(draw: int, rows: int | None) -> Split:
    import pandas as pd

    random = np.random.default_rng([20_261_122, draw])
    most, tested = (ROWS, ROWS_TEST) if rows is None else (rows, rows // 2)
    places = np.arange(COLUMNS)
    correlation = 0.5 ** np.abs(places[:, None] - places[None, :])
    X = random.normal(size=(most + tested, COLUMNS)) @ np.linalg.cholesky(correlation).T
    w: FloatVector = np.zeros(COLUMNS)
    w[:RELEVANT] = (*SIGNALS, *(-signal for signal in SIGNALS))
    predictor = X @ w
    noisy = predictor + random.normal(size=len(X))
    y = random.random(len(X)) < 1.0 / (1.0 + np.exp(-noisy))
    names = [f"x{j + 1}" for j in places]
    frame = pd.DataFrame(X, columns=names).assign(y=y.astype(int))
    return Split(
        train=frame.iloc[:most],
        test=frame.iloc[most:].reset_index(drop=True),
        schema=dpglm.Schema.of({**dict.fromkeys(names, (-BOUND, BOUND)), "y": [0, 1]}, rows=most),
        formula="y ~ " + " + ".join(names),
        positive=y[most:],
        relevant=w != 0.0,
        truth=predictor[most:],
    )


@lru_cache(maxsize=8)
def _scaling(formula: str, schema: dpglm.Schema) -> Scaling:
    return Scaling.of(Coding.of(parse(formula, schema), kind="clipped"))
