"""Tables that are printed, shown in a notebook, or put into a paper: their words, numbers and plain text."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from dataclasses import dataclass, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dpglm.tables.markup import render_html, render_latex, render_markdown

if TYPE_CHECKING:
    from statsmodels.iolib.table import SimpleTable

Fact: TypeAlias = tuple[str, str]  # label and value, both as they will be read

# Joiners change the shape of letters in Persian, Hindi and others, and carry no layout.
JOINERS = "\u200c\u200d"
MIN_WIDTH = 78
GAP = 2
ABSENT = "-"
AS_DECLARED_DIGITS = 8  # nobody declares more; longer numbers were computed
TINIEST = 2.0**-60  # chances below are not told apart: their reciprocals may not even be finite


@dataclass(frozen=True)
class Column:
    """A column's heading, and on which side its cells line up."""

    heading: str
    align: Literal["left", "right"] = "right"


@dataclass(frozen=True, repr=False)
class Table:
    """The words of a table, each text on one line: a variable's name cannot forge a line of the table.

    Parameters
    ----------
    title : str
    columns : tuple of Column
        The first column names the rows.
    rows : tuple of tuple of str
        Formatted cells, one per column.
    wide, left, right : tuple of (label, value)
        Facts above the rows: across the whole width, then in two columns.
    notes : tuple of str
        Sentences below the rows.
    alarm : str
        A warning that no output may omit, such as ``"NOT PRIVATE: seeded"``; shown first and last.

    Examples
    --------
    >>> table = Table("Doses", (Column("drug", "left"), Column("mg")), (("a\\nb", "100"),))
    >>> print(table.to_markdown())
    **Doses**
    <BLANKLINE>
    | drug | mg |
    |:--|--:|
    | a\\\\nb | 100 |
    <BLANKLINE>
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: tuple[Fact, ...] = ()
    left: tuple[Fact, ...] = ()
    right: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()
    alarm: str = ""

    def __post_init__(self) -> None:
        assert self.columns, "a table has columns"
        assert all(len(row) == len(self.columns) for row in self.rows), "one cell per column"
        for field in fields(self):
            object.__setattr__(self, field.name, _on_one_line(getattr(self, field.name)))

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All facts above the rows, in reading order."""
        return self.wide + self.left + self.right

    def __str__(self) -> str:
        """The look of a statsmodels summary, without a trailing line break."""
        cells = [tuple(column.heading for column in self.columns), *self.rows]
        widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
        total = max(MIN_WIDTH, sum(widths) + GAP * (len(widths) - 1))
        # The first column takes what is left over, so that the rules end where the rows end.
        widths[0] += total - sum(widths) - GAP * (len(widths) - 1)

        double, single = "=" * total, "-" * total
        sides = [column.align for column in self.columns]
        heading, *rows = [(" " * GAP).join(map(_padded, row, widths, sides)) for row in cells]
        banner = _banner(self.alarm, total) if self.alarm else []
        facts = [*_facts(self, total), double] if self.facts else []
        notes = [line for note in self.notes for line in _wrapped(note, total)]
        lines = [_centred(self.title, total), *banner, double, *facts, heading, single, *rows, double]
        return "\n".join(line.rstrip() for line in [*lines, *notes, *banner])

    def __repr__(self) -> str:
        return f"<Table {self.title!r}: {len(self.rows)} rows>" + (f" {self.alarm}" if self.alarm else "")

    to_html = _repr_html_ = render_html
    to_latex = render_latex
    to_markdown = render_markdown

    def as_simple_table(self) -> SimpleTable:
        """The rows as statsmodels' ``SimpleTable``, without facts and notes; an alarm is in its title."""
        from statsmodels.iolib.table import SimpleTable

        return SimpleTable(
            [list(row[1:]) for row in self.rows],
            headers=[column.heading for column in self.columns[1:]],
            stubs=[row[0] for row in self.rows],
            title=" - ".join(part for part in (self.alarm, self.title) if part),
        )


def one_line(text: str) -> str:
    r"""``text`` with every character that is not plainly visible written as an escape.

    Examples
    --------
    >>> print(one_line("a\nb\u202ec"))
    a\nb\u202ec
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in JOINERS else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def _on_one_line(value: Any) -> Any:
    """Every text in ``value`` by `one_line`."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, Column):
        return Column(one_line(value.heading), value.align)
    return tuple(map(_on_one_line, value))


def width(text: str) -> int:
    """Columns that ``text`` takes in a terminal: wide East Asian characters two, combining marks none.

    Examples
    --------
    >>> width("abc"), width("年齢"), width("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    visible = [char for char in text if not (unicodedata.combining(char) or char in JOINERS)]
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in visible)


def _padded(text: str, size: int, align: str = "left") -> str:
    """``text`` in ``size`` terminal columns; ``str.ljust`` would count characters instead."""
    blank = " " * max(0, size - width(text))
    return text + blank if align == "left" else blank + text


def _centred(text: str, total: int) -> str:
    return " " * max(0, (total - width(text)) // 2) + text


def _banner(alarm: str, total: int) -> list[str]:
    return ["*" * total, *(_centred(line, total) for line in _wrapped(alarm, total)), "*" * total]


def _wrapped(text: str, total: int) -> list[str]:
    # A hyphen in "replace-one" or "(epsilon, delta)-DP" is part of the word.
    return textwrap.wrap(text, total, break_on_hyphens=False) or [""]


def _facts(table: Table, total: int) -> list[str]:
    """Facts across the whole width, then two columns of them, each wrapped in its half."""
    half = (total - GAP) // 2
    first = _indent(table.wide + table.left)
    left = _labelled(table.left, half, first)
    right = _labelled(table.right, total - GAP - half, _indent(table.right))
    pairs = zip_longest(left, right, fillvalue="")
    return _labelled(table.wide, total, first) + [
        _padded(left_line, half + GAP) + right_line for left_line, right_line in pairs
    ]


def _indent(facts: tuple[Fact, ...]) -> int:
    """Where the values begin: after the longest label, its colon and a gap."""
    return max((width(label) for label, _ in facts), default=0) + 1 + GAP


def _labelled(facts: tuple[Fact, ...], total: int, indent: int) -> list[str]:
    lines = []
    for label, value in facts:
        first, *rest = _wrapped(value, max(total - indent, 20))
        lines.append(_padded(f"{label}:", indent) + first)
        lines += [" " * indent + line for line in rest]
    return lines


def coefficient(value: float | None) -> str:
    """A coefficient, standard error or interval end with four significant digits; ``"-"`` where absent.

    An exact zero is ``"0"``, so that it cannot be taken for a small number.

    Examples
    --------
    >>> [coefficient(v) for v in (0.0, -0.12, 12.3456, 123456.0, 1.2e-7, float("nan"))]
    ['0', '-0.1200', '12.35', '1.235e5', '1.200e-7', '-']
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    if value == 0.0:
        return "0"
    return _short_exponent(f"{value:#.4g}").removesuffix(".")


