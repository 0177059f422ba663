r"""The privacy of a perturbed minimiser: Theorems A1, A2, A2' and B.

.. math:: w^* = \arg\min_w \sum_i \phi(w \cdot u_i) + b \cdot w + r(w), \qquad \|u_i\| \le R,

with fresh noise ``b`` and ``r`` convex once the ridge ``w' P w / 2`` is taken out. Sum units: nothing is
divided by the number of rows. The logistic loss is meant, :math:`\phi' = -a, \phi'' = a(1-a)`, ``a`` in
(0, 1), unless another is named. With :math:`\mu = R/scale`, :math:`k = \mu^2/2` and s the reach of the
ridge, :math:`R^2/ridge` for a number and the supremum of :math:`u'P^{-1}u` over the rows for a diagonal:

* A1: ``b`` of density exp(-rate |b|) gives pure epsilon-DP.
* A2: Gaussian ``b`` gives mu-GDP where every ridge is at least ``2 scale**2``; otherwise, for a ridge that is
  one number, a bound on the loss is known (``loss_bound.py``).
* A2': the profile is at most the Gaussian one shifted by :math:`J = \log(1 + s/4)`.
* B: at an epsilon large enough for the ridge the profile *is* the Gaussian one. Nothing about other epsilons.

One replaced row is one removed and one added, two steps in all of these. The proofs are in
``mechanisms/objective_perturbation.md``. Whatever sets noise is rounded to the safe side
(``calibration.py``).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpglm.errors import MethodError
from dpglm.privacy.accounting import SAFETY, pure_delta
from dpglm.privacy.budget import Relation
from dpglm.privacy.loss_bound import Loss, certified_mu, profile_bound
from dpglm.typing import FloatVector

STEPS: dict[Relation, int] = {"add-remove": 1, "replace-one": 2}


def gamma_epsilon(
    rate: float,
    ridge: float,
    *,
    relation: Relation,
    row_norm: float = 1.0,
    loss: Loss = "logistic",
    slope_max: float = 1.0,
    curvature_max: float = 0.25,
) -> float:
    """The pure epsilon of noise with density exp(-rate |b|), exactly: Theorem A1.

    Parameters
    ----------
    rate : float
        Rate of the noise norm, > 0, sum units: the noise scale is ``1 / rate``.
    ridge : float
        Strong convexity, > 0, sum units.
    relation : {"replace-one", "add-remove"}
    row_norm : float
        Bound R on the norm of every row.
    loss : {"logistic", "general"}
        "logistic": slope ``-slope_max * a`` with curvature ``4 * curvature_max * a * (1 - a)``, the same a in
        (0, 1), as logistic, shifted and softplus losses have. "general": any convex margin loss with slope in
        [-slope_max, 0] and curvature at most ``curvature_max``.
    slope_max, curvature_max : float
        As used above; 1 and 1/4 for the logistic loss.

    Raises
    ------
    MethodError
        If a number is not positive or the relation is unknown.

    Examples
    --------
    >>> gamma_epsilon(0.5, 2.0, relation="replace-one")  # 2 rate R: the ridge is large enough
    1.0
    >>> round(gamma_epsilon(0.5, 0.1, relation="replace-one"), 4)
    2.0244
    """
    steps = steps_of(
        relation, rate=rate, ridge=ridge, row_norm=row_norm, slope_max=slope_max, curvature_max=curvature_max
    )
    g, s = rate * row_norm * slope_max, 4.0 * curvature_max * row_norm**2 / ridge
    if loss == "general":
        return steps * g + math.log1p(s / 4.0)
    best = g
    if g < s:
        # The positive root of g s a^2 + (2 - g) s a - (g + s) = 0, written without cancellation.
        c, share = 2.0 - g, g / s + 1.0
        root = math.sqrt(c * c + 4.0 * g * share)
        a = 2.0 * share / (c + root) if c >= 0.0 else (root - c) / (2.0 * g)
        a = min(a, 1.0)
        best = max(g, g * a + math.log1p(s * a * (1.0 - a)))
    return (steps - 1) * g + best


def mu_perturbed(
    scale: float,
    ridge: float,
    *,
    relation: Relation,
    row_norm: float = 1.0,
    loss: Loss = "logistic",
    curvature_max: float = 0.25,
) -> float:
    r"""A mu at which Gaussian noise of this scale makes the minimiser mu-GDP: Theorem A2.

    ``R / scale`` (twice that for replace-one) where ``scale**2 <= ridge / 2``; above, the certified numeric
    bound, never more than ``2 R scale / (ridge / R**2)``. Valid for every real epsilon, so it composes.

    Parameters
    ----------
    scale : float
        Standard deviation of each coordinate of ``b``, > 0, sum units.
    ridge : float
        Strong convexity, > 0, sum units; ``inf`` for the limit of a large one.
    loss, curvature_max
        As in `gamma_epsilon`, with slopes in [-1, 0].

    Raises
    ------
    MethodError
        If a number is not positive or the relation is unknown.

    Examples
    --------
    >>> mu_perturbed(5.0, 50.0, relation="replace-one")
    0.4
    >>> round(mu_perturbed(5.0, 12.5, relation="replace-one"), 2)  # a quarter of that ridge
    0.41
    """
    steps = steps_of(relation, scale=scale, ridge=ridge, row_norm=row_norm, curvature_max=curvature_max)
    mu, s = row_norm / scale, 4.0 * curvature_max * row_norm**2 / ridge
    if s == 0.0:
        return steps * mu
    if loss == "logistic" and s <= mu * mu / 2.0 * (1.0 + SAFETY):
        return steps * max(mu, 2.0 * s / mu)
    return steps * certified_mu(mu, s, loss)


def perturbed_profile(
    epsilons: ArrayLike,
    scale: float,
    ridge: float,
    *,
    relation: Relation,
    row_norm: float = 1.0,
    max_leverage: float | None = None,
) -> FloatVector:
    """A bound on delta at each epsilon for Gaussian noise, all valid at once: the least of A2, A2' and B.

    Parameters
    ----------
    epsilons : array_like, shape (k,)
        Each >= 0.
    scale, ridge, row_norm : float
        As in `mu_perturbed`; the least entry of a diagonal ridge.
    reach : float or None
        The supremum of u' P^-1 u over the rows, for a diagonal ridge P.

    Returns
    -------
    ndarray, shape (k,)
        At most 1, and not increasing in epsilon. Where Theorem B holds, exactly the Gaussian profile.

    Raises
    ------
    MethodError
        If a number is not positive, or the relation is unknown.

    Examples
    --------
    >>> scale = 8.4493578  # of the Gaussian mechanism at epsilon = 1, delta = 1e-6
    >>> perturbed_profile([0.0, 1.0, 1.5], scale, 2.1, relation="replace-one").round(9)
    array([9.4211394e-02, 1.0000000e-06, 0.0000000e+00])
    """
    steps = steps_of(relation, scale=scale, ridge=ridge, row_norm=row_norm)
    asked = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
    if not np.all(asked >= 0.0):
        raise MethodError("a negative epsilon", expected="epsilons >= 0", remedy="Ask from 0 on.")
    mu = row_norm / scale
    bound = profile_bound(asked, mu, row_norm**2 / ridge, steps)
    if max_leverage is not None:
        steps_of(relation, max_leverage=max_leverage)
        bound = np.minimum(
            bound, profile_bound(asked, mu, max_leverage, steps, cover=math.log1p(max_leverage / 4.0))
        )
    order = np.argsort(asked, kind="stable")
    answer = np.empty_like(bound)
    answer[order] = np.minimum.accumulate(bound[order])  # a true profile never increases
    return answer


def pure_curve(epsilons: ArrayLike, pure_epsilon: float) -> FloatVector:
    """The delta at each epsilon of any ``pure_epsilon``-DP release: `perturbed_profile` for Theorem A1.

    Examples
    --------
    >>> pure_curve([0.0, 0.5, 1.0], 1.0).round(4)
    array([0.4621, 0.2876, 0.    ])
    """
    asked = np.asarray(epsilons, dtype=np.float64).tolist()
    return np.array([pure_delta(epsilon, pure_epsilon) for epsilon in asked])


def steps_of(relation: Relation, **numbers: float) -> int:
    """How many rows move, after checking the public numbers."""
    for name, value in numbers.items():
        if not (0.0 < value < math.inf or (name == "ridge" and value == math.inf)):
            raise MethodError(f"{name}={value!r}", expected=f"{name} > 0, finite", remedy=f"Mend {name}.")
    if relation not in STEPS:
        raise MethodError(
            f"relation={relation!r}",
            expected="'replace-one' or 'add-remove'",
            remedy="Use relation='replace-one'.",
        )
    return STEPS[relation]
