"""Instants: what a cell that is a date or a time says, exactly, from whatever storage it came."""

from __future__ import annotations

import datetime as dt
import inspect
import sys
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

# Units of numpy and Arrow in attoseconds, the finest one: every instant is a whole number of them.
SECOND: Final = 10**18
DAY: Final = 86_400 * SECOND
_TICKS: Final = {"W": 7 * DAY, "D": DAY, "h": 3600 * SECOND, "m": 60 * SECOND} | {
    unit: 10 ** (18 - 3 * power) for power, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))
}
_MONTHS: Final = {"Y": 12, "M": 1}
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
# The calendar repeats itself after so many years, which have so many days.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
NAT: Final = np.iinfo(np.int64).min


class Instant(NamedTuple):
    """A point in time: attoseconds since 1970 began, in UTC if ``zoned``, otherwise by a local clock."""

    ticks: int
    zoned: bool

    @property
    def text(self) -> str:
        """As ISO 8601 writes it; the time is left out at midnight without a zone.

        Examples
        --------
        >>> Instant(DAY, False).text, Instant(DAY + SECOND // 2, True).text
        ('1970-01-02', '1970-01-02 00:00:00.5+00:00')
        """
        days, ticks = divmod(self.ticks, DAY)
        if not 1 <= days + _EPOCH <= dt.date.max.toordinal():
            return f"{self.ticks} attoseconds after 1970-01-01{'+00:00' * self.zoned}"
        date = dt.date.fromordinal(days + _EPOCH).isoformat()
        if ticks == 0 and not self.zoned:
            return date
        seconds, rest = divmod(ticks, SECOND)
        time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        fraction = f".{rest:018}".rstrip("0") if rest else ""
        return f"{date} {time}{fraction}{'+00:00' * self.zoned}"


def instant_of_object(value: Any) -> Instant | None:
    """The instant that an object of Python, pandas or numpy is, or None; no code of the object's own runs.

    A time in a zone that would have to be asked what it is (`is_known_zone`) is not read.
    """
    import pandas as pd

    kind = type(value)
    if kind is np.datetime64:
        unit, step = np.datetime_data(value.dtype)
        return instant_of_count(int(value.view(np.int64)) * step, unit, zoned=False)
    if not issubclass(kind, dt.date) or value is pd.NaT:
        return None
    if not issubclass(kind, dt.datetime):
        return Instant((dt.date.toordinal(value) - _EPOCH) * DAY, False)
    zone = dt.datetime.tzinfo.__get__(value)
    if zone is not None and not is_known_zone(zone):
        return None
    if issubclass(kind, pd.Timestamp):
        found = instant_of_object(pd.Timestamp.to_datetime64(value))
        return None if found is None else Instant(found.ticks, zone is not None)
    local = dt.datetime.combine(dt.date.fromordinal(dt.date.toordinal(value)), dt.datetime.time(value))
    since = local.replace(fold=0) - dt.datetime(1970, 1, 1)
    if zone is not None:
        kept = _kept_offset(zone)
        since -= zone.utcoffset(local) if kept is None else kept
    return Instant(since // dt.timedelta(microseconds=1) * 10**12, zone is not None)


def is_known_zone(zone: object) -> bool:
    """Whether times in this zone are read: one of datetime, zoneinfo or pytz, or an offset of dateutil.

    The other zones of dateutil run code of theirs to say how far they are ahead. pandas may have run it where
    a column is of one zone, but whether it has follows from the other cells: such times are read nowhere.
    """
    return type(zone) in (dt.timezone, ZoneInfo) or _kept_offset(zone) is not None


def _kept_offset(zone: object) -> dt.timedelta | None:
    """The offset that a zone of pytz or dateutil keeps, looked up without running code of theirs."""
    known = sys.modules.get("dateutil.tz")
    if known is not None and type(zone) is known.tzutc:
        return dt.timedelta(0)
    name = "_offset" if known is not None and type(zone) is known.tzoffset else "_utcoffset"
    offset = inspect.getattr_static(zone, name, None)
    return offset if type(offset) is dt.timedelta else None


def instant_of_count(count: int, unit: str, *, zoned: bool) -> Instant | None:
    """So many of numpy's units since 1970 began; None of a unit without a length."""
    if unit in _MONTHS:
        years, month = divmod(count * _MONTHS[unit], 12)
        cycles, year = divmod(1970 + years - 1, _CYCLE_YEARS)
        days = dt.date(year + 1, month + 1, 1).toordinal() - _EPOCH + cycles * _CYCLE_DAYS
        return Instant(days * DAY, zoned)
    return Instant(count * _TICKS[unit], zoned) if unit in _TICKS else None


def instants_of_array(
    values: NDArray[np.datetime64], *, zoned: bool
) -> tuple[list[Instant | None], NDArray[np.intp], NDArray[np.bool_]]:
    """The different instants of an array, the place of each row's, and which rows have none at all."""
    unit, step = np.datetime_data(values.dtype)
    counts = values.astype(values.dtype.newbyteorder("=")).view(np.int64)
    distinct, index = np.unique(counts, return_inverse=True)
    found = [instant_of_count(count * step, unit, zoned=zoned) for count in distinct.tolist()]
    return found, index, counts == NAT
