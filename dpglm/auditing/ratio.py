r"""Log-likelihood ratios of released outputs, from the noise law and the two tables.

A perturbed minimiser theta tells of its tilt, :math:`b = -\nabla L(\theta) - P\theta`, one for each table;
the noise law and the Jacobian then say which table is the likelier. Penalties inside the objective, the
solver's residual and, in many columns, the Jacobian are left out: a statistic need not be exact, bounds hold
for any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpglm.glm.families import Family
from dpglm.mechanisms.base import Release, Rows
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.leverage import WithinLeverage
from dpglm.mechanisms.norm_clipped import NormClippedMinimiser
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.optim.rows import ArrayChunk
from dpglm.typing import FloatMatrix, FloatVector

# Up to this many columns the Jacobian is worth its cost.
MOST_JACOBIAN = 12


def log_ratio(
    releases: Sequence[Release],
    answers: Sequence[FloatMatrix],
    first: Rows,
    second: Rows,
    at: FloatVector | None = None,
) -> FloatVector | None:
    """How much likelier the outputs are on the first table, in logarithms; None where no law is known here.

    Parameters
    ----------
    releases : sequence of Release
        In order.
    answers : sequence of ndarray, shape (k, m)
        Outputs of each.
    first, second : Rows
        The tables.
    at : ndarray, shape (p,), or None
        Where a curvature is taken, if not at the answer of the release before it.
    """
    total = np.zeros(len(answers[0]))
    for place, (release, answer) in enumerate(zip(releases, answers, strict=True)):
        if isinstance(release, PerturbedMinimiser):
            found = _minimiser(release, answer, first, second)
        elif isinstance(release, NormClippedMinimiser):
            found = _shortened(release, answer, first, second)
        elif isinstance(release, Information) and (place or at is not None):
            points = answers[place - 1] if place else np.broadcast_to(np.asarray(at), (len(answer), len(at)))  # type: ignore[arg-type]
            found = _curvature(release, answer, points, first, second)
        else:
            return None
        total += found
    return total


def _minimiser(
    release: PerturbedMinimiser,
    theta: FloatMatrix,
    first: Rows,
    second: Rows,
    factor: FloatVector | None = None,
) -> FloatVector:
    ridge = np.broadcast_to(np.asarray(release.ridge, dtype=np.float64), theta.shape[1:])
    tilts, jacobians = [], []
    for table in (first, second):
        score, jacobian = _score(release.family, theta, _rows(table, release), ridge, factor)
        tilts.append(score)
        jacobians.append(jacobian)
    return _likelier(tilts[0], tilts[1], release.law, release.scale) + jacobians[0] - jacobians[1]


def _likelier(first: FloatMatrix, second: FloatMatrix, law: str, scale: float) -> FloatVector:
    """Log density of the first noise less that of the second, by row."""
    one, other = np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1)
    if law == "gaussian":
        return np.asarray((other**2 - one**2) / (2.0 * scale**2))
    return np.asarray((other - one) / scale)


def _score(
    family: Family, theta: FloatMatrix, rows: ArrayChunk, ridge: FloatVector, factor: FloatVector | None
) -> tuple[FloatMatrix, FloatVector]:
    """The tilt with its sign turned at each theta, shape (k, p), and the log of its Jacobian, shape (k,).

    Rows are taken times ``factor``, shortened to norm 1.
    """
    X = rows.X.astype(np.float64)
    eta = theta @ X
    stretch: FloatMatrix | float = 1.0
    if factor is not None:
        with np.errstate(divide="ignore"):
            stretch = np.minimum(factor[:, None], 1.0 / np.linalg.norm(X, axis=0)[None, :])
        eta = eta * stretch
    eta = eta if rows.offset is None else eta + rows.offset
    score = (family.slope(eta, rows.y) * stretch) @ X.T + ridge * theta
    if len(ridge) > MOST_JACOBIAN:
        return score, np.zeros(len(theta))
    products = (X[:, None, :] * X[None, :, :]).reshape(len(X) ** 2, -1 if X.size else 0)
    hessians = (family.curvature(eta, rows.y) * stretch**2) @ products.T
    return score, np.linalg.slogdet(hessians.reshape(-1, len(X), len(X)) + np.diag(ridge))[1]


def _curvature(
    release: Information, answer: FloatMatrix, points: FloatMatrix, first: Rows, second: Rows
) -> FloatVector:
    rest = []
    for table in (first, second):
        rows = _rows(table, None)
        X = rows.X.astype(np.float64)
        eta = points @ X
        eta = eta if rows.offset is None else eta + rows.offset
        weights = release.family.curvature(eta, rows.y)
        if release.what == "score":
            weights = release.family.slope(eta, rows.y) ** 2
        products = (X[:, None, :] * X[None, :, :]).reshape(len(X) ** 2, -1 if X.size else 0)
        rest.append(answer - weights @ products.T)
    return _likelier(rest[0], rest[1], release.law, release.scale)


def _shortened(release: NormClippedMinimiser, answer: FloatMatrix, first: Rows, second: Rows) -> FloatVector:
    """The sum of squared lengths that c tells of, and the minimiser at that c."""
    factor = answer[:, 0]
    count = 0.5 * (first.row_count() + second.row_count())
    told = count / (release.margin * factor) ** 2
    sums = [float(np.square(_rows(table, None).X, dtype=np.float64).sum()) for table in (first, second)]
    scale = release.length_scale * (math.sqrt(2.0) if release.count_rows else 1.0)
    law = release.minimiser.law
    lengths = _likelier((told - sums[0])[:, None], (told - sums[1])[:, None], law, scale)
    return lengths + _minimiser(release.minimiser, answer[:, 1:], first, second, factor)


def _rows(table: Rows, release: PerturbedMinimiser | None) -> ArrayChunk:
    """All rows of a small table as one piece, within the reach of the release."""
    if release is not None and np.ndim(release.ridge):
        assert release.max_leverage is not None, "checked on construction"
        table = WithinLeverage(table, np.asarray(release.ridge), release.max_leverage)
    blocks = list(table.chunks())
    offsets = [np.zeros(len(block.y)) if block.offset is None else block.offset for block in blocks]
    return ArrayChunk(
        np.concatenate([block.X for block in blocks], axis=1),
        np.concatenate([block.y for block in blocks]),
        np.concatenate(offsets),
    )
