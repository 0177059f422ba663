"""Pandera: the checks of a data frame schema, from its YAML or from the object itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from dpglm.data.codebooks.files import Book, opened
from dpglm.data.codebooks.told import Kind, Told, level_of
from dpglm.data.schema.text import parse_yaml
from dpglm.data.tables.cells import Level
from dpglm.errors import SchemaError

WHAT: Final = "a pandera DataFrameSchema, or the YAML that its to_yaml() writes"
_LOWEST: Final = ("greater_than_or_equal_to", "ge", "greater_than", "gt", "in_range", "between")
_HIGHEST: Final = ("less_than_or_equal_to", "le", "less_than", "lt", "in_range", "between")


def read(schema: Book | Any) -> tuple[list[Told], str, tuple[str, ...]]:
    """What a schema says of each column, its title, and remarks.

    Nothing of pandera is imported: columns are read by the names of their attributes.
    """
    source, remarks = "pandera schema", tuple[str, ...]()
    content = schema
    if isinstance(schema, type) and hasattr(schema, "to_schema"):
        content = schema.to_schema()
    if not isinstance(content, Mapping) and not hasattr(content, "columns"):
        text = opened(schema, WHAT)
        source, remarks = text.source("pandera schema"), text.remarks
        content = parse_yaml(text.text)
    columns = _of(content, "columns")
    if not isinstance(columns, Mapping):
        remedy = "Write columns: {age: {dtype: int64, checks: ...}}."
        raise SchemaError("no columns", expected=WHAT, remedy=remedy)
    known = {str(name): one for name, one in columns.items() if one is not None}
    told = [_column(name, one, f"{source}, column {name}") for name, one in known.items()]
    title = _of(content, "title") or _of(content, "name")
    return told, title if isinstance(title, str) else "", remarks


def _of(thing: object, name: str) -> Any:
    """An entry of a mapping, or an attribute of an object."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _column(name: str, column: object, source: str) -> Told:
    if _of(column, "unique") is True:
        return Told(name, source, left_out="unique: it tells rows apart")
    if _of(column, "regex") is True:
        return Told(name, source, left_out="a pattern of names, not a column")
    ends: dict[str, Any] = {}
    values: list[tuple[Level, str]] = []
    notes = []
    for check, given in _checks(_of(column, "checks")):
        value = next(iter(given.values()), None)
        if check in ("isin", "equal_to", "eq"):
            listed = given.get("allowed_values", value)
            values = _values(listed if isinstance(listed, list | tuple | set | frozenset) else [listed])
            if isinstance(listed, set | frozenset):
                values.sort(key=lambda pair: (isinstance(pair[0], str), pair[0]))
        elif check in _LOWEST or check in _HIGHEST:
            if check in _LOWEST:
                ends["low"] = given.get("min_value", value)
            if check in _HIGHEST:
                ends["high"] = given.get("max_value", value)
            if check in ("greater_than", "gt", "less_than", "lt"):
                notes.append(f"{check} {value} is taken for a bound")
    kept = _of(column, "dtype")
    categories = None if values or isinstance(kept, str) else _of(kept, "categories")
    values = values if categories is None else _values(categories)
    dtype = str(kept or "").lower()
    kind: Kind = "levels" if values else "either"
    if "datetime" in dtype or "date" in dtype or "timestamp" in dtype:
        kind = "date"
        ends = {side: None if end is None else str(end)[:19] for side, end in ends.items()}
    elif not values and any(word in dtype for word in ("int", "float", "double", "decimal")):
        kind = "number"
    elif "bool" in dtype and not values:
        kind, values = "levels", [(False, "false"), (True, "true")]
    words = [text if isinstance(text := _of(column, part), str) else "" for part in ("title", "description")]
    reason = "" if values or ends or kind in ("number", "date") else "a column without checks of its values"
    return Told(
        name,
        source,
        kind,
        label=words[0] or words[1],
        text="; ".join(words),
        values=values,
        reason=reason,
        notes=notes,
        ordered="listed" if categories is not None and _of(kept, "ordered") is True else "",
        low=ends.get("low"),
        high=ends.get("high"),
    )


def _values(items: Iterable[object]) -> list[tuple[Level, str]]:
    plain = [item for item in items if isinstance(item, str | int | float)]
    return [(level_of(item) if isinstance(item, str) else item, "") for item in plain]


def _checks(checks: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names of checks with what they are given, from any of the forms that pandera has had."""
    if isinstance(checks, Mapping):
        for name, given in checks.items():
            yield str(name), _given(given)
        return
    for check in checks if isinstance(checks, list | tuple) else []:
        if isinstance(check, Mapping):
            options = check.get("options")
            name = check.get("check_name") or (
                options.get("check_name") if isinstance(options, Mapping) else None
            )
            if isinstance(name, str):
                yield name, _given({key: value for key, value in check.items() if key not in ("check_name",)})
        else:
            yield str(getattr(check, "name", "")), _given(getattr(check, "statistics", None))


def _given(given: object) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return {
            str(key): value
            for key, value in given.items()
            if key not in ("options", "ignore_na", "raise_warning")
        }
    return {} if given is None else {"value": given}
