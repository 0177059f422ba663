"""Responses: which of two declared levels is a success, a number between declared bounds, or a count.

A response y stands for ``shift + unit * coded``: fitted values go back to the user's scale that way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric, Variable
from dpglm.errors import SchemaError
from dpglm.glm.families.base import Family
from dpglm.typing import BoolVector, FloatVector

_SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class BinaryResponse:
    """A response with two declared levels; the second one is the success.

    Parameters
    ----------
    name : str
        Column of the response.
    levels : tuple of two str
        Failure, success.

    Examples
    --------
    >>> response = BinaryResponse.of(Schema.of({"affair": ["no", "yes"]}), "affair")
    >>> response.levels
    ('no', 'yes')
    >>> response.code(np.array([1, 0, -1]))
    (array([1., 0., 0.]), array([ True,  True, False]))
    """

    name: str
    levels: tuple[str, str]

    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    shift: ClassVar[float] = 0.0
    unit: ClassVar[float] = 1.0

    @classmethod
    def of(cls, schema: Schema, name: str) -> BinaryResponse:
        """The response that the schema declares under ``name``.

        Raises
        ------
        SchemaError
            If the column is not declared with exactly two levels.
        """
        schema.require([name])
        variable = schema.variables[name]
        if isinstance(variable, Categorical) and len(variable.levels) == 2:
            failure, success = variable.labels
            return cls(name, (failure, success))
        raise _declaration_error(
            name,
            variable,
            expected="two levels; the model gives the probability of the second one",
            remedy=f"Write in the schema:\n  {name}: {{levels: [FAILURE, SUCCESS]}}\n"
            "with the two values as they stand in the data. If there is no such column, derive one first.",
        )

    def code(self, codes: NDArray[np.integer]) -> tuple[FloatVector, BoolVector]:
        """0/1 response and the mask of rows that have one, shapes (k,), from cleaned codes (-1: unusable).

        The response is 0 in rows that cannot be used.
        """
        return (codes == 1).astype(np.float64), codes >= 0


@dataclass(frozen=True)
class NumericResponse:
    """A numeric response between public bounds: brought into [-1, 1], or a count in its own units.

    Values outside the bounds become the bound before this, in silence; a row without a value counts for
    nothing, or takes the value that the schema declares.

    Parameters
    ----------
    name : str
        Column of the response.
    low, high : float
        Declared bounds, in units of the response.
    shift, unit : float
        The coded response is ``(y - shift) / unit``.
    coded_bounds : tuple of two float
        Bounds of the coded response.

    Examples
    --------
    >>> schema = Schema.of({"hours": (0, 80)})
    >>> NumericResponse.of(schema, "hours").code(np.array([0.0, 50.0, np.nan]))
    (array([-1.  ,  0.25,  0.  ]), array([ True,  True, False]))
    >>> NumericResponse.count(schema, "hours").code(np.array([3.0, 90.0, np.nan]))
    (array([ 3., 80.,  0.]), array([ True,  True, False]))
    """

    name: str
    low: float
    high: float
    shift: float
    unit: float
    coded_bounds: tuple[float, float] = (-1.0, 1.0)

    @classmethod
    def of(cls, schema: Schema, name: str, *, centred: bool = True) -> NumericResponse:
        """The response that the schema declares under ``name``.

        ``centred`` subtracts the middle of the bounds, which a model with a constant gives back; otherwise
        the response is only divided by its largest absolute value.

        Raises
        ------
        SchemaError
            If the column is not declared with bounds.
        """
        schema.require([name])
        variable = schema.variables[name]
        if not isinstance(variable, Numeric):
            raise _declaration_error(
                name,
                variable,
                expected="bounds, because this family has a numeric response",
                remedy=f"Write in the schema:\n  {name}: {{bounds: [LOW, HIGH]}}\n"
                "or use family='binomial' for a response with two levels.",
            )
        low, high = variable.low, variable.high
        if centred:  # halved first: bounds may be as large as numbers get
            return cls(name, low, high, 0.5 * low + 0.5 * high, max(0.5 * high - 0.5 * low, _SMALLEST))
        return cls(name, low, high, 0.0, max(abs(low), abs(high), _SMALLEST))

    @classmethod
    def count(cls, schema: Schema, name: str) -> NumericResponse:
        """The count that the schema declares under ``name``, left in its own units.

        Raises
        ------
        SchemaError
            If the column is not declared with bounds from 0 to a positive number.
        """
        schema.require([name])
        variable = schema.variables[name]
        if isinstance(variable, Numeric) and variable.low == 0.0 and 1e-100 <= variable.high <= 1e100:
            return cls(name, 0.0, variable.high, 0.0, 1.0, (0.0, variable.high))
        raise _declaration_error(
            name,
            variable,
            expected="bounds from 0 to the largest count that is distinguished",
            remedy=f"Write in the schema:\n  {name}: {{bounds: [0, LARGEST]}}\n"
            "or use another family for a response that is not a count.",
        )

    def code(self, column: NDArray[Any]) -> tuple[FloatVector, BoolVector]:
        """Coded response and the mask of rows that have one, shapes (k,), from a cleaned column.

        The response lies within ``coded_bounds`` and is 0 in rows that cannot be used.
        """
        usable: BoolVector = np.isfinite(column)
        with np.errstate(all="ignore"):
            coded = np.where(usable, (column - self.shift) / self.unit, 0.0)
        return np.clip(coded, *self.coded_bounds), usable


Response: TypeAlias = BinaryResponse | NumericResponse


def response_of(schema: Schema, name: str, family: Family, *, centred: bool) -> Response:
    """The response that a family needs.

    Parameters
    ----------
    schema : Schema
        What is declared of the columns.
    name : str
        Column of the response.
    family : Family
        Says whether the response is binary, a count or any number.
    centred : bool
        Whether the model has a constant, which gives back what is taken off a numeric response.

    Raises
    ------
    SchemaError
        If the column is not declared, or not as the family needs it.

    Examples
    --------
    >>> from dpglm.glm.families import families
    >>> response_of(Schema.of({"n": (0, 20)}), "n", families["gaussian"](), centred=True).unit
    10.0
    """
    match family.response_kind:
        case "binary":
            return BinaryResponse.of(schema, name)
        case "count":
            return NumericResponse.count(schema, name)
        case "number":
            return NumericResponse.of(schema, name, centred=centred)
        case unreachable:
            assert_never(unreachable)


def _declaration_error(name: str, variable: Variable, *, expected: str, remedy: str) -> SchemaError:
    if isinstance(variable, Categorical):
        declared = f"{len(variable.levels)} levels"
    else:
        declared = f"bounds from {variable.low:g} to {variable.high:g}"
    return SchemaError(f"the response {name} declared with {declared}", expected=expected, remedy=remedy)
