r"""Objective perturbation: what a perturbed minimiser costs, by Theorems A1, A2, A2', B and C.

.. math:: w^* = \arg\min_w \sum_i \phi_i(w \cdot x_i) + b \cdot w + r(w), \qquad \|x_i\| \le 1,

with fresh noise ``b`` and ``r`` convex once the ridge ``w' P w / 2`` is taken out. Sum units: nothing is
divided by the number of rows. Rows are scaled to norm 1. With :math:`\mu = 1/scale`, :math:`k = \mu^2/2` and
the leverage s, the supremum of :math:`x'P^{-1}x` over the rows (1 / ridge for a number):

* A1: ``b`` of density exp(-rate |b|) gives pure epsilon-DP.
* A2: Gaussian ``b`` gives mu-GDP where every ridge is at least ``2 scale**2``. Otherwise, for a ridge that is
  one number, a bound on the loss is known (``joint_profile.py``).
* A2': the privacy profile is at most the Gaussian one shifted by :math:`J = \log(1 + s/4)`.
* B: at an epsilon large enough for the ridge the profile *is* the Gaussian one. Nothing about other epsilons.

These four are about the logistic loss, :math:`\phi' = -a, \phi'' = a(1-a)`, ``a`` in (0, 1).

* C: each :math:`\phi_i` is convex with slopes in an interval of length 1 that holds 0, one for each row, and
  curvature in [0, 1]; nothing ties the two together, as for counts. With :math:`J = \log(1 + s)` the profile
  is, at every real epsilon, at most :math:`G(\epsilon - J; \mu)` for a row added or removed and
  :math:`e^J G(\epsilon - J; 2\mu)` for a row replaced, G the Gaussian profile; beside Gaussian releases of
  total mu nu the same with nu added in squares. Noise of density exp(-rate |b|) gives pure epsilon-DP with
  ``rate + J``, or ``2 rate + J``.

One replaced row is one removed and one added, two steps in all of these. The proofs are in
``mechanisms/objective_perturbation.md``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpglm.errors import MethodError
from dpglm.privacy.budget import Relation
from dpglm.privacy.gdp import SAFETY, gdp_delta, pure_delta
from dpglm.privacy.joint_profile import certified_mu, profile_bound
from dpglm.typing import FloatVector

STEPS: dict[Relation, int] = {"add-remove": 1, "replace-one": 2}


def gamma_epsilon(rate: float, ridge: float, *, relation: Relation) -> float:
    """The pure epsilon of noise with density exp(-rate |b|), exactly: Theorem A1.

    Raises
    ------
    MethodError
        If a number is not positive or the relation is unknown.

    Examples
    --------
    >>> gamma_epsilon(0.5, 2.0, relation="replace-one")  # 2 rate: the ridge is large enough
    1.0
    >>> round(gamma_epsilon(0.5, 0.1, relation="replace-one"), 4)
    2.0244
    """
    steps = steps_of(relation, rate=rate, ridge=ridge)
    s, worst = 1.0 / ridge, rate
    if rate < s:
        # The positive root of g s a^2 + (2 - g) s a - (g + s) = 0, g the rate, without cancellation.
        c, share = 2.0 - rate, rate / s + 1.0
        root = math.sqrt(c * c + 4.0 * rate * share)
        a = 2.0 * share / (c + root) if c >= 0.0 else (root - c) / (2.0 * rate)
        a = min(a, 1.0)
        worst = max(rate, rate * a + math.log1p(s * a * (1.0 - a)))
    return (steps - 1) * rate + worst


def mu_perturbed(scale: float, ridge: float, *, relation: Relation) -> float:
    r"""A mu at which Gaussian noise of this scale makes the minimiser mu-GDP: Theorem A2.

    ``1 / scale`` (twice that for replace-one) where ``scale**2 <= ridge / 2``; above, the certified numeric
    bound, never more than ``2 scale / ridge``. Valid for every real epsilon, so it composes.

    Examples
    --------
    >>> mu_perturbed(5.0, 50.0, relation="replace-one")
    0.4
    >>> round(mu_perturbed(5.0, 12.5, relation="replace-one"), 2)  # a quarter of that ridge
    0.41
    """
    steps = steps_of(relation, scale=scale, ridge=ridge)
    mu, s = 1.0 / scale, 1.0 / ridge
    if s == 0.0:
        return steps * mu
    if s <= mu * mu / 2.0 * (1.0 + SAFETY):
        return steps * max(mu, 2.0 * s / mu)
    return steps * certified_mu(mu, s)


def perturbed_profile(
    epsilons: ArrayLike,
    scale: float,
    ridge: float,
    *,
    relation: Relation,
    max_leverage: float | None = None,
) -> FloatVector:
    """Privacy profile with Gaussian noise: bounds on delta, all valid at once, by A2, A2' and B.

    Parameters
    ----------
    epsilons : array_like, shape (k,)
        Each >= 0.
    scale, ridge : float
        As in `mu_perturbed`; the least entry of a diagonal ridge.
    max_leverage : float or None
        The supremum of x' P^-1 x over the rows, for a diagonal ridge P.

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
    steps = steps_of(relation, scale=scale, ridge=ridge)
    points = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
    if not np.all(points >= 0.0):
        raise MethodError("a negative epsilon", expected="epsilons >= 0", remedy="Ask from 0 on.")
    mu = 1.0 / scale
    bound = profile_bound(points, mu, 1.0 / ridge, steps)
    if max_leverage is not None:
        steps_of(relation, max_leverage=max_leverage)
        exact_from = math.log1p(max_leverage / 4.0)
        bound = np.minimum(bound, profile_bound(points, mu, max_leverage, steps, exact_from=exact_from))
    order = np.argsort(points, kind="stable")
    profile = np.empty_like(bound)
    profile[order] = np.minimum.accumulate(bound[order])  # a true profile never increases
    return profile


