"""The root finder behind every noise scale and every printed epsilon: it ends on the safe side."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

# The least relative distance that floats of any size resolve well.
FINEST = 1e-13


def last_kept(
    excess: Callable[[float], float], kept: float, broken: float, *, close: float = FINEST
) -> float:
    """The last number on the way from ``kept`` to ``broken`` at which nothing is exceeded.

    Parameters
    ----------
    excess : callable
        What a number costs beyond what may be paid: 0 or less where it is allowed. May be infinite.
    kept, broken : float
        Positive or 0, in any order; ``excess(kept) <= 0``.
    close : float
        Relative distance to the crossing at which the search may end.

    Returns
    -------
    float
        ``broken`` where that costs no more. Otherwise a number whose own excess was found to be 0 or less,
        within about ``close`` of a crossing.

    Examples
    --------
    >>> last_kept(lambda x: x * x - 2.0, kept=1.0, broken=2.0).__round__(9)
    1.414213562
    """
    from scipy.optimize import brentq

    if excess(broken) <= 0.0:
        return broken
    found = float(brentq(excess, kept, broken, xtol=sys.float_info.min, rtol=close))
    step = math.copysign(close, kept - broken)
    while excess(found) > 0.0:  # the root finder may end on either side
        found, step = found * (1.0 + step), 2.0 * step
    return found


def log_ratio(value: float, goal: float) -> float:
    """``log(value / goal)`` for a value that may be 0 and a positive goal, however small; NaN exceeds any.

    Examples
    --------
    >>> log_ratio(0.0, 1e-6), log_ratio(1e-300, 1e-300)
    (-inf, 0.0)
    """
    if math.isnan(value):
        return math.inf
    return math.log(value) - math.log(goal) if value > 0.0 else -math.inf
