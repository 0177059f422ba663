"""How a number is written. Every table and report takes its numbers from here."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

ABSENT = "-"
AS_DECLARED_DIGITS = 8  # nobody declares more; longer numbers were computed
TINIEST = 2.0**-60  # chances below are not told apart: their reciprocals may not even be finite


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
    """A test statistic with three decimals, or ``"-"``.

    Examples
    --------
    >>> statistic(-2.04567), statistic(None)
    ('-2.046', '-')
    """
    return ABSENT if value is None or not math.isfinite(value) else f"{value:.3f}"


def p_value(value: float | None) -> str:
    """A p-value with three decimals, never shown as zero, or ``"-"``.

    Examples
    --------
    >>> p_value(0.04321), p_value(1e-9), p_value(float("nan"))
    ('0.043', '<0.001', '-')
    """
    return "<0.001" if value is not None and -math.inf < value < 0.001 else statistic(value)


def budget(value: float | None) -> str:
    """Epsilon, delta, mu or rho: as declared, and a computed one rounded up.

    Rounding up keeps the sentence "at most epsilon" true.

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
    """A sum or product without the last two of sixteen digits, which are its rounding.

    Examples
    --------
    >>> computed(3.0 - 2.9)
    0.1
    """
    return float(f"{value:.14g}")


def count(value: int | None) -> str:
    """A public count with thousands apart, or ``"-"``.

    Examples
    --------
    >>> count(20190), count(None)
    ('20,190', '-')
    """
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
    """A share of a budget as a whole percentage.

    Examples
    --------
    >>> share(0.495), share(0.004)
    ('50 %', '<1 %')
    """
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
