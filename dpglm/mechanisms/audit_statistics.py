r"""For audits: worst-case neighbouring rows, and log-likelihood ratios of outputs.

A perturbed minimiser theta tells of its linear perturbation, :math:`b = -\nabla L(\theta) - P\theta`, one for
each table; the noise law and the Jacobian then say which table is the likelier. Penalties inside the
objective, the solver's residual and, in many columns, the Jacobian are left out: bounds hold for any
statistic.
"""

from __future__ import annotations

import numpy as np

from dpglm.glm.families import Family
from dpglm.mechanisms.base import Rows
from dpglm.optim.rows import ArrayChunk
from dpglm.privacy.budget import Relation
from dpglm.typing import FloatMatrix, FloatVector

# An offset beyond which a slope is 1 or 0 for the audit's purposes.
FAR = 1e3


def worst_case_rows(family: Family, relation: Relation, size: int) -> tuple[ArrayChunk, ArrayChunk]:
    """One row along the first of ``size`` columns, against none or against its opposite.

    Offsets keep slopes at 1 wherever the coefficients are.
    """
    axis = np.eye(size, 1, dtype=np.float32)
    if family.response_kind == "count":  # a response of 0 and a mean at the bound: slope 1, not -1
        first = ArrayChunk(axis, np.array([0.0]), np.array([FAR]))
        second = ArrayChunk(-axis, np.array([0.0]), np.array([FAR]))
    else:
        first = ArrayChunk(axis, np.array([1.0]), np.array([-FAR]))
        second = ArrayChunk(axis, np.array([0.0]), np.array([FAR]))
    if relation == "add-remove":
        second = ArrayChunk(np.zeros((size, 0), dtype=np.float32), np.zeros(0), np.zeros(0))
    return first, second


# Up to this many columns the Jacobian is worth its cost.
MOST_JACOBIAN = 12


def noise_log_ratio(first: FloatMatrix, second: FloatMatrix, law: str, scale: float) -> FloatVector:
    """Log density of the first noise less that of the second, row by row."""
    norms = np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1)
    if law == "gaussian":
        return np.asarray((norms[1] ** 2 - norms[0] ** 2) / (2.0 * scale**2))
    return np.asarray((norms[1] - norms[0]) / scale)


def perturbation_log_ratio(
    family: Family,
    ridge: FloatVector,
    law: str,
    scale: float,
    theta: FloatMatrix,
    tables: tuple[Rows, Rows],
    factor: FloatVector | None,
) -> FloatVector:
    """How much likelier minimisers theta, shape (k, p), are on the first table, shape (k,)."""
    (first, one), (second, other) = (
        _perturbation_and_jacobian(family, theta, one_piece(table), ridge, factor) for table in tables
    )
    return noise_log_ratio(first, second, law, scale) + one - other


def _perturbation_and_jacobian(
    family: Family,
    theta: FloatMatrix,
    rows: ArrayChunk,
    ridge: FloatVector,
    factor: FloatVector | None,
) -> tuple[FloatMatrix, FloatVector]:
    """-b at each theta, shape (k, p), and the log of its Jacobian, shape (k,).

    Rows are taken times ``factor``, clipped to norm 1.
    """
    X = rows.X.astype(np.float64)
    eta = theta @ X
    clipped: FloatMatrix | float = 1.0
    if factor is not None:
        with np.errstate(divide="ignore"):
            clipped = np.minimum(factor[:, None], 1.0 / np.linalg.norm(X, axis=0)[None, :])
        eta = eta * clipped
    eta = eta if rows.offset is None else eta + rows.offset
    score = (family.slope(eta, rows.y) * clipped) @ X.T + ridge * theta
    if len(ridge) > MOST_JACOBIAN:
        return score, np.zeros(len(theta))
    hessians = (family.curvature(eta, rows.y) * clipped**2) @ outer_products(X).T
    return score, np.linalg.slogdet(hessians.reshape(-1, len(X), len(X)) + np.diag(ridge))[1]


def outer_products(X: FloatMatrix) -> FloatMatrix:
    """x x' of each row, flattened, shape (p * p, n)."""
    return np.asarray((X[:, None, :] * X[None, :, :]).reshape(len(X) ** 2, -1 if X.size else 0))


def one_piece(table: Rows) -> ArrayChunk:
    """All rows of a small table."""
    chunks = list(table.chunks())
    offsets = [np.zeros(len(chunk.y)) if chunk.offset is None else chunk.offset for chunk in chunks]
    return ArrayChunk(
        np.concatenate([chunk.X for chunk in chunks], axis=1),
        np.concatenate([chunk.y for chunk in chunks]),
        np.concatenate(offsets),
    )
