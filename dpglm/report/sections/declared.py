"""Declared data: what the analyst said about the columns before any row was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpglm.postprocessing.record import FitRecord
from dpglm.report.section import Rows, Section
from dpglm.report.wording import shown
from dpglm.tables.number import ABSENT

MOST_COLUMNS = 100
MOST_LEVELS = 24
SETTINGS = {"title": "Table", "unit": "What one row is", "rows": "Rows, declared", "sites": "Sites"}


def declared_data(result: FitRecord, choices: Mapping[str, str]) -> Section:
    """The schema as a table: bounds, levels, rules, provenance, and whether anybody looked at the data."""
    schema = result.specification.schema
    variables = schema.get("variables", {})
    columns = variables if isinstance(variables, Mapping) else {}
    facts = [(label, shown(schema[key])) for key, label in SETTINGS.items() if key in schema]
    rows = tuple(_row(name, declared) for name, declared in columns.items())
    looked = [shown(name) for name, declared in columns.items() if _option(declared, "looked_at_data", False)]
    content = {
        "private": result.guarantee.private,
        "table": Rows(
            "Declared columns",
            ("column", "values", "missing", "outside", "declared from", "looked at data"),
            rows[:MOST_COLUMNS],
        ),
        "left_out": max(0, len(rows) - MOST_COLUMNS),
        "facts": facts,
        "looked": looked[:100],
    }
    return Section("declared", "Declared data", content)


def _row(name: str, declared: object) -> tuple[str, ...]:
    numeric = _option(declared, "bounds", None)
    levels = _option(declared, "levels", None)
    outside = _option(declared, "other", None)
    if numeric is not None:
        low, high = numeric
        values, rule = f"{low:g} to {high:g}", "moved to the nearest bound"
    else:
        values = _levels(list(levels or ()))
        rule = "as missing" if outside is None else _rule(outside)
    return (
        shown(name, 80),
        shown(values, 300),
        _rule(_option(declared, "missing", "omit")),
        rule,
        shown(_option(declared, "source", "") or ABSENT, 160),
        "yes" if _option(declared, "looked_at_data", False) else "no",
    )


def _levels(levels: list[object]) -> str:
    words = ", ".join(shown(level, 60) for level in levels[:MOST_LEVELS])
    return words if len(levels) <= MOST_LEVELS else f"{words}, … ({len(levels)} levels)"


def _rule(rule: object) -> str:
    """What a row without a usable value does."""
    if rule == "omit":
        return "contributes nothing"
    return f"counts as {rule:g}" if isinstance(rule, float) else f"counts as {shown(rule)}"


def _option(declared: object, key: str, default: Any) -> Any:
    return declared.get(key, default) if isinstance(declared, Mapping) else default
