"""The elastic net and its ends: the lasso, the ridge, and no penalty at all."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.glm.penalties.base import Penalty, not_below, penalties, within
from dpglm.typing import FloatMatrix, FloatVector


@dataclass(frozen=True)
class LassoRidge(Penalty):
    """``strength * (s_1 * sum |b_j| + s_2 / 2 * sum b_j^2)``, with shares s of each subclass."""

    convex: ClassVar[bool] = True

    @property
    @abstractmethod
    def shares(self) -> tuple[float, float]:
        """Share of the L1 part and of the ridge."""

    @property
    def l1_weight(self) -> float:
        return self.weight * self.shares[0]

    @property
    def ridge_weight(self) -> float:
        return self.weight * self.shares[1]

    def value(self, beta: FloatVector) -> float:
        return float(self.l1_weight * np.sum(np.abs(beta)) + 0.5 * self.ridge_weight * np.sum(beta * beta))

    def prox(self, v: FloatVector, step: float) -> FloatVector:
        thresholded: FloatVector = np.sign(v) * np.maximum(np.abs(v) - step * self.l1_weight, 0.0)
        # Adding zero turns -0.0 into 0.0.
        return thresholded / (1.0 + step * self.ridge_weight) + 0.0

    def strength_max(self, gradient_at_zero: FloatVector, step: float = 1.0) -> float:
        largest = float(np.max(np.abs(gradient_at_zero), initial=0.0))
        share = self.shares[0]
        if largest == 0.0:
            return 0.0
        if share == 0.0:
            return math.inf
        return not_below(self, largest / share, gradient_at_zero, 1.0)

    def derivatives(self, beta: FloatVector) -> tuple[FloatVector, FloatMatrix]:
        slope = self.l1_weight * np.sign(beta) + self.ridge_weight * beta
        return slope, self.ridge_weight * np.eye(beta.size)


@penalties.register("elastic_net")
@dataclass(frozen=True)
class ElasticNet(LassoRidge):
    """The elastic net, ``strength * (l1_ratio * sum |b_j| + (1 - l1_ratio) / 2 * sum b_j^2)``.

    The convention is glmnet's (its ``alpha`` is ``l1_ratio``): the ridge part carries the factor 1/2.

    Parameters
    ----------
    l1_ratio : float
        Share of the L1 part, between 0 (ridge) and 1 (lasso).

    Raises
    ------
    MethodError
        If ``strength`` is not a finite number >= 0 or ``l1_ratio`` is outside [0, 1].

    References
    ----------
    .. [1] Zou and Hastie (2005), "Regularization and variable selection via the elastic net", JRSS B 67(2).
       Their naive elastic net has no factor 1/2.

    Examples
    --------
    >>> ElasticNet(strength=1.0, l1_ratio=0.5).prox(np.array([-3.0, 0.4]), step=1.0).round(3)
    array([-1.667,  0.   ])
    """

    l1_ratio: float = 0.5

    name: ClassVar[str] = "elastic_net"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not within(self.l1_ratio, 0.0, 1.0):
            expected = "a number between 0 (ridge) and 1 (lasso)"
            raise self.option_error("l1_ratio", expected, "Use l1_ratio=0.5.")

    @property
    def shares(self) -> tuple[float, float]:
        return self.l1_ratio, 1.0 - self.l1_ratio


@penalties.register("l1", "lasso")
@dataclass(frozen=True)
class L1(LassoRidge):
    """The lasso penalty, ``strength * sum |b_j|``: sets coefficients to exactly zero and shrinks the others.

    The ``C`` of scikit-learn is ``1 / (n * strength)``.

    References
    ----------
    .. [1] Tibshirani (1996), "Regression shrinkage and selection via the lasso", JRSS B 58(1).

    Examples
    --------
    >>> L1(strength=1.0).prox(np.array([-3.0, 0.5, 2.0]), step=0.5)
    array([-2.5,  0. ,  1.5])
    """

    name: ClassVar[str] = "l1"
    shares: ClassVar[tuple[float, float]] = (1.0, 0.0)


@penalties.register("l2", "ridge")
@dataclass(frozen=True)
class L2(LassoRidge):
    """The ridge penalty, ``strength / 2 * sum b_j^2``: shrinks every coefficient, sets none to zero.

    References
    ----------
    .. [1] Hoerl and Kennard (1970), "Ridge regression: biased estimation for nonorthogonal problems",
       Technometrics 12(1). Their k has no factor 1/2.

    Examples
    --------
    >>> L2(strength=1.0).prox(np.array([-3.0, 0.5]), step=1.0)
    array([-1.5 ,  0.25])
    """

    name: ClassVar[str] = "l2"
    shares: ClassVar[tuple[float, float]] = (0.0, 1.0)


@penalties.register("none")
@dataclass(frozen=True)
class NoPenalty(LassoRidge):
    """The penalty that is zero everywhere: plain maximum likelihood.

    Examples
    --------
    >>> NoPenalty().prox(np.array([-3.0, 0.5]), step=1.0)
    array([-3. ,  0.5])
    """

    name: ClassVar[str] = "none"
    shares: ClassVar[tuple[float, float]] = (0.0, 0.0)
