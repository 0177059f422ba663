"""Theorems on perturbed minimisers, as numbers: what noise and ridge cost, and which ridge costs nothing.

The theorems, A1, A2, A2', B and C, are stated in ``events.py`` and proved in
``mechanisms/objective_perturbation.md``. ``shared`` asks for the claim about all rows of a person, whose
shares add up to at most 1 (Step 8 there), instead of that about one row.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpglm.errors import MethodError
from dpglm.privacy.budget import Relation, steps_of
from dpglm.privacy.gdp import SAFETY
from dpglm.privacy.joint_profile import certified_mu, profile_bound
from dpglm.privacy.person_profile import person_mu, person_profile, require_small
from dpglm.typing import FloatVector


def gamma_epsilon(rate: float, ridge: float, *, relation: Relation, shared: bool = False) -> float:
    """The pure epsilon of noise with density exp(-rate |b|), exactly: Theorem A1.

    Examples
    --------
    >>> gamma_epsilon(0.5, 2.0, relation="replace-one")  # 2 rate: the ridge is large enough
    1.0
    >>> round(gamma_epsilon(0.5, 0.1, relation="replace-one"), 4)
    2.0244
    """
    steps = steps_of(relation, rate=rate, ridge=ridge)
    s, worst = 1.0 / ridge, rate
    if rate < s and shared:
        worst = (rate + s) ** 2 / (4.0 * s)  # of rate a + s a (1 - a), at a = (rate + s) / 2 s
    elif rate < s:
        # The positive root of g s a^2 + (2 - g) s a - (g + s) = 0, g the rate, without cancellation.
        c, share = 2.0 - rate, rate / s + 1.0
        root = math.sqrt(c * c + 4.0 * rate * share)
        a = 2.0 * share / (c + root) if c >= 0.0 else (root - c) / (2.0 * rate)
        a = min(a, 1.0)
        worst = max(rate, rate * a + math.log1p(s * a * (1.0 - a)))
    return (steps - 1) * rate + worst


def mu_perturbed(scale: float, ridge: float, *, relation: Relation, shared: bool = False) -> float:
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
    if shared:
        require_small(mu)
        return steps * person_mu(mu, s)
    if s == 0.0:
        return steps * mu
    if s <= mu * mu / 2.0 * (1.0 + SAFETY):
        return steps * max(mu, 2.0 * s / mu)
    return steps * certified_mu(mu, s)


def perturbed_profile(
    epsilons: ArrayLike, scale: float, ridge: float, *, relation: Relation, shared: bool = False
) -> FloatVector:
    """Privacy profile with Gaussian noise and a ridge of at least ``ridge``, by A2, A2' and B.

    Bounds on delta at epsilons >= 0, all valid at once, shape (k,); not increasing in epsilon. Where Theorem
    B holds, exactly the Gaussian profile.

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
    bound = (person_profile if shared else profile_bound)(points, 1.0 / scale, 1.0 / ridge, steps)
    order = np.argsort(points, kind="stable")
    profile = np.empty_like(bound)
    profile[order] = np.minimum.accumulate(bound[order])  # a true profile never increases
    return profile


def bounded_shift(max_leverage: float, *, shared: bool = False) -> float:
    """J of Theorem C, the log of the largest Jacobian factor of one row, or of all rows of a person."""
    return max_leverage if shared else math.log1p(max_leverage)


def free_ridge(epsilon: float, *, relation: Relation) -> float:
    """The least ridge at which epsilon pays for noise alone, rounded up: Theorems A1 and B.

    ``1 / epsilon`` (add-remove) or ``2 / epsilon`` (replace-one), in sum units.

    Examples
    --------
    >>> round(free_ridge(0.5, relation="replace-one"), 6)
    4.0
    """
    return steps_of(relation, epsilon=epsilon) / epsilon * (1.0 + 2.0 * SAFETY)
