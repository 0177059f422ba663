"""What a penalty must say: its value and its prox."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from dpglm.registry import Registry
from dpglm.typing import FloatVector


@dataclass(frozen=True)
class Penalty(ABC):
    """A penalty on the scaled coefficients, ``strength`` times a fixed function of them.

    Parameters
    ----------
    strength : float or None
        Weight of the penalty, >= 0, per row (the objective is the *average* loss plus the penalty).
        None leaves the choice to the method, which never looks at the data for it.

    Examples
    --------
    >>> import numpy as np
    >>> penalties["l1"](strength=1.0).prox(np.array([-3.0, 0.5]), step=1.0)
    array([-2.,  0.])
    """

    strength: float | None = None

    name: ClassVar[str]
    convex: ClassVar[bool]

    @property
    def weight(self) -> float:
        """The strength as a number; unset counts as zero."""
        return 0.0 if self.strength is None else self.strength

    def with_strength(self, strength: float) -> Self:
        """The same penalty with another strength."""
        return replace(self, strength=strength)

    @abstractmethod
    def value(self, beta: FloatVector) -> float:
        """The penalty at ``beta``, shape (p,)."""

    @abstractmethod
    def prox(self, v: FloatVector, step: float) -> FloatVector:
        """The minimiser of ``|b - v|^2 / 2 + step * value(b)``, shape (p,); ``step`` >= 0."""

    @abstractmethod
    def strength_max(self, gradient_at_zero: FloatVector) -> float:
        """Smallest strength for which zero is a solution, ``inf`` if none is.

        ``gradient_at_zero``, shape (p,), is the gradient of the average loss at zero.
        """

    @property
    def l1_weight(self) -> float | None:
        """Weight of ``sum |beta_j|`` where the penalty is that plus a ridge, else None."""
        return None

    @property
    def ridge_weight(self) -> float | None:
        """Weight of ``sum beta_j^2 / 2`` where the penalty is an L1 part plus that, else None."""
        return None


penalties: Registry[Penalty] = Registry("penalty")
