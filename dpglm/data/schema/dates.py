"""Dates and times as numbers: so many units since a declared origin, read by a declared form."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, Final, Self

import numpy as np

from dpglm.data.tables.cells import Blank, Cell, written
from dpglm.data.tables.instants import DAY, SECOND, Instant, instant_of_object
from dpglm.errors import SchemaError, shown
from dpglm.typing import FloatVector

UNITS: Final = {
    "seconds": SECOND,
    "minutes": 60 * SECOND,
    "hours": 3600 * SECOND,
    "days": DAY,
    "weeks": 7 * DAY,
    "years": 365 * DAY + DAY // 4,
}
_ZONE: Final = r"Z|[+-][0-9]{2}(?::?[0-9]{2})?"
_ISO: Final = (
    r"(?P<Y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})(?:[T ](?P<H>[0-9]{2}):(?P<M>[0-9]{2})"
    rf"(?::(?P<S>[0-9]{{2}})(?:\.(?P<f>[0-9]{{1,18}}))?)?(?P<z>{_ZONE})?)?"
)
# What may stand in a declared form, the coarser first: none is read without those before it.
_PARTS: Final = {"Y": "[0-9]{4}"} | dict.fromkeys("mdHMS", "[0-9]{2}") | {"f": "[0-9]{1,18}"}
_BLANKS: Final = " \t\n\r\f\v"
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class DateReading:
    """How a cell that is a date or a time becomes a number.

    Parameters
    ----------
    origin : str
        Where 0 is: a date, or a date and a time without a zone, as ISO 8601 writes it.
    unit : {"days", "weeks", "years", "hours", "minutes", "seconds"}
        A year is 365.25 days.
    format : str
        Which texts are dates: ``"iso"`` for ``2015-03-31`` and ``2015-03-31 14:05:00``, or a form such as
        ``"%d.%m.%Y"`` of ``%Y %m %d %H %M %S %f %z``, each with all its digits. A text of another form, and a
        date that the calendar does not have, is missing. A whole number is read as its digits are.
    zone : str
        ``""``: times of a local clock; one that tells its own zone is missing. ``"UTC"``, or an offset such
        as ``"+01:00"``: the zone of times that tell none, to which those that do are brought.

    Raises
    ------
    SchemaError
        If one of these is something else.

    Examples
    --------
    >>> reading = DateReading("2015-01-01", "days")
    >>> reading.numbers(["2015-01-02", "2015-01-02 12:00", "2015-02-30", "2.1.2015", 7])
    array([1. , 1.5, nan, nan, nan])
    >>> DateReading("2015-01-01", "hours", zone="UTC").numbers(["2015-01-01T02:00+01:00"])
    array([1.])
    """

    origin: str
    unit: str = "days"
    format: str = "iso"
    zone: str = ""

    def __post_init__(self) -> None:
        given: object = self.origin
        start = _read(re.compile(_ISO), given) if isinstance(given, str) else instant_of_object(given)
        if start is None or start.zoned or not 0 <= start.ticks // DAY + _EPOCH <= dt.date.max.toordinal():
            raise SchemaError(
                f"origin: {shown(given)}",
                expected="the date that is 0, or a date and a time without a zone",
                remedy='Write origin: "2015-01-01".',
            )
        if not isinstance(self.unit, str) or self.unit not in UNITS:
            raise SchemaError(
                f"unit: {shown(self.unit)}", expected=f"one of {', '.join(UNITS)}", remedy="Write unit: days."
            )
        if not isinstance(self.format, str) or (self.format != "iso" and _pattern_of(self.format) is None):
            raise SchemaError(
                f"format: {shown(self.format)}",
                expected='"iso", or %Y with any of %m %d %H %M %S %f %z once, none without the coarser ones, '
                "and no blank at its ends",
                remedy='Write format: "%d.%m.%Y", or leave it out.',
            )
        if not isinstance(self.zone, str) or not (self.zone == "UTC" or _offset(self.zone) is not None):
            raise SchemaError(
                f"zone: {shown(self.zone)}",
                expected='"UTC" or an offset such as "+01:00"',
                remedy="Leave zone out where no time tells its zone.",
            )
        object.__setattr__(self, "origin", start.text)

    @classmethod
    def of(cls, declaration: Any) -> Self:
        """The reading that a mapping declares."""
        known = {field.name for field in fields(cls)}
        if isinstance(declaration, cls):
            return declaration
        if not isinstance(declaration, Mapping) or not {"origin"} <= set(declaration) <= known:
            raise SchemaError(
                f"date: {shown(declaration)}",
                expected="origin, and perhaps unit, format and zone",
                remedy='Write date: {origin: "2015-01-01", unit: days}.',
            )
        return cls(**declaration)

    def numbers(self, cells: Sequence[Cell]) -> FloatVector:
        """Units since the origin; NaN where a cell is no date or time as declared."""
        return np.array([self._number(cell) for cell in cells], dtype=np.float64)

    def to_dict(self) -> dict[str, str]:
        """What `of` takes, without what is left as it is."""
        optional = {"format": "iso", "zone": ""}
        return {name: value for name, value in asdict(self).items() if value != optional.get(name)}

    def _number(self, cell: Cell) -> float:
        if isinstance(cell, int | float):
            cell = written(cell)
        found = _read(self._pattern, cell) if isinstance(cell, str) else cell
        if isinstance(found, Blank) or found is None or (found.zoned and not self.zone):
            return np.nan
        local = found.ticks + (self._ahead if found.zoned else 0)
        return (local - self._start) / UNITS[self.unit]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        found = re.compile(_ISO) if self.format == "iso" else _pattern_of(self.format)
        assert found is not None
        return found

    @cached_property
    def _start(self) -> int:
        start = _read(re.compile(_ISO), self.origin)
        assert start is not None
        return start.ticks

    @cached_property
    def _ahead(self) -> int:
        """How far clocks of the declared zone are ahead of UTC."""
        return _offset(self.zone) or 0


def _pattern_of(form: str) -> re.Pattern[str] | None:
    """The texts of a declared form; None if it is none."""
    pieces = re.split(r"(%.?)", form, flags=re.DOTALL)
    names = [piece[1:] for piece in pieces[1::2] if piece != "%%"]
    ordered = "".join(sorted((name for name in names if name != "z"), key="YmdHMSf".find))
    sound = len(set(names)) == len(names) and ordered and "YmdHMSf".startswith(ordered)
    # Blanks at the ends of a cell are passed over, and the empty name is in any list.
    if not sound or "" in names or form != form.strip(_BLANKS) or len(form) > 64:
        return None
    for place in range(1, len(pieces), 2):
        name = pieces[place][1:]
        pieces[place] = "%" if name == "%" else f"(?P<{name}>{_ZONE if name == 'z' else _PARTS[name]})"
    for place in range(0, len(pieces), 2):
        pieces[place] = re.escape(pieces[place])
    return re.compile("".join(pieces), re.DOTALL)


def _read(pattern: re.Pattern[str], text: str) -> Instant | None:
    """The instant that a text spells, blanks at its ends aside."""
    found = pattern.fullmatch(text.strip(_BLANKS))
    if found is None:
        return None
    part = found.groupdict()
    year, month, day = (int(part.get(name) or 1) for name in "Ymd")
    hour, minute, second = (int(part.get(name) or 0) for name in "HMS")
    try:
        days = dt.date(year, month, day).toordinal() - _EPOCH
    except ValueError:  # the calendar has no such day
        return None
    zone = part.get("z") or ""
    ahead = _offset(zone)
    if hour > 23 or minute > 59 or second > 59 or ahead is None:
        return None
    fraction = int((part.get("f") or "").ljust(18, "0"))
    ticks = days * DAY + (hour * 3600 + minute * 60 + second) * SECOND + fraction
    return Instant(ticks - ahead, bool(zone))


def _offset(zone: str) -> int | None:
    """How far clocks of a zone are ahead of UTC, in ticks; None of what is no zone."""
    if zone in ("", "Z", "UTC"):
        return 0
    if re.fullmatch(_ZONE, zone) is None:
        return None
    hours, minutes = int(zone[1:3]), int(zone[3:].strip(":") or 0)
    if hours > 23 or minutes > 59:
        return None
    return (-1 if zone[0] == "-" else 1) * (hours * 3600 + minutes * 60) * SECOND
