"""The least noise of a perturbed minimiser for a budget, rounded to the safe side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpglm.errors import MethodError
from dpglm.privacy.accounting import SAFETY, gdp_mu
from dpglm.privacy.budget import Relation
from dpglm.privacy.loss_bound import Loss, is_gaussian_at, loss_bound
from dpglm.privacy.search import last_kept, log_ratio
from dpglm.privacy.theorems import STEPS, gamma_epsilon, mu_perturbed, steps_of

# More than this many times the noise of a larger ridge is refused: nobody can want it.
MOST_NOISE = 1000.0


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
    steps = steps_of(relation, epsilon=epsilon, row_norm=row_norm)
    return steps * row_norm**2 / epsilon * (1.0 + 2.0 * SAFETY)


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
    steps = steps_of(relation, epsilon=epsilon, ridge=ridge, row_norm=row_norm, slope_max=slope_max)

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
    low = ideal / MOST_NOISE
    if price(low) > epsilon:
        raise _too_small(ridge, epsilon, relation, row_norm)
    return last_kept(lambda rate: price(rate) - epsilon, low, ideal) * (1.0 - SAFETY)


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
    steps = steps_of(relation, epsilon=epsilon, ridge=ridge, row_norm=row_norm)
    s = row_norm**2 / ridge
    mu = gdp_mu(epsilon, delta)
    ideal = steps / mu * (1.0 + SAFETY)
    if is_gaussian_at(epsilon, 1.0 / ideal, s, steps):
        return Calibration(row_norm * ideal, "Theorem B")
    shift = math.log1p(s / 4.0)
    shifted = math.inf
    if epsilon > shift:
        shifted = steps / gdp_mu(epsilon - shift, delta) * (1.0 + SAFETY)

    def excess(scale: float) -> float:
        return log_ratio(float(loss_bound(np.array([epsilon]), 1.0 / scale, s, steps)[0]), delta)

    most = min(shifted, MOST_NOISE * ideal)
    if excess(most) <= 0.0:
        numeric = last_kept(excess, most, ideal, close=1e-10) * (1.0 + SAFETY)
        if numeric < shifted:
            return Calibration(row_norm * numeric, "Theorem A2")
    if shifted > MOST_NOISE * ideal:
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
    steps = steps_of(relation, mu=mu, ridge=ridge, row_norm=row_norm)
    ideal = steps * row_norm / mu

    def excess(scale: float) -> float:
        return mu_perturbed(scale, ridge, relation=relation, row_norm=row_norm) - mu

    low = ideal * (1.0 + SAFETY)
    if excess(ideal) <= 1e-14 * mu:  # ridge = 2 scale^2 to the last digit: no room to round up
        return Calibration(low if excess(low) <= 0.0 else ideal, "Theorem A2")
    high = 1.1 * low
    while excess(high) > 0.0:
        low, high = high, 1.3 * high
        if high > MOST_NOISE * ideal:
            raise _too_small(ridge, mu, relation, row_norm, name="mu")
    return Calibration(last_kept(excess, high, low, close=1e-9), "Theorem A2")


def _too_small(
    ridge: float, value: float, relation: Relation, row_norm: float, name: str = "epsilon"
) -> MethodError:
    steps = STEPS[relation]
    enough = steps * row_norm**2 / value if name == "epsilon" else 2.0 * (steps * row_norm / value) ** 2
    return MethodError(
        f"ridge={ridge:g} with {name}={value:g}: at so small a ridge no useful noise is enough",
        expected="a ridge that bounds how far one row can move the minimiser",
        remedy=f"Use ridge={1.001 * enough:.4g} (nothing is lost at that ridge), or leave ridge out.",
    )
