"""What iterative methods share: public sizes, penalties bound to a step, the promise for many releases."""

from __future__ import annotations

import math

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties import Penalty
from dpglm.inference.coefficients import Scaling
from dpglm.methods.base import Estimate, Problem
from dpglm.privacy.budget import Privacy
from dpglm.privacy.gdp import gdp_mu
from dpglm.typing import FloatVector

MOST_STEPS = 100_000


def gaussian_total(privacy: Privacy, name: str) -> float:
    """The mu that all Gaussian releases of a fit may add up to, in squares; not of a pure budget."""
    if privacy.mu is not None:
        return privacy.mu
    if privacy.delta == 0.0:
        raise MethodError(
            f"pure epsilon with method={name!r}, whose noise is Gaussian",
            expected="a budget with a delta",
            remedy="Use privacy=(1.0, 1e-6), or method='objective', which keeps a pure epsilon.",
        )
    return gdp_mu(privacy.epsilon, privacy.delta)


def require_steps(value: int | None, name: str) -> None:
    """Refuse a number of rounds that is no whole number from 1 to 100,000."""
    if value is not None:
        require_whole(name, value, 1, MOST_STEPS, f"Use {name}=30.")


def require_whole(name: str, value: object, low: int, high: int, remedy: str) -> None:
    """Refuse an option that is no whole number from ``low`` to ``high``."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise MethodError(
            f"{name} out of range", expected=f"a whole number from {low} to {high}", remedy=remedy
        )


def public_rows(problem: Problem, name: str) -> float:
    """The number of rows that averages divide by: the table's own, or a declared one, or a MethodError."""
    size = problem.public_size()
    if size is None:
        raise MethodError(
            f"method={name!r} under add-remove, where the number of rows is private",
            expected="a public number of rows to divide by",
            remedy="Declare it, Schema(..., rows=10000), or use relation='replace-one'.",
        )
    return max(size, 1.0)


def declared_rows(problem: Problem, name: str) -> float:
    """The declared number of rows, for numbers that have to be known before any row is read."""
    if problem.known_rows is None:
        raise MethodError(
            f"method={name!r} with an option per row, and no declared number of rows",
            expected="a number of rows that is known before any row is read",
            remedy="Declare it, Schema(..., rows=10000), or leave the option out.",
        )
    return float(max(problem.known_rows, 1))


def noise_level(deviation: float, size: int) -> float:
    """What Gaussian noise of this deviation reaches in ``size`` coordinates: deviation * sqrt(2 log size)."""
    return deviation * math.sqrt(2.0 * math.log(max(size, 2)))


def bound_penalty(problem: Problem, scaling: Scaling, quadratic: float, level: float) -> Penalty:
    """The penalty for proximal steps against a quadratic, at the user's strength or at one that stops noise.

    ``quadratic`` is its second derivative in each coordinate. Where no strength was given, noise of size
    ``level`` in the gradient is set to zero. All is in sum units, and so is the penalty's strength.
    """
    size = int(scaling.penalised.sum())
    penalty = problem.penalty.with_scale(np.full(size, quadratic))
    given = problem.total_strength()
    if given is not None:
        return penalty.with_strength(given)
    if not penalty.selects or size == 0:
        return penalty.with_strength(0.0)
    strength = penalty.with_strength(1.0).strength_max(np.full(size, level), 1.0 / quadratic)
    return penalty.with_strength(strength)


def prox(penalty: Penalty, point: FloatVector, quadratic: float, scaling: Scaling) -> FloatVector:
    """The proximal step of ``penalty`` on the penalised scaled coefficients, exact zeros included."""
    moved = np.array(point, dtype=np.float64)
    moved[scaling.penalised] = penalty.prox(moved[scaling.penalised], 1.0 / quadratic)
    return moved


def estimate(scaling: Scaling, scaled: FloatVector, strength: float | None = None) -> Estimate:
    """The result of a method in scaled coefficients."""
    return Estimate(scaling.coded(scaled), scaling.user(scaled), scaled != 0.0, strength)
