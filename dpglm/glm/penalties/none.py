"""No penalty at all, as a penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpglm.glm.penalties.base import penalties
from dpglm.glm.penalties.elastic_net import LassoRidge


@penalties.register("none")
@dataclass(frozen=True)
class NoPenalty(LassoRidge):
    """The penalty that is zero everywhere: plain maximum likelihood.

    Parameters
    ----------
    strength : float or None
        Kept for the common interface; any strength times nothing is nothing.

    Raises
    ------
    MethodError
        If ``strength`` is not a finite number >= 0.

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
