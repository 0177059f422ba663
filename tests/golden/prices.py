"""The table of prices: what fits cost, the noise they draw, and what a seed gives; one case per line.

A privacy parameter or a noise scale does not change silently between versions, nor does what a seed gives.
``make golden`` writes ``prices.txt`` anew; the difference is then read, and explained, before it is kept.
These are no oracles: a number here is right because other tests say so.
"""

from __future__ import annotations

import math
import re
from itertools import zip_longest
from pathlib import Path

from tests.golden import accounting, seeded_fits

KEPT = Path(__file__).with_name("prices.txt")
NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")


def written() -> str:
    """What ``prices.txt`` must hold."""
    return "\n".join([*seeded_fits.lines(), *accounting.lines(), ""])


def differences(found: str, wanted: str) -> list[tuple[str, str]]:
    """Lines that differ in a word, or in a number by more than a millionth of it."""
    pairs = zip_longest(found.splitlines(), wanted.splitlines(), fillvalue="")
    return [(one, other) for one, other in pairs if not _same(one, other)]


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    numbers = [[float(text) for text in NUMBER.findall(line)] for line in (one, other)]
    return NUMBER.sub("#", one) == NUMBER.sub("#", other) and all(
        # Coefficients stand with six digits, and one of a millionth is a zero of the solver's.
        math.isclose(a, b, rel_tol=2e-6, abs_tol=1e-9 if min(abs(a), abs(b)) < 1e-6 else 0.0)
        for a, b in zip(*numbers, strict=True)
    )
