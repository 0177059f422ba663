"""Decisions on one column: which bounds and levels are taken over, and what is still to declare."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from dpglm.data.codebooks import missing
from dpglm.data.codebooks.told import Kind, Told, number_in, plain_words, unit_in
from dpglm.data.schema.text import flow
from dpglm.data.schema.variables import variable_from_dict
from dpglm.data.tables.cells import Level, label_of
from dpglm.errors import SchemaError

# No schema loads with these in the place of what is to declare.
LOW, HIGH, LEVELS, ORIGIN, LEFT_OUT = "LOW", "HIGH", "LEVELS", "ORIGIN", "LEFT_OUT"
_LISTED: Final = "no range is told, and these values are listed"
_MOST_LEVELS: Final = 1000
_ISO_DATE: Final = r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?)?"


@dataclass(frozen=True)
class DraftColumn:
    """What is known of one column, and what is not.

    Parameters
    ----------
    name : str
    entry : mapping
        The declaration as far as it goes, in the full form of a schema's column, with `LOW`, `HIGH` or
        `LEVELS` where something is missing.
    kind : str
        Whether bounds or levels are to be declared, where the entry has neither.
    reason : str
        What is still to declare and why; empty where nothing is.
    left_out : str
        Why it is never a predictor; empty where it may be one.
    notes : tuple of str
        What a reader should know.
    refused : bool
        Whether a formula uses it although it is left out.
    """

    name: str
    entry: Mapping[str, Any] = field(hash=False)
    kind: Kind = "either"
    reason: str = ""
    left_out: str = ""
    notes: tuple[str, ...] = ()
    refused: bool = False

    @property
    def complete(self) -> bool:
        """Whether the entry declares the column."""
        return bool(self.entry) and not self.reason and not self.left_out

    def lines(self, key: str) -> Iterator[str]:
        """Lines of YAML: comments above, then the entry; of a column that is left out a comment alone."""
        if self.left_out and not self.refused:
            yield f"  # {key} is left out: {comment(self.left_out)}"
            return
        for note in self.notes:
            yield f"  # {key}: {comment(note)}"
        if self.left_out:
            yield f"  {key}: {LEFT_OUT}  # take it out of the formula: {comment(self.left_out)}"
            return
        entry = dict(self.entry)
        if not ("bounds" in entry or "levels" in entry):
            entry = {**({"levels": LEVELS} if self.kind == "levels" else {"bounds": [LOW, HIGH]}), **entry}
        either = " (or levels: [A, B])" if self.reason and self.kind == "either" else ""
        yield f"  {key}: {flow(entry)}" + (
            f"  # to declare{either}: {comment(self.reason)}" if self.reason else ""
        )


def comment(text: str) -> str:
    """A text on one line, so that it cannot leave the comment in which it stands."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def decided(told: Told) -> DraftColumn:
    """What is taken over of a column, and what is still to declare.

    Codes for missing values become neither bounds nor levels. They are the codes that the code book declares,
    those whose label says that there is no value, those that a note spells, and values without a label that
    are such codes by habit.

    Examples
    --------
    >>> told = Told("age", "book", kind="number", low=0, high=999, values=[(999, "Unknown")])
    >>> column = decided(told)
    >>> column.entry["bounds"], column.entry["missing_codes"]
    ([0, 'HIGH'], [999])
    >>> column.reason
    'the range ends in 999, a code for a missing value: declare the largest real value'
    """
    if told.left_out:
        why = f"{told.left_out} ({told.source})"
        return DraftColumn(told.name, {}, left_out=why, notes=tuple(told.notes))
    times = Counter(label_of(value) for value, _ in told.values)
    twice = [text for text, number in times.items() if number > 1]
    codes, values, notes, unsure = _sorted_out(told)
    label, unit = unit_in(plain_words(told.label))
    words = {
        "label": label,
        "measured_in": told.measured_in or unit,
        "missing_codes": codes,
        "source": told.source,
        "looked_at_data": told.observed,
        **told.options,
    }
    kind, reason, more = told.kind, told.reason, [*told.notes, *notes]
    if twice and not reason:
        kind, reason = "levels", f"{', '.join(twice[:5])} listed more than once: declare all levels"
    entry: dict[str, Any] = {}
    if kind == "either" and not reason:
        kind, reason = _kind_of(told, values)
    if kind == "levels" and not reason:
        entry, reason = _levels(values)
    elif kind == "date":
        entry, reason = _dates(told, codes)
    elif kind == "number" or (kind == "either" and (told.low is not None or told.high is not None)):
        entry, found, said = _bounds(told, codes, values)
        reason, more = reason or found, more + said
        kind = "either" if found.startswith(_LISTED) else kind
    if told.ordered and not unsure and _in_order(entry.get("levels"), told.ordered):
        entry["ordered"] = True
    elif told.ordered:
        more.append("ordinal in the code book: list levels from the lowest up, and declare ordered: true")
    if kind == "levels":
        words |= {"measured_in": "", "decimal": "", "thousands": "", "label": plain_words(told.label)}
    entry = entry | {name: value for name, value in words.items() if value and name not in entry}
    return _checked(DraftColumn(told.name, entry, kind, reason, notes=tuple(more)))


