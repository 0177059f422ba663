"""Sections on what the result was made from, and in which file it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.store import fingerprint, to_json
from dpglm.report.figure import Rows
from dpglm.report.section import Section, shown
from dpglm.tables.number import ABSENT

MOST_COLUMNS: Final = 100
MOST_LEVELS: Final = 24
MOST_CHARACTERS: Final = 60_000  # of JSON with all digits; a longer one is packed


def declared_data(record: FitRecord) -> Section:
    """The schema as a table: bounds, levels, rules, provenance, and whether the data were inspected."""
    columns: Any = record.specification.schema.get("variables", {})
    content = {
        "table": Rows(
            "Declared columns",
            ("column", "values", "missing", "outside", "declared from", "looked at data"),
            tuple(_column(name, facts) for name, facts in list(columns.items())[:MOST_COLUMNS]),
        ),
        "left_out": max(0, len(columns) - MOST_COLUMNS),
        "inspected": [shown(name) for name, facts in columns.items() if facts.get("looked_at_data")][:100],
    }
    return Section("declared", "Declared data", content)


def _column(name: str, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """A declared column as a row of the table."""
    if facts.get("bounds") is not None:
        low, high = facts["bounds"]
        values, outside = f"{low:g} to {high:g}", "moved to the nearest bound"
    else:
        levels = list(facts.get("levels") or ())
        values = ", ".join(shown(level, 60) for level in levels[:MOST_LEVELS])
        values += f", … ({len(levels)} levels)" if len(levels) > MOST_LEVELS else ""
        outside = "as missing" if facts.get("other") is None else _rule(facts["other"])
    return (
        shown(name, 80),
        shown(values, 300),
        _rule(facts.get("missing", "omit")),
        outside,
        shown(facts.get("source") or ABSENT, 160),
        "yes" if facts.get("looked_at_data") else "no",
    )


def _rule(rule: object) -> str:
    """What a row without a usable value does."""
    if rule == "omit":
        return "contributes nothing"
    return f"counts as {rule:g}" if isinstance(rule, float) else f"counts as {shown(rule)}"


@dataclass(frozen=True)
class Verbatim:
    """Text that keeps its line breaks on the page."""

    text: str

    def __html__(self) -> str:
        return escape(self.text, quote=False)


def saved_result(record: FitRecord) -> Section:
    """Fingerprint, and the JSON itself where it may be published; the page drops it where it is too long."""
    text = to_json(record)
    packed = len(text) > MOST_CHARACTERS
    if packed:
        text = to_json(record, packed=True)
    content = {
        "fingerprint": fingerprint(record),
        "packed": packed,
        "json": Verbatim(text) if record.guarantee.private else None,
    }
    return Section("annex", "The saved result", content)
