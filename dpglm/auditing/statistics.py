"""Statistics of released outputs that tell two tables apart, some known beforehand and some learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from dpglm.mechanisms.base import Release, Rows
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

Statistic: TypeAlias = Callable[[FloatMatrix], FloatVector]

# Outputs of more numbers are looked at where the tables differ most.
MOST = 40
# Up to this many numbers, their squares count as well.
MOST_SQUARED = 12
_STEPS = 25
_RIDGE = 1e-3
# Directions with less than this share of the largest variance have no noise, but for rounding.
_NO_NOISE = 1e-8
# Only of small numbers does double precision tell more bits than of the values behind them.
_SMALL = (np.inf, 0.25, 0.03125)


def learned(first: FloatMatrix, second: FloatMatrix) -> dict[str, Statistic]:
    """Statistics learned from draws on both tables, large where the first table is the likelier.

    ``"distance"`` is the difference of the distances from the two means, in the metric of the noise: the
    likelihood ratio of noise whose density depends on its length. ``"logistic"`` is a regularised logistic
    regression on the outputs and, where these are few, their squares. ``"without noise"`` looks along
    directions in which outputs do not vary, as where two releases have the same noise, and ``"repeats"`` at
    numbers that came out more than once. Training draws, shape (k, m), are not counted later.
    """
    pooled = np.concatenate([first, second])
    if not np.isfinite(pooled).all():  # outputs that overflow are an event of their own
        return {"overflow": lambda z: np.asarray((~np.isfinite(z)).sum(axis=1), dtype=np.float64)}
    centre, spread = pooled.mean(axis=0), pooled.std(axis=0)
    moved = np.abs(first.mean(axis=0) - second.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    columns = np.sort(np.argsort(-moved, kind="stable")[:MOST])
    columns = columns[spread[columns] > 0.0]
    if not columns.size:
        return {}
    centre, spread = centre[columns], spread[columns]

    def standard(z: FloatMatrix) -> FloatMatrix:
        return np.asarray((z[:, columns] - centre) / spread)

    return {
        "distance": _distance(standard, first, second),
        "logistic": _logistic(standard, first, second),
        **_without_noise(standard, first, second),
        **_repeats(first, second),
    }


def digits(first: FloatMatrix, second: FloatMatrix) -> dict[str, Statistic]:
    """The low-order bits of outputs, and how many numbers are equal, turned to be large on the first table.

    A value in double precision plus noise in double precision is a whole multiple of the value's last place
    (Mironov 2012, "On significance of the least significant bits for differential privacy", CCS).
    """
    statistics: dict[str, Statistic] = {"equal numbers": equal_numbers}
    count = first.shape[1]
    for top in _SMALL:
        words = "" if top == np.inf else f" below {top:g}"
        statistics[f"finest bit of all{words}"] = partial(_finest_of, top=top)
        for at in range(count if count <= MOST_SQUARED else 0):
            statistics[f"finest bit of {at}{words}"] = partial(_finest_of, top=top, at=at)
    return {name: _turned(statistic, first, second) for name, statistic in statistics.items()}


def _turned(statistic: Statistic, first: FloatMatrix, second: FloatMatrix) -> Statistic:
    sign = 1.0 if statistic(first).mean() >= statistic(second).mean() else -1.0
    return lambda z: sign * statistic(z)


def _finest_of(z: FloatMatrix, top: float, at: int | None = None) -> FloatVector:
    found = finest(z if at is None else z[:, at : at + 1], top).max(axis=1, initial=0.0)
    return np.asarray(found, dtype=np.float64)


def finest(z: FloatMatrix, top: float = np.inf) -> FloatMatrix:
    """How far below 1 the lowest bit of each number is, as a power of two; 0 where the number is not small.

    Examples
    --------
    >>> finest(np.array([3.0, 0.5, 0.375, 0.0]))
    array([0., 1., 3., 0.])
    """
    with np.errstate(invalid="ignore"):
        fractions, exponents = np.frexp(np.where(np.abs(z) < top, z, 0.0))
    whole = (np.abs(fractions) * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1]
    return np.asarray(np.where(whole == 0, 0, 54 - exponents - lowest), dtype=np.float64)


def equal_numbers(z: FloatMatrix) -> FloatVector:
    """How many numbers of each output are equal to another one of it, signs aside."""
    ordered = np.sort(np.abs(z), axis=1)
    return np.asarray((np.diff(ordered, axis=1) == 0.0).sum(axis=1), dtype=np.float64)


def along(direction: FloatVector) -> Statistic:
    """The output along a known direction; only as many numbers as the direction has are looked at."""
    return lambda z: np.asarray(z[:, : len(direction)] @ direction)


def flat(scores: FloatVector) -> FloatVector:
    """Scores without their last digits: a ratio that is constant beyond both means stays in one piece."""
    return np.round(scores, 4)


def _distance(standard: Statistic, first: FloatMatrix, second: FloatMatrix) -> Statistic:
    first_scores, second_scores = standard(first), standard(second)
    means = first_scores.mean(axis=0), second_scores.mean(axis=0)
    rest = np.concatenate([first_scores - means[0], second_scores - means[1]])
    # Noise may live on a subspace, such as sums of declared rows: directions without any do not count.
    values, vectors = np.linalg.eigh(np.atleast_2d(rest.T @ rest / len(rest)))
    good = values > _NO_NOISE * values[-1]
    metric = vectors[:, good] / np.sqrt(values[good])

    def score(z: FloatMatrix) -> FloatVector:
        scores = standard(z)
        lengths = [np.linalg.norm((scores - mean) @ metric, axis=1) for mean in means]
        return flat(lengths[1] - lengths[0])

    return score


def _without_noise(standard: Statistic, first: FloatMatrix, second: FloatMatrix) -> dict[str, Statistic]:
    """Along the directions without noise, each weighted by what it tells; nothing where all have noise."""
    first_scores, second_scores = standard(first), standard(second)
    means = first_scores.mean(axis=0), second_scores.mean(axis=0)
    rest = np.concatenate([first_scores - means[0], second_scores - means[1]])
    values, vectors = np.linalg.eigh(np.atleast_2d(rest.T @ rest / len(rest)))
    none = vectors[:, values <= _NO_NOISE * values[-1]]
    if not none.size:
        return {}
    apart = (means[0] - means[1]) @ none
    # The product with the covariance has lost what is small: the spread is taken along the directions.
    spread = np.square(rest @ none).mean(axis=0) + np.finfo(np.float64).tiny
    return {"without noise": along_standard(standard, none @ (apart / spread))}


def along_standard(standard: Statistic, direction: FloatVector) -> Statistic:
    """The standardised output along a direction, whose length does not matter."""
    length = float(np.abs(direction).max(initial=0.0)) or 1.0
    return lambda z: np.asarray(standard(z) @ (direction / length))


def _repeats(first: FloatMatrix, second: FloatMatrix) -> dict[str, Statistic]:
    """How much oftener the first table gave numbers that came out more than once; nothing without any."""
    told: list[tuple[int, FloatVector, FloatVector]] = []
    for column in range(first.shape[1]):
        numbers, counts = np.unique(np.concatenate([first, second])[:, column], return_counts=True)
        often = np.argsort(-counts, kind="stable")[:MOST]
        numbers = numbers[often][counts[often] > 1]
        if len(numbers):
            seen = (repeated(values[:, column], numbers).sum(axis=0) for values in (first, second))
            near, far = (np.asarray(count, dtype=np.float64) for count in seen)
            told.append((column, numbers, (near - far) / (near + far + 1.0)))
    if not told:
        return {}

    def score(z: FloatMatrix) -> FloatVector:
        scores = np.zeros(len(z))
        for column, numbers, worth in told:
            scores += repeated(z[:, column], numbers) @ worth
        return scores

    return {"repeats": score}


def repeated(values: FloatVector, numbers: FloatVector) -> BoolVector:
    """Which values are which of the numbers, shape (k, m)."""
    return np.asarray(values[:, None] == numbers)


def _logistic(standard: Statistic, first: FloatMatrix, second: FloatMatrix) -> Statistic:
    squared = standard(first[:1]).shape[1] <= MOST_SQUARED

    def features(z: FloatMatrix) -> FloatMatrix:
        # Far tails say no more than the edge: squares of them would rule the fit.
        scores = np.clip(standard(z), -6.0, 6.0)
        ones = np.ones((len(scores), 1))
        columns = [ones, scores, scores**2] if squared else [ones, scores]
        return np.concatenate(columns, axis=1)

    X = np.concatenate([features(first), features(second)])
    y = np.repeat([1.0, 0.0], [len(first), len(second)])
    beta = np.zeros(X.shape[1])
    ridge = np.full(X.shape[1], _RIDGE * len(X))
    ridge[0] = 1e-9 * len(X)
    for _ in range(_STEPS):
        mean = expit(X @ beta)
        step = np.linalg.solve(
            (X.T * (mean * (1.0 - mean))) @ X + np.diag(ridge), X.T @ (y - mean) - ridge * beta
        )
        beta = beta + step
        if float(np.abs(step).max()) < 1e-6:
            break
    return lambda z: np.asarray(features(z) @ beta)


def log_ratio(
    releases: Sequence[Release],
    answers: Sequence[FloatMatrix],
    first: Rows,
    second: Rows,
    at: FloatVector | None = None,
) -> FloatVector | None:
    """How much likelier the outputs are on the first table, in logarithms; None where no law is known.

    ``answers`` are outputs of each release in order, shape (k, m). The first release is evaluated at ``at``,
    later ones at the answer of the release before them.
    """
    total = np.zeros(len(answers[0]))
    points = None if at is None else np.broadcast_to(np.asarray(at), (len(total), len(at)))
    for release, answer in zip(releases, answers, strict=True):
        ratio = release.log_ratio(answer, first, second, points)
        if ratio is None:
            return None
        total += ratio
        points = answer
    return total
