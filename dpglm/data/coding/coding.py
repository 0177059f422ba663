"""Public coding: the linear map between the user's coefficients and those of bounded rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dpglm.data.coding.geometry import SLACK, Group, require_lengths
from dpglm.data.coding.layouts import centred, inverted, reference
from dpglm.data.formula.model import Model
from dpglm.errors import FormulaError, MethodError
from dpglm.glm.term_columns import TermColumns
from dpglm.typing import BoolVector, FloatMatrix

Kind: TypeAlias = Literal["centred", "reference"]


@dataclass(frozen=True, eq=False)
class Coding:
    """Rows x with norm at most 1, and the maps between coefficients; a function of formula, schema and kind.

    For every row that is not clipped, user's columns times beta equal ``x @ theta`` when
    ``theta = coded_from_user @ beta``. With ``kind="centred"`` no row is ever clipped.

    Parameters
    ----------
    names : tuple of str
        The user's columns, as patsy names them; shape (p,).
    user_from_coded, coded_from_user : ndarray, shape (p, p)
        ``beta = user_from_coded @ theta`` and its inverse.
    penalised : ndarray of bool, shape (p,)
        False for the user's intercept only.
    row_norm : float
        What rows are divided by, but for the slack of rounding: the bound of their norm (centred), or the
        norm at which they are clipped (reference).
    kind : "centred" or "reference"
        Which coding it is.
    terms : tuple of (str, tuple of int)
        Name and user's columns of each term.
    groups : tuple of Group
        The coded columns.

    Examples
    --------
    >>> from dpglm.data.formula.parse import parse
    >>> from dpglm.data.schema.schema import Schema
    >>> model = parse("y ~ age + sex", Schema.of({"y": ["no", "yes"], "age": (20, 80), "sex": ["F", "M"]}))
    >>> coding = Coding.of(model)
    >>> coding.row_norm, [group.label for group in coding.groups]  # sqrt(1/4 + 2/4 + 1/4)
    (1.0, ['Intercept', 'sex', 'age'])
    """

    names: tuple[str, ...]
    user_from_coded: FloatMatrix
    coded_from_user: FloatMatrix
    penalised: BoolVector
    row_norm: float
    kind: Kind
    terms: tuple[tuple[str, tuple[int, ...]], ...]
    groups: tuple[Group, ...]

    @property
    def size(self) -> int:
        """Number of columns, user's and coded ones alike."""
        return len(self.names)

    @property
    def term_columns(self) -> tuple[TermColumns, ...]:
        """The coded columns as tables of cells, with their bounds and declared prior scales."""
        return tuple(group.term_columns(self.row_norm) for group in self.groups)

    @property
    def clips(self) -> bool:
        """Whether a row may be clipped, which makes the maps inexact for that row."""
        return self.kind == "reference"

    @property
    def clipping(self) -> str:
        """Which rows are clipped, in words."""
        return f"rows longer than {self.row_norm:.4g}" if self.clips else "none"

    @classmethod
    def of(cls, model: Model, *, kind: Kind = "centred") -> Coding:
        """The public coding of a model: ``"centred"`` or ``"reference"`` (see `layouts`).

        Raises
        ------
        FormulaError
            If a term's columns are combinations of the columns of others.
        MethodError
            For another kind.
        """
        if kind not in ("centred", "reference"):
            raise MethodError(
                f"coding of kind {kind!r}", expected="'centred' or 'reference'", remedy="Leave it out."
            )
        layout = centred(model) if kind == "centred" else reference(model)
        # Columns may be in any unit: invert directions, not lengths.
        with np.errstate(over="ignore", under="ignore"):
            lengths = np.sqrt((layout.to_coded**2).sum(axis=0))
        require_lengths(lengths, model.formula)
        inverse = _inverse(layout.to_coded / lengths, model.formula) / lengths[:, None]
        divisor = layout.norm * SLACK
        penalised = np.ones(model.size, dtype=np.bool_)
        for term in model.terms:
            penalised[term.start : term.stop] = term.order > 0
        maps = inverse / divisor, layout.to_coded * divisor
        for array in (*maps, penalised):
            array.setflags(write=False)
        return cls(
            names=model.names,
            user_from_coded=maps[0],
            coded_from_user=maps[1],
            penalised=penalised,
            row_norm=layout.norm,
            kind=kind,
            terms=tuple((term.name, tuple(range(term.start, term.stop))) for term in model.terms),
            groups=layout.groups,
        )


def _inverse(square: FloatMatrix, formula: str) -> FloatMatrix:
    """The inverse, where rounding leaves a digit of it."""
    inverse, condition = inverted(square)
    if not condition < 1.0 / np.finfo(np.float64).eps:
        raise FormulaError(
            f"columns that are combinations of others, to rounding, in {formula!r}",
            expected="columns that can be told apart",
            remedy="Leave a term out; for numbers far from 0 write center(x, at=...) instead of x.",
        )
    return inverse
