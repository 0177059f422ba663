"""Noise added on a public grid: what leaves is a whole number of steps, whatever the value's low-order bits.

A value in double precision has bits that noise in double precision does not cover (Mironov 2012). Here the
value is rounded to whole steps of a grid that is 2^40 times finer than the noise, the noise is an exact whole
number of steps, and their sum is one of integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dpglm.errors import MethodError
from dpglm.mechanisms.noise.source import NoiseSource
from dpglm.privacy.events import Event, GaussianEvent, PureEvent
from dpglm.typing import FloatMatrix, FloatVector

Law: TypeAlias = Literal["gaussian", "gamma"]

# Steps of the grid to the standard deviation of a whole normal draw, or the scale of a Laplace draw.
STEPS = 2.0**40
# Share of the sensitivity that rounding errors of the value may take, paid for by as much more noise.
SLACK = 1e-4


def add_normal(values: FloatVector, *, scale: float, sensitivity: float, noise: NoiseSource) -> FloatVector:
    """Values on a grid plus Gaussian noise, shape (m,): as private as N(0, scale^2 I) on real numbers.

    ``values``, shape (m,), are computed in double precision, their rounding errors within the slack of
    ``sensitivity``, the largest change of the exact values between neighbours, Euclidean norm. ``scale`` is
    the standard deviation that was calibrated to it; what is used is a little larger. The result holds whole
    multiples of a public step.

    Notes
    -----
    Rounding moves each value by half a step at most, so neighbours by ``sqrt(m)`` steps more. The integer
    part of (whole number + Gaussian) is the whole number plus the integer part of the Gaussian: the output is
    a function of the exact Gaussian mechanism's (``lattice.md`` beside this file).
    """
    count = len(values)
    step = grid_step(scale, sensitivity, count)
    steps = np.rint(values / step) + noise.whole_normal(count)
    return np.asarray((steps + 0.5) * step, dtype=np.float64)


def grid_step(scale: float, sensitivity: float, count: int) -> float:
    """The step of `add_normal`'s grid for ``count`` values, from public numbers.

    ``STEPS * step`` is ``scale`` times the sensitivity with rounding, ``sensitivity * (1 + SLACK) +
    sqrt(count) * step``, over that without.

    Noise of about 10^12 times the sensitivity and more, for which no step is fine enough, is a MethodError.
    """
    left = STEPS - scale * (math.sqrt(count) / sensitivity)
    if not left > 0.0:
        raise MethodError(
            f"noise of {scale / sensitivity:.3g} times the sensitivity in {count} numbers",
            expected="less than 10^12 over the root of the numbers",
            remedy="Spend a larger epsilon.",
        )
    return scale * (1.0 + SLACK) / left


def add_laplace(values: FloatVector, *, scale: float, noise: NoiseSource) -> FloatVector:
    """Values on a grid plus independent Laplace noise, shape (m,).

    Two values that lie d apart (sum of absolute values) have outputs whose log-ratio is at most
    ``laplace_price(d, scale, m)``.
    """
    step = scale / STEPS
    return np.asarray((np.rint(values / step) + noise.whole_laplace(len(values))) * step, dtype=np.float64)


def laplace_price(distance: float, scale: float, count: int) -> float:
    """Pure epsilon of `add_laplace` for values at most ``distance`` apart, rounding to steps included.

    Examples
    --------
    >>> round(laplace_price(1.0, 10.0, 3), 6)
    0.10001
    """
    return distance / scale * (1.0 + SLACK) + count / STEPS


@dataclass(frozen=True)
class NoiseLaw:
    """Gaussian noise N(0, scale^2 I), or that of the K-norm mechanism, of density exp(-norm / scale).

    Examples
    --------
    >>> NoiseLaw("gamma", 2.0, 3).deviation, NoiseLaw("gaussian", 2.0, 3).event(1.0)
    (4.0, GaussianEvent(mu=0.5))
    """

    law: Law
    scale: float
    dimension: int

    @property
    def words(self) -> str:
        """The law for a reader."""
        if self.law == "gaussian":
            return "Gaussian, N(0, scale^2 I)"
        return "density proportional to exp(-|b| / scale)"

    @property
    def mechanism(self) -> str:
        """What the literature calls a release with this noise."""
        return "Gaussian mechanism" if self.law == "gaussian" else "K-norm mechanism"

    @property
    def deviation(self) -> float:
        """Standard deviation of each coordinate."""
        return self.scale * (1.0 if self.law == "gaussian" else math.sqrt(self.dimension + 1.0))

    def event(self, sensitivity: float) -> Event:
        """The price of hiding a change of this Euclidean norm."""
        price = sensitivity / self.scale
        return GaussianEvent(price) if self.law == "gaussian" else PureEvent(price)

    def require_grid(self, sensitivity: float, count: int) -> None:
        """Refuse Gaussian noise so large that no grid serves ``count`` values."""
        if self.law == "gaussian":
            grid_step(self.scale, sensitivity, count)

    def draw(self, noise: NoiseSource) -> FloatVector:
        """Noise in double precision, shape (dimension,)."""
        if self.law == "gaussian":
            return noise.normal(self.dimension, scale=self.scale)
        return noise.gamma_norm(self.dimension, rate=1.0 / self.scale)

    def add(self, values: FloatVector, sensitivity: float, noise: NoiseSource) -> FloatVector:
        """Values plus noise, shape (dimension,): Gaussian noise on a grid, the other in double precision."""
        if self.law == "gaussian":
            return add_normal(values, scale=self.scale, sensitivity=sensitivity, noise=noise)
        return np.asarray(values + self.draw(noise), dtype=np.float64)

    def log_ratio(self, first: FloatMatrix, second: FloatMatrix) -> FloatVector:
        """Log density of the first noise less that of the second, row by row."""
        norms = np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1)
        if self.law == "gaussian":
            return np.asarray((norms[1] ** 2 - norms[0] ** 2) / (2.0 * self.scale**2))
        return np.asarray((norms[1] - norms[0]) / self.scale)
