r"""Gaussian differential privacy: exact conversions between mu, rho and (epsilon, delta).

A mechanism is mu-GDP when telling neighbouring tables apart is at least as hard as telling N(0, 1) from
N(mu, 1). Its privacy profile, the least delta at each epsilon, is

.. math:: \delta(\epsilon) = \Phi(-\epsilon/\mu + \mu/2) - e^{\epsilon}\,\Phi(-\epsilon/\mu - \mu/2).

Whatever is used to set noise is rounded to the safe side: ``gdp_mu`` down, ``gdp_epsilon`` up. The root
finder behind every noise scale and every printed epsilon, `conservative_root`, ends on the safe side too.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, erfinv, log_expit, ndtr, ndtri, ndtri_exp

from dpglm.errors import PrivacyError
from dpglm.typing import FloatVector

# A thousand times the error of the root finders, a millionth of any visible digit.
SAFETY = 1e-9
# The least relative distance that floats of any size resolve well.
FINEST = 1e-13
# Of a root finder: each bisection halves what is left, and floats are no more than 2^11 halvings apart.
_MOST_STEPS = 10_000

_SQRT_HALF = math.sqrt(0.5)
_SQRT_HALF_PI = math.sqrt(math.pi / 2.0)
_SQRT_2PI = math.sqrt(2.0 * math.pi)
# Below this mu the two terms of the profile cancel, and the integral of the difference is taken instead.
_SMALL_MU = 0.1
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)


def gdp_delta(epsilon: float, mu: float) -> float:
    """The exact delta at any real ``epsilon`` of a mu-GDP mechanism, mu >= 0.

    Relative error below 1e-11, also where delta is tiny and its two terms cancel.

    References
    ----------
    .. [1] Balle and Wang (2018), "Improving the Gaussian mechanism for differential privacy", ICML,
       Theorem 8.
    .. [2] Dong, Roth and Su (2022), "Gaussian differential privacy", JRSS-B 84(1), Corollary 1.

    Examples
    --------
    >>> round(gdp_delta(1.0, 0.268), 7)
    1e-05
    """
    if not (mu >= 0.0 and epsilon == epsilon):
        problem, remedy = f"epsilon={epsilon!r}, mu={mu!r}", "Give both as positive numbers."
        raise PrivacyError(problem, expected="numbers, mu >= 0", remedy=remedy)
    if epsilon < 0.0:  # a sum of positive terms: the profile is symmetric in this sense
        return -math.expm1(epsilon) + math.exp(epsilon) * gdp_delta(-epsilon, mu)
    if mu == 0.0 or epsilon == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    x = epsilon / mu - mu / 2.0
    y = x + mu
    density = math.exp(-x * x / 2.0) / _SQRT_2PI  # = e^epsilon times the density at y
    if mu < _SMALL_MU:
        return max(0.0, density * float(mills_drop(np.asarray(x), mu)))
    if x > 1.0:
        return density * float(_mills(x) - _mills(y))
    return math.erfc(x * _SQRT_HALF) / 2.0 - density * float(_mills(y))


def gdp_profile(epsilons: ArrayLike, mu: float) -> FloatVector:
    """``gdp_delta`` at real epsilons of any shape, for one finite mu > 0.

    Examples
    --------
    >>> gdp_profile([0.0, 1.0, 2.0], 0.5).round(6)
    array([1.97413e-01, 6.83000e-03, 9.00000e-06])
    """
    values = np.asarray(epsilons, dtype=np.float64)
    size = np.abs(values)
    x = size / mu - mu / 2.0
    density = np.exp(-0.5 * np.square(x)) / _SQRT_2PI
    if mu < _SMALL_MU:
        delta = density * mills_drop(x, mu)
    else:
        after = _mills(x + mu)
        tail = density * (_mills(np.maximum(x, 0.0)) - after)  # finite where the other one is used, too
        delta = np.where(x > 1.0, tail, ndtr(-x) - density * after)
    delta = np.maximum(delta, 0.0)
    shrink = np.exp(-size)
    answer: FloatVector = np.where(values < 0.0, -np.expm1(-size) + shrink * delta, delta)
    return answer


def gdp_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose profile passes below (epsilon, delta), rounded down by 1e-9 relative.

    Gaussian noise of scale ``sensitivity / gdp_mu(epsilon, delta)`` is (epsilon, delta)-DP, and no smaller
    Gaussian noise is. A PrivacyError unless epsilon >= 0 and 0 < delta < 1.

    Examples
    --------
    >>> round(gdp_mu(1.0, 1e-5), 4)
    0.2681
    """
    _check(epsilon, "epsilon")
    _check_delta(delta)
    if epsilon == 0.0:
        return 2.0 * math.sqrt(2.0) * float(erfinv(delta)) * (1.0 - SAFETY)
    z = -float(ndtri(delta))
    root = math.sqrt(z * z + 2.0 * epsilon)
    # Dropping the second term of the profile overstates delta, so this mu is below the answer.
    low = 2.0 * epsilon / (z + root) if z > 0.0 else root - z
    high = 2.0 * low
    while gdp_delta(epsilon, high) <= delta:
        high *= 2.0
    mu = conservative_root(lambda mu: log_ratio(gdp_delta(epsilon, mu), delta), low, high)
    return mu * (1.0 - SAFETY)


