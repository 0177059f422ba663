"""What a code book says of one column, in one form for all kinds of code books."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from dpglm.data.tables.cells import Level

Kind = Literal["number", "levels", "date", "either"]

_TAG: Final = r"<[^<>]{1,400}>"
_WHOLE: Final = r"[+-]?(?:0|[1-9][0-9]{0,14})"
_NUMBER: Final = r"[+-]?(?:0|[1-9][0-9]{0,14})?\.[0-9]{1,15}"
_LONGEST: Final = 80
_UNIT: Final = (
    r"(?:[kmµu]?g|[kcmµ]?m|km|m[²2³3]|d?l|m?l|µl|[µmn]?mol|IU|m?U|mmHg|k?Pa|bpm|%|percent|°\s?[CF]|"
    r"years?|yrs?|months?|weeks?|days?|hours?|hrs?|min(?:utes?)?|sec(?:onds?)?|k?cal|kJ|euros?|EUR|USD|GBP|"
    r"dollars?|pounds?|inch(?:es)?|feet|lbs?|h|d|s)"
)
_UNITS: Final = rf"{_UNIT}(?:\s?(?:/|per)\s?(?:[0-9.]+\s?)?{_UNIT}){{0,2}}"
_IN_BRACKETS: Final = rf"(?i)\s*[(\[](?:in |unit:? )?({_UNITS})[)\]]\s*:?$"
_ALONE: Final = rf"(?i)(?:in |unit:? )?({_UNITS})"


@dataclass(frozen=True)
class Told:
    """What a code book says of one column, before habits such as 999 for "unknown" are looked at.

    Parameters
    ----------
    name, source : str
        The column, and where it is told: "REDCap dictionary visits.csv, field age".
    kind : {"number", "levels", "date", "either"}
        ``"either"`` where the code book does not say.
    label, measured_in : str
        In words.
    low, high : str or float, optional
        Ends of the range, as told; dates as texts.
    values : sequence of (level, str)
        Values that are listed, with their labels; a label may be empty.
    missing : sequence of levels
        Values of which the code book itself says that they stand for a missing one.
    text : str
        Notes in which codes may be spelt: "999 = unknown".
    observed : bool
        Whether the range or the list of values was read off the data.
    ordered : {"", "listed", "measured"}
        Whether values are said to be listed in their order, or to be measured on an ordinal scale.
    options : mapping
        Further options of the declaration: ``decimal``, ``date``.
    left_out : str
        Why the column is never a predictor.
    reason : str
        Why nothing is told of bounds or levels.
    notes : sequence of str
        What a reader should know.
    """

    name: str
    source: str
    kind: Kind = "either"
    label: str = ""
    measured_in: str = ""
    low: str | float | None = None
    high: str | float | None = None
    values: Sequence[tuple[Level, str]] = ()
    missing: Sequence[Level] = ()
    text: str = ""
    observed: bool = False
    ordered: Literal["", "listed", "measured"] = ""
    options: Mapping[str, object] = field(default_factory=dict)
    left_out: str = ""
    reason: str = ""
    notes: Sequence[str] = ()


def level_of(text: str) -> Level:
    """A value as written: a number where it is spelt as one without leading zeros, else the text.

    Examples
    --------
    >>> level_of("1"), level_of("-9"), level_of("01"), level_of("2.50"), level_of("M")
    (1, -9, '01', 2.5, 'M')
    """
    text = text.strip()
    if re.fullmatch(_WHOLE, text):
        return int(text)
    return float(text) if re.fullmatch(_NUMBER, text) else text


def number_in(value: object) -> float | None:
    """The number that an end of a range is or spells; None for all else."""
    found = level_of(value) if isinstance(value, str) else value
    plain = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if plain and abs(found) < 1e300 else None  # type: ignore[arg-type]


def within(values: Iterable[Level], low: object, high: object) -> list[Level]:
    """Which of these values are numbers from ``low`` to ``high``; whole ones without a point."""
    if not (isinstance(low, float) and isinstance(high, float)):
        return []
    numbers = {value: number for value in values if (number := number_in(value)) is not None}
    return [int(n) if n.is_integer() else n for n in numbers.values() if low <= n <= high]


def decimal_marks(text: object) -> str:
    """Marks that can be the decimal one in a number as written: both in 1.000, and the comma in 1.234,5."""
    whole = r"[+-]?(?:[1-9][0-9]{{0,2}}(?:\{}[0-9]{{3}})+|[0-9]*)(?:\{}[0-9]+)?"
    pairs = ((".", ","), (",", "."))
    return "".join(mark for mark, group in pairs if re.fullmatch(whole.format(group, mark), str(text)))


def in_numbers(told: Told, mark: str) -> Told:
    """The ends of a range as program code has them, by their own decimal mark or by that of the file, or "".

    Where neither shows it, a range of 1.000 to 200.000 is still to be declared.
    """
    texts = [end for end in (told.low, told.high) if isinstance(end, str)]
    own = {decimal_marks(end) for end in texts} & {".", ","}
    mark = own.pop() if len(own) == 1 else mark
    unclear = [end for end in texts if re.search("[.,]", end) and decimal_marks(end) == ".,"]
    if unclear and not mark:
        reason = f"{unclear[0]} may have a decimal mark or one of thousands: declare both bounds"
        return replace(told, kind="number", low=None, high=None, reason=reason)
    other, options, notes = "." if mark == "," else ",", dict(told.options), [*told.notes]
    low, high = (
        str(end).replace(other, "").replace(mark, ".") if mark and mark in decimal_marks(end) else end
        for end in (told.low, told.high)
    )
    if mark and any(other in end for end in texts):
        options["thousands"] = other
    if mark == "," and (texts or told.kind == "number") and options.setdefault("decimal", mark):
        notes.append('decimal: "," is how the code book writes numbers: take it out if the table has points')
    return replace(told, low=low, high=high, options=options, notes=notes)


def plain_words(text: object) -> str:
    """A label without marks of HTML, on one line and not longer than tables can show.

    Examples
    --------
    >>> plain_words("<b>Age</b> at&nbsp;visit:")
    'Age at visit'
    """
    words = " ".join(html.unescape(re.sub(_TAG, " ", str(text)[:4000])).split()).rstrip(" :")
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1].rstrip()}…"


def unit_in(label: str, note: str = "") -> tuple[str, str]:
    """The label without a unit of measurement at its end, and the unit; "" where none is told.

    Examples
    --------
    >>> unit_in("Weight (kg)"), unit_in("Height", "in cm"), unit_in("Children (if any)")
    (('Weight', 'kg'), ('Height', 'cm'), ('Children (if any)', ''))
    """
    if found := re.search(_IN_BRACKETS, label):
        return label[: found.start()].rstrip() or label, found[1]
    alone = re.fullmatch(_ALONE, note.strip()) if len(note) < 40 else None
    return label, alone[1] if alone else ""