def _in_order(levels: object, stated: str) -> bool:
    """Whether levels rise: listed in their order, or numbers that do, or words not sorted by the alphabet."""
    if not isinstance(levels, list) or stated == "listed":
        return isinstance(levels, list)
    numbers = [number for level in levels if (number := number_in(level)) is not None]
    words = [str(level) for level in levels if number_in(level) is None]
    return numbers == sorted(numbers) and (words != sorted(words) or max(map(len, words), default=0) < 3)


def _sorted_out(told: Told) -> tuple[list[Level], list[tuple[Level, str]], list[str], list[str]]:
    """Codes for missing values, the values that are left, notes on both, and values that may be codes."""
    spelt = (*told.missing, *missing.spelt_codes(f"{told.label}; {told.text}"))
    codes = {label_of(code): code for code in spelt if code != ""}
    for value, label in told.values:
        if missing.says_missing(plain_words(label) or str(value)):
            codes.setdefault(label_of(value), value)
    left = {label_of(value): (value, label) for value, label in told.values if label_of(value) not in codes}
    far = missing.far_from_others(
        number for value, _ in left.values() if (number := number_in(value)) is not None
    )
    habits, unsure = [], []
    for text, (value, label) in list(left.items()):
        number, bare = number_in(value), label in ("", text)
        if bare and number in far and (missing.looks_like_a_code(number) or (number == 9 and 8 not in far)):
            codes[text] = value
            habits.append(text)
            del left[text]
        elif number in far or missing.may_say_missing(label) or missing.may_say_missing(str(value)):
            unsure.append(text if bare else f"{text} ({_short(plain_words(label))})")
    notes = [f"{', '.join(habits)} without a label: taken for a code for a missing value"] if habits else []
    if unsure:
        kept = ", ".join(unsure[:20]) + (f" and {len(unsure) - 20} more" if len(unsure) > 20 else "")
        notes.append(f"kept, but may stand for a missing value and belong under missing_codes: {kept}")
    return list(codes.values()), list(left.values()), notes, unsure


def _kind_of(told: Told, values: list[tuple[Level, str]]) -> tuple[Kind, str]:
    """Numbers or levels, where the code book does not say."""
    if not values:
        if told.low is None and told.high is None:
            return "either", "the code book has neither bounds nor levels"
        return "number", ""
    numbers = [number_in(value) for value, _ in values]
    if told.low is not None or told.high is not None:
        return "number", ""
    whole = all(number is not None and number.is_integer() for number in numbers)
    ends = sorted(number for number in numbers if number is not None)
    if whole and len(ends) in (2, 3) and len(steps := {b - a for a, b in pairwise(ends)}) == 1 < min(steps):
        return "either", (
            f"only {' and '.join(f'{end:g}' for end in ends)} have labels: they may be marks of a scale, "
            f"bounds: [{ends[0]:g}, {ends[-1]:g}], or levels"
        )
    return "levels", ""


def _levels(values: list[tuple[Level, str]]) -> tuple[dict[str, Any], str]:
    if len(values) < 2:
        listed = f"only {label_of(values[0][0])} is" if values else "no value is"
        reason = f"{listed} listed that is not a code for a missing value: declare all levels"
        return {"levels": LEVELS}, reason
    if len(values) > _MOST_LEVELS:
        return {"levels": LEVELS}, f"{len(values)} levels are listed: declare fewer, merged ones"
    words = {value: plain_words(label) for value, label in values}
    named = {one: label for one, label in words.items() if label.lower() not in ("", label_of(one).lower())}
    entry: dict[str, Any] = {"levels": [value for value, _ in values]}
    return entry | ({"level_labels": named} if named else {}), ""