def gdp_epsilon(mu: float, delta: float) -> float:
    """The least epsilon at which a mu-GDP mechanism is (epsilon, delta)-DP, rounded up by 1e-9 relative.

    0 where delta alone covers the mechanism, ``inf`` where mu squared is too large for a double. A
    PrivacyError unless mu >= 0 and finite and 0 < delta < 1.

    Examples
    --------
    >>> round(gdp_epsilon(0.5, 1e-6), 3)
    2.254
    """
    _check(mu, "mu")
    _check_delta(delta)
    if gdp_delta(0.0, mu) <= delta:
        return 0.0
    high = mu * (mu / 2.0 - float(ndtri(delta)))  # the first term of the profile alone is delta here
    if high == math.inf:
        return high
    while gdp_delta(high, mu) > delta:  # by rounding alone, at a mu above 10^8
        high *= 1.0 + SAFETY
    epsilon = conservative_root(lambda epsilon: log_ratio(gdp_delta(epsilon, mu), delta), high, 0.0)
    return epsilon * (1.0 + SAFETY)


def rho_from_mu(mu: float) -> float:
    """The zCDP parameter of a Gaussian mechanism: ``mu**2 / 2``. mu-GDP implies it."""
    return _check(mu, "mu") ** 2 / 2.0


def mu_from_rho(rho: float) -> float:
    """The mu of the Gaussian mechanism with this rho. rho-zCDP alone does *not* imply that mu."""
    return math.sqrt(2.0 * _check(rho, "rho"))


def mu_from_pure(epsilon: float) -> float:
    r"""The least mu implied by epsilon-DP, :math:`2\,\Phi^{-1}(e^\epsilon/(1 + e^\epsilon))`, rounded up.

    The trade-off curve of epsilon-DP has one corner, at both errors :math:`1/(1 + e^\epsilon)`; a convex
    Gaussian curve through that corner lies below it everywhere.

    Examples
    --------
    >>> round(mu_from_pure(1.0), 4)
    1.232
    """
    return -2.0 * float(ndtri_exp(log_expit(-_check(epsilon, "epsilon")))) * (1.0 + SAFETY)


