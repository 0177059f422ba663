"""How likely a release is on one small table and on another: for audits."""

from __future__ import annotations

import numpy as np

from dpglm.glm.families import Family
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.noise import NoiseLaw
from dpglm.typing import FloatMatrix, FloatVector

# Up to this many columns the Jacobian is worth its cost.
MOST_JACOBIAN = 12


def perturbation_log_ratio(
    family: Family, ridge: FloatVector, noise: NoiseLaw, theta: FloatMatrix, tables: tuple[Rows, Rows]
) -> FloatVector:
    """How much likelier minimisers theta, shape (k, p), are on the first table, shape (k,)."""
    (first, first_jacobian), (second, second_jacobian) = (
        _perturbation_and_jacobian(family, theta, table, ridge) for table in tables
    )
    return noise.log_ratio(first, second) + first_jacobian - second_jacobian


def _perturbation_and_jacobian(
    family: Family, theta: FloatMatrix, rows: Rows, ridge: FloatVector
) -> tuple[FloatMatrix, FloatVector]:
    """-b at each theta, shape (k, p), and the log of its Jacobian, (k,)."""
    X, y, offset, weight = one_piece(rows)
    eta = theta @ X + offset
    score = (family.slope(eta, y) * weight) @ X.T + ridge * theta
    if len(ridge) > MOST_JACOBIAN:
        return score, np.zeros(len(theta))
    hessians = (family.curvature(eta, y) * weight) @ outer_products(X).T
    return score, np.linalg.slogdet(hessians.reshape(-1, len(X), len(X)) + np.diag(ridge))[1]


def outer_products(X: FloatMatrix) -> FloatMatrix:
    """x x' of each row, flattened, shape (p * p, n)."""
    return np.asarray((X[:, None, :] * X[None, :, :]).reshape(len(X) ** 2, -1 if X.size else 0))


def one_piece(table: Rows) -> tuple[FloatMatrix, FloatVector, FloatVector, FloatVector]:
    """All rows of a small table in double precision, as columns, their responses, offsets and weights."""
    chunks = list(table.chunks())
    offsets = [np.zeros(len(chunk.y)) if chunk.offset is None else chunk.offset for chunk in chunks]
    weights = [np.ones(len(chunk.y)) if chunk.weight is None else chunk.weight for chunk in chunks]
    X = np.concatenate([chunk.X for chunk in chunks], axis=1).astype(np.float64)
    y = np.concatenate([chunk.y for chunk in chunks])
    return X, y, np.concatenate(offsets), np.concatenate(weights)
