"""A path of fits without noise: numbers that exist only where no privacy was asked for."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from dpglm.typing import FloatMatrix, FloatVector

# Of strengths; bounds what a saved result may hold.
MOST_STRENGTHS = 200


@dataclass(frozen=True, eq=False)
class ExactPath:
    """Exact coefficients at each strength of a penalty, and held-out losses: NOT PRIVATE.

    Parameters
    ----------
    strengths : ndarray, shape (k,)
        Falling, per row.
    coefficients : ndarray, shape (k, p)
        Zeros are exact.
    chosen : int
        Place of the strength of the fit.
    folds : int
        Of the cross-validation; 0 if none was run.
    losses, errors : ndarray, shape (k,), or (0,) without cross-validation
        Mean over the folds of the average loss of held-out rows, in the units of the coded response, and its
        standard error.
    """

    strengths: FloatVector
    coefficients: FloatMatrix
    chosen: int
    folds: int
    losses: FloatVector
    errors: FloatVector

    def __post_init__(self) -> None:
        for one in ("strengths", "coefficients", "losses", "errors"):
            array = np.array(getattr(self, one), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, one, array)
        count = self.strengths.size
        assert self.coefficients.ndim == 2, "a row a strength"
        assert len(self.coefficients) == count, "a row a strength"
        assert 0 <= self.chosen < count <= MOST_STRENGTHS, "a place on a path of bounded length"
        assert self.losses.size == self.errors.size == (count if self.folds else 0), "a loss a strength"

    def __eq__(self, other: object) -> bool:
        """Equal to the last bit."""
        if not isinstance(other, ExactPath):
            return NotImplemented
        return all(np.array_equal(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    def __hash__(self) -> int:
        return hash((self.chosen, self.folds, self.strengths.tobytes()))

    def with_coefficients(self, coefficients: FloatMatrix) -> ExactPath:
        """The same path in other units."""
        return replace(self, coefficients=coefficients)