def conservative_root(
    excess: Callable[[float], float], allowed: float, exceeding: float, *, close: float = FINEST
) -> float:
    """The last number on the way from ``allowed`` to ``exceeding`` at which nothing is exceeded.

    ``excess`` is what a number costs beyond what may be paid: 0 or less where it is allowed, as at
    ``allowed``; it may be infinite. Both ends are positive or 0, in any order. The result is ``exceeding``
    where that costs no more; else a number whose own excess is 0 or less, within about ``close`` of a
    crossing, relative.

    Examples
    --------
    >>> conservative_root(lambda x: x * x - 2.0, allowed=1.0, exceeding=2.0).__round__(9)
    1.414213562
    """
    if excess(exceeding) <= 0.0:
        return exceeding
    root = crossing(excess, allowed, exceeding, close)
    step = math.copysign(close, allowed - exceeding)
    while excess(root) > 0.0:  # Brent's method may end on either side
        root, step = root * (1.0 + step), 2.0 * step
    return root


def crossing(function: Callable[[float], float], first: float, second: float, close: float) -> float:
    """A point near which a function changes its sign between two points, within ``close`` of it, relative.

    Brent's method, step by step as in SciPy, whose import takes longer than a plan.

    References
    ----------
    .. [1] Brent (1973), "Algorithms for Minimization Without Derivatives", chapter 4.
    """
    before, here, other = first, second, 0.0  # ``other`` is across the crossing
    at_before, at_here, at_other = function(before), function(here), 0.0
    if at_before == 0.0:
        return before
    assert at_here == 0.0 or (at_before < 0.0) != (at_here < 0.0), "a change of sign"
    earlier = step = 0.0
    for _ in range(_MOST_STEPS):
        if at_before != 0.0 and at_here != 0.0 and (at_before < 0.0) != (at_here < 0.0):
            other, at_other = before, at_before
            earlier = step = here - before
        if abs(at_other) < abs(at_here):
            before, here, other = here, other, here
            at_before, at_here, at_other = at_here, at_other, at_here
        least = 0.5 * (sys.float_info.min + close * abs(here))
        half = 0.5 * (other - here)
        if at_here == 0.0 or abs(half) < least:
            return here
        tried = math.inf
        if abs(earlier) > least and abs(at_here) < abs(at_before):
            if before == other:
                tried = -at_here * (here - before) / (at_here - at_before)
            else:
                left, right = (at_before - at_here) / (before - here), (at_other - at_here) / (other - here)
                if bottom := right * left * (at_other - at_before):
                    tried = -at_here * (at_other * right - at_before * left) / bottom
        # Bisection where interpolation goes far.
        good = 2.0 * abs(tried) < min(abs(earlier), 3.0 * abs(half) - least)
        earlier, step = (step, tried) if good else (half, half)
        before, at_before = here, at_here
        here += step if abs(step) > least else math.copysign(least, half)
        at_here = function(here)
    return here


def log_ratio(value: float, goal: float) -> float:
    """``log(value / goal)`` for a value that may be 0 and a positive goal, however small; NaN exceeds any."""
    if math.isnan(value):
        return math.inf
    return math.log(value) - math.log(goal) if value > 0.0 else -math.inf


def mills_drop(x: FloatVector, width: float) -> FloatVector:
    """Upper normal tail over density at ``x``, of any shape, less the same at ``x + width``."""
    if width >= _SMALL_MU:
        return _mills(x) - _mills(x + width)
    half = 0.5 * width
    points = x[..., None] + half * (1.0 + _NODES)
    drop: FloatVector = half * ((1.0 - points * _mills(points)) @ _WEIGHTS)
    return drop


def _mills(t: FloatVector | float) -> FloatVector:
    """Upper normal tail over density at ``t``."""
    return np.asarray(_SQRT_HALF_PI * erfcx(t * _SQRT_HALF))


def _check(value: float, name: str) -> float:
    if not 0.0 <= value < math.inf:
        raise PrivacyError(f"{name}={value!r}", expected=f"a finite {name} >= 0", remedy=f"Use {name}=1.0.")
    return value


def _check_delta(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise PrivacyError(
            f"delta={delta!r}",
            expected="0 < delta < 1",
            remedy="Use delta=1e-6, or pure epsilon where delta is 0.",
        )
