"""The coded columns of one term, as a table of cells: what is public about the geometry of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dpglm.typing import FloatMatrix, FloatVector

Kind = Literal["intercept", "slope", "levels", "other"]


@dataclass(frozen=True, eq=False)
class TermColumns:
    """Coded columns ``start`` to ``stop`` of a row.

    Parameters
    ----------
    label : str
        The term, for people.
    kind : {"intercept", "slope", "levels", "other"}
        "levels" is a main effect of a factor with two levels or more; "other" holds interactions, splines
        and bases of mixed columns.
    start, stop : int
        Place in the coded row.
    bound : float
        Largest squared norm of these columns in any coded row, in float32 as it is read.
    table : ndarray, shape (cells, stop - start)
        Coded values of each cell: the intercept's constant; a slope's value per declared range; the simplex
        corners of a factor's levels, one row a level (columns sum to 0, and ``table.T @ table`` is a multiple
        of the identity); the identity for "other".
    prior : ndarray, shape (stop - start,)
        Declared prior standard deviation of each coded coefficient.
    """

    label: str
    kind: Kind
    start: int
    stop: int
    bound: float
    table: FloatMatrix
    prior: FloatVector

    @property
    def columns(self) -> slice:
        """Its place in a coded row."""
        return slice(self.start, self.stop)
