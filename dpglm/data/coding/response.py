"""The response: which of two declared levels is a success, a number between declared bounds, or a count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric
from dpglm.errors import SchemaError
from dpglm.typing import BoolVector, FloatVector

_SMALLEST = float(np.finfo(np.float64).tiny)


class Response(Protocol):
    """Public map from a cleaned column to the response that releases read.

    A response y stands for ``shift + unit * coded``: fitted values go back to the user's scale that way.
    """

    @property
    def name(self) -> str:
        """Column of the response."""

    @property
    def shift(self) -> float:
        """What is taken off first, in units of the response."""

    @property
    def unit(self) -> float:
        """What it is divided by, in units of the response."""

    def code(self, column: NDArray[Any]) -> tuple[FloatVector, BoolVector]:
        """Coded response and the mask of rows that have one, shapes (k,)."""


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
    >>> response.success
    'yes'
    >>> response.code(np.array([1, 0, -1]))
    (array([1., 0., 0.]), array([ True,  True, False]))
    """

    name: str
    levels: tuple[str, str]

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
        kind = f"{len(variable.levels)} levels" if isinstance(variable, Categorical) else "numeric bounds"
        raise SchemaError(
            f"the response {name} declared with {kind}",
            expected="two levels; the second one is what the model gives the probability of",
            remedy=f"Write in the schema:\n  {name}: {{levels: [FAILURE, SUCCESS]}}\n"
            "with the two values as they stand in the data, and derive such a column first if there is none.",
        )

    @property
    def success(self) -> str:
        """The level whose probability the model gives."""
        return self.levels[1]

    def code(self, codes: NDArray[np.integer]) -> tuple[FloatVector, BoolVector]:
        """0/1 response and the mask of rows that have one.

        Parameters
        ----------
        codes : ndarray of int, shape (k,)
            What :meth:`Categorical.clean` gives: 0, 1, or -1 for a row that cannot be used.

        Returns
        -------
        y : ndarray of float64, shape (k,)
            1 for success; 0 for failure and for rows that cannot be used.
        usable : ndarray of bool, shape (k,)
        """
        return (codes == 1).astype(np.float64), codes >= 0


@dataclass(frozen=True)
class NumericResponse:
    """A numeric response between public bounds, brought into [-1, 1].

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

    Examples
    --------
    >>> schema = Schema.of({"hours": (0, 80)})
    >>> response = NumericResponse.of(schema, "hours")
    >>> response.code(np.array([0.0, 50.0, np.nan]))
    (array([-1.  ,  0.25,  0.  ]), array([ True,  True, False]))
    """

    name: str
    low: float
    high: float
    shift: float
    unit: float

    @classmethod
    def of(cls, schema: Schema, name: str, *, centred: bool = True) -> NumericResponse:
        """The response that the schema declares under ``name``.

        Parameters
        ----------
        schema : Schema
            What is declared of the columns.
        name : str
            Column of the response.
        centred : bool
            Whether the middle of the bounds is taken off, which a model with a constant gives back; otherwise
            the response is divided by its largest absolute value.

        Raises
        ------
        SchemaError
            If the column is not declared with bounds.
        """
        schema.require([name])
        variable = schema.variables[name]
        if not isinstance(variable, Numeric):
            raise SchemaError(
                f"the response {name} declared with {len(variable.levels)} levels",
                expected="bounds: the family asked for has a numeric response",
                remedy=f"Write in the schema:\n  {name}: {{bounds: [LOW, HIGH]}}\n"
                "or use family='binomial' for a response with two levels.",
            )
        low, high = variable.low, variable.high
        if centred:  # halved first: bounds may be as large as numbers get
            return cls(name, low, high, 0.5 * low + 0.5 * high, max(0.5 * high - 0.5 * low, _SMALLEST))
        return cls(name, low, high, 0.0, max(abs(low), abs(high), _SMALLEST))

    def code(self, column: NDArray[Any]) -> tuple[FloatVector, BoolVector]:
        """Response in [-1, 1] and the mask of rows that have one.

        Parameters
        ----------
        column : ndarray of float64, shape (k,)
            What :meth:`Numeric.clean` gives: within the bounds, NaN for a row that cannot be used.

        Returns
        -------
        y : ndarray of float64, shape (k,)
            0 for rows that cannot be used.
        usable : ndarray of bool, shape (k,)
        """
        usable: BoolVector = np.isfinite(column)
        with np.errstate(all="ignore"):
            coded = np.where(usable, (column - self.shift) / self.unit, 0.0)
        return np.clip(coded, -1.0, 1.0), usable


@dataclass(frozen=True)
class CountResponse:
    """A count between 0 and a public bound, left in its own units.

    Counts above the bound become the bound, and negative numbers 0, in silence; a row without a value counts
    for nothing, or takes the value that the schema declares.

    Parameters
    ----------
    name : str
        Column of the response.
    high : float
        Declared bound, > 0.

    Examples
    --------
    >>> response = CountResponse.of(Schema.of({"visits": (0, 20)}), "visits")
    >>> response.code(np.array([3.0, 25.0, np.nan]))
    (array([ 3., 20.,  0.]), array([ True,  True, False]))
    """

    name: str
    high: float

    low: ClassVar[float] = 0.0
    shift: ClassVar[float] = 0.0
    unit: ClassVar[float] = 1.0

    @classmethod
    def of(cls, schema: Schema, name: str) -> CountResponse:
        """The response that the schema declares under ``name``.

        Raises
        ------
        SchemaError
            If the column is not declared with bounds from 0 to a positive number.
        """
        schema.require([name])
        variable = schema.variables[name]
        if isinstance(variable, Numeric) and variable.low == 0.0 and 1e-100 <= variable.high <= 1e100:
            return cls(name, variable.high)
        kind = (
            f"bounds from {variable.low:g} to {variable.high:g}"
            if isinstance(variable, Numeric)
            else f"{len(variable.levels)} levels"
        )
        raise SchemaError(
            f"the response {name} declared with {kind}",
            expected="bounds from 0 to the largest count to be told from larger ones",
            remedy=f"Write in the schema:\n  {name}: {{bounds: [0, LARGEST]}}\n"
            "or use another family for a response that is not a count.",
        )

    def code(self, column: NDArray[Any]) -> tuple[FloatVector, BoolVector]:
        """Response in [0, high] and the mask of rows that have one.

        Parameters
        ----------
        column : ndarray of float64, shape (k,)
            What :meth:`Numeric.clean` gives: within the bounds, NaN for a row that cannot be used.

        Returns
        -------
        y : ndarray of float64, shape (k,)
            0 for rows that cannot be used.
        usable : ndarray of bool, shape (k,)
        """
        usable: BoolVector = np.isfinite(column)
        with np.errstate(all="ignore"):
            coded = np.where(usable, column, 0.0)
        return np.clip(coded, 0.0, self.high), usable