def pure_curve(epsilons: ArrayLike, pure_epsilon: float) -> FloatVector:
    """Privacy profile of any ``pure_epsilon``-DP release: `perturbed_profile` for Theorem A1.

    Examples
    --------
    >>> pure_curve([0.0, 0.5, 1.0], 1.0).round(4)
    array([0.4621, 0.2876, 0.    ])
    """
    points = np.asarray(epsilons, dtype=np.float64).tolist()
    return np.array([pure_delta(epsilon, pure_epsilon) for epsilon in points])


def bounded_shift(max_leverage: float) -> float:
    """J of Theorem C, the log of the largest Jacobian factor of one row.

    Examples
    --------
    >>> round(bounded_shift(0.1), 4)
    0.0953
    """
    return math.log1p(max_leverage)


def bounded_delta(epsilon: float, mu: float, max_leverage: float, steps: int, beside: float) -> float:
    """A bound on delta at any real epsilon, beside Gaussian releases of total mu ``beside``: Theorem C.

    ``mu`` is of one of ``steps`` rows, 1 where one is added or removed, 2 where one is replaced.

    Examples
    --------
    >>> round(bounded_delta(1.0, 0.2, 0.05, 1, 0.2), 8), round(gdp_delta(1.0, math.hypot(0.2, 0.2)), 8)
    (4.51e-05, 2.345e-05)
    """
    factor = 1.0 + max_leverage if steps == 2 else 1.0
    return min(1.0, factor * gdp_delta(epsilon - bounded_shift(max_leverage), math.hypot(steps * mu, beside)))


def free_ridge(epsilon: float, *, relation: Relation) -> float:
    """The least ridge at which epsilon pays for noise alone, rounded up: Theorems A1 and B.

    ``1 / epsilon`` (add-remove) or ``2 / epsilon`` (replace-one), in sum units.

    Raises
    ------
    MethodError
        If epsilon is not positive or the relation is unknown.

    Examples
    --------
    >>> round(free_ridge(0.5, relation="replace-one"), 6)
    4.0
    """
    return steps_of(relation, epsilon=epsilon) / epsilon * (1.0 + 2.0 * SAFETY)


def steps_of(relation: Relation, **numbers: float) -> int:
    """How many rows move, after checking the public numbers."""
    for name, value in numbers.items():
        if not (0.0 < value < math.inf or (name == "ridge" and value == math.inf)):
            raise MethodError(f"{name}={value!r}", expected=f"{name} > 0, finite", remedy=f"Correct {name}.")
    if relation not in STEPS:
        raise MethodError(
            f"relation={relation!r}",
            expected="'replace-one' or 'add-remove'",
            remedy="Use relation='replace-one'.",
        )
    return STEPS[relation]
