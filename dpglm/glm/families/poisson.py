"""Counts with the log link and a declared bound: Poisson regression."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.families.base import Family, ResponseKind, families
from dpglm.typing import FloatVector


@families.register("poisson", "count")
@dataclass(frozen=True)
class Poisson(Family):
    r"""A count between 0 and a declared bound Y, with mean m = min(exp(eta), Y).

    The loss is the integral of (m - y)/Y in eta: the Poisson one divided by Y where the mean is below Y, and
    a straight line beyond. It is convex, its slope (m - y)/Y stays in [-y/Y, 1 - y/Y], of length 1, and its
    curvature m/Y (0 beyond) in [0, 1]: ``mechanisms/objective_perturbation.md`` uses nothing else. Rows
    fitted to a mean at the bound are treated otherwise than by the likelihood: a bound well above the largest
    mean has none. Penalty strengths are in units of this loss, so Y times smaller than those of the
    likelihood.

    Parameters
    ----------
    bound : float
        Y > 0. ``dpglm.fit`` puts the declared bound of the response here. Responses outside [0, Y] count as
        the nearest bound.

    Raises
    ------
    MethodError
        If the bound is not positive and finite.

    References
    ----------
    McCullagh and Nelder (1989), Generalized Linear Models, chapter 6.

    Examples
    --------
    >>> family = Poisson(bound=20.0)
    >>> family.slope(np.log([2.0, 50.0]), np.array([6.0, 6.0]))
    array([-0.2,  0.7])
    >>> family.mean(np.log([2.0, 50.0]))
    array([ 2., 20.])
    """

    bound: float = 1.0

    name: ClassVar[str] = "poisson"
    link: ClassVar[str] = "log"
    slope_max: ClassVar[float | None] = 1.0
    curvature_max: ClassVar[float | None] = 1.0
    third_derivative_bound: ClassVar[float] = 1.0
    slope_range: ClassVar[float | None] = 1.0
    response_kind: ClassVar[ResponseKind] = "count"
    score_weight_max: ClassVar[float] = 0.25

    def __post_init__(self) -> None:
        number = isinstance(self.bound, int | float | np.integer | np.floating)
        if not number or not 1e-100 <= self.bound <= 1e100:
            raise MethodError(
                "a bound of counts that is not a number from 1e-100 to 1e100",
                expected="the largest count that is told from larger ones",
                remedy="Leave it out: dpglm.fit takes the bound of the response from the schema.",
            )

    @property
    def dispersion(self) -> float:
        """1 / Y: a Poisson count has variance m, so its slope has variance m/Y^2; its curvature is m/Y."""
        return 1.0 / self.bound

    def with_bound(self, bound: float) -> Poisson:
        """The same family for counts up to ``bound``."""
        return replace(self, bound=float(bound))

    @property
    def response_bounds(self) -> tuple[float, float]:
        return 0.0, self.bound

    @property
    def worst_case_responses(self) -> tuple[float, float]:
        """A mean at the bound with a response of 0 has slope 1."""
        return self.bound, 0.0

    def expected_weight(self, mean: float, explained: float) -> float:
        return min(mean / self.bound, 1.0)

    def loss(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        beyond = np.maximum(eta - math.log(self.bound), 0.0)
        return self._share(eta) + beyond - self._coded(y) * eta

    def slope(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return self._share(eta) - self._coded(y)

    def curvature(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return np.where(eta <= math.log(self.bound), self._share(eta), 0.0)

    def ball_slope(self, eta: Any, y: float) -> Any:
        below = (eta - math.log(self.bound)).min(0)
        return below.exp() - min(max(y, 0.0), self.bound) / self.bound

    def mean(self, eta: FloatVector) -> FloatVector:
        return self.bound * self._share(eta)

    def _share(self, eta: FloatVector) -> FloatVector:
        """m / Y, at most 1."""
        return np.asarray(np.exp(np.minimum(eta - math.log(self.bound), 0.0)))

    def _coded(self, y: FloatVector) -> FloatVector:
        """y / Y, in [0, 1] whatever y is: the price of a release leans on that."""
        return np.minimum(np.maximum(y, 0.0), self.bound) / self.bound
