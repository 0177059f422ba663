"""Variables: what is declared of one column, a number between bounds or one of a list of levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpglm.data.schema import expected, readings
from dpglm.data.schema.dates import DateReading
from dpglm.data.tables.cells import Level, label_of, number_of
from dpglm.data.tables.columns import cells_of_column, numbers_of_column
from dpglm.errors import SchemaError, shown
from dpglm.row_loops import bounded
from dpglm.typing import FloatVector

Codes: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True)
class Numeric:
    """A number between two public bounds.

    Parameters
    ----------
    low, high : float
        Public bounds, finite, ``low < high``. A value outside becomes the bound. Wide bounds cost little
        where a fit measures its numbers first, and precision elsewhere.
    missing : "omit" or float
        What a row without a number does: contributes nothing (``"omit"``), or takes this value, which lies
        within the bounds.
    missing_codes : sequence of float or str
        Numbers that stand for a missing value, such as 999 and -9. Undeclared they would become the bound.
    infinite : "missing" or "bound"
        What an infinite number is, or one that is too large for double precision.
    decimal, thousands : str
        Marks in texts that spell numbers: ``"1.234,5"`` has the decimal ``","`` and thousands ``"."``.
    date : dict, optional
        The column holds dates or times, and the number is how many units after an origin:
        ``{"origin": "2015-01-01", "unit": "days"}``, see ``dpglm.data.schema.dates.DateReading``.
    label, measured_in : str
        What the column is and its unit of measurement, in words that summaries and plots use.
    source : str
        Where the bounds come from: a code book, a questionnaire.
    looked_at_data : bool
        Whether the bounds were read off the private data, which the guarantee does not cover.
    effect : float, optional
        Declared prior scale of its coefficient: standard deviation, in log-odds per full declared range, of
        what the coefficient may be. Not from the data. A transformation of the column has the same effect per
        range of the transformed values. Where nothing is declared it is 1 per released standard deviation,
        or 3 per range in a fit that does not measure its numbers.
    mean, sd : float, optional
        What is expected of the values, from the literature or an earlier table; only
        :func:`dpglm.plan` uses them.

    Raises
    ------
    SchemaError
        If the bounds are not two finite numbers in order, or an option is impossible between them.

    Examples
    --------
    >>> Numeric(18, 95).clean([30, "41.5", 120, float("nan"), "unknown"])
    array([30. , 41.5, 95. ,  nan,  nan])
    >>> Numeric(18, 95, missing=50).clean([30, None])
    array([30., 50.])
    >>> Numeric(18, 95, missing_codes=[999, -9]).clean([30, 999, "-9", 100])
    array([30., nan, nan, 95.])
    >>> Numeric(0, 365, date={"origin": "2015-01-01"}).clean(["2015-01-31", "2016-05-01", "31.1.2015"])
    array([ 30., 365.,  nan])
    """

    low: float
    high: float
    missing: str | float = field(default="omit", kw_only=True)
    missing_codes: tuple[Level, ...] = field(default=(), kw_only=True)
    infinite: str = field(default="missing", kw_only=True)
    decimal: str = field(default=".", kw_only=True)
    thousands: str = field(default="", kw_only=True)
    date: DateReading | Mapping[str, str] | None = field(default=None, kw_only=True)
    label: str = field(default="", kw_only=True)
    measured_in: str = field(default="", kw_only=True)
    source: str = field(default="", kw_only=True)
    looked_at_data: bool = field(default=False, kw_only=True)
    effect: float | None = field(default=None, kw_only=True)
    mean: float | None = field(default=None, kw_only=True)
    sd: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        low, high = number_of(self.low), number_of(self.high)
        remedy = ""
        if math.isnan(low) or math.isnan(high):
            remedy = "Write numbers without quotes and leading zeros: bounds: [0, 100]."
        elif not math.isfinite(high - low):
            known = "Declare the range that the code book or common knowledge gives"
            remedy = f"{known}; values outside become the bound."
        elif low > high:
            remedy = f"Swap them: ({high:g}, {low:g})."
        elif low == high:
            remedy = "A constant needs no column: leave it out."
        if remedy:
            raise SchemaError(
                f"bounds ({shown(self.low)}, {shown(self.high)})",
                expected="two finite numbers, the lower one first, and a finite distance between them",
                remedy=remedy,
            )
        expected.require_words(
            self.looked_at_data, source=self.source, label=self.label, measured_in=self.measured_in
        )
        mean, sd, effect = self.mean, self.sd, self.effect
        if mean is not None or sd is not None:
            mean, sd = expected.checked_moments(mean, sd, low, high)
        if effect is not None:
            effect = expected.checked_effect(effect)
        missing: str | float = "omit"
        if not isinstance(self.missing, str) or self.missing != "omit":
            missing = number_of(self.missing)
            if not low <= missing <= high:
                raise SchemaError(
                    f"missing: {shown(self.missing)} with bounds ({low:g}, {high:g})",
                    expected='"omit" (the row contributes nothing) or a number within the bounds',
                    remedy=f"Write missing: omit, or a value such as {(low + high) / 2:g}.",
                )
        for option in ("missing_codes", "decimal", "thousands", "date"):
            object.__setattr__(self, option, getattr(self.reading, option))
        object.__setattr__(self, "infinite", "bound" if self.reading.infinite else "missing")
        checked = {"low": low, "high": high, "missing": missing, "effect": effect, "mean": mean, "sd": sd}
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def clean(self, column: Any) -> FloatVector:
        """Numbers within the bounds, float64 of shape (k,), from any column: numbers, texts, mixtures.

        NaN marks a row that cannot be used, which happens only with ``missing="omit"``. Nothing is ever
        raised, warned or counted, and a row's value depends on that row alone.
        """
        return within({"": self}, {"": self.read(column)})[""]

    def read(self, column: Any) -> FloatVector:
        """The numbers of a column as they are, NaN where there is none; do not write to them."""
        numbers = numbers_of_column(column) if self.date is None else None
        if numbers is None:
            cells, index = cells_of_column(column)
            numbers = self.reading.numbers(cells)[index]
        return numbers

    def filled(self, values: FloatVector, numbers: FloatVector) -> FloatVector:
        """Numbers that were cut, changed in place where they stand for a missing value or one was missing."""
        for code in self.reading.codes:
            np.copyto(values, np.nan, where=numbers == code)
        if not isinstance(self.missing, str):
            np.copyto(values, self.missing, where=np.isnan(values))
        return values

    @cached_property
    def reading(self) -> readings.NumberReading:
        """How cells are read."""
        return readings.checked_reading(
            self.decimal, self.thousands, self.missing_codes, self.infinite, self.date
        )

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values; ``variable_from_dict`` reads them back."""
        return {"bounds": [self.low, self.high], **readings.options_of(self)}