def _bounds(
    told: Told, codes: list[Level], values: list[tuple[Level, str]]
) -> tuple[dict[str, Any], str, list[str]]:
    """Two bounds, or the words for those that are missing with the reason, and notes."""
    if values and told.low is None and told.high is None:
        return {}, f"{_LISTED}: {', '.join(label_of(value) for value, _ in values[:8])}", []
    ends: list[Any] = [LOW, HIGH]
    reasons, notes = [], []
    given = [number_in(told.low), number_in(told.high)]
    marked = {number for code in codes if (number := number_in(code)) is not None}
    for place, (end, raw, side) in enumerate(
        zip(given, (told.low, told.high), ("smallest", "largest"), strict=True)
    ):
        if raw is None or raw == "":
            reasons.append(f"no {side} value is told")
        elif end is None:
            reasons.append(f"the {side} value is {_short(raw)}, which is no number")
        elif end in marked:
            reasons.append(
                f"the range {'begins' if place == 0 else 'ends'} in {end:.10g}, a code for a missing value: "
                f"declare the {side} real value"
            )
        elif missing.looks_like_a_code(end, given[1 - place]) and (end < 0) == (place == 0):
            reasons.append(
                f"the range {'begins' if place == 0 else 'ends'} in {end:.10g}, which looks like a code for "
                f"a missing value: declare the {side} real value, and the code under missing_codes"
            )
        else:
            ends[place] = _whole(end)
    labelled = {number: label for value, label in values if (number := number_in(value)) is not None}
    if not reasons and labelled and (min(labelled) < ends[0] or max(labelled) > ends[1]):
        outside = [value for value in labelled if not ends[0] <= value <= ends[1]]
        odd = [
            one for one in outside if missing.looks_like_a_code(one) or missing.may_say_missing(labelled[one])
        ]
        if odd or (ends[0] >= 0 > min(outside)):
            words = "outside the range: say whether it is a value or a missing code"
            reasons.append(f"{_listed(outside)} {words}")
        else:
            ends = [min(ends[0], *map(_whole, labelled)), max(ends[1], *map(_whole, labelled))]
            notes.append(
                f"bounds hold the labelled values {_listed(outside)}, which lie outside the range told"
            )
    if not reasons and not ends[0] < ends[1]:
        reasons.append(f"the range is {ends[0]:g} to {ends[1]:g}: declare two bounds, the lower one first")
        ends = [LOW, HIGH]
    inside = sorted(code for code in marked if not reasons and ends[0] < code < ends[1])
    if inside:
        notes.append(f"{_listed(inside)} lies within the bounds and is a code for a missing value")
    return {"bounds": ends}, "; ".join(reasons), notes


def _dates(told: Told, codes: list[Level]) -> tuple[dict[str, Any], str]:
    """Days from the first date to the last."""
    form = dict(told.options.get("date", {}))  # type: ignore[call-overload]
    ends = [str(end).strip() if end is not None else "" for end in (told.low, told.high)]
    read = [_instant(end) for end in ends]
    coded = [end in map(str, codes) or missing.looks_like_a_date_code(end) for end in ends]
    reasons = []
    for end, found, code, side in zip(ends, read, coded, ("first", "last"), strict=True):
        if code:
            reasons.append(f"{end} looks like a code for a missing date: declare the {side} real date")
        elif not end:
            reasons.append(f"no {side} date is told")
        elif found is None:
            reasons.append(f"the {side} date is {_short(end)}, which is no date as 2015-03-31")
    start, stop = (None if code else found for found, code in zip(read, coded, strict=True))
    origin = ends[0].replace("T", " ") if start is not None else ORIGIN
    days = (stop - start).total_seconds() / 86400 if start is not None and stop is not None else None
    if days is not None and days <= 0:
        reasons.append("the last date is not after the first one")
        days = None
    bounds = [0 if start is not None else LOW, HIGH if days is None else _whole(days)]
    entry = {"bounds": bounds, "date": {"origin": origin, "unit": "days", **form}}
    if not reasons:
        return entry, ""
    return entry, f"{'; '.join(reasons)}; bounds count the days since origin"


def _instant(text: str) -> dt.datetime | None:
    found = re.fullmatch(_ISO_DATE, text)
    try:
        return dt.datetime(*(int(part or 0) for part in found.groups())) if found else None  # type: ignore[arg-type]
    except ValueError:
        return None


def _checked(column: DraftColumn) -> DraftColumn:
    """The column, still open where the schema would refuse its declaration."""
    if not column.complete:
        return column
    try:
        variable_from_dict(column.entry)
    except SchemaError as error:
        usable = ("label", "source", "looked_at_data")
        kept = {key: column.entry[key] for key in usable if key in column.entry}
        reason = f"the code book tells {error.found}; expected {error.expected}"
        return replace(column, entry=kept, reason=reason)
    return column


def _whole(number: float) -> float:
    """The number as files have it: whole ones without a point."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _short(value: object) -> str:
    text = comment(str(value))
    return text if len(text) <= 40 else f"{text[:39]}…"


def _listed(numbers: list[float]) -> str:
    return ", ".join(f"{number:.10g}" for number in numbers[:5]) + (", ..." if len(numbers) > 5 else "")
