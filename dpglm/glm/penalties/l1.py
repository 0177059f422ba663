"""The lasso penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpglm.glm.penalties.base import penalties
from dpglm.glm.penalties.elastic_net import LassoRidge


@penalties.register("l1", "lasso")
@dataclass(frozen=True)
class L1(LassoRidge):
    """The lasso penalty, ``strength * sum |b_j|``: sets coefficients to exactly zero and shrinks the others.

    Parameters
    ----------
    strength : float or None
        Weight, >= 0, per row, on the scaled coefficients: scikit-learn's ``C`` is ``1 / (n * strength)``.

    References
    ----------
    .. [1] Tibshirani (1996), "Regression shrinkage and selection via the lasso", JRSS B 58(1).

    Examples
    --------
    >>> import numpy as np
    >>> L1(strength=1.0).prox(np.array([-3.0, 0.5, 2.0]), step=0.5)
    array([-2.5,  0. ,  1.5])
    """

    name: ClassVar[str] = "l1"

    @property
    def l1_weight(self) -> float:
        return self.weight

    @property
    def ridge_weight(self) -> float:
        return 0.0
