"""The released linear model as a part of a result: locked, compared and written down."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, get_args

import numpy as np

from dpglm.glm.term_columns import Kind, TermColumns
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.typing import FloatMatrix, FloatVector

KINDS: tuple[str, ...] = get_args(Kind)


def locked(released: ScoreAndInformation) -> ScoreAndInformation:
    """A copy whose arrays are read-only and whose curvature is symmetric to the last bit."""
    term_columns = tuple(
        replace(block, table=_locked(block.table), prior=_locked(block.prior))
        for block in released.term_columns
    )
    return replace(
        released,
        term_columns=term_columns,
        centre=_locked(released.centre),
        score=_locked(released.score),
        # Half of twice a number is the number: a symmetric matrix stays as it is.
        information=_locked(0.5 * (released.information + released.information.T)),
        score_scale=float(released.score_scale),
        information_scale=float(released.information_scale),
        dispersion=float(released.dispersion),
        initial_variance=_locked(released.initial_variance),
        third_derivative_bound=float(released.third_derivative_bound),
        origin=None if released.origin is None else _locked(released.origin),
    )


def same(one: ScoreAndInformation, other: ScoreAndInformation) -> bool:
    """Whether every number and label agrees to the last bit."""
    if len(one.term_columns) != len(other.term_columns) or not _agree(one, other):
        return False
    return all(_agree(a, b) for a, b in zip(one.term_columns, other.term_columns, strict=True))


def _agree(one: ScoreAndInformation | TermColumns, other: ScoreAndInformation | TermColumns) -> bool:
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "term_columns":
            continue
        arrays = isinstance(a, np.ndarray) or isinstance(b, np.ndarray)
        if not (np.array_equal(a, b) if arrays else a == b):
            return False
    return True


def to_fields(released: ScoreAndInformation) -> dict[str, Any]:
    """``released`` as mappings, lists and numbers; arrays stay arrays."""
    values: dict[str, Any] = {
        "term_columns": [
            {
                "label": block.label,
                "kind": block.kind,
                "start": block.start,
                "stop": block.stop,
                "bound": float(block.bound),
                "prior": block.prior,
                # That of "other" is the identity.
                "table": None if block.kind == "other" else block.table.ravel(),
            }
            for block in released.term_columns
        ]
    }
    for field in fields(released):
        values.setdefault(field.name, getattr(released, field.name))
    return values | {"information": to_triangle(released.information)}


def to_triangle(matrix: FloatMatrix) -> FloatVector:
    """The lower triangle of a symmetric matrix, row by row, diagonal included.

    Examples
    --------
    >>> to_triangle(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1., 2., 3.])
    """
    return np.asarray(matrix[np.tril_indices(len(matrix))])


def from_triangle(entries: FloatVector, size: int) -> FloatMatrix:
    """The symmetric matrix with this lower triangle, shape (size, size)."""
    matrix = np.zeros((size, size))
    rows, columns = np.tril_indices(size)
    matrix[rows, columns] = entries
    matrix[columns, rows] = entries
    return matrix


def _locked(values: FloatVector | FloatMatrix) -> Any:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
