"""The stages of an ordinal response: levels that somebody is at or above, each with its own intercept."""

from __future__ import annotations

from dataclasses import replace

from dpglm.data.formula.expressions import Span
from dpglm.data.formula.model import Model, Term
from dpglm.data.formula.periods import MOST_PERIODS, Periods
from dpglm.data.formula.reader import Reader
from dpglm.data.schema.variables import Categorical, Variable
from dpglm.data.tables.cells import Level
from dpglm.errors import FormulaError, SchemaError
from dpglm.typing import INTERCEPT
from dpglm.wide_maps import too_wide


def with_stages(reader: Reader, left: Span) -> tuple[Reader, str, Periods]:
    """The formula with a constant for each stage, the response, and its stages: all levels but the last.

    Right of ``~`` the response is the stage of a row.

    Raises
    ------
    SchemaError
        A response that is not declared as three levels or more in their order.
    """
    response = reader.response(left)
    variable = reader.variables[response]
    stages = _levels_of(response, variable)[:-1]
    text, cut = reader.formula[slice(*left)].strip(), reader.formula.index("~", left[1]) + 1
    formula = f"{reader.formula[:cut]} C({text}) + {reader.formula[cut:].strip()} - 1"
    variables = {**reader.variables, response: Categorical(stages, effect=variable.effect)}
    periods = Periods(response, stages, False, stages=True)
    return replace(reader, formula=formula, variables=variables), response, periods


def with_intercepts(model: Model) -> Model:
    """The model whose constants of stages are called intercepts, and belong together as one does."""
    periods, term = model.periods, model.terms[0]
    assert periods is not None
    alone = term.order == 1 and term.stop - term.start == len(periods.values)
    if not alone or model.factors[term.subterms[0][0].factor].expression.name != periods.column:
        raise FormulaError(
            f"a formula without the intercepts of {periods.column}, {model.formula}",
            expected="an intercept for each level but the last, which are there by themselves",
            remedy=f"Leave out what takes {periods.column} away.",
        )
    if any(term.wide for term in model.terms):
        raise too_wide("an ordinal response", model.size)
    intercepts = tuple(f"{INTERCEPT}[above {level}]" for level in Categorical(periods.values).labels)
    terms = (Term(INTERCEPT, term.start, term.subterms), *model.terms[1:])
    return replace(model, names=(*intercepts, *model.names[term.stop :]), terms=terms)


def _levels_of(response: str, variable: Variable) -> tuple[Level, ...]:
    """Levels in their order, from the lowest to the highest."""
    if not isinstance(variable, Categorical):
        found, remedy = f"bounds from {variable.low:g} to {variable.high:g}", "List the values as levels."
    elif len(variable.levels) == 2:
        found, remedy = "two levels", "Use family='binomial': it is the same model."
    elif not variable.ordered:
        found = "levels without an order"
        remedy = f"Write {response}: {{levels: [LOWEST, ..., HIGHEST], ordered: true}}, in that order."
    elif len(variable.levels) > MOST_PERIODS + 1:
        found, remedy = f"{len(variable.levels)} levels", "Merge some of them."
    else:
        return variable.levels
    raise SchemaError(
        f"the response {response} declared with {found}, for family='ordinal'",
        expected=f"3 to {MOST_PERIODS + 1} levels from the lowest to the highest, declared as ordered",
        remedy=remedy,
    )
