"""Table Schema of Frictionless Data: JSON that describes the fields of a CSV file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dpglm.data.codebooks.files import Book, opened
from dpglm.data.codebooks.told import Kind, Told, level_of
from dpglm.data.schema.dates import DateReading
from dpglm.data.tables.cells import Level
from dpglm.errors import SchemaError

WHAT: Final = "a Table Schema, or a data package with one resource (JSON)"
_NO_VALUE: Final = ("geopoint", "geojson", "object", "array", "list", "duration")
_PERSONAL: Final = ("email", "uri", "binary", "uuid")


def read(book: Book | Mapping[str, Any]) -> tuple[list[Told], str, tuple[str, ...]]:
    """What a schema says of each field, its title, and remarks."""
    source, remarks = "Table Schema", tuple[str, ...]()
    content: Any = book
    if not isinstance(book, Mapping):
        text = opened(book, WHAT)
        source, remarks = text.source("Table Schema"), text.remarks
        try:
            content = json.loads(text.text)
        except (ValueError, RecursionError):
            raise _refused("a text that is not JSON") from None
    title = content.get("title") if isinstance(content, Mapping) else None
    for _ in range(2):  # a data package has resources, and a resource a schema
        if isinstance(content, Mapping) and isinstance(content.get("resources"), list):
            if len(content["resources"]) != 1:
                raise _refused(f"a data package with {len(content['resources'])} resources")
            content = content["resources"][0]
        if isinstance(content, Mapping) and isinstance(content.get("schema"), Mapping):
            content = content["schema"]
    fields = content.get("fields") if isinstance(content, Mapping) else None
    if not isinstance(fields, list) or not all(isinstance(one, Mapping) for one in fields):
        raise _refused("JSON without a list of fields")
    keys = content.get("primaryKey") or content.get("primaryKeys") or []
    keys = [keys] if isinstance(keys, str) else keys
    missing = _codes(content.get("missingValues"))
    told = [
        _field(one, f"{source}, field {one['name']}", missing, one["name"] in keys)
        for one in fields
        if isinstance(one.get("name"), str) and one["name"]
    ]
    return told, title if isinstance(title, str) else "", remarks


def _refused(found: str) -> SchemaError:
    return SchemaError(found, expected=WHAT, remedy='Write {"fields": [{"name": "age", "type": "integer"}]}.')


def _field(field: Mapping[str, Any], source: str, missing: list[Level], key: bool) -> Told:
    name, kind, form = field["name"], field.get("type", "any"), field.get("format", "default")
    limits = field.get("constraints")
    limits = limits if isinstance(limits, Mapping) else {}
    if key or limits.get("unique") is True:
        return Told(name, source, left_out="a key, which tells rows apart")
    if kind in _NO_VALUE or form in _PERSONAL:
        return Told(name, source, left_out=f"of type {kind}, format {form}: neither a number nor a level")
    low, high = limits.get("minimum"), limits.get("maximum")
    notes = []
    for end in ("exclusiveMinimum", "exclusiveMaximum"):
        if limits.get(end) is not None:
            notes.append(f"{end} {limits[end]} is taken for a bound")
    low = limits.get("exclusiveMinimum") if low is None else low
    high = limits.get("exclusiveMaximum") if high is None else high
    options: dict[str, object] = {}
    for theirs, ours, plain in (("groupChar", "thousands", ""), ("decimalChar", "decimal", ".")):
        if (mark := field.get(theirs)) and kind in ("number", "integer"):
            options |= {ours: mark} if mark != "." or ours == "thousands" else {}
            low, high = (
                end.replace(str(mark), plain) if isinstance(end, str) else end for end in (low, high)
            )
    own = _codes(field["missingValues"]) if "missingValues" in field else missing
    common: dict[str, Any] = {
        "label": _words(field.get("title")) or _words(field.get("description")),
        "measured_in": _words(field.get("unit")),
        "text": _words(field.get("description")),
        "missing": own,
        "notes": notes,
        "ordered": "listed" if field.get("categoriesOrdered") is True and field.get("categories") else "",
    }
    listed = _listed(field.get("categories")) or _listed(limits.get("enum"))
    if kind == "boolean":
        return Told(name, source, "levels", values=_booleans(field), **common)
    if listed:
        return Told(name, source, "levels", values=listed, **common)
    if kind in ("date", "datetime"):
        return _date(name, source, str(form), low, high, common)
    if kind in ("time", "yearmonth"):
        reason = f"of type {kind}, which is no date: make a number of it, and declare that"
        return Told(name, source, "number", reason=reason, **common)
    wanted: Kind = "number" if kind in ("number", "integer", "year") else "either"
    reason = (
        "" if wanted == "number" or low is not None else f"of type {kind} without categories: declare levels"
    )
    return Told(name, source, wanted, low=low, high=high, reason=reason, options=options, **common)


def _date(name: str, source: str, form: str, low: Any, high: Any, common: dict[str, Any]) -> Told:
    """A date in ISO 8601, or in a form that is declared."""
    options: dict[str, object] = {}
    if form not in ("default", "any"):
        try:
            DateReading("2000-01-01", format=form)
        except SchemaError:
            reason = f"dates of the form {form[:40]}, which no schema reads: write them as 2015-03-31"
            return Told(name, source, "number", reason=reason, **common)
        options = {"date": {"format": form}}
    if form == "any":
        common["notes"].append("dates of any form: those that are not as 2015-03-31 are missing")
    return Told(name, source, "date", low=low, high=high, options=options, **common)


def _booleans(field: Mapping[str, Any]) -> tuple[tuple[Level, str], ...]:
    """The first spelling of false and of true; true, false, 1 and 0 are read as they are."""
    pair = [field.get(key) for key in ("falseValues", "trueValues")]
    spelt = [texts[0] for texts in pair if isinstance(texts, list) and texts and isinstance(texts[0], str)]
    if len(spelt) == 2 and not {text.lower() for text in spelt} <= {"true", "false", "0", "1"}:
        return tuple((level_of(text), word) for text, word in zip(spelt, ("false", "true"), strict=True))
    return (False, "false"), (True, "true")


def _listed(items: object) -> list[tuple[Level, str]]:
    """Values with their labels."""
    found: list[tuple[Level, str]] = []
    for item in items if isinstance(items, list) else []:
        value, label = (item.get("value"), item.get("label")) if isinstance(item, Mapping) else (item, "")
        if isinstance(value, str | int | float):
            found.append((level_of(value) if isinstance(value, str) else value, _words(label)))
    return found


def _codes(items: object) -> list[Level]:
    """Codes of missing values; the empty text and words without digits are missing in any number."""
    values = _listed(items) if isinstance(items, Sequence) and not isinstance(items, str) else []
    return [value for value, _ in values if value != ""]


def _words(value: object) -> str:
    return value if isinstance(value, str) else ""
