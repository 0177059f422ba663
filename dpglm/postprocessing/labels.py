"""Labels of a schema in the place of names: "husband's occupation: 6 vs 4" for ``job[T.6]``."""

from __future__ import annotations

import ast
import keyword
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from dpglm.postprocessing.record import FitRecord
from dpglm.tables.plain import width

LABELLED: Final = "Terms are shown by their labels; formulas and tests take the names that fit.names lists."
_LONGEST: Final = 48
_FACTOR: Final = re.compile(r"(?P<factor>.+?)\[(?P<sign>[A-Z]\.)?(?P<level>.*)\]", re.DOTALL)
_COLUMN: Final = re.compile(
    r"(?:C\()?(?P<column>Q\((?:\"[^\"]*\"|'[^']*')\)|\w+)(?:\)|,\s*(?P<contrast>.*)\))?", re.DOTALL
)
_REFERENCE: Final = re.compile(r"Treatment\((?:reference\s*=\s*)?(.+?)\)", re.DOTALL)


def shown_names(record: FitRecord) -> tuple[str, ...]:
    """Names of coefficients as tables and figures show them, in their order and all different.

    They are the names themselves where the schema has no labels.
    """
    return labelled(record.names, record.specification.schema)


def labelled(names: tuple[str, ...], schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Names with labels in their place; one whose label would be that of another one too is kept.

    Examples
    --------
    >>> job = {"levels": [4, 6], "label": "husband's occupation", "level_labels": {"6": "professional"}}
    >>> age = {"bounds": [18, 95], "label": "age", "measured_in": "years"}
    >>> for name in labelled(("job[T.6]", "age", "age:job[T.6]"), {"variables": {"job": job, "age": age}}):
    ...     print(name)
    husband's occupation: professional vs 4
    age (years)
    age (years) x husband's occupation: professional vs 4
    """
    columns: Mapping[str, Any] = schema.get("variables", {})
    known = ("label", "level_labels", "measured_in")
    told = {name: facts for name, facts in columns.items() if any(facts.get(key) for key in known)}
    if not told:
        return names
    shown = [" x ".join(_part(part, told) for part in factors_of(name)) for name in names]
    times = Counter(shown)
    return tuple(label if times[label] == 1 else name for label, name in zip(shown, names, strict=True))


def factors_of(term: str) -> list[str]:
    """Factors of a term, or of a name: its pieces between colons that are in no brackets and no quotes.

    Examples
    --------
    >>> factors_of('C(job, Treatment(reference="a:b")):age')
    ['C(job, Treatment(reference="a:b"))', 'age']
    """
    parts, depth, quote = [""], 0, ""
    for letter in term:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        depth += (letter in "([") - (letter in ")]") if not quote else 0
        if letter == ":" and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    # A level may hold a quote or a bracket: such a name is one piece.
    return [part.strip() for part in parts] if depth == 0 and not quote else [term]


def _part(part: str, told: Mapping[str, Any]) -> str:
    """One factor with its label; as it is where it is neither a column nor one of its levels."""
    levels = _FACTOR.fullmatch(part)
    column = _COLUMN.fullmatch(levels["factor"] if levels else part)
    text = "" if column is None else column["column"]
    name = text[3:-2] if text.startswith("Q(") else text
    if column is None or name not in told:
        return part
    facts = told[name]
    label = _cut(facts.get("label") or name)
    if levels is None:
        return f"{label} ({_cut(facts['measured_in'])})" if facts.get("measured_in") else label
    by_text = {str(level): level for level in facts.get("levels", ())}
    if levels["level"] not in by_text:
        return part
    words = _words(by_text[levels["level"]], facts)
    others = {
        "T.": f" vs {_words(_reference(column['contrast'] or '', facts['levels']), facts)}",
        "S.": " vs mean",
    }
    if levels["sign"] not in (None, *others):
        return part
    return f"{label}: {words}{others.get(levels['sign'], '')}"


def quoted(name: str) -> str:
    """A column as a formula names it.

    Examples
    --------
    >>> quoted("age"), quoted("body mass")
    ('age', 'Q("body mass")')
    """
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    plain = name.isprintable() and '"' not in name and "\\" not in name
    return f'Q("{name}")' if plain else f"Q({name!r})"


def _reference(contrast: str, levels: list[Any]) -> Any:
    """The level that others are compared with: the first one, or one that the formula names."""
    found = _REFERENCE.search(contrast)
    try:
        value = ast.literal_eval(found[1]) if found else levels[0]
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return levels[0]
    if value in levels:
        return value
    return levels[value] if isinstance(value, int) and 0 <= value < len(levels) else levels[0]


def _words(level: Any, facts: Mapping[str, Any]) -> str:
    text = str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)
    return _cut(facts.get("level_labels", {}).get(text) or text)


def _cut(text: str) -> str:
    if width(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 1].rstrip()}…"
