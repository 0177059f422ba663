"""Statistics of released outputs that tell two tables apart, some known beforehand and some learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from dpglm.mechanisms.base import Release, Rows
from dpglm.typing import FloatMatrix, FloatVector

Statistic: TypeAlias = Callable[[FloatMatrix], FloatVector]

# Outputs of more numbers are looked at where the tables differ most.
MOST = 40
# Up to this many numbers, their squares count as well.
MOST_SQUARED = 12
_STEPS = 25
_RIDGE = 1e-3


def learned(first: FloatMatrix, second: FloatMatrix) -> dict[str, Statistic]:
    """Statistics learned from draws on both tables, large where the first table is the likelier.

    ``"distance"`` is the difference of the distances from the two means, in the metric of the noise: the
    likelihood ratio of noise whose density depends on its length. ``"logistic"`` is a regularised logistic
    regression on the outputs and, where these are few, their squares. Training draws, shape (k, m), are not
    counted later.
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

    return {"distance": _distance(standard, first, second), "logistic": _logistic(standard, first, second)}


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
    good = values > 1e-8 * values[-1]
    metric = vectors[:, good] / np.sqrt(values[good])

    def score(z: FloatMatrix) -> FloatVector:
        scores = standard(z)
        lengths = [np.linalg.norm((scores - mean) @ metric, axis=1) for mean in means]
        return flat(lengths[1] - lengths[0])

    return score


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
