"""Words for public numbers: percentages, chances, who is protected."""

from __future__ import annotations

import math

from dpglm.privacy.description import Fact
from dpglm.privacy.guarantee import Guarantee
from dpglm.tables.content import one_line
from dpglm.tables.number import ABSENT, budget, coefficient

LONGEST_FACT = 3000  # a guarantee in words, whose end may say that there is none
LONGEST = 240  # characters of a user's text that the page shows at one place
TINIEST = 2.0**-60  # chances below are not told apart: their reciprocals may not even be finite


def shown(text: object, most: int = LONGEST) -> str:
    """A user's text on one line, cut where it would fill the page."""
    words = one_line(str(text))
    return words if len(words) <= most else words[: most - 1] + "…"


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
        return f"{round(share):.0%}".replace("%", " %")
    wanted = 2 - math.floor(math.log10(100.0 * share)) if share < 0.1 else 1
    apart = math.ceil(-math.log10(100.0 * (1.0 - share)))
    return f"{100.0 * share:.{max(wanted, apart)}f} %"


def number(value: float) -> str:
    """A public quantity with at most four significant digits.

    Examples
    --------
    >>> [number(v) for v in (2.0, 2.2101, 1e-8, 0.0031)]
    ['2', '2.21', '1e-8', '0.0031']
    """
    mantissa, e, exponent = coefficient(value).partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}{e}{exponent}"


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


def price(guarantee: Guarantee) -> str:
    """Epsilon and what goes with it, short.

    Examples
    --------
    ``"ε = 1"``, ``"ε = 1, δ = 1e-6"``, ``"μ = 0.5 (ε = 2.314 at δ = 1e-6)"``.
    """
    pair = f"ε = {budget(guarantee.epsilon)}"
    if guarantee.delta > 0:
        pair += f", δ = {budget(guarantee.delta)}"
    if guarantee.definition == "gdp" and guarantee.mu is not None:
        return f"μ = {budget(guarantee.mu)} ({pair.replace(', ', ' at ')})"
    if guarantee.definition == "zcdp" and guarantee.rho is not None:
        return f"ρ = {budget(guarantee.rho)} ({pair.replace(', ', ' at ')})"
    return pair


def neighbours(guarantee: Guarantee) -> str:
    """Which two tables the guarantee makes hard to tell apart."""
    unit = shown(guarantee.unit)
    if guarantee.relation == "add-remove":
        return f"tables that differ by {unit} more or less (the number of rows stays private)"
    return f"tables of the same public number of rows in which {unit} is exchanged for another"


def no_promise(guarantee: Guarantee) -> str:
    """Why a result is not private, as a sentence can go on."""
    if guarantee.reason == "seeded":
        return "the noise came from a known seed, and whoever knows the seed can take it away"
    return shown(guarantee.reason)


def fact_words(fact: Fact) -> str:
    """A public fact as it is read.

    Examples
    --------
    >>> fact_words(Fact("Importance, public weights", ("lipids: 2", "history: 1")))
    'lipids: 2, history: 1'
    """
    values = fact.value if isinstance(fact.value, tuple) else (fact.value,)
    return shown(
        ", ".join(map(_words, values)) or ABSENT, 600 if isinstance(fact.value, tuple) else LONGEST_FACT
    )


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else str(value)