@dataclass(frozen=True)
class Categorical:
    """One of a list of public levels; the first is the reference, the last of two the "success".

    A value is matched as text first, then as a number: ``1``, ``1.0``, ``True``, ``"1"`` and ``"1.0"`` are
    all the level ``1`` (or ``"1"``). An empty text is a missing value, and with ``strip`` one of blanks, too.

    Parameters
    ----------
    levels : sequence of str, int, float or bool
        At least two, all different.
    missing : "omit" or level
        What a row without a value does: contributes nothing, or takes this level.
    other : None, "omit" or level
        What a row with an undeclared value does; None: the same as a missing one.
    missing_codes : sequence of str, int or float
        Values that stand for a missing one, such as 9 and ``"refused"``.
    aliases : mapping of str, int or float to level
        Other spellings of levels.
    strip, ignore_case : bool
        Whether blanks at both ends of a text, and upper and lower case, make no difference.
    ordered : bool
        Whether levels are listed from the lowest to the highest, which ``family="ordinal"`` needs.
    label : str
        What the column is, in words that summaries and plots use.
    level_labels : mapping of level to str
        What levels mean, in words, of all or some of them.
    source : str
        Where the levels come from.
    looked_at_data : bool
        Whether the levels were read off the private data, which the guarantee does not cover.
    effect : float, optional
        Declared prior scale of its coefficients: standard deviation, in log-odds, of a level against the mean
        of the levels, or of the difference of two levels; 1 where nothing is declared. Not from the data.
    shares : sequence of float or mapping of level to float, optional
        Expected share of each level, from the literature or an earlier table, above 0 and adding up to 1;
        only :func:`dpglm.plan` uses them.

    Raises
    ------
    SchemaError
        If there are fewer than two levels, two are alike, or an option does not fit them.

    Examples
    --------
    >>> Categorical(["no", "yes"]).clean(["yes", "no", "perhaps", None])
    array([ 1,  0, -1, -1], dtype=int32)
    >>> Categorical([1, 2, 3], other=3).clean(["1", 2.0, 7, None])
    array([ 0,  1,  2, -1], dtype=int32)
    >>> Categorical(["F", "M"], aliases={2: "M"}, missing_codes=[9], ignore_case=True).clean(["m", 2, 9])
    array([ 1,  1, -1], dtype=int32)
    """

    levels: tuple[Level, ...]
    missing: str | Level = field(default="omit", kw_only=True)
    other: str | Level | None = field(default=None, kw_only=True)
    missing_codes: tuple[Level, ...] = field(default=(), kw_only=True)
    aliases: Mapping[str, Level] = field(default_factory=dict, kw_only=True, hash=False)
    strip: bool = field(default=False, kw_only=True)
    ignore_case: bool = field(default=False, kw_only=True)
    ordered: bool = field(default=False, kw_only=True)
    label: str = field(default="", kw_only=True)
    level_labels: Mapping[Level, str] = field(default_factory=dict, kw_only=True, hash=False)
    source: str = field(default="", kw_only=True)
    looked_at_data: bool = field(default=False, kw_only=True)
    effect: float | None = field(default=None, kw_only=True)
    shares: tuple[float, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", readings.checked_levels(self.levels))
        expected.require_flags(strip=self.strip, ignore_case=self.ignore_case, ordered=self.ordered)
        reading = self.reading
        aliases = {text: self.levels[code] for text, code in reading.aliases}
        object.__setattr__(self, "aliases", MappingProxyType(aliases))
        object.__setattr__(self, "missing_codes", reading.missing_codes)
        expected.require_words(self.looked_at_data, source=self.source, label=self.label)
        labels = expected.checked_level_labels(self.level_labels, self.labels)
        object.__setattr__(self, "level_labels", MappingProxyType(labels))
        if self.effect is not None:
            object.__setattr__(self, "effect", expected.checked_effect(self.effect))
        if self.shares is not None:
            object.__setattr__(self, "shares", expected.checked_shares(self.shares, self.labels))
        for rule in ("missing", "other"):
            value = getattr(self, rule)
            plain = isinstance(value, str | int | float | np.generic)  # an array has no truth value
            if (plain and value == "omit") or (rule == "other" and value is None):
                continue
            code = self._code_of_label.get(label_of(value)) if plain else None
            if code is None:
                raise SchemaError(
                    f"{rule}: {shown(value)}, which is not a level",
                    expected='"omit" (the row contributes nothing) or one of the levels',
                    remedy=f"Write {rule}: omit, or add {shown(value)} to the levels.",
                )
            object.__setattr__(self, rule, self.levels[code])

    def __reduce__(self) -> tuple[object, ...]:
        return variable_from_dict, (self.to_dict(),)

    @property
    def labels(self) -> tuple[str, ...]:
        """Levels as texts, in order; whole numbers without a decimal point."""
        return tuple(label_of(level) for level in self.levels)

    def clean(self, column: Any) -> Codes:
        """Positions of the values in the list of levels, int32 of shape (k,), from any column.

        -1 marks a row that cannot be used. Nothing is ever raised, warned or counted, and a row's code
        depends on that row alone.
        """
        rules = self.missing, self.missing if self.other is None else self.other
        missing, other = (-1 if rule == "omit" else self._code_of_label[label_of(rule)] for rule in rules)
        cells, index = cells_of_column(column)
        return np.array(self.reading.codes(cells, missing=missing, other=other), dtype=np.int32)[index]

    read = clean

    @cached_property
    def reading(self) -> readings.LevelReading:
        """How cells are read."""
        codes = readings.checked_codes(self.missing_codes)
        aliases = readings.checked_aliases(self.aliases, self._code_of_label)
        return readings.LevelReading(self.levels, aliases, codes, self.strip, self.ignore_case)

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values; ``variable_from_dict`` reads them back."""
        return {"levels": list(self.levels), **readings.options_of(self)}

    @cached_property
    def _code_of_label(self) -> dict[str, int]:
        return {label: code for code, label in enumerate(self.labels)}


Variable: TypeAlias = Numeric | Categorical


def variable_from_dict(entry: Mapping[str, Any]) -> Variable:
    """A variable from its full form, ``{"bounds": [18, 95], "source": "code book"}``."""
    kind, variable = ("bounds", Numeric) if "bounds" in entry else ("levels", Categorical)
    options = tuple(option.name for option in fields(variable) if option.kw_only)
    unknown = [str(key) for key in entry if key not in (kind, *options)]
    if kind not in entry or unknown:
        raise SchemaError(
            f"keys {', '.join(map(str, entry)) or 'none'}",
            expected=f"bounds or levels, and of the options only {', '.join(options)}",
            remedy=f"Remove or rename {', '.join(unknown)}." if unknown else "Add bounds: [LOW, HIGH].",
        )
    given = {key: entry[key] for key in options if key in entry and entry[key] is not None}
    if kind == "levels":
        return Categorical(entry["levels"], **given)
    bounds = entry["bounds"]
    if isinstance(bounds, str) or not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise SchemaError(
            f"bounds: {shown(bounds)}", expected="two numbers, [LOW, HIGH]", remedy="Write bounds: [0, 100]."
        )
    return Numeric(bounds[0], bounds[1], **given)


def within(
    declared: Mapping[str, Variable], columns: Mapping[str, NDArray[Any]], out: FloatVector | None = None
) -> dict[str, NDArray[Any]]:
    """Columns that were read, or a part of their rows, numbers cut to bounds, in ``out``: as `clean` does."""
    numbers = {name: it for name in columns if isinstance(it := declared[name], Numeric)}
    limits = np.array([(it.low, it.high, float(not it.reading.infinite)) for it in numbers.values()])
    own = zip(numbers.items(), bounded([columns[name] for name in numbers], limits, out), strict=True)
    return {**columns, **{name: it.filled(values, columns[name]) for (name, it), values in own}}
