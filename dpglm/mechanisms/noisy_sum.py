"""Releases that are a sum over rows plus noise: the exact sum, the noise on it, and what is made of both."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, Protocol

from dpglm.mechanisms.base import Release, Rows
from dpglm.mechanisms.noise import NoiseLaw, NoiseSource, add_laplace
from dpglm.mechanisms.whole_sums import WholeNumbers
from dpglm.typing import FloatVector


@dataclass(frozen=True)
class SumNoise:
    """Noise on a grid: its law and scale, and the least change of the sum that it has to hide.

    ``sensitivity`` is the smaller of both relations', Euclidean norm; Laplace noise has no use for it.
    """

    law: Literal["gaussian", "gamma", "laplace"]
    scale: float
    sensitivity: float

    def add(self, whole: WholeNumbers, noise: NoiseSource) -> FloatVector:
        """The sum plus noise, shape (m,)."""
        if self.law == "laplace":
            return add_laplace(whole, scale=self.scale, noise=noise)
        return NoiseLaw(self.law, self.scale, len(whole)).add(whole, self.sensitivity, noise)


class NoisySum(Protocol):
    """A sum over rows, m numbers in public units, whose noisy value a public map turns into a release.

    The rows may be with one holder, or each part of them with another: their sums add up to the sum.
    """

    @property
    def sum_noise(self) -> SumNoise:
        """The noise that is added to the sum."""

    def whole(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> WholeNumbers:
        """The sum itself, exactly, shape (m,); ``noise`` draws the sample where only some rows are read."""

    def finished(self, noisy: FloatVector) -> FloatVector:
        """What is released, from the noisy sum, shape (m,)."""


class SumRelease(Release):
    """A release that is a `NoisySum`: the proof of each says what a row adds and what the noise hides."""

    @property
    @abstractmethod
    def sum_noise(self) -> SumNoise:
        """As `NoisySum.sum_noise`."""

    @abstractmethod
    def whole(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> WholeNumbers:
        """As `NoisySum.whole`."""

    def finished(self, noisy: FloatVector) -> FloatVector:
        """As `NoisySum.finished`."""
        return noisy

    @property
    def summed(self) -> NoisySum | None:
        return self

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """Sum, perturb, finish."""
        return self.finished(self.sum_noise.add(self.whole(rows, at, noise), noise))
