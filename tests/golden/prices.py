"""The table of prices: what fits cost, the noise they draw, and what a seed gives; one case per line.

A privacy parameter or a noise scale does not change silently between versions, nor does what a seed gives.
``make golden`` writes the files anew; the difference is then read, and explained, before it is kept.
These are no oracles: a number here is right because other tests say so.
"""

from __future__ import annotations

import math
import re
from itertools import zip_longest
from pathlib import Path

from tests.golden import accounting, seeded_fits

FOLDER = Path(__file__).parent
FILES = ("prices.txt", "prices_of_papers.txt")
NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")


def written(name: str) -> str:
    """What a file of `FILES` must hold."""
    if name == "prices_of_papers.txt":
        return "\n".join([*seeded_fits.lines(seeded_fits.of_papers()), ""])
    lines = seeded_fits.lines(seeded_fits.choices())
    return "\n".join([*lines, *seeded_fits.streams(), *accounting.lines(), ""])


def differences(found: str, wanted: str) -> list[tuple[str, str]]:
    """Lines that differ in a word, in a price by a millionth of it, or in a coefficient's last digits."""
    pairs = zip_longest(found.splitlines(), wanted.splitlines(), fillvalue="")
    return [(one, other) for one, other in pairs if not _same(one, other)]


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    (price, _, given), (other_price, _, other_given) = one.partition("; gives "), other.partition("; gives ")
    # A delta below 1e-15 is the rounding of a transform. Coefficients stand with six digits; below 1e-9 they
    # are zeros of a solver's.
    return _near(price, other_price, 1e-6, zero=1e-15) and _near(given, other_given, 1e-5, zero=1e-9)


def _near(one: str, other: str, relative: float, zero: float = 0.0) -> bool:
    numbers = [[float(text) for text in NUMBER.findall(line)] for line in (one, other)]
    return NUMBER.sub("#", one) == NUMBER.sub("#", other) and all(
        math.isclose(a, b, rel_tol=relative, abs_tol=zero) for a, b in zip(*numbers, strict=True)
    )
