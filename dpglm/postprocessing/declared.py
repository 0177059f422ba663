"""Notes on what a schema declares: whose a row is, and which values stand for missing ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpglm.postprocessing.record import FitRecord


def declared_notes(record: FitRecord) -> tuple[str, ...]:
    """What a reader of the numbers should know of the declarations."""
    return (*person_notes(record), *code_notes(record))


def person_notes(record: FitRecord) -> tuple[str, ...]:
    """What rows of one person count for."""
    unit = record.specification.schema.get("unit")
    if not isinstance(unit, Mapping) or unit.get("rows") == 1:
        return ()
    alike = "Rows weigh the same" if unit.get("weights") == "row" else "Persons weigh the same"
    return (
        f"{alike}; standard errors hold however much the rows of a person depend on one another: they count "
        "as one observation.",
    )


def code_notes(record: FitRecord) -> tuple[str, ...]:
    """Which values were declared to stand for missing ones."""
    columns: Any = record.specification.schema.get("variables", {})
    coded = [
        f"{name} ({', '.join(map(str, facts['missing_codes'][:8]))})"
        for name, facts in columns.items()
        if facts.get("missing_codes")
    ]
    more = f" and {len(coded) - 8} more columns" if len(coded) > 8 else ""
    return (f"Declared codes count as missing: {', '.join(coded[:8])}{more}.",) if coded else ()
