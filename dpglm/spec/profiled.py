"""What a profile tells a fit: a schema with its shares, means and standard deviations, and the scales."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpglm.data.coding.coded_model import CodedModel
from dpglm.data.formula.model import NumericFactor
from dpglm.data.schema.expected import largest_sd
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric
from dpglm.errors import MethodError, SchemaError
from dpglm.planning.expected_rows import expected_periods, expected_quantiles
from dpglm.postprocessing.correlations import ColumnProducts
from dpglm.results import profile as profiles

# A released standard deviation is at least this share of the range, and a mean so far away from its ends:
# counts may be small, and their bound large.
_LEAST, _NEAREST = 0.01, 1e-4


def informed(schema: Schema, profile: object) -> Schema:
    """The schema with what a profile of the same columns released, its moments known; None changes nothing.

    A column of which the profile says too little stays as it is. The number of rows is taken from the profile
    where the schema declares none.

    Raises
    ------
    SchemaError
        A column with other bounds or levels than the profile's, or another unit.
    """
    if profile is None:
        return schema
    if not isinstance(profile, profiles.Profile):
        raise MethodError(
            f"profile of type {type(profile).__name__}",
            expected="what dpglm.describe or Profile.load gave back",
            remedy="Use profile=dpglm.describe(data, privacy=...), or leave it out.",
        )
    described = Schema.from_dict(profile._record.schema)
    unit, other = schema.unit_column, described.unit_column
    if unit != other:
        raise SchemaError(
            "a unit that is another one than the profile's",
            expected="the same column that tells whose a row is, with the same rows and weights",
            remedy="Describe the table with this schema, or leave profile out.",
        )
    variables = dict(schema.variables)
    groups = [max(profile._record.of(label)["", "", "n"].value, 0.0) for label in profile.groups]
    by = described.variables.get(profile.by or "")  # sites may be groups, too, and are no column's levels
    grouped = isinstance(by, Categorical) and by.labels == profile.groups
    for name in {*profile.names, *([profile.by] if profile.by and grouped else [])} & set(variables):
        variable, known = variables[name], described.variables[name]
        if isinstance(variable, Numeric) and isinstance(known, Numeric):
            same = (variable.low, variable.high) == (known.low, known.high)
            variables[name] = _number(variable, float(profile.means[name]), float(profile.sds[name]))
        else:
            same = isinstance(variable, Categorical) and isinstance(known, Categorical)
            same = same and variable.labels == known.labels  # type: ignore[union-attr]
            if same:
                shares = groups if grouped and name == profile.by else profile.shares[name]
                variables[name] = _factor(variable, np.array(shares))  # type: ignore[arg-type]
        if not same:
            raise SchemaError(
                f"{name} declared otherwise than in the profile",
                expected="the same bounds, or the same levels in the same order",
                remedy="Describe the table with this schema, or leave profile out.",
            )
    # A profile counts what weighs the same, as a part of a person where that is a row.
    parts = 1 if unit is None or unit.weights == "unit" else unit.rows
    rows = max(round(parts * profile.n_rows), 1) if schema.rows is None else schema.rows
    return replace(schema, variables=variables, rows=rows, moments="known")


def products_of(profile: object) -> ColumnProducts | None:
    """What a profile released of how columns go together, if it did; `informed` refuses what is none."""
    found: ColumnProducts | None = getattr(getattr(profile, "_record", None), "products", None)
    return found


def _number(variable: Numeric, mean: float, sd: float) -> Numeric:
    if not np.isfinite([mean, sd]).all():
        return variable
    width = variable.high - variable.low
    mean = float(np.clip(mean, variable.low + _NEAREST * width, variable.high - _NEAREST * width))
    most = largest_sd(mean, variable.low, variable.high)
    return replace(variable, mean=mean, sd=float(np.clip(sd, min(_LEAST * width, 0.5 * most), 0.999 * most)))


def _factor(variable: Categorical, shares: np.ndarray) -> Categorical:
    if not np.isfinite(shares).all():
        return variable
    shares = np.maximum(shares / max(shares.sum(), 1.0), 1e-6)
    return replace(variable, shares=tuple((shares / shares.sum()).tolist()))


def known_moments(model: CodedModel) -> dict[str, tuple[float, float]] | None:
    """Mean and standard deviation of every number that can be standardised, by label, where all are known.

    Those of a function of a column are computed as if the column had a beta distribution. The time of
    survival is the period of a row there, of persons with such times.
    """
    if model.schema.moments != "known":
        return None
    factors = {factor.name: factor for factor in model.coding.model.factors}
    found = {}
    for name in model.coding.standardisable:
        factor = factors[name]
        assert isinstance(factor, NumericFactor)
        variables = [model.schema.variables[column] for column in factor.expression.columns]
        (variable,) = variables if len(variables) == 1 else (None,)
        if not isinstance(variable, Numeric) or variable.mean is None or variable.sd is None:
            return None
        (column,), periods = factor.expression.columns, model.periods
        if periods is not None and column == periods.column:  # of a row; the profile has those of persons
            drawn = expected_periods(variable, periods)
        else:
            drawn = expected_quantiles(variable)
        with np.errstate(all="ignore"):
            values = factor.read({column: drawn})
        width = factor.high - factor.low
        if not np.isfinite(values).all():
            return None
        found[name] = float(values.mean()), max(float(values.std()), _LEAST * width)
    return found
