"""Tables of a schema and of a draft: what is declared of each column, on one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dpglm.data.schema.unit import Unit
from dpglm.tables.table import ABSENT, Column, Table, count, plain_number

if TYPE_CHECKING:
    from dpglm.data.codebooks.draft import SchemaDraft
    from dpglm.data.schema.schema import Schema

MOST_COLUMNS: Final = 60
_MOST_LEVELS: Final = 6
_MOST_LETTERS: Final = 40


def schema_table(schema: Schema) -> Table:
    """What is declared, a row for each column."""
    entries = schema.to_dict()["variables"]
    unit = schema.unit.words if isinstance(schema.unit, Unit) else schema.unit
    rows = ABSENT if schema.rows is None else f"{count(schema.rows)} (declared)"
    sites = () if schema.sites == "overlapping" else (("Sites", schema.sites),)
    lines = {
        name: {
            "declared": declared(entry),
            "missing values": _missing(entry),
            "label": _short(entry.get("label", "")),
            "source": _short(entry.get("source", "")),
        }
        for name, entry in list(entries.items())[:MOST_COLUMNS]
    }
    # A heading under which nothing would stand is left out.
    headings = [
        heading
        for heading in ("declared", "missing values", "label", "source")
        if heading == "declared" or any(line[heading] for line in lines.values())
    ]
    looked = [name for name, entry in entries.items() if entry.get("looked_at_data")]
    warning = f"Read off the private data, which no guarantee covers: {', '.join(looked)}." if looked else ""
    return Table(
        title=f"Schema{f': {schema.title}' if schema.title else ''}",
        columns=tuple(Column(heading, "left") for heading in ("column", *headings)),
        rows=tuple((name, *(line[heading] for heading in headings)) for name, line in lines.items()),
        wide=(("A row", unit or "one row"), ("Rows", rows), *sites, ("Columns", count(len(entries)))),
        notes=_notes(len(entries) - len(lines), warning),
    )


def draft_table(draft: SchemaDraft) -> Table:
    """What a code book gives, and what is still to declare."""
    columns = sorted(draft.columns, key=lambda one: not one.reason)[:MOST_COLUMNS]
    lines = tuple(
        (
            one.name,
            "left out" if one.left_out else "to declare" if one.reason else declared(one.entry),
            one.left_out or one.reason or "; ".join(one.notes),
        )
        for one in columns
    )
    complete = sum(one.complete for one in draft.columns)
    return Table(
        title="Draft of a schema",
        columns=(Column("column", "left"), Column("declared", "left"), Column("why, and remarks", "left")),
        rows=lines,
        wide=(("Complete", f"{complete} of {len(draft.columns)} columns"),),
        notes=(*_notes(len(draft.columns) - len(lines)), *draft.remarks),
    )


def declared(entry: Mapping[str, Any]) -> str:
    """Bounds or levels in words.

    Examples
    --------
    >>> declared({"bounds": [18, 95], "measured_in": "years"}), declared({"levels": list("abcdefgh")})
    ('18 to 95 years', 'a, b, c, d, e, f and 2 more')
    """
    if "levels" in entry:
        levels = [str(level) for level in entry["levels"]]
        more = len(levels) - _MOST_LEVELS
        return _short(", ".join(levels[:_MOST_LEVELS])) + (f" and {more} more" if more > 0 else "")
    low, high = (_plain(end) for end in entry["bounds"])
    unit = f"{entry['date'].get('unit', 'days')} after {entry['date']['origin']}" if "date" in entry else ""
    return f"{low} to {high} {unit or entry.get('measured_in', '')}".rstrip()


def _plain(end: object) -> str:
    """A bound or a level, whole: four digits of a number would be another bound."""
    short = plain_number(end) if isinstance(end, int | float) else str(end)
    return short if short == str(end) or float(short) == end else str(end)


def _missing(entry: Mapping[str, Any]) -> str:
    codes: Sequence[object] = entry.get("missing_codes", ())
    kept = entry.get("missing", "omit")
    words = [] if kept == "omit" else [f"count as {_plain(kept)}"]
    return "; ".join([*words, *([f"also {_short(', '.join(map(str, codes)))}"] if codes else [])])


def _short(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


def _notes(left_out: int, *more: str) -> tuple[str, ...]:
    told = f"{left_out} more columns are not shown; to_yaml() has them all." if left_out > 0 else ""
    return tuple(filter(None, (told, *more)))
