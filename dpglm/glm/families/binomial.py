"""Binomial responses with the logit link: logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from scipy.special import expit, log_expit

from dpglm.glm.families.base import Family, ResponseKind, families
from dpglm.typing import FloatVector

# Log odds by which a shifted loss wants rows on the right side.
SHIFT: Final = 2.0
SHIFTED: Final = "shifted logit"


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
    curvature_max: ClassVar[float | None] = 0.25
    third_derivative_bound: ClassVar[float] = 1.0
    slope_range: ClassVar[float | None] = 1.0
    logistic: ClassVar[bool] = True
    response_kind: ClassVar[ResponseKind] = "binary"
    score_weight_max: ClassVar[float] = 0.25
    prediction_penalty: ClassVar[str] = "l1"

    def expected_weight(self, mean: float, explained: float) -> float:
        return mean * (1.0 - mean) * (1.0 - explained)

    def shifted(self) -> Family:
        return ShiftedBinomial()

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

    def curvature_total(self, slopes: FloatVector) -> float:
        return float(slopes.sum())  # a(1 - a) <= a, as y is 0 or 1

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
