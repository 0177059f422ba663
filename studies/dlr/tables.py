"""Simulated sites: logistic rows that are alike everywhere, or whose columns lie elsewhere at each site."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import dpglm
from dpglm.typing import BoolVector, FloatMatrix, FloatVector
from studies import real_tables

if TYPE_CHECKING:
    import pandas as pd

GUSTO: Final = "gusto"
ALIKE, APART = "alike", "apart"
BETA: Final = (0.8, -0.5, 0.3, 0.0, 0.4)
ROWS, TESTED = 20_000, 20_000
# Of GUSTO's columns: what a cardiologist would put in first.
TERMS: Final = "age + sysbp + pulse + Killip + pmi + dia"


@dataclass(frozen=True, eq=False)
class Sites:
    """Tables by site, rows to predict, and what is true of both.

    Parameters
    ----------
    tables : dict of str to DataFrame
    test : DataFrame
    formula : str
    schema : Schema
        It declares that everybody is at one site only.
    truth : ndarray, shape (p,)
        True coefficients, the intercept first.
    positive : ndarray, shape (k,)
        Which test rows have the second level.
    """

    tables: dict[str, pd.DataFrame]
    test: pd.DataFrame
    formula: str
    schema: dpglm.Schema
    truth: FloatVector
    positive: BoolVector

    @property
    def pooled(self) -> pd.DataFrame:
        """All rows of all sites."""
        import pandas as pd

        return pd.concat(self.tables.values(), ignore_index=True)


def absence(name: str) -> str | None:
    """Why GUSTO is not on this machine; None where it is."""
    return None if name != GUSTO or real_tables.available(name) else real_tables.absence(name)


@lru_cache(maxsize=2)
def sites(count: int, kind: str, repeat: int) -> Sites:
    """20,000 rows at so many sites of one size.

    Where sites lie apart, the columns of each have means of their own, a standard deviation of .7 apart, and
    coefficients are the same.
    """
    random = np.random.default_rng([20_261_126, count, len(kind), repeat])
    means = (
        0.7 * random.standard_normal((count, len(BETA))) if kind == APART else np.zeros((count, len(BETA)))
    )
    drawn = {f"site{j + 1:02d}": _rows(random, ROWS // count, means[j]) for j in range(count)}
    test, positive = _rows(random, TESTED, means[0] if kind == ALIKE else means.mean(axis=0))
    names = [f"x{j + 1}" for j in range(len(BETA))]
    declared: dict[str, Any] = {**dict.fromkeys(names, (-4.0, 4.0)), "y": [0, 1]}
    return Sites(
        {site: _frame(X, y) for site, (X, y) in drawn.items()},
        _frame(test, positive),
        "y ~ " + " + ".join(names),
        dpglm.Schema.of(declared, sites="disjoint"),
        np.array([-0.3, *BETA]),
        positive,
    )


def _rows(random: np.random.Generator, count: int, mean: FloatVector) -> tuple[FloatMatrix, BoolVector]:
    """Columns with correlations .3 to the power of their distance, within bounds of 4, and responses."""
    distance = np.abs(np.subtract.outer(range(len(BETA)), range(len(BETA))))
    X = random.standard_normal((count, len(BETA))) @ np.linalg.cholesky(0.3**distance).T + mean
    X = np.clip(X, -4.0, 4.0)
    rate = 1.0 / (1.0 + np.exp(0.3 - X @ np.array(BETA)))
    return X, random.random(count) < rate


def _frame(X: FloatMatrix, y: BoolVector) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])]).assign(y=y.astype(int))


@lru_cache(maxsize=1)
def regions() -> Sites:
    """GUSTO's sixteen regions; the truth is the fit of all rows without privacy."""
    table = real_tables.table(GUSTO)
    frame, schema = table.frame(), table.schema()
    formula = f"{table.response} ~ {TERMS}"
    tables = {f"region{region:02d}": rows.drop(columns="regl") for region, rows in frame.groupby("regl")}
    variables = {name: one for name, one in schema.variables.items() if name != "regl"}
    declared = dpglm.Schema(variables, unit=schema.unit, sites="disjoint")
    whole = dpglm.fit(formula, frame, schema=declared, privacy=None, penalty="none", progress=False)
    assert isinstance(whole, dpglm.FitResult)
    positive = np.asarray(declared.clean(frame, [table.response])[table.response] == 1)
    return Sites(tables, frame, formula, declared, whole.params.to_numpy(), positive)


def wide(count: int, columns: int, repeat: int) -> tuple[pd.DataFrame, dpglm.Schema, str]:
    """Rows for the paper's table of times: independent normal columns, of which twenty have a signal."""
    import pandas as pd

    random = np.random.default_rng([20_261_127, count, columns, repeat])
    X = np.clip(random.standard_normal((count, columns), dtype=np.float32), -4.0, 4.0)
    predictor = X[:, :20].sum(axis=1) / 4.0
    y = random.random(count) < 1.0 / (1.0 + np.exp(-predictor))
    names = [f"x{j + 1}" for j in range(columns)]
    declared: dict[str, Any] = {**dict.fromkeys(names, (-4.0, 4.0)), "y": [0, 1]}
    frame = pd.DataFrame(X, columns=names).assign(y=y.astype(int))
    return frame, dpglm.Schema.of(declared, sites="disjoint"), "y ~ " + " + ".join(names)
