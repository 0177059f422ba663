"""Bridge penalties, powers of each coefficient below one: l1/2 with its closed form, and lq."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.glm.penalties.base import penalties, within
from dpglm.glm.penalties.separable import Separable
from dpglm.typing import FloatVector

# Newton from the right on a convex, increasing function of slope at least 1/2 converges in a handful.
_ROUNDS = 60


@dataclass(frozen=True)
class Bridge(Separable):
    """``strength * sum(|b_j|^q)`` with 0 < q < 1: not convex."""

    convex: ClassVar[bool] = False

    @property
    @abstractmethod
    def power(self) -> float:
        """q."""

    def terms(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        return strength * size**self.power

    def slope(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        return self.power * strength * size ** (self.power - 1.0)

    def curvature(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        return self.power * (self.power - 1.0) * strength * size ** (self.power - 2.0)

    def least_strength(self, gradient: FloatVector, step: FloatVector) -> FloatVector:
        q = self.power
        jump = gradient * step * (2.0 * (1.0 - q) / (2.0 - q))
        return jump ** (2.0 - q) / (2.0 * (1.0 - q) * step)


@penalties.register("l1/2", "half", "l_half")
@dataclass(frozen=True)
class LHalf(Bridge):
    r"""The l1/2 penalty, ``strength * sum(sqrt(|b_j|))``.

    Sparser than the lasso at the same fit, and it shrinks large coefficients less. Not convex: the prox jumps
    at its threshold, and a quadratic plus this penalty may have several local minimisers.

    Parameters
    ----------
    strength, weights : see `Separable`

    Notes
    -----
    With :math:`t` = ``step * strength``, entries with :math:`|v| \le T = \frac32 t^{2/3}` become 0,
    the others
    :math:`\frac23 v (1 + \cos(\frac{2\pi}{3} - \frac23 \arccos(2^{-1/2} (T / |v|)^{3/2})))`. At the threshold
    itself both 0 and the jump :math:`t^{2/3}` are minimisers; 0 is returned.

    References
    ----------
    .. [1] Xu, Chang, Xu and Zhang (2012), "L1/2 regularization: a thresholding representation theory and a
       fast solver", IEEE TNNLS 23(7). Their objective has no factor 1/2: their lambda is 2 t here.

    Examples
    --------
    >>> LHalf(strength=1.0).prox(np.array([1.4, 2.0]), step=1.0).round(3)
    array([0.   , 1.605])
    """

    name: ClassVar[str] = "l1/2"
    power: ClassVar[float] = 0.5

    def shrink(self, size: FloatVector, strength: FloatVector, step: FloatVector) -> FloatVector:
        t = step * strength
        threshold = 1.5 * np.cbrt(t) ** 2
        mapped = np.zeros_like(size)
        nonzero = size > threshold
        v, least = size[nonzero], threshold[nonzero]
        angle = np.arccos(math.sqrt(0.5) * (least / v) ** 1.5)
        shrunk = (2.0 / 3.0) * v * (1.0 + np.cos((2.0 / 3.0) * (math.pi - angle)))
        mapped[nonzero] = np.where(least == 0.0, v, np.minimum(shrunk, v))
        return mapped


@penalties.register("lq", "bridge")
@dataclass(frozen=True)
class Lq(Bridge):
    r"""The lq or bridge penalty, ``strength * sum(|b_j|^q)`` with 0 < q < 1.

    Not convex. It tends to the lasso as q tends to 1 and to best-subset selection, ``strength`` for each
    non-zero coefficient, as q tends to 0: the prox then keeps v where ``|v| > sqrt(2 * step * strength)``.

    Parameters
    ----------
    strength, weights : see `Separable`
    q : float
        Exponent, above 0 and below 1; one half is the l1/2 penalty.

    Raises
    ------
    MethodError
        If ``strength`` or a weight is not a finite number >= 0, or ``q`` is not strictly between 0 and 1.

    Notes
    -----
    With :math:`t` = ``step * strength`` and :math:`\beta = (2 (1 - q) t)^{1 / (2 - q)}`, entries with
    :math:`|v| \le \beta \frac{2 - q}{2 (1 - q)}` become 0; the others are the larger root z of
    :math:`z - |v| + t q z^{q - 1} = 0`, found by Newton's method from :math:`|v|`, where that function is
    convex and its slope at least 1/2.

    References
    ----------
    .. [1] Frank and Friedman (1993), "A statistical view of some chemometrics regression tools",
       Technometrics 35(2).
    .. [2] Marjanovic and Solo (2012), "On l_q optimization and matrix completion", IEEE TSP 60(11),
       theorem 1 (the threshold).

    Examples
    --------
    >>> Lq(strength=1.0, q=0.5).prox(np.array([1.4, 2.0]), step=1.0).round(3)
    array([0.   , 1.605])
    """

    q: float = 0.5

    name: ClassVar[str] = "lq"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (within(self.q, 0.0, 1.0) and 0.0 < self.q < 1.0):
            remedy = "Use q=0.5; for q=1 use penalty='l1', for q=2 penalty='l2'."
            raise self.option_error("q", "a number above 0 and below 1", remedy)

    @property
    def power(self) -> float:
        return self.q

    def shrink(self, size: FloatVector, strength: FloatVector, step: FloatVector) -> FloatVector:
        q, t = self.q, step * strength
        jump = (2.0 * (1.0 - q) * t) ** (1.0 / (2.0 - q))
        threshold = jump * ((2.0 - q) / (2.0 * (1.0 - q)))
        mapped = np.zeros_like(size)
        nonzero = size > threshold
        v, least = size[nonzero], jump[nonzero]
        z = v.copy()
        # Powers of z / jump cannot overflow: t z^(q-2) = (z / jump)^(q-2) / (2 (1-q)).
        for _ in range(_ROUNDS):
            with np.errstate(divide="ignore"):
                ratio = np.where(least > 0.0, (z / least) ** (q - 2.0), 0.0) * (q / (2.0 * (1.0 - q)))
            move = (z * (1.0 + ratio) - v) / (1.0 - (1.0 - q) * ratio)
            z = np.clip(z - move, least, v)
            if (np.abs(move) <= 1e-9 * v).all():  # the error squares at each step
                break
        mapped[nonzero] = z
        return mapped
