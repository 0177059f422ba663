"""Privacy loss distributions: the losses of single releases, and their sums, never understated.

Profiles of releases on samples, the sums, and what rounding adds to delta are proved in
``loss_distribution.md``. The convolutions are those of dp-accounting. They are exact to about 1e-16 of the
*largest* probability, and a bound on their rounding that holds for certain is 1e-11 to 1e-9: it would leave
nothing of a delta of 1e-9. So it is tilted losses that are convolved, where rounding is relative to delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.linalg import norm

from dpglm.privacy.budget import pure_curve
from dpglm.privacy.events import Event, GaussianEvent, PointEvent, SampledGaussianEvent
from dpglm.privacy.gdp import conservative_root, gdp_profile, log_ratio, mills_drop
from dpglm.typing import FloatVector

Profile: TypeAlias = Callable[[FloatVector], FloatVector]

# Noise beyond this many standard deviations is read as an infinite loss: probability 1e-44.
_FAR = 14.0
# Cells to a root mean square loss: rounding adds about 1/15000 to the variance of the sum.
_FINE = 50.0
_MOST_CELLS = 2**19
# Probability of the tilted sum outside of the window that is computed.
_OUTSIDE = 2e-14
_UNIT = 2.0**-53
_TILTS = 60
# At larger epsilons no sample has a delta that a double can hold.
_LARGEST = 1000.0


@dataclass(frozen=True)
class PrivacyLoss:
    """The privacy loss of one release, by its profile."""

    profile: Profile  # from real epsilons to deltas of one ordered pair of neighbours, shape (k,) both
    low: float  # losses below are read as this
    high: float  # losses above are read as infinite
    size: float  # root mean square, roughly; sets the grid alone


def privacy_loss(event: Event, *, added: bool) -> PrivacyLoss:
    """The loss of a sampled, Gaussian or point event, mu at most 20.

    ``added``: of a sample under add-remove, that of the table without the row against the one with it.

    Examples
    --------
    >>> loss = privacy_loss(SampledGaussianEvent(0.5, 0.1, "fixed", "replace-one"), added=False)
    >>> loss.profile(np.array([0.0, 0.1])).round(5)
    array([0.01974, 0.00236])
    """
    if isinstance(event, PointEvent):
        point = _reflected(lambda at: event.delta + (1.0 - event.delta) * pure_curve(at, event.epsilon))
        return PrivacyLoss(point, -event.epsilon, event.epsilon, event.epsilon)
    assert isinstance(event, GaussianEvent | SampledGaussianEvent)
    mu = event.mu
    if isinstance(event, GaussianEvent):
        far = mu * (_FAR + mu / 2.0)
        return PrivacyLoss(lambda epsilons: gdp_profile(epsilons, mu), -far, far, mu)
    q, replaced = event.rate, event.relation == "replace-one"
    high = math.log1p(q * math.expm1(mu * (mu / 2.0 + _FAR)))
    low = math.log1p(q * math.expm1(-mu * (mu / 2.0 + _FAR)))
    z = np.linspace(-_FAR, _FAR + (mu if replaced else 0.0), 2001)
    squares = np.square(np.log1p(q * np.expm1(mu * z - mu * mu / 2.0)))
    without, within = (np.exp(-0.5 * np.square(z - mean)) for mean in (0.0, mu))
    if added and not replaced:
        return PrivacyLoss(_added(mu, q), -high, -low, math.sqrt(np.average(squares, weights=without)))
    mean_square = (1.0 - q) * np.average(squares, weights=without) + q * np.average(squares, weights=within)
    if not replaced:
        return PrivacyLoss(_removed(mu, q), low, high, math.sqrt(mean_square))
    profile = _fixed(mu, q) if event.sampling == "fixed" else _replaced(mu, q)
    return PrivacyLoss(_reflected(profile), -high, high, math.sqrt(mean_square))


def _removed(mu: float, q: float) -> Profile:
    """(1 - q) N(0) + q N(mu) against N(0)."""

    def profile(epsilons: FloatVector) -> FloatVector:
        inner = np.expm1(epsilons) / q
        deltas = -np.expm1(epsilons)
        real = inner > -1.0
        deltas[real] = q * gdp_profile(np.log1p(inner[real]), mu)
        return deltas

    return profile


def _added(mu: float, q: float) -> Profile:
    """N(0) against (1 - q) N(0) + q N(mu)."""

    def profile(epsilons: FloatVector) -> FloatVector:
        inner = np.expm1(-epsilons) / q
        deltas = np.zeros(epsilons.size)
        real = inner > -1.0
        left = q * np.exp(epsilons[real]) * (1.0 + inner[real])
        deltas[real] = left * gdp_profile(-np.log1p(inner[real]), mu)
        return deltas

    return profile


def _fixed(mu: float, q: float) -> Profile:
    """q N(x) + (1 - q) N(y) against q N(x') + (1 - q) N(y), epsilons >= 0."""
    return lambda epsilons: q * gdp_profile(np.log1p(np.expm1(epsilons) / q), mu)


def _replaced(mu: float, q: float) -> Profile:
    """(1 - q) N(0) + q N(-mu/2) against (1 - q) N(0) + q N(mu/2), epsilons >= 0."""
    half = mu / 2.0
    height = q * math.exp(-half * half / 2.0)

    def profile(epsilons: FloatVector) -> FloatVector:
        middle = np.minimum(epsilons, _LARGEST) / 2.0
        # The densities cross at -x, where height (exp(half x) - exp(epsilon - half x)) is what they share.
        tilt = np.arcsinh(np.sinh(middle) * (1.0 - q) / height)
        x = (middle + tilt) / half
        before, after = (np.exp(middle + sign * tilt - np.square(x) / 2.0) for sign in (1.0, -1.0))
        drops = before * mills_drop(x - half, half) + after * mills_drop(x, half)
        return height / math.sqrt(2.0 * math.pi) * drops

    return profile


def _reflected(profile: Profile) -> Profile:
    """A profile known at epsilons >= 0, of neighbours that may be swapped, at all epsilons."""

    def at_all(epsilons: FloatVector) -> FloatVector:
        size = np.abs(epsilons)
        delta = profile(size)
        return np.where(epsilons < 0.0, -np.expm1(-size) + np.exp(-size) * delta, delta)

    return at_all


class _Discrete(NamedTuple):
    """A loss on the grid: first cell, logs of the probabilities from there on, infinite losses."""

    first: int
    logs: FloatVector  # neither end of the grid is lost where the other one is tilted up
    infinite: float
    times: int


class LossSum:
    """The sum of losses of releases, each of them a number of times.

    ``cell`` is the width of a cell of the grid; None for one that suits the losses. For speed the largest
    losses are read as infinite, as many as have no more delta than ``spare``.

    Examples
    --------
    >>> from dpglm.privacy.gdp import gdp_delta
    >>> single = PrivacyLoss(lambda epsilons: gdp_profile(epsilons, 0.1), -1.5, 1.5, 0.1)
    >>> delta = LossSum([(single, 25)]).tail(1e-2).deltas([1.0])[0]
    >>> bool(gdp_delta(1.0, 0.5) < delta < 1.001 * gdp_delta(1.0, 0.5))
    True
    """

    def __init__(
        self, losses: Sequence[tuple[PrivacyLoss, int]], cell: float | None = None, spare: float = 0.0
    ) -> None:
        number = sum(count for _, count in losses)
        self.size = math.sqrt(sum(count * loss.size**2 for loss, count in losses))
        span = max(*(loss.high - loss.low for loss, _ in losses), 30.0 * self.size)
        self._cell = cell or max(self.size / math.sqrt(number) / _FINE, span / _MOST_CELLS)
        self._parts = [_discrete(loss, self._cell, count, spare / number) for loss, count in losses]
        certain = any(part.infinite >= 1.0 for part in self._parts)
        logs = 0.0 if certain else sum(part.times * math.log1p(-part.infinite) for part in self._parts)
        self._infinite = 1.0 if certain else -math.expm1(logs)
        # Losses of rare samples have long tails: tilts are small beside one over their size.
        self._tilts = np.geomspace(min(0.01 / self.size, 0.1), 100.0 / self.size, _TILTS).tolist()
        self._cumulant = lru_cache(maxsize=_TILTS)(self._log_moment)

    def tail(self, delta: float) -> Tail:
        """Delta at any epsilon; sharpest where it is ``delta``, in (0, 1)."""
        return self._sharpest(lambda tilt, bound: (bound - math.log(delta)) / tilt)

    def tail_at(self, epsilon: float) -> Tail:
        """The same, sharpest at ``epsilon``."""
        return self._sharpest(lambda tilt, bound: bound - tilt * epsilon)

    def _sharpest(self, goal: Callable[[float, float], float]) -> Tail:
        """The tail at the tilt where ``goal(tilt, log of the bound at 0)``, which has one dip, is least."""
        low, high = 0, _TILTS - 1
        while low < high:
            middle = (low + high) // 2
            falls, rises = (
                goal(tilt, self._cumulant(tilt) + _hockey(tilt)) for tilt in self._tilts[middle : middle + 2]
            )
            low, high = (low, middle) if falls <= rises else (middle + 1, high)
        tilt = self._tilts[low]
        first, weights, error = self._tilted(tilt)
        losses = self._cell * np.arange(first, first + weights.size, dtype=np.float64)
        return Tail(losses, weights, self._cell, tilt, self._cumulant(tilt), error, self._infinite)

    def _log_moment(self, tilt: float) -> float:
        """The log moment generating function of the finite part of the sum."""
        total = 0.0
        for part in self._parts:
            logs = tilt * self._cell * np.arange(part.first, part.first + part.logs.size) + part.logs
            top = float(logs.max())
            total += part.times * (top + math.log(float(np.exp(logs - top).sum())))
        return total

    def _tilted(self, tilt: float) -> tuple[int, FloatVector, float]:
        """First cell and weights of the tilted sum, and a bound on the norm of the weights' errors."""
        from dp_accounting.pld import common
        from scipy.signal import fftconvolve

        first, total, error, outside = 0, np.ones(1), 0.0, _OUTSIDE / len(self._parts) / 2.0
        for part in self._parts:
            logs = tilt * self._cell * np.arange(part.logs.size) + part.logs
            start, weights = _without_ends(np.exp(logs - logs.max()), outside / part.times)
            first += part.times * (part.first + start)
            if part.times > 1:
                single = weights
                with np.errstate(over="ignore"):  # in sums of logs
                    start, weights = common.self_convolve(single, part.times, outside)
                weights = np.maximum(weights, 0.0)
                first += start
                g = _transform_error(max(single.size, weights.size))
                error += part.times * g * float(norm(single))
                error += (8.0 * part.times * _UNIT + g) * (float(norm(weights)) + _OUTSIDE)
            if total.size > 1:
                largest = float(max(norm(total), norm(weights)))
                total = np.maximum(fftconvolve(total, weights), 0.0)
                error += 3.0 * _transform_error(total.size) * largest
            else:
                total = weights
        return first, total, 1.01 * error


@dataclass(frozen=True)
class Tail:
    """The tilted sum in a window, and what has to be added for all that is left out."""

    losses: FloatVector
    weights: FloatVector
    cell: float
    tilt: float
    cumulant: float
    error: float
    infinite: float

    def epsilon(self, delta: float, most: float) -> float:
        """An epsilon with this delta in (0, 1); ``most`` where that is no more, or where there is none."""
        chernoff = (self.cumulant + _hockey(self.tilt) - math.log(delta)) / self.tilt
        allowed = min(most, max(0.0, chernoff) + self.cell)
        while self.delta(allowed) > delta:
            if allowed >= most or self.infinite >= delta:
                return most
            allowed = min(most, 1.1 * allowed)
        return conservative_root(lambda e: log_ratio(self.delta(e), delta), allowed, 0.0, close=1e-9)

    def delta(self, epsilon: float) -> float:
        """A bound on delta at one real epsilon."""
        return float(self.deltas([epsilon])[0])

    def deltas(self, epsilons: Sequence[float]) -> FloatVector:
        """Bounds on delta at real epsilons, shape (k,)."""
        bounds = []
        for epsilon in epsilons:
            above = int(np.searchsorted(self.losses, epsilon, side="right"))
            total = self._left_out
            if above < self.losses.size:
                # With x cells beyond the first, 1 - e^-(over + x) is a sum of positive terms.
                over, weights = float(self.losses[above]) - epsilon, self.weights[above:]
                at_once, later = (float(factor[: weights.size] @ weights) for factor in self._factors)
                finite = -math.expm1(-over) * at_once + math.exp(-over) * later
                total += math.exp(-self.tilt * over) * finite
            log = self.cumulant - self.tilt * epsilon
            with np.errstate(over="ignore"):
                bounds.append(min(1.0, total * float(np.exp(log)) + self.infinite))
        return np.array(bounds)

    @cached_property
    def _factors(self) -> tuple[FloatVector, FloatVector]:
        """``e^(-tilt x)`` and ``(1 - e^-x) e^(-tilt x)`` at each distance x on the grid."""
        distances = self.cell * np.arange(self.losses.size)
        powers = np.exp(-self.tilt * distances)
        return powers, -np.expm1(-distances) * powers

    @cached_property
    def _left_out(self) -> float:
        """What the weights' errors, and weights outside of the window, may add."""
        t, largest = self.tilt, math.exp(_hockey(self.tilt))
        squares = largest**2 + 1.0 / (2.0 * self.cell * t * (1.0 + t) * (1.0 + 2.0 * t))
        return self.error * math.sqrt(squares) + _OUTSIDE * largest


def _discrete(loss: PrivacyLoss, cell: float, times: int, spare: float) -> _Discrete:
    """A loss on the grid with the same profile there, and a larger one between."""
    first = math.floor(loss.low / cell)
    last = math.ceil(loss.high / cell)
    deltas = np.clip(loss.profile(cell * np.arange(first, last + 1, dtype=np.float64)), 0.0, 1.0)
    deltas = np.minimum.accumulate(deltas)
    deltas = deltas[: max(2, 1 + int(np.count_nonzero(deltas > spare)))]
    drops = -np.diff(deltas)
    weights = np.zeros(deltas.size)
    weights[0] = 1.0 - deltas[0]
    weights[1:] = drops / -math.expm1(-cell)
    weights[:-1] -= drops / math.expm1(cell)
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(weights, 0.0))
    return _Discrete(first, logs, float(deltas[-1]), times)


def _hockey(tilt: float) -> float:
    """The log of the largest (1 - e^-x) e^(-tilt x)."""
    return tilt * math.log(tilt) - (1.0 + tilt) * math.log1p(tilt)


def _without_ends(weights: FloatVector, outside: float) -> tuple[int, FloatVector]:
    """Weights that add up to 1, but for ends of at most ``outside`` in all, and how many are cut in front."""
    weights = weights / weights.sum()
    front = int(np.searchsorted(np.cumsum(weights), outside / 2.0))
    behind = int(np.searchsorted(np.cumsum(weights[::-1]), outside / 2.0))
    return front, weights[front : weights.size - behind]


def _transform_error(length: int) -> float:
    """g, for a transform of at most twice this length."""
    return 5.0 * _UNIT * math.log2(2.0 * length)
