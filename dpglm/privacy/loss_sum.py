r"""Sums of many privacy losses, by Fourier transform, never understated.

The profile of a release at a grid of epsilons is that of a discrete loss which is nowhere better ("connect
the dots" [1]_). Such losses add up over releases, adaptive ones too [2]_, and delta at epsilon is

.. math:: \sum_{x > \epsilon} (1 - e^{\epsilon - x}) p(x), \qquad p = p_1^{*k_1} * p_2^{*k_2} * \cdots

A transform is exact to about 1e-16 of the *largest* p; deltas are far smaller. So it is the tilted losses, of
weights proportional to :math:`e^{\theta x} p_i(x)`, that are summed, theta being where a Chernoff bound on
delta is least. What comes back is multiplied by :math:`e^{K(\theta) - \theta x}`, K the sum of the log moment
generating functions. An error of total size r in the tilted sum is one of at most

.. math:: r\,e^{K(\theta) - \theta\epsilon}\, \theta^\theta (1 + \theta)^{-1 - \theta}

in delta, r times the Renyi bound itself, and that is added.

References
----------
.. [1] Doroshenko, Ghazi, Kamath, Kumar and Manurangsi (2022), "Connect the dots: tighter discrete
   approximations of privacy loss distributions", PoPETs 2022(4), Algorithm 1.
.. [2] Zhu, Dong and Wang (2022), "Optimal accounting of differential privacy via characteristic function",
   AISTATS, Theorem 10: dominating pairs compose, adaptively too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpglm.errors import PrivacyError
from dpglm.typing import FloatVector

# Cells to a root mean square loss: rounding adds about 1/10000 to the variance of the sum.
_FINE = 40.0
_MOST_CELLS = 2**19
# Probability of tilted sums outside of the window that is computed, each side.
_OUTSIDE = 1e-14
_UNIT = 2.0**-53
_TILTS = np.geomspace(0.01, 100.0, 60)
_EXPONENTS = np.geomspace(1e-3, 50.0, 40)
# Cells of a table of losses beyond which nothing is computed: 4 GB while it is transformed.
_LONGEST = 2**26


@dataclass(frozen=True)
class Loss:
    """The privacy loss of one release, by its profile.

    Parameters
    ----------
    profile : callable
        Real epsilons, increasing, shape (k,), to deltas of one ordered pair of neighbours, shape (k,).
    low, high : float
        Losses outside of these are read as ``low``, or as infinite.
    size : float
        Root mean square of the loss, roughly; sets the grid alone.
    """

    profile: Callable[[FloatVector], FloatVector]
    low: float
    high: float
    size: float


class _Discrete(NamedTuple):
    """A loss on the grid: its first cell, the probabilities from there on, and that of an infinite loss."""

    first: int
    weights: FloatVector
    logs: FloatVector  # of the weights: neither end of the grid is lost where the other one is tilted up
    infinite: float
    times: int


class LossSum:
    """The sum of losses of releases, each of them a number of times.

    Examples
    --------
    >>> from dpglm.privacy.accounting import gdp_delta, gdp_profile
    >>> one = Loss(lambda epsilons: gdp_profile(epsilons, 0.1), -1.5, 1.5, 0.1)
    >>> found = LossSum([(one, 25)]).tail(1e-2).deltas([1.0])[0]
    >>> bool(gdp_delta(1.0, 0.5) < found < 1.001 * gdp_delta(1.0, 0.5))
    True
    """

    def __init__(self, losses: Sequence[tuple[Loss, int]]) -> None:
        number = sum(count for _, count in losses)
        self.size = math.sqrt(sum(count * loss.size**2 for loss, count in losses))
        span = max(*(loss.high - loss.low for loss, _ in losses), 30.0 * self.size)
        self._cell = max(self.size / math.sqrt(number) / _FINE, span / _MOST_CELLS)
        self._parts = [_discrete(loss, self._cell, count) for loss, count in losses]
        certain = any(part.infinite >= 1.0 for part in self._parts)
        logs = 0.0 if certain else sum(part.times * math.log1p(-part.infinite) for part in self._parts)
        self._infinite = 1.0 if certain else -math.expm1(logs)
        self._tilts = _TILTS / self.size
        self._cumulants = np.array([self._cumulant(tilt) for tilt in self._tilts])
        self._logs = self._cumulants + _hockey(self._tilts)

    def tail(self, delta: float) -> Tail:
        """Delta at any epsilon; sharpest where it is ``delta``, in (0, 1)."""
        return self._tilted(int(np.argmin((self._logs - math.log(delta)) / self._tilts)))

    def chernoff(self, delta: float) -> float:
        """An epsilon that is large enough for ``delta``, but for losses read as infinite; at least 0."""
        return max(0.0, float(np.min((self._logs - math.log(delta)) / self._tilts)))

    def _cumulant(self, tilt: float) -> float:
        """The log moment generating function of the finite part of the sum."""
        total = 0.0
        for part in self._parts:
            place = np.arange(part.first, part.first + part.weights.size)
            logs = tilt * self._cell * place + part.logs
            top = float(logs.max())
            total += part.times * (top + math.log(float(np.exp(logs - top).sum())))
        return total

    def _tilted(self, place: int) -> Tail:
        tilt, cumulant = float(self._tilts[place]), float(self._cumulants[place])
        low, high = -math.inf, math.inf
        for exponent in _EXPONENTS / self.size:
            up = self._cumulant(tilt + exponent) - cumulant - math.log(_OUTSIDE)
            down = self._cumulant(tilt - exponent) - cumulant - math.log(_OUTSIDE)
            high, low = min(high, up / exponent), max(low, -down / exponent)
        first = sum(part.times * part.first for part in self._parts)
        last = sum(part.times * (part.first + part.weights.size - 1) for part in self._parts)
        begin = max(first, math.floor(low / self._cell))
        end = min(last, math.ceil(high / self._cell))
        length = max(end - begin + 1, *(part.weights.size for part in self._parts))
        length = 2 ** math.ceil(math.log2(length))
        if length > _LONGEST:
            raise PrivacyError(
                "samples so rare or so many that their losses cannot be added up",
                expected="a rate of samples above about 1e-5, and fewer steps",
                remedy="Use sampling='all', or a larger rate.",
            )
        weights, error = self._transform(tilt, length)
        window: FloatVector = np.take(weights, np.arange(begin - first, end - first + 1), mode="wrap")
        losses: FloatVector = self._cell * np.arange(begin, end + 1, dtype=np.float64)
        window[window < 0.0] = 0.0
        return Tail(losses, window, tilt, cumulant, error, self._infinite)

    def _transform(self, tilt: float, length: int) -> tuple[FloatVector, float]:
        """The weights of the tilted sum, modulo ``length``, and a bound on the sum of their errors.

        A transform errs by at most ``_UNIT * (8 + 8 log2 length)``, relative, in the Euclidean norm.
        """
        spectra, norms = [], []
        for part in self._parts:
            logs = tilt * self._cell * np.arange(part.weights.size) + part.logs
            weights = np.exp(logs - logs.max())
            weights /= weights.sum()
            norms.append(float(np.linalg.norm(weights)))
            spectra.append(np.fft.rfft(weights, length))
        counts = [part.times for part in self._parts]
        product = np.ones(length // 2 + 1, dtype=np.complex128)
        for spectrum, count in zip(spectra, counts, strict=True):
            product *= spectrum**count
        relative = _UNIT * (8.0 + 8.0 * math.log2(length))
        # The inverse transform, and powers of complex numbers.
        error = relative * _twice(np.abs(product)) + 16.0 * _UNIT * sum(counts) * float(np.abs(product).sum())
        for place, (count, norm) in enumerate(zip(counts, norms, strict=True)):
            others = np.ones(product.size)  # the transforms themselves, each raised to its power
            for other, (spectrum, times) in enumerate(zip(spectra, counts, strict=True)):
                others *= np.abs(spectrum) ** (times - (other == place))
            error += count * _twice(others) * relative * math.sqrt(length) * norm
        return np.asarray(np.fft.irfft(product, length), dtype=np.float64), error


@dataclass(frozen=True)
class Tail:
    """The tilted sum in a window, and what has to be added for all that is left out."""

    losses: FloatVector
    weights: FloatVector
    tilt: float
    cumulant: float
    error: float
    infinite: float

    def delta(self, epsilon: float) -> float:
        """A bound on delta at one real epsilon."""
        return float(self.deltas([epsilon])[0])

    def deltas(self, epsilons: Sequence[float]) -> FloatVector:
        """Bounds on delta at real epsilons, shape (k,)."""
        found = []
        error = (self.error + 2.0 * _OUTSIDE) * math.exp(_hockey(self.tilt))
        for epsilon in epsilons:
            above = int(np.searchsorted(self.losses, epsilon, side="right"))
            over = self.losses[above:] - epsilon
            total = float(np.dot(self.weights[above:], -np.expm1(-over) * np.exp(-self.tilt * over)))
            log = self.cumulant - self.tilt * epsilon
            with np.errstate(over="ignore"):
                bound = (total + error) * float(np.exp(log)) + self.infinite
            found.append(min(1.0, bound))
        return np.array(found)


def _discrete(loss: Loss, cell: float, times: int) -> _Discrete:
    """A loss on the grid with the same profile there, and a larger one between."""
    first = math.floor(loss.low / cell)
    last = math.ceil(loss.high / cell)
    deltas = np.clip(loss.profile(cell * np.arange(first, last + 1, dtype=np.float64)), 0.0, 1.0)
    drops = -np.diff(np.minimum.accumulate(deltas))
    weights = np.zeros(deltas.size)
    weights[0] = 1.0 - deltas[0]
    weights[1:] = drops / -math.expm1(-cell)
    weights[:-1] -= drops / math.expm1(cell)
    weights = np.maximum(weights, 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    return _Discrete(first, weights, logs, float(deltas[-1]), times)


def _hockey(tilt: FloatVector | float) -> FloatVector | float:
    """The log of the largest (1 - e^-x) e^(-tilt x)."""
    return tilt * np.log(tilt) - (1.0 + tilt) * np.log1p(tilt)


def _twice(half: FloatVector) -> float:
    """At least the Euclidean norm of a spectrum of which this is one half."""
    return math.sqrt(2.0) * float(np.linalg.norm(half))
