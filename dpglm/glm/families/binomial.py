"""Binomial responses with the logit link: logistic regression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from scipy.special import expit, hyp2f1, log_expit, logit

from dpglm.errors import MethodError
from dpglm.glm.families.base import Family, ResponseKind, families
from dpglm.typing import FloatVector

# Log odds by which a shifted loss wants rows on the right side.
SHIFT: Final = 2.0
SHIFTED: Final = "shifted logit"
# Log odds of a mean that is expected are finite.
_LEAST_MEAN: Final = 1e-12


@families.register("binomial", "logistic")
@dataclass(frozen=True)
class Binomial(Family):
    """A response of 0 or 1 with log odds ``eta``.

    With m = (2y - 1) eta the loss is log(1 + exp(-m)), its slope in the margin m is -a and its curvature
    a(1 - a), a = sigmoid(-m) in (0, 1): nothing else is used by the theorems of
    ``mechanisms/objective_perturbation.md``.

    Examples
    --------
    >>> Binomial().slope(np.zeros(2), np.array([0.0, 1.0]))
    array([ 0.5, -0.5])
    """

    name: ClassVar[str] = "binomial"
    link: ClassVar[str] = "logit"
    slope_max: ClassVar[float | None] = 1.0
    third_derivative_bound: ClassVar[float] = 1.0
    slope_range: ClassVar[float | None] = 1.0
    logistic: ClassVar[bool] = True
    response_kind: ClassVar[ResponseKind] = "binary"
    score_weight_max: ClassVar[float] = 0.25
    prediction_penalty: ClassVar[str] = "l1"

    @property
    def curvature_max(self) -> float | None:
        return self.steepness / 4.0

    def expected_weight(self, mean: float, explained: float) -> float:
        return mean * (1.0 - mean) * (1.0 - explained)

    def shifted(self) -> Family:
        return ShiftedBinomial()

    def steeper(self, steepness: float) -> Family:
        return SteepBinomial(steepness) if type(self) is Binomial else self

    def of_periods(self, share: float) -> Family:
        return Hazard(share)

    def loss(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return np.maximum(eta, 0.0) - y * eta + np.log1p(np.exp(-np.abs(eta)))

    def slope(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return self.mean(eta) - y

    def curvature(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        # 1 - tanh^2 loses all digits for large |eta|; exp(-|eta|) keeps them.
        tail = np.exp(-np.abs(eta))
        return tail / (1.0 + tail) ** 2

    @property
    def score_weight(self) -> float:
        # Under add-remove. Logistic: of the precision that each of them would have alone, .77 is left.
        return 0.2 + 0.05 * self.steepness

    def curvature_total(self, slopes: FloatVector) -> float:
        return self.steepness * float(slopes.sum())  # a(1 - a) <= a, as y is 0 or 1

    def ball_slope(self, eta: Any, y: float) -> Any:
        return (1 + (eta / 2).tanh()) / 2 - y

    def mean(self, eta: FloatVector) -> FloatVector:
        # tanh is three times faster than scipy's expit and exact to one rounding.
        return 0.5 + 0.5 * np.tanh(0.5 * eta)


@dataclass(frozen=True)
class ShiftedBinomial(Binomial):
    r"""The loss log(1 + exp(SHIFT - m)) of the margin m = (2y - 1) eta, for predictions.

    Its slope in m is -a and its curvature a(1 - a), a = sigmoid(SHIFT - m): the same theorems hold as for the
    logistic loss. At eta = 0 a row pulls with .88 instead of .5, beside the same noise. It is no likelihood:
    ``eta`` minimises the mean loss of rows with P(y = 1) = `shifted_mean`, and is no log odds.

    Examples
    --------
    >>> ShiftedBinomial().slope(np.zeros(2), np.array([0.0, 1.0])).round(2)
    array([ 0.88, -0.88])
    """

    link: ClassVar[str] = SHIFTED
    likelihood: ClassVar[bool] = False
    score_weight_max: ClassVar[float] = 0.776  # largest where the margin is 0

    @property
    def dispersion(self) -> float:
        return float(np.exp(SHIFT))  # a^2 over a(1 - a) where the margin is 0

    def expected_weight(self, mean: float, explained: float) -> float:
        return float(expit(SHIFT) * expit(-SHIFT))

    def shifted(self) -> Family:
        return self

    def loss(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return -np.asarray(log_expit((2.0 * y - 1.0) * eta - SHIFT))

    def slope(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        sign = 2.0 * y - 1.0
        return -sign * super().mean(SHIFT - sign * eta)

    def curvature(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return super().curvature((2.0 * y - 1.0) * eta - SHIFT, y)

    def ball_slope(self, eta: Any, y: float) -> Any:
        sign = 2.0 * y - 1.0
        return -sign * super().ball_slope(SHIFT - sign * eta, 0.0)

    def mean(self, eta: FloatVector) -> FloatVector:
        return shifted_mean(eta)


@dataclass(frozen=True)
class SteepBinomial(Binomial):
    r"""A loss whose mean is least at the log odds, as the logistic one's, and that pulls harder near them.

    With C the steepness, m = (2y - 1) eta and u = 1 / (1 + exp(-C abs(eta)) / (2C - 1)), its slope in m is -u
    for m < 0 and -exp(-m) u for m > 0. That is v(eta) times the logistic slope, v = u / sigmoid(abs(eta)):
    rows near even odds count 2 - 1/C times, others less, and all of them by their predictor alone. So
    ``eta`` are log odds. At eta = 0 a row pulls with 1 - 1/(2C) instead of 1/2, beside the same noise.

    With a the size of the slope, the curvature is at most C a(1 - a), and reaches that where m < 0: no loss
    of this kind with log odds is steeper under that bound. C = 1 gives the logistic loss. At a given
    predictor the variance of the slope is v times its mean derivative, at most 2 - 1/C times.

    Parameters
    ----------
    steepness : float
        C, from 1 to 4; another one is a MethodError.

    References
    ----------
    Buja, Stuetzle and Shen (2005), "Loss functions for binary class probability estimation and
    classification", for the weights that keep the log odds.

    Examples
    --------
    >>> SteepBinomial(2.0).slope(np.zeros(2), np.array([0.0, 1.0]))
    array([ 0.75, -0.75])
    """

    steepness: float = 2.0

    likelihood: ClassVar[bool] = False
    score_weight_max: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if not 1.0 <= self.steepness <= 4.0:
            raise MethodError(
                f"a loss of steepness {self.steepness!r}", expected="1 to 4", remedy="Leave it to the method."
            )

    @property
    def curvature_max(self) -> float | None:
        # Where m > 0 and s = exp(-C m) is a root of (C - 1)^2 s^2 - b k s + k^2, k = 2C - 1.
        c, k = self.steepness, 2.0 * self.steepness - 1.0
        b = c * c + 2.0 * c - 2.0
        s = 2.0 * k / (b + math.sqrt(b * b - 4.0 * (c - 1.0) ** 2))
        return float(k * s ** (1.0 / c) * (k - (c - 1.0) * s) / (k + s) ** 2)

    @property
    def dispersion(self) -> float:
        return 2.0 - 1.0 / self.steepness

    @property
    def information_max(self) -> float | None:
        return self.dispersion / 4.0

    def expected_weight(self, mean: float, explained: float) -> float:
        at = np.asarray([logit(np.clip(mean, _LEAST_MEAN, 1.0 - _LEAST_MEAN))])
        return float(self.information(at, at)[0]) * (1.0 - explained)

    def steeper(self, steepness: float) -> Family:
        return self

    def loss(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        # The integral of the slope from the far right on: beyond 0 a series in exp(-m), then a logarithm.
        margin, times = (2.0 * y - 1.0) * eta, 2.0 * self.steepness - 1.0
        step, right = 1.0 / self.steepness, np.exp(-np.maximum(margin, 0.0))
        series = right * hyp2f1(1.0, step, 1.0 + step, -(right**self.steepness) / times)
        below = np.maximum(-margin, 0.0)
        tail = np.log((times + np.exp(-self.steepness * below)) / (times + 1.0))
        return np.asarray(series + below + step * tail)

    def slope(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        sign = 2.0 * y - 1.0
        times, tail = self._parts(eta)
        return -sign * np.exp(-np.maximum(sign * eta, 0.0)) * (times / (times + tail))

    def curvature(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        margin = (2.0 * y - 1.0) * eta
        times, tail = self._parts(eta)
        right = np.exp(-np.maximum(margin, 0.0)) * (times - (self.steepness - 1.0) * tail)
        return np.asarray(times * np.where(margin < 0.0, self.steepness * tail, right) / (times + tail) ** 2)

    def information(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        times, tail = self._parts(eta)
        return np.asarray(times / (times + tail) * expit(-np.abs(eta)))

    def ball_slope(self, eta: Any, y: float) -> Any:
        size, sign, times = abs(eta), 2.0 * y - 1.0, 2.0 * self.steepness - 1.0
        return -sign * (-(sign * eta + size) / 2).exp() * (times / (times + (-self.steepness * size).exp()))

    def _parts(self, eta: FloatVector) -> tuple[float, FloatVector]:
        """2 C - 1, and exp(-C abs(eta)): u is the first over the sum of both."""
        return 2.0 * self.steepness - 1.0, np.exp(-self.steepness * np.abs(eta))


@families.register("ordinal", "cratio")
@dataclass(frozen=True)
class Ordinal(Binomial):
    """Levels in their order, by continuation ratios: log odds of a higher level, of those at one or above it.

    Each level but the last is a stage with an intercept of its own, and slopes are the same at all stages
    unless the formula has products with the response, which right of ``~`` is the stage of a row. A positive
    slope means higher levels.

    Examples
    --------
    >>> Ordinal().response_kind, Ordinal().of_periods(0.25).dispersion
    ('ordered', 0.25)
    """

    name: ClassVar[str] = "ordinal"
    response_kind: ClassVar[ResponseKind] = "ordered"


@dataclass(frozen=True)
class Hazard(Binomial):
    """The binomial family of rows of persons and periods, or stages, which have the same share each.

    Given that a person is at risk, whether the event happens in a period does not depend on the periods
    before: scores of the rows of a person are uncorrelated. Weighted by a constant share, the score has the
    variance ``share`` times the weighted information, where rows that depend on one another would need more.

    Examples
    --------
    >>> Binomial().of_periods(0.25).dispersion
    0.25
    """

    share: float = 1.0

    @property
    def row_share(self) -> float | None:
        return self.share

    @property
    def dispersion(self) -> float:
        return self.share

    def shifted(self) -> Family:
        return self


def shifted_mean(eta: FloatVector) -> FloatVector:
    """P(y = 1) of rows whose mean shifted loss is least at ``eta``.

    Examples
    --------
    >>> shifted_mean(np.array([-2.0, 0.0, 2.0])).round(3)
    array([0.337, 0.5  , 0.663])
    """
    upper, lower = expit(SHIFT + eta), expit(SHIFT - eta)
    return np.asarray(upper / (upper + lower))
