r"""The privacy of a perturbed minimiser: Theorems A1, A2, A2' and B.

.. math:: w^* = \arg\min_w \sum_i \phi(w \cdot u_i) + b \cdot w + r(w), \qquad \|u_i\| \le R,

with fresh noise ``b`` and ``r`` convex once ``ridge / 2 * |w|^2`` is taken out. Sum units: nothing is divided
by the number of rows. The logistic loss is meant, :math:`\phi' = -a, \phi'' = a(1-a)`, ``a`` in (0, 1),
unless another is named. With :math:`s = R^2/ridge`, :math:`\mu = R/scale` and :math:`k = \mu^2/2`:

* A1: ``b`` of density exp(-rate |b|) gives pure epsilon-DP.
* A2: Gaussian ``b`` gives mu-GDP where s <= k; otherwise a bound on the loss is known (``loss_bound.py``).
* A2': the profile is at most the Gaussian one shifted by :math:`J = \log(1 + s/4)`.
* B: at an epsilon large enough for the ridge the profile *is* the Gaussian one. Nothing about other epsilons.

One replaced row is one removed and one added, two steps in all of these. The proofs are in
``releases/minimiser.md``. Whatever sets noise is rounded to the safe side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpglm.errors import MethodError
from dpglm.privacy.accounting import SAFETY, gdp_delta, gdp_mu, gdp_profile, pure_delta
from dpglm.privacy.budget import Relation
from dpglm.privacy.loss_bound import Loss, certified_mu, is_gaussian_at, loss_bound
from dpglm.typing import FloatVector

_STEPS: dict[Relation, int] = {"add-remove": 1, "replace-one": 2}
# More than this many times the noise of a larger ridge is refused: nobody can want it.
_MOST_NOISE = 1000.0


@dataclass(frozen=True)
class Calibration:
    """A noise scale and the theorem that allows it.

    Examples
    --------
    >>> Calibration(3.0, "Theorem B")
    Calibration(scale=3.0, theorem='Theorem B')
    """

    scale: float
    theorem: str


def free_ridge(epsilon: float, *, relation: Relation, row_norm: float = 1.0) -> float:
    """The least ridge at which epsilon pays for noise alone, rounded up: Theorems A1 and B.

    ``R**2 / epsilon`` (add-remove) or ``2 R**2 / epsilon`` (replace-one), in sum units.

    Raises
    ------
    MethodError
        If a number is not positive or the relation is unknown.

    Examples
    --------
    >>> round(free_ridge(0.5, relation="replace-one"), 6)
    4.0
    """
    steps = _steps(relation, epsilon=epsilon, row_norm=row_norm)
    return steps * row_norm**2 / epsilon * (1.0 + 2.0 * SAFETY)


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
    steps = _steps(
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


def gamma_rate(
    epsilon: float,
    ridge: float,
    *,
    relation: Relation,
    row_norm: float = 1.0,
    loss: Loss = "logistic",
    slope_max: float = 1.0,
    curvature_max: float = 0.25,
) -> float:
    """The largest rate, the least noise, with ``gamma_epsilon(rate, ridge) <= epsilon``, rounded down.

    Raises
    ------
    MethodError
        If no noise is enough at so small a ridge, or a number is not positive.

    Examples
    --------
    >>> round(gamma_rate(1.0, 2.0, relation="replace-one"), 6)
    0.5
    """
    steps = _steps(relation, epsilon=epsilon, ridge=ridge, row_norm=row_norm, slope_max=slope_max)

    def price(rate: float) -> float:
        return gamma_epsilon(
            rate,
            ridge,
            relation=relation,
            row_norm=row_norm,
            loss=loss,
            slope_max=slope_max,
            curvature_max=curvature_max,
        )

    ideal = epsilon / (steps * row_norm * slope_max) * (1.0 - SAFETY)
    if price(ideal) <= epsilon:
        return ideal
    low = ideal / _MOST_NOISE
    if price(low) > epsilon:
        raise _too_small(ridge, epsilon, relation, row_norm)
    high = ideal
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if price(middle) <= epsilon else (low, middle)
    return low * (1.0 - SAFETY)


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
    steps = _steps(relation, scale=scale, ridge=ridge, row_norm=row_norm, curvature_max=curvature_max)
    mu, s = row_norm / scale, 4.0 * curvature_max * row_norm**2 / ridge
    if s == 0.0:
        return steps * mu
    if loss == "logistic" and s <= mu * mu / 2.0 * (1.0 + SAFETY):
        return steps * max(mu, 2.0 * s / mu)
    return steps * certified_mu(mu, s, loss)


def gaussian_scale(
    epsilon: float, delta: float, ridge: float, *, relation: Relation, row_norm: float = 1.0
) -> Calibration:
    """The least Gaussian noise for one (epsilon, delta)-DP release at this ridge, and its theorem.

    Theorem B where it holds: the noise of the Gaussian mechanism and no more. Otherwise the better of A2' and
    of the loss bound of A2 at this epsilon. Rounded up.

    Raises
    ------
    MethodError
        If no noise is enough at so small a ridge, or a number is not positive.

    Examples
    --------
    >>> found = gaussian_scale(1.0, 1e-6, 1.1, relation="add-remove")
    >>> round(found.scale, 3), found.theorem
    (4.225, 'Theorem B')
    """
    steps = _steps(relation, epsilon=epsilon, ridge=ridge, row_norm=row_norm)
    s = row_norm**2 / ridge
    mu = gdp_mu(epsilon, delta)
    ideal = steps / mu * (1.0 + SAFETY)
    each = 1.0 / ideal
    if is_gaussian_at(epsilon, each, s, steps):
        return Calibration(row_norm * ideal, "Theorem B")
    if s <= each * each / 2.0:
        return Calibration(row_norm * ideal, "Theorem A2")
    shift = math.log1p(s / 4.0)
    shifted = math.inf
    if epsilon > shift:
        shifted = steps / gdp_mu(epsilon - shift, delta) * (1.0 + SAFETY)

    def enough(scale: float) -> bool:
        return float(loss_bound(np.array([epsilon]), 1.0 / scale, s, steps)[0]) <= delta

    high = 2.0 * ideal
    while not enough(high) and high < min(shifted, _MOST_NOISE * ideal):
        high *= 2.0
    if enough(high):
        low = ideal
        while high - low > 1e-10 * high:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if enough(middle) else (middle, high)
        numeric = high * (1.0 + SAFETY)
        if numeric < shifted and enough(numeric):
            return Calibration(row_norm * numeric, "Theorem A2")
    if shifted > _MOST_NOISE * ideal:
        raise _too_small(ridge, epsilon, relation, row_norm)
    return Calibration(row_norm * shifted, "Theorem A2'")


def gaussian_scale_gdp(mu: float, ridge: float, *, relation: Relation, row_norm: float = 1.0) -> Calibration:
    """The least Gaussian noise for a mu-GDP release at this ridge: Theorem A2, rounded up.

    Raises
    ------
    MethodError
        If no noise is enough at so small a ridge, or a number is not positive.

    Examples
    --------
    >>> round(gaussian_scale_gdp(0.4, 50.0, relation="replace-one").scale, 6)
    5.0
    """
    steps = _steps(relation, mu=mu, ridge=ridge, row_norm=row_norm)
    ideal = steps * row_norm / mu

    def enough(scale: float) -> bool:
        return mu_perturbed(scale, ridge, relation=relation, row_norm=row_norm) <= mu

    low = ideal * (1.0 + SAFETY)
    if enough(low):
        return Calibration(low, "Theorem A2")
    if mu_perturbed(ideal, ridge, relation=relation, row_norm=row_norm) <= mu * (1.0 + 1e-14):
        return Calibration(ideal, "Theorem A2")  # ridge = 2 scale^2 to the last digit: no room to round up
    high = 1.1 * low
    while not enough(high):
        low, high = high, 1.3 * high
        if high > _MOST_NOISE * ideal:
            raise _too_small(ridge, mu, relation, row_norm, name="mu")
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return Calibration(high, "Theorem A2")


def perturbed_profile(
    epsilons: ArrayLike, scale: float, ridge: float, *, relation: Relation, row_norm: float = 1.0
) -> FloatVector:
    """A bound on delta at each epsilon for Gaussian noise, all valid at once: the least of A2, A2' and B.

    Parameters
    ----------
    epsilons : array_like, shape (k,)
        Each >= 0.
    scale, ridge, row_norm : float
        As in `mu_perturbed`.

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
    >>> found = gaussian_scale(1.0, 1e-6, 2.1, relation="replace-one")
    >>> perturbed_profile([0.0, 1.0, 1.5], found.scale, 2.1, relation="replace-one").round(9)
    array([9.4211394e-02, 1.0000000e-06, 0.0000000e+00])
    """
    steps = _steps(relation, scale=scale, ridge=ridge, row_norm=row_norm)
    asked = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
    if not np.all(asked >= 0.0):
        raise MethodError("a negative epsilon", expected="epsilons >= 0", remedy="Ask from 0 on.")
    mu, s = row_norm / scale, row_norm**2 / ridge
    bound = loss_bound(asked, mu, s, steps)
    shift = math.log1p(s / 4.0)
    total = steps * mu
    shifted = gdp_profile(np.maximum(asked - shift, 0.0), total)
    bound = np.minimum(bound, np.where(asked >= shift, shifted, 1.0))
    exact = np.array([is_gaussian_at(epsilon, mu, s, steps) for epsilon in asked.tolist()])
    last = mu * mu if steps == 2 else 0.0  # up to here the profile is Gaussian at any ridge
    bound = np.minimum(bound, gdp_delta(last, total))
    bound = np.where(exact, gdp_profile(asked, total), bound)
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


def _steps(relation: Relation, **numbers: float) -> int:
    """How many rows move, after checking the public numbers."""
    for name, value in numbers.items():
        if not (0.0 < value < math.inf or (name == "ridge" and value == math.inf)):
            raise MethodError(f"{name}={value!r}", expected=f"{name} > 0, finite", remedy=f"Mend {name}.")
    if relation not in _STEPS:
        raise MethodError(
            f"relation={relation!r}",
            expected="'replace-one' or 'add-remove'",
            remedy="Use relation='replace-one'.",
        )
    return _STEPS[relation]


def _too_small(
    ridge: float, value: float, relation: Relation, row_norm: float, name: str = "epsilon"
) -> MethodError:
    steps = _STEPS[relation]
    enough = steps * row_norm**2 / value if name == "epsilon" else 2.0 * (steps * row_norm / value) ** 2
    return MethodError(
        f"ridge={ridge:g} with {name}={value:g}: at so small a ridge no useful noise is enough",
        expected="a ridge that bounds how far one row can move the minimiser",
        remedy=f"Use ridge={1.001 * enough:.4g} (nothing is lost at that ridge), or leave ridge out.",
    )
