"""Limits of a formula: a response on one side only, no variable twice in a term, no more columns than can be
fitted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from dpglm.data.formula.expressions import Expression, Span
from dpglm.data.formula.model import Factor, NumericFactor
from dpglm.data.formula.reader import Reader
from dpglm.data.formula.wide_factors import wide_factors
from dpglm.errors import FormulaError
from dpglm.wide_maps import MOST_DENSE

# Columns beside those of wide factors, and all of them.
MOST_COLUMNS: Final = MOST_DENSE
MOST_WIDE: Final = 100_000
_MOST_FACTORS: Final = 6  # in one interaction


def span_of(item: Any) -> Span:
    """Where a node, a factor or an error of patsy points."""
    return item.origin.start, item.origin.end


def check_response(reader: Reader, response: str, readings: Mapping[str, Factor | Expression]) -> None:
    for code, reading in readings.items():
        expression = reading.expression if isinstance(reading, Factor) else reading
        if response in expression.columns:
            at = max(reader.formula.find(code, reader.formula.find("~")), 0)
            raise reader.error(
                (at, at + len(code)),
                f"The response {response!r} stands on both sides.",
                expected="other columns right of ~",
                remedy="Leave it out on the right.",
            )


def check_terms(reader: Reader, terms: list[Any], factors: Mapping[str, Factor]) -> None:
    if not terms:
        raise reader.error(
            None,
            "There is nothing to estimate.",
            expected="at least one column",
            remedy="Add a term, or leave the intercept in: y ~ 1.",
        )
    columns, wide = 0, wide_of(terms, factors)
    for term in terms:
        together = [factors[factor.code] for factor in term.factors]
        where = span_of(term.factors[-1]) if term.factors else None
        if len({factor.key for factor in together}) < len(together):
            raise reader.error(
                where,
                "One variable stands twice in an interaction.",
                expected="different variables",
                remedy="For a square write I(x ** 2).",
            )
        if len(together) > _MOST_FACTORS:
            raise reader.error(
                where,
                "This interaction has too many factors.",
                expected=f"at most {_MOST_FACTORS}",
                remedy="Name the interactions wanted.",
            )
        weighted = (factor for factor in together if not isinstance(factor, NumericFactor))
        columns += math.prod(factor.level_count for factor in weighted)
        columns -= sum(factors[factor.code].level_count for factor in term.factors if factor.code in wide)
        if columns > 2 * MOST_COLUMNS:
            raise size_error(reader, columns)
    if sum(factors[name].level_count for name in wide) > MOST_WIDE:
        raise size_error(reader, sum(factors[name].level_count for name in wide))


def wide_of(terms: list[Any], factors: Mapping[str, Factor]) -> set[str]:
    return wide_factors([[factor.code for factor in term.factors] for term in terms], factors)


def size_error(reader: Reader, columns: int) -> FormulaError:
    return reader.error(
        None,
        f"The design would have {columns:,} columns.",
        expected=f"at most {MOST_COLUMNS:,}; or {MOST_WIDE:,} beside an intercept, where all but "
        f"{MOST_COLUMNS:,} are of factors with many levels, each alone in a term",
        remedy="Merge levels in the schema, or use fewer interactions.",
    )
