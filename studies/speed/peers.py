"""Peers, timed in their own interpreter: run by `measure.Contestant`, imports nothing of the package."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from studies.speed import simulated
from studies.speed.timing import serve, timed

# Deprecations, and models that stop early; only the measured numbers are wanted.
warnings.simplefilter("ignore")


@lru_cache(maxsize=1)
def unit_rows(rows: int, columns: int) -> tuple[Any, Any]:
    """The simulated rows, scaled to norm at most 1."""
    X, y = simulated.numbers(rows, columns)
    return X / np.sqrt(columns), y


def _model(epsilon: float, seed: int) -> Any:
    from diffprivlib.models import LogisticRegression

    return LogisticRegression(epsilon=epsilon, data_norm=1.0, random_state=seed)


def diffprivlib(table: dict[str, int], epsilon: float, seeds: list[int]) -> dict[str, Any]:
    """Its logistic regression as it comes, of a ready array, mean over noise seeds."""
    X, y = unit_rows(table["rows"], table["columns"])
    fits = [_model(epsilon, seed) for seed in seeds]
    return timed(*(lambda one=one: one.fit(X, y) for one in fits))  # type: ignore[misc]


def design_and_fit(table: dict[str, int], by: str, epsilon: float, seeds: list[int]) -> dict[str, Any]:
    """A design from a frame and a formula, and diffprivlib on it."""
    import pandas as pd

    X, y = simulated.numbers(table["rows"], table["columns"])
    frame = pd.DataFrame(X, columns=simulated.names(table["columns"]))
    right, scale = simulated.formula(table["columns"]).split("~", 1)[1], np.sqrt(table["columns"])
    make = _designs(by)

    def once(seed: int) -> None:
        design = np.asarray(make(right, frame), dtype=np.float64)[:, 1:] / scale
        _model(epsilon, seed).fit(design, y)

    return timed(*(lambda seed=seed: once(seed) for seed in seeds))  # type: ignore[misc]


def _designs(by: str) -> Callable[[str, Any], Any]:
    if by == "patsy":
        import patsy

        return lambda formula, frame: patsy.dmatrix(formula, frame)
    import formulaic

    return lambda formula, frame: formulaic.model_matrix(formula, frame)


@cache
def _compiled() -> None:
    _sparse(*unit_rows(200, 3))


def _sparse(X: Any, y: Any) -> None:
    from skglm import SparseLogisticRegression  # type: ignore[import-not-found]

    signs = 2.0 * y - 1.0
    largest = np.abs(X.T @ signs).max() / (2.0 * len(y))
    SparseLogisticRegression(alpha=0.05 * largest).fit(X, signs)


def skglm(table: dict[str, int]) -> dict[str, Any]:
    """Its lasso of a ready array, compiled before, at a twentieth of the strength that selects nothing."""
    _compiled()
    X, y = unit_rows(table["rows"], table["columns"])
    return timed(lambda: _sparse(X, y))


def sklearn(table: dict[str, int], solver: str) -> dict[str, Any]:
    """Its logistic ridge of a ready array."""
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    X, y = unit_rows(table["rows"], table["columns"])
    return timed(lambda: LogisticRegression(solver=solver, max_iter=1000).fit(X, y))


def glum(table: dict[str, int]) -> dict[str, Any]:
    """The same ridge by glum."""
    from glum import GeneralizedLinearRegressor  # type: ignore[import-not-found]

    X, y = unit_rows(table["rows"], table["columns"])
    made = GeneralizedLinearRegressor(family="binomial", alpha=1.0 / len(y), l1_ratio=0)
    return timed(lambda: made.fit(X, y))


def statsmodels(table: dict[str, int]) -> dict[str, Any]:
    """Maximum likelihood without a ridge: statsmodels' GLM, by iteratively reweighted least squares."""
    import statsmodels.api as sm

    X, y = simulated.numbers(table["rows"], table["columns"])
    return timed(lambda: sm.GLM(y, sm.add_constant(X), family=sm.families.Binomial()).fit())


def one_hot_ridge(table: dict[str, int]) -> dict[str, Any]:
    """scikit-learn's logistic ridge on the sparse one-hot matrix of a factor, and making that matrix."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder  # type: ignore[import-untyped]

    place, y = simulated.levels(table["rows"], table["levels_of"])
    texts = np.array([f"level {number}" for number in range(table["levels_of"])], dtype=object)
    column = texts[place][:, None]
    return timed(lambda: LogisticRegression(max_iter=1000).fit(OneHotEncoder().fit_transform(column), y))


@lru_cache(maxsize=1)
def _real(path: str, rows: int, fillings: tuple[tuple[str, Any], ...]) -> Any:
    import pandas as pd

    return pd.read_csv(path, nrows=rows or None, low_memory=False).fillna(dict(fillings))


def formulaic_design(path: str, rows: int, formula: str, fillings: dict[str, Any]) -> dict[str, Any]:
    """A design of a real table as one array, as patsy makes it; the search for levels is included."""
    import formulaic

    frame = _real(path, rows, tuple(fillings.items()))
    right = formula.split("~", 1)[1]
    return timed(lambda: np.asarray(formulaic.model_matrix(right, frame), dtype=np.float64))


def polars_read(path: str, rows: int) -> dict[str, Any]:
    """The file into a frame."""
    import polars as pl

    return timed(lambda: pl.read_csv(path, n_rows=rows or None, infer_schema_length=10_000))


if __name__ == "__main__":
    works = (diffprivlib, design_and_fit, skglm, sklearn, glum, statsmodels)
    serve({one.__name__: one for one in (*works, one_hot_ridge, formulaic_design, polars_read)})
