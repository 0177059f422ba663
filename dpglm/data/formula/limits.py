"""What a formula may not do: multiply out without end, or use one variable in two places."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from dpglm.data.formula.errors import refuse
from dpglm.data.formula.factors import Factor, SimplexFactor
from dpglm.data.formula.reader import Reading

MOST_COLUMNS: Final = 5_000
_MOST_FACTORS = 6  # in one interaction


def check_growth(text: str, tree: Any) -> None:
    """Bound the number of terms and of factors in one before patsy multiplies anything out."""
    sizes: dict[int, tuple[int, int]] = {}  # node -> (terms, factors in the largest)
    stack = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if not ready:
            stack.append((node, True))
            stack += [(child, False) for child in node.args]
            continue
        below = [sizes[id(child)] for child in node.args]
        count, order = 1, 1
        if node.type == "**":
            (terms, factors), power = below[0], _exponent(node.args[1])
            power = min(power, terms)
            count = sum(math.comb(terms, k) for k in range(1, min(power, 16) + 1))
            order = factors * power
        elif len(below) == 2 and node.type in "*:/":
            (a, m), (b, n) = below
            count = {"*": a + b + a * b, ":": a * b, "/": a + b}[node.type]
            order = m + n if node.type != "/" else a * m + n
        elif below:
            count, order = sum(terms for terms, _ in below), max(factors for _, factors in below)
        if count > MOST_COLUMNS or order > 64:
            raise refuse(
                "This multiplies out to too many terms.",
                text,
                (node.origin.start, node.origin.end),
                expected=f"at most {MOST_COLUMNS:,} columns",
                remedy="Name the interactions wanted.",
            )
        sizes[id(node)] = count, order


def _exponent(node: Any) -> int:
    text = node.token.extra if node.type in ("ONE", "NUMBER") else "1"
    try:
        return max(1, int(text))
    except (TypeError, ValueError):
        return 1  # patsy says what is wrong with it


def check_response(text: str, response: str, readings: Mapping[str, Reading]) -> None:
    """Refuse a response that is used on the right as well."""
    for code, reading in readings.items():
        if response in reading.columns:
            at = max(text.find(code, text.find("~")), 0)
            raise refuse(
                f"The response {response!r} stands on both sides.",
                text,
                (at, at + len(code)),
                expected="other columns right of ~",
                remedy="Leave it out on the right.",
            )


def check_terms(text: str, terms: list[Any], readings: Mapping[str, Reading]) -> None:
    """Refuse no term at all, one variable twice in a term, and too many factors or columns."""
    if not terms:
        raise refuse(
            "There is nothing to estimate.",
            text,
            (0, len(text)),
            expected="at least one column",
            remedy="Add a term, or leave the intercept in: y ~ 1.",
        )
    columns = 0
    for term in terms:
        factors = [readings[factor.code].factor for factor in term.factors]
        span = (0, len(text))
        if term.factors:
            span = term.factors[-1].origin.start, term.factors[-1].origin.end
        if len({factor.key for factor in factors if factor}) < len(factors):
            raise refuse(
                "One variable stands twice in an interaction.",
                text,
                span,
                expected="different variables",
                remedy="For a square write I(x ** 2).",
            )
        if len(factors) > _MOST_FACTORS:
            raise refuse(
                "This interaction has too many factors.",
                text,
                span,
                expected=f"at most {_MOST_FACTORS}",
                remedy="Name the interactions wanted.",
            )
        columns += math.prod(_widest(factor) for factor in factors)
        if columns > 2 * MOST_COLUMNS:
            refuse_size(text, columns)


def _widest(factor: Factor | None) -> int:
    return factor.level_count if isinstance(factor, SimplexFactor) else 1


def refuse_size(text: str, columns: int) -> NoReturn:
    """Refuse a design of so many columns."""
    raise refuse(
        f"The design would have {columns:,} columns.",
        text,
        (0, len(text)),
        expected=f"at most {MOST_COLUMNS:,}",
        remedy="Merge levels in the schema, or use fewer interactions.",
    )
