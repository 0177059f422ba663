"""Spreads of columns of which nothing is declared: even, usual and uneven ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from dpglm.data.coding.coded_model import CodedModel
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric
from dpglm.planning.expected_rows import POINTS, expected_moments, expected_rate

if TYPE_CHECKING:
    from dpglm.planning.expectation import Expectation

# A quarter of the rows that a plan's table is computed from: for counts of intervals that is exact enough.
FEWER_POINTS: Final = POINTS // 4


@dataclass(frozen=True)
class Spread:
    """What columns are taken to be like of which nothing is declared.

    Examples
    --------
    >>> schema = USUAL.declared(Schema.of({"y": ["no", "yes"], "x": (0, 12)}), "y")
    >>> schema.variables["x"].sd
    2.0
    """

    power: float  # the k-th level is as frequent as the first one times k to minus this
    deviations: float  # standard deviations in the declared range of a number
    rate: float  # share of the second level of the response

    def declared(self, schema: Schema, response: str) -> Schema:
        """The schema with a spread for every column."""
        variables = {}
        for name, variable in schema.variables.items():
            if isinstance(variable, Numeric) and variable.sd is None and variable.mean is None:
                middle, width = 0.5 * (variable.low + variable.high), variable.high - variable.low
                variable = replace(variable, mean=middle, sd=width / self.deviations)
            elif isinstance(variable, Categorical) and variable.shares is None:
                shares = np.arange(1.0, len(variable.levels) + 1.0) ** -self.power
                if name == response and len(shares) == 2:
                    shares = np.array([1.0 - self.rate, self.rate])
                variable = replace(variable, shares=tuple((shares / shares.sum()).tolist()))
            variables[name] = variable
        return replace(schema, variables=variables)


# On the default calls for three public tables (fair, randhie and GUSTO, at three budgets each) the number of
# intervals is between those of the first and the last; so it is on Adult and diabetes130, on which they were
# not chosen.
EVEN: Final = Spread(0.0, 4.0, 0.5)
USUAL: Final = Spread(1.0, 6.0, 0.5)
UNEVEN: Final = Spread(3.0, 20.0, 0.05)


def undeclared(model: CodedModel) -> tuple[str, ...]:
    """Columns of a model, the response aside, whose shares, or whose mean and deviation, are not declared."""
    variables = ((name, model.schema.variables[name]) for name in model.coding.columns)
    return tuple(
        name
        for name, variable in variables
        if (isinstance(variable, Numeric) and variable.sd is None)
        or (isinstance(variable, Categorical) and variable.shares is None)
    )


def under(expected: Expectation, spread: Spread) -> Expectation:
    """The same expectation where undeclared columns have this spread."""
    model = expected.model
    schema = spread.declared(model.schema, model.coding.model.response)
    other = replace(expected, rate=expected_rate(replace(model, schema=schema)))
    moments = expected_moments(schema, model.coding, FEWER_POINTS)
    other.__dict__.update(moments=moments, drawn=None)
    return other
