"""Simulated rows, the same ones in every process; numpy only: peers import it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
BLOCK: Final = 131_072


def names(columns: int) -> list[str]:
    """Of the columns.

    Examples
    --------
    >>> names(2)
    ['x0000', 'x0001']
    """
    return [f"x{j:04d}" for j in range(columns)]


def formula(columns: int) -> str:
    """The response on all of them.

    Examples
    --------
    >>> formula(2)
    'y ~ x0000 + x0001'
    """
    return "y ~ " + " + ".join(names(columns))


def slopes(columns: int) -> Floats:
    """Shape (columns,): normal for a fifth of them, and 0.

    From 100 columns on they shrink, so that the linear predictor keeps a standard deviation of about 2.6.
    """
    active = max(1, columns // 5)
    drawn = np.random.default_rng(columns).normal(size=columns) * (np.arange(columns) < active)
    return np.asarray(drawn * min(1.0, np.sqrt(20.0 / active)))


def blocks(rows: int, columns: int) -> Iterator[tuple[Floats, Integers]]:
    """Uniform numbers in [-1, 1], shape (k, columns), and 0 or 1, shape (k,), of `BLOCK` rows at a time."""
    true = slopes(columns)
    for start in range(0, rows, BLOCK):
        random, count = np.random.default_rng((1, start)), min(BLOCK, rows - start)
        X = random.uniform(-1.0, 1.0, size=(count, columns))
        yield X, (random.random(count) < 1.0 / (1.0 + np.exp(-X @ true))).astype(np.int64)


@lru_cache(maxsize=1)
def numbers(rows: int, columns: int) -> tuple[Floats, Integers]:
    """All of them; the last table stays in memory.

    Examples
    --------
    >>> X, y = numbers(7, 3)
    >>> X.shape, y.shape
    ((7, 3), (7,))
    """
    X, y = np.empty((rows, columns)), np.empty(rows, dtype=np.int64)
    start = 0
    for part, labels in blocks(rows, columns):
        X[start : start + len(labels)], y[start : start + len(labels)] = part, labels
        start += len(labels)
    return X, y


@lru_cache(maxsize=1)
def levels(rows: int, count: int) -> tuple[Integers, Integers]:
    """A level, 0 to ``count`` - 1, and a response of 0 or 1 for each row.

    Examples
    --------
    >>> place, y = levels(50, 4)
    >>> sorted(set(place.tolist()))
    [0, 1, 2, 3]
    """
    random = np.random.default_rng(count)
    place = random.integers(0, count, size=rows)
    effects = random.normal(size=count)
    return place, (random.random(rows) < 1.0 / (1.0 + np.exp(-effects[place]))).astype(np.int64)


def table(rows: int, columns: int = 0, levels_of: int = 0) -> dict[str, Any]:
    """A table in words, which every process understands: numbers, or one factor of so many levels."""
    return {"rows": rows, "columns": columns, "levels_of": levels_of}
