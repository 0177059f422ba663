"""The ridge penalty, and no penalty at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpglm.glm.penalties.base import penalties
from dpglm.glm.penalties.elastic_net import LassoRidge


@penalties.register("l2", "ridge")
@dataclass(frozen=True)
class L2(LassoRidge):
    """The ridge penalty, ``strength / 2 * sum b_j^2``: shrinks every coefficient, sets none to zero.

    Parameters
    ----------
    strength : float or None
        Weight, >= 0, per row, on the scaled coefficients; mind the factor 1/2.

    References
    ----------
    .. [1] Hoerl and Kennard (1970), "Ridge regression: biased estimation for nonorthogonal problems",
       Technometrics 12(1). Their k has no factor 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> L2(strength=1.0).prox(np.array([-3.0, 0.5]), step=1.0)
    array([-1.5 ,  0.25])
    """

    name: ClassVar[str] = "l2"

    @property
    def l1_weight(self) -> float:
        return 0.0

    @property
    def ridge_weight(self) -> float:
        return self.weight


@penalties.register("none")
@dataclass(frozen=True)
class NoPenalty(LassoRidge):
    """The penalty that is zero everywhere: plain maximum likelihood.

    Parameters
    ----------
    strength : float or None
        Kept for the common interface; any strength times nothing is nothing.

    Examples
    --------
    >>> import numpy as np
    >>> NoPenalty().prox(np.array([-3.0, 0.5]), step=1.0)
    array([-3. ,  0.5])
    """

    name: ClassVar[str] = "none"

    @property
    def l1_weight(self) -> float:
        return 0.0

    @property
    def ridge_weight(self) -> float:
        return 0.0
