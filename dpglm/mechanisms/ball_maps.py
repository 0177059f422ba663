"""The map from scaled coefficients to coded ones in ball arithmetic: as a matrix, or without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpglm.typing import FloatMatrix
from dpglm.wide_maps import TreatedLevels, WideMap, wide_map

if TYPE_CHECKING:
    from flint import arb, arb_mat


class BallMap(Protocol):
    """An invertible public map M, at the working precision."""

    @property
    def square(self) -> float:
        """A bound on its squared norm, but for rounding."""

    def __call__(self, gamma: list[arb]) -> list[arb]:
        """M gamma."""

    def turned(self, slope: list[arb]) -> list[arb]:
        """M' slope."""

    def outside(self, left: list[arb]) -> arb:
        """A bound on the norm of z with M'z = left."""


def ball_map(mixing: FloatMatrix | None) -> BallMap | None:
    """The map of a matrix, or of what stands for one; None where so few bits do not invert it."""
    from flint import arb, arb_mat

    if mixing is None:
        return _Identity()
    wide = wide_map(mixing)
    if wide is not None:
        return _Wide(wide, _balls(wide.matrix))
    size = len(mixing)
    balls = arb_mat(size, size, [arb(value) for value in mixing.ravel().tolist()])
    try:
        return _Matrix(float(np.linalg.norm(mixing)) ** 2, balls, balls.transpose().inv())
    except ZeroDivisionError:
        return None


@dataclass(frozen=True, eq=False)
class _Identity:
    square = 1.0

    def __call__(self, gamma: list[arb]) -> list[arb]:
        return gamma

    def turned(self, slope: list[arb]) -> list[arb]:
        return slope

    def outside(self, left: list[arb]) -> arb:
        return norm_of(left)


@dataclass(frozen=True, eq=False)
class _Matrix:
    square: float
    balls: arb_mat
    inverse: arb_mat  # of the transpose

    def __call__(self, gamma: list[arb]) -> list[arb]:
        return _times(self.balls, gamma)

    def turned(self, slope: list[arb]) -> list[arb]:
        return _times(self.balls.transpose(), slope)

    def outside(self, left: list[arb]) -> arb:
        return norm_of(_times(self.inverse, left))


@dataclass(frozen=True, eq=False)
class _Wide:
    """By running sums; its inverse, which these have in doubles, with a bound on what that leaves over."""

    of: WideMap
    small: arb_mat

    @property
    def square(self) -> float:
        """The sum of the squares of all numbers: columns of levels are `TreatedLevels.length` long."""
        columns = sum((factor.columns.levels - 1) * factor.length**2 for factor in self.of.factors)
        return float(np.linalg.norm(self.of.matrix)) ** 2 + columns

    def __call__(self, gamma: list[arb]) -> list[arb]:
        from flint import arb

        theta = [arb(0)] * len(self.of)
        _put(theta, self.of.coded.tolist(), _times(self.small, [gamma[at] for at in self.of.user.tolist()]))
        for factor in self.of.factors:
            theta[factor.codes] = _coded(factor, gamma[factor.users])
        return theta

    def turned(self, slope: list[arb]) -> list[arb]:
        from flint import arb

        gradient = [arb(0)] * len(self.of)
        some = [slope[at] for at in self.of.coded.tolist()]
        _put(gradient, self.of.user.tolist(), _times(self.small.transpose(), some))
        for factor in self.of.factors:
            gradient[factor.users] = _turned(factor, slope[factor.codes])
        return gradient

    def outside(self, left: list[arb]) -> arb:
        from flint import arb

        near = self.of.unturned(np.array([float(each.mid()) for each in left]))
        guess = [arb(value) for value in near.tolist()]
        over = [each - other for each, other in zip(left, self.turned(guess), strict=True)]
        return norm_of(guess) + arb(self.of.inverse_norm) * norm_of(over)


def _coded(factor: TreatedLevels, beta: list[arb]) -> list[arb]:
    """`TreatedLevels.coded`, in balls."""
    from flint import arb

    scale, running = arb(factor.scale), arb(0)
    levels = [*beta[: factor.reference], arb(0), *beta[factor.reference :]]
    theta = []
    before, own = factor.columns.before.tolist(), factor.columns.own.tolist()
    for at, (one, other) in enumerate(zip(before, own, strict=True)):
        running = running + levels[at]
        theta.append(scale * (arb(one) * running + arb(other) * levels[at + 1]))
    return theta


def _turned(factor: TreatedLevels, slope: list[arb]) -> list[arb]:
    """`TreatedLevels.turned`, in balls."""
    from flint import arb

    scale, running = arb(factor.scale), arb(0)
    levels = [arb(0)] * factor.columns.levels
    before, own = factor.columns.before.tolist(), factor.columns.own.tolist()
    for at in reversed(range(len(slope))):
        levels[at + 1] = levels[at + 1] + arb(own[at]) * slope[at]
        running = running + arb(before[at]) * slope[at]
        levels[at] = running
    return [scale * each for at, each in enumerate(levels) if at != factor.reference]


def norm_of(values: list[arb]) -> arb:
    """Their Euclidean norm, at most: of balls that hold 0 the ends count, as a root of less is none."""
    from flint import arb

    return sum((each.abs_upper() ** 2 for each in values), arb(0)).sqrt()


def _put(values: list[arb], places: list[int], found: list[arb]) -> None:
    for at, value in zip(places, found, strict=True):
        values[at] = value


def _balls(matrix: FloatMatrix) -> arb_mat:
    from flint import arb, arb_mat

    return arb_mat(len(matrix), len(matrix), [arb(value) for value in matrix.ravel().tolist()])


def _times(matrix: arb_mat, column: list[arb]) -> list[arb]:
    from flint import arb_mat

    found: list[arb] = (matrix * arb_mat(len(column), 1, column)).entries()
    return found