def plain_number(value: float) -> str:
    """A public quantity with at most four significant digits, without trailing zeros.

    Examples
    --------
    >>> [plain_number(v) for v in (2.0, 2.2101, 1e-8, 0.0031)]
    ['2', '2.21', '1e-8', '0.0031']
    """
    mantissa, e, exponent = coefficient(value).partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}{e}{exponent}"


def statistic(value: float | None) -> str:
    """A test statistic with three decimals, or ``"-"``."""
    return ABSENT if value is None or not math.isfinite(value) else f"{value:.3f}"


def p_value(value: float | None) -> str:
    """A p-value with three decimals, ``"<0.001"`` rather than zero, or ``"-"``."""
    return "<0.001" if value is not None and -math.inf < value < 0.001 else statistic(value)


def budget(value: float | None) -> str:
    """Epsilon, delta, mu or rho: as declared, and a computed one rounded up, so that "at most" stays true.

    Examples
    --------
    >>> [budget(v) for v in (1.0, 1e-06, 0.1, 2.3138471, 2.31384712345, None, float("inf"))]
    ['1', '1e-6', '0.1', '2.3138471', '2.314', '-', '-']
    """
    return _declared(value, ROUND_CEILING)


def balance(value: float | None) -> str:
    """What is left of a budget: as declared, and a computed one rounded down.

    Examples
    --------
    >>> balance(3.0 - 2.9), balance(0.4), balance(9e-06)
    ('0.1', '0.4', '9e-6')
    """
    return _declared(None if value is None else computed(value), ROUND_FLOOR)


def computed(value: float) -> float:
    """A sum or product without the last two of sixteen digits, which are its rounding."""
    return float(f"{value:.14g}")


def count(value: int | None) -> str:
    """A public count with thousands apart, or ``"-"``."""
    return ABSENT if value is None else f"{value:,}"


def factor(value: float) -> str:
    """By how much something has to grow: two significant digits, rounded up; ``"-"`` for no finite factor.

    Examples
    --------
    >>> factor(1.0944), factor(12.3), factor(170.0), factor(float("inf"))
    ('1.1', '13', '170', '-')
    """
    if not math.isfinite(value) or value <= 0.0:
        return ABSENT
    rounded = Context(prec=2, rounding=ROUND_CEILING).plus(Decimal(f"{value:.12g}"))
    return _short_exponent(f"{float(rounded):.6g}")


def share(value: float) -> str:
    """A share of a budget as a whole percentage, ``"<1 %"`` where it would round to zero."""
    return "<1 %" if 0.0 < value < 0.005 else f"{100.0 * value:.0f} %"


def percent(share: float) -> str:
    """A share as a percentage with three significant digits, or as many as keep it apart from 100.

    Examples
    --------
    >>> [percent(v) for v in (0.731059, 0.0267, 0.99995, 0.0002, 0.0, 1.0)]
    ['73.1 %', '2.67 %', '99.995 %', '0.0200 %', '0 %', '100 %']
    """
    if not math.isfinite(share):
        return ABSENT
    if share < 1e-12 or share > 1.0 - 1e-12:
        return f"{100 * round(share)} %"
    wanted = 2 - math.floor(math.log10(100.0 * share)) if share < 0.1 else 1
    apart = math.ceil(-math.log10(100.0 * (1.0 - share)))
    return f"{100.0 * share:.{max(wanted, apart)}f} %"


def chance(probability: float) -> str:
    """A small probability as one in so many, rounded so that it is not made smaller.

    Examples
    --------
    >>> chance(1e-6), chance(2e-5), chance(0.3)
    ('1 in 1,000,000', '1 in 50,000', '30.0 %')
    """
    if probability >= 0.1:
        return percent(probability)
    if probability < TINIEST:
        return f"less than 1 in {1.0 / TINIEST:,.0f}"
    return f"1 in {math.floor(1.0 / probability * (1.0 + 1e-9)):,}"


def _declared(value: float | None, rounding: str) -> str:
    """The shortest text that reads back as ``value``, or four digits rounded to the safe side."""
    if value is None or not math.isfinite(value):
        return ABSENT
    exact = Decimal(repr(float(value)))
    if len(exact.normalize().as_tuple().digits) > AS_DECLARED_DIGITS:
        exact = Context(prec=4, rounding=rounding).plus(exact)
    number = float(exact)
    if number == 0.0:
        return "0"
    return _short_exponent(f"{number:.{AS_DECLARED_DIGITS}g}")


def _short_exponent(text: str) -> str:
    """``1e-06`` as ``1e-6``."""
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa
