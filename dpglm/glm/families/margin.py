"""Margin losses: smooth hinges of (2y - 1) eta, as support vector machines minimise; no likelihoods."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.families.base import Family, ResponseKind, families
from dpglm.typing import FloatVector


@dataclass(frozen=True)
class MarginLoss(Family):
    r"""A hinge made smooth over a width, as a function of the margin m = (2y - 1) eta, y = 0 or 1.

    Convex with slope in [-1, 0] in m, whatever y is given: a response above 1/2 counts as 1, any other as 0.
    For the y of a row its slopes in eta are in [-1, 0] or in [0, 1].

    Parameters
    ----------
    width : float
        How wide the hinge's corner is, in units of the margin.

    Raises
    ------
    MethodError
        A width below ``least_width``, for which the curvature would exceed 1, the bound that
        ``mechanisms/objective_perturbation.md`` (Theorem C) asks for; or one that is not a number.
    """

    width: float = 0.5

    link: ClassVar[str] = "margin"
    slope_max: ClassVar[float | None] = 1.0
    slope_range: ClassVar[float | None] = 1.0
    response_kind: ClassVar[ResponseKind] = "binary"
    likelihood: ClassVar[bool] = False
    # The width at which the curvature is at most 1.
    least_width: ClassVar[float]

    def __post_init__(self) -> None:
        number = isinstance(self.width, int | float | np.integer | np.floating)
        if not number or isinstance(self.width, bool) or not self.least_width <= self.width <= 1e100:
            raise MethodError(
                f"family {self.name!r} with a width that is not a number from {self.least_width:g} to 1e100",
                expected=f"a width of at least {self.least_width:g}, so that no curvature exceeds 1",
                remedy=f"Leave it out: family={self.name!r} has the width 0.5.",
            )
        object.__setattr__(self, "width", float(self.width))

    def expected_weight(self, mean: float, explained: float) -> float:
        """Mean curvature over standard normal margins, less the explained share."""
        margins = np.linspace(-5.0, 5.0, 201)
        weights = np.exp(-0.5 * np.square(margins))
        return float(weights @ self._curvature(1.0 - margins) / weights.sum()) * (1.0 - explained)

    def loss(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return self._loss(1.0 - _sign(y) * eta)

    def slope(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        sign = _sign(y)
        return -sign * self._share(1.0 - sign * eta)

    def ball_slope(self, eta: Any, y: float) -> Any:
        sign = 1.0 if y > 0.5 else -1.0
        return -sign * self._ball_share(1.0 - sign * eta)

    def curvature(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return self._curvature(1.0 - _sign(y) * eta)

    def mean(self, eta: FloatVector) -> NoReturn:
        """Refused: a margin says which class is predicted, and no probability."""
        raise MethodError(
            f"an expected response of family {self.name!r}",
            expected="a family with a likelihood: a margin loss models no probability",
            remedy="Use the sign of the linear predictor, or family='binomial'.",
        )

    def prediction(self, eta: FloatVector) -> FloatVector:
        return np.where(eta > 0.0, 1.0, 0.0)

    @abstractmethod
    def _loss(self, short: FloatVector) -> FloatVector:
        """Loss of rows whose margins fall short of 1 by this."""

    @abstractmethod
    def _share(self, short: FloatVector) -> FloatVector:
        """a in [0, 1], minus the slope in the margin."""

    @abstractmethod
    def _ball_share(self, short: Any) -> Any:
        """The same of a ball."""

    @abstractmethod
    def _curvature(self, short: FloatVector) -> FloatVector:
        """Second derivative in the margin, in [0, curvature_max]."""


@families.register("huber_svm", "huberised_hinge")
@dataclass(frozen=True)
class HuberSvm(MarginLoss):
    r"""0 for margins m > 1 + h, (1 + h - m)^2 / (4h) for \|m - 1\| <= h and 1 - m below, h the width.

    At most h/4 above the hinge max(0, 1 - m), and nowhere below it. Slopes in m are in [-1, 0], the curvature
    is 1/(2h) on an interval of length 2h and 0 elsewhere: ``mechanisms/objective_perturbation.md`` uses
    nothing else. Where few rows have margins in that interval the minimiser without a ridge need not be
    unique, as for any support vector machine.

    Parameters
    ----------
    width : float
        h, at least 0.5, in units of the margin.

    References
    ----------
    Chapelle (2007), "Training a support vector machine in the primal", Neural Computation 19(5);
    Chaudhuri, Monteleoni and Sarwate (2011), "Differentially private empirical risk minimization", JMLR 12,
    section 3.4.2.

    Examples
    --------
    >>> eta, y = np.array([0.0, 1.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0, 0.0])
    >>> HuberSvm().loss(eta, y)
    array([1.   , 0.125, 0.   , 3.   ])
    >>> HuberSvm().slope(eta, y)
    array([-1. , -0.5, -0. ,  1. ])
    """

    name: ClassVar[str] = "huber_svm"
    least_width: ClassVar[float] = 0.5

    @property
    def curvature_max(self) -> float:
        """1 / (2h)."""
        return 1.0 / (2.0 * self.width)

    def _loss(self, short: FloatVector) -> FloatVector:
        share = self._share(short)
        return self.width * share * share + np.maximum(short - self.width, 0.0)

    def _share(self, short: FloatVector) -> FloatVector:
        return np.minimum(np.maximum((short + self.width) / (2.0 * self.width), 0.0), 1.0)

    def _ball_share(self, short: Any) -> Any:
        return ((short + self.width) / (2.0 * self.width)).max(0).min(1)

    def _curvature(self, short: FloatVector) -> FloatVector:
        return np.where(np.abs(short) <= self.width, self.curvature_max, 0.0)


@families.register("softplus_hinge")
@dataclass(frozen=True)
class SoftplusHinge(MarginLoss):
    r"""h log(1 + exp((1 - m)/h)) for margins m, h the width: at most h log 2 above the hinge, never below.

    The slope in m is -a, a = sigmoid((1 - m)/h), and the curvature a(1 - a)/h, at most 1/(4h). It is smooth,
    and with a ridge its minimiser is unique.

    Parameters
    ----------
    width : float
        h, at least 0.25, in units of the margin.

    References
    ----------
    Zhang, Jin, Yang and Hauptmann (2003), "Modified logistic regression: an approximation to SVM and its
    applications in large-scale text categorization", ICML.

    Examples
    --------
    >>> eta, y = np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0])
    >>> SoftplusHinge().loss(eta, y).round(4)
    array([1.0635, 0.3466, 2.0091])
    >>> SoftplusHinge().slope(eta, y).round(4)
    array([-0.8808, -0.5   ,  0.982 ])
    """

    name: ClassVar[str] = "softplus_hinge"
    least_width: ClassVar[float] = 0.25

    @property
    def curvature_max(self) -> float:
        """1 / (4h)."""
        return 0.25 / self.width

    @property
    def third_derivative_bound(self) -> float:
        """1 / h."""
        return 1.0 / self.width

    def _loss(self, short: FloatVector) -> FloatVector:
        return np.maximum(short, 0.0) + self.width * np.log1p(np.exp(-np.abs(short) / self.width))

    def _share(self, short: FloatVector) -> FloatVector:
        return 0.5 + 0.5 * np.tanh(short * (0.5 / self.width))

    def _ball_share(self, short: Any) -> Any:
        return (1 + (short * (0.5 / self.width)).tanh()) / 2

    def _curvature(self, short: FloatVector) -> FloatVector:
        # a (1 - a) loses all digits far out; exp(-|.|) keeps them.
        tail = np.exp(-np.abs(short) / self.width)
        return tail / (1.0 + tail) ** 2 / self.width


def _sign(y: FloatVector) -> FloatVector:
    """1 or -1, nothing in between: the price of a release leans on that."""
    return np.where(y > 0.5, 1.0, -1.0)
