"""The response of a binomial model: which of two declared levels counts as a success."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpglm.data.schema import Schema
from dpglm.data.variables import Categorical
from dpglm.errors import SchemaError
from dpglm.typing import BoolVector, FloatVector


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
