"""Tables that are printed, shown in a notebook, or put into a paper: their words, numbers and plain text."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any, Literal

from dpglm.tables.markup import render_gt, render_html, render_latex, render_markdown
from dpglm.tables.plain import Fact as Fact
from dpglm.tables.plain import render_text
from dpglm.typing import visible

if TYPE_CHECKING:
    from statsmodels.iolib.table import SimpleTable

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
    indented : tuple of int
        Places of rows whose names are indented, such as the levels of a factor named above them.
    below : Table or None
        Another table of the same fit, of which title, columns and rows are shown under the rows.

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
    indented: tuple[int, ...] = ()
    below: Table | None = None

    def __post_init__(self) -> None:
        assert self.columns, "a table has columns"
        assert all(len(row) == len(self.columns) for row in self.rows), "one cell per column"
        for field in fields(self):
            object.__setattr__(self, field.name, _on_one_line(getattr(self, field.name)))

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All facts above the rows, in reading order."""
        return self.wide + self.left + self.right

    __str__ = render_text

    def __repr__(self) -> str:
        return f"<Table {self.title!r}: {len(self.rows)} rows>" + (f" {self.alarm}" if self.alarm else "")

    to_html = _repr_html_ = render_html
    to_latex = render_latex
    to_markdown = render_markdown
    to_gt = render_gt

    def as_simple_table(self) -> SimpleTable:
        """The rows as statsmodels' ``SimpleTable``, without facts and notes; an alarm is in its title."""
        from statsmodels.iolib.table import SimpleTable

        return SimpleTable(
            [list(row[1:]) for row in self.rows],
            headers=[column.heading for column in self.columns[1:]],
            stubs=[row[0] for row in self.rows],
            title=" - ".join(part for part in (self.alarm, self.title) if part),
        )


class Summarised(ABC):
    """What is printed, and shown in a notebook, as its summary."""

    @abstractmethod
    def summary(self) -> Table:
        """All that a reader should see, as a table."""

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().to_html()


def one_line(text: str) -> str:
    r"""``text`` with every character that is not plainly visible written as an escape.

    Examples
    --------
    >>> print(one_line("a\nb\u202ec"))
    a\nb\u202ec
    """
    if text.isprintable():
        return text
    return visible(text)


def _on_one_line(value: Any) -> Any:
    """Every text in ``value`` by `one_line`."""
    if isinstance(value, str):
        return one_line(value)
    if value is None or isinstance(value, Table | int):
        return value
    if isinstance(value, Column):
        return Column(one_line(value.heading), value.align)
    return tuple(map(_on_one_line, value))


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


def interval_end(value: float) -> str:
    """`coefficient`, and ``"inf"`` or ``"-inf"`` for an interval without that end."""
    return f"{value:g}" if math.isinf(value) else coefficient(value)


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
