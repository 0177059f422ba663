"""The response of a model: two levels, a number, or a count, as it is declared and as it is coded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpglm.data.coding.geometry import SHORTEST
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical
from dpglm.errors import SchemaError
from dpglm.glm.families.base import ResponseKind
from dpglm.typing import BoolVector, FloatVector


@dataclass(frozen=True)
class Response:
    """The response of a model: which of two levels is a success, a number between bounds, or a count.

    A response y stands for ``shift + unit * coded``: fitted values go back to the user's scale that way.

    Parameters
    ----------
    name : str
        Column of the response.
    low, high : float
        Declared bounds, in units of the response; 0 and 1 for two levels.
    shift, unit : float
        The coded response is ``(y - shift) / unit``.
    coded_bounds : tuple of two float
        Bounds of the coded response.
    levels : tuple of two str, or None
        Failure, success; None for a number.

    Examples
    --------
    >>> schema = Schema.of({"affair": ["no", "yes"], "hours": (0, 80)})
    >>> response = Response.of(schema, "affair", "binary")
    >>> response.levels
    ('no', 'yes')
    >>> response.code(np.array([1, 0, -1]))
    (array([1., 0., 0.]), array([ True,  True, False]))
    >>> Response.of(schema, "hours", "number").code(np.array([0.0, 50.0, np.nan]))
    (array([-1.  ,  0.25,  0.  ]), array([ True,  True, False]))
    >>> Response.of(schema, "hours", "count").code(np.array([3.0, 90.0, np.nan]))
    (array([ 3., 80.,  0.]), array([ True,  True, False]))
    """

    name: str
    low: float
    high: float
    shift: float
    unit: float
    coded_bounds: tuple[float, float]
    levels: tuple[str, str] | None = None

    @classmethod
    def of(cls, schema: Schema, name: str, kind: ResponseKind, *, centred: bool = True) -> Response:
        """The response that the schema declares under ``name``, as a family of this kind needs it.

        A ``"binary"`` response needs two levels, a ``"number"`` bounds, and a ``"count"``, which stays in its
        own units, bounds from 0. ``centred`` subtracts the middle of a number's bounds, which a model with a
        constant gives back; otherwise a number is only divided by its largest absolute value. The square of
        what it is divided by must be a number, too.

        Raises
        ------
        SchemaError
            If the column is not declared, or not as this kind needs it.
        """
        schema.require([name])
        variable = schema.variables[name]
        if isinstance(variable, Categorical):
            if kind == "ordered":  # of each stage; which levels may be, the formula has checked
                return cls(name, 0.0, 1.0, 0.0, 1.0, (0.0, 1.0), ("at the stage", "above the stage"))
            if kind == "binary" and len(variable.levels) == 2:
                failure, success = variable.labels
                return cls(name, 0.0, 1.0, 0.0, 1.0, (0.0, 1.0), (failure, success))
            declared = f"{len(variable.levels)} levels"
        else:
            low, high = variable.low, variable.high
            if kind == "number":  # halved first: bounds may be as large as numbers get
                shift = 0.5 * low + 0.5 * high if centred else 0.0
                unit = 0.5 * high - 0.5 * low if centred else max(abs(low), abs(high))
                if SHORTEST <= unit <= 1.0 / SHORTEST:
                    return cls(name, low, high, shift, unit, (-1.0, 1.0))
            if kind == "count" and low == 0.0 and 1e-100 <= high <= 1e100:
                return cls(name, 0.0, high, 0.0, 1.0, (0.0, high))
            declared = f"bounds from {low:g} to {high:g}"
        expected, form, otherwise = _NEEDED[kind]
        raise SchemaError(
            f"the response {name} declared with {declared}",
            expected=expected,
            remedy=f"Write in the schema:\n  {name}: {{{form}}}\n{otherwise}",
        )

    def code(self, column: NDArray[Any]) -> tuple[FloatVector, BoolVector]:
        """Coded response and the mask of rows that have one, shapes (k,), from a cleaned column.

        The response lies within ``coded_bounds`` and is 0 in rows that cannot be used.
        """
        if self.levels:
            return (column == 1).astype(np.float64), column >= 0
        usable: BoolVector = np.isfinite(column)
        with np.errstate(all="ignore"):
            coded = np.where(usable, (column - self.shift) / self.unit, 0.0)
        return np.clip(coded, *self.coded_bounds), usable


# What a response of each kind needs, how that is written, and what else can be done.
_NEEDED: Final[dict[ResponseKind, tuple[str, str, str]]] = {
    "binary": (
        "two levels; the model gives the probability of the second one",
        "levels: [FAILURE, SUCCESS]",
        "with the two values as they stand in the data. If there is no such column, derive one first, or use "
        "family='ordinal' for levels in their order.",
    ),
    "ordered": (
        "levels from the lowest to the highest",
        "levels: [LOWEST, ..., HIGHEST], ordered: true",
        "or use another family for a number.",
    ),
    "number": (
        f"bounds {SHORTEST:g} to {1.0 / SHORTEST:g} apart, because this family has a numeric response",
        "bounds: [LOW, HIGH]",
        "or use family='binomial' for a response with two levels.",
    ),
    "count": (
        "bounds from 0 to the largest count that is distinguished",
        "bounds: [0, LARGEST]",
        "or use another family for a response that is not a count.",
    ),
}
