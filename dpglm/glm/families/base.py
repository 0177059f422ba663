"""What a family of responses must say: its loss and the loss's derivatives in the linear predictor."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Final, Literal

import numpy as np

from dpglm.errors import MethodError
from dpglm.registry import Registry
from dpglm.typing import FloatVector

ResponseKind = Literal["binary", "count", "number", "ordered"]


class Family(ABC):
    """A response distribution with its link, seen as a loss in the linear predictor ``eta``.

    All methods work elementwise on vectors of one length and are finite for every finite input.
    ``slope_max`` and ``curvature_max`` bound the first and second derivative in absolute value
    (c1 and c2 of the privacy theorems); ``None`` means unbounded. What an option of a family changes is a
    property there, and a constant of the class elsewhere.

    Examples
    --------
    >>> family = families["binomial"]()
    >>> family.mean(np.array([0.0, 2.0])).round(3)
    array([0.5  , 0.881])
    """

    name: ClassVar[str]
    link: ClassVar[str]
    slope_max: ClassVar[float | None]
    # Length of an interval that holds 0 and every slope of a row, whatever eta; None where there is none.
    slope_range: ClassVar[float | None] = None
    # Whether, in the margin, the slope is -a and the curvature at most `steepness` a(1 - a), a in (0, 1).
    logistic: ClassVar[bool] = False
    steepness: float = 1.0
    # Two levels, coded 0 and 1; counts from 0 to a declared bound; numbers between declared bounds; or levels
    # in their order, of which each row asks whether somebody is above one.
    response_kind: ClassVar[ResponseKind] = "number"
    # A row's squared slope where the model fits, at most, on average; for numbers coded in [-1, 1].
    score_weight_max: ClassVar[float] = 1.0
    # Whether the loss is a negative log-likelihood: without one there are no standard errors to be had from
    # its curvature, and no expected responses.
    likelihood: ClassVar[bool] = True
    # What predicts best where nothing else is asked for: noise that is alike in all coefficients is stopped.
    prediction_penalty: ClassVar[str] = "l2"

    @property
    def curvature_max(self) -> float | None:
        """Bound on the second derivative."""
        return None

    @property
    def third_derivative_bound(self) -> float:
        """Bound on the third derivative as a share of the second."""
        return math.inf

    # Whether the likelihood itself fixes the dispersion.
    fixed_dispersion: ClassVar[bool] = True

    @property
    def dispersion(self) -> float:
        """Variance of a row's slope per unit of its curvature, where the model fits; by a known factor."""
        return 1.0

    @property
    def worst_case_responses(self) -> tuple[float, float]:
        """Two coded responses: with the second one, a row differs most from a fit to the first one."""
        return (0.0, 1.0) if self.response_kind in ("binary", "ordered") else (-1.0, 1.0)

    def expected_weight(self, mean: float, explained: float) -> float:
        """Second derivative of a row's loss to expect at this mean response; that at eta = 0 by default.

        ``explained`` is the share of the response's variance that the predictors explain.
        """
        return float(self.curvature(np.zeros(1), np.full(1, mean))[0])

    @property
    def row_share(self) -> float | None:
        """The weight of each row of the design, where it is the same for all and below 1."""
        return None

    def of_periods(self, share: float) -> Family:
        """The family of rows of persons and periods, or stages, with this share each; refused by most."""
        raise MethodError(
            f"Surv(time, event) with family={self.name!r}",
            expected="family='binomial': hazards are probabilities, and coefficients their log odds",
            remedy="Leave family out.",
        )

    def shifted(self) -> Family:
        """The family whose loss predicts best from noisy scores; the same one where there is none."""
        return self

    def steeper(self, steepness: float) -> Family:
        """The family of the same model whose loss tells more through noise; the same one where none does."""
        return self

    def with_bound(self, bound: float) -> Family:
        """The family for responses up to a declared bound; the same one where no bound enters."""
        return self

    @abstractmethod
    def loss(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        """Negative log-likelihood of each row, up to a constant, or what stands for it; shape (k,)."""

    @abstractmethod
    def slope(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        """First derivative of the loss in ``eta``: mean minus response for a canonical link."""

    @abstractmethod
    def curvature(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        """Second derivative of the loss in ``eta``, >= 0."""

    def information(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        """Second derivative of the mean loss of rows at ``eta``, where the model holds; shape (k,)."""
        return self.curvature(eta, y)

    @property
    def information_max(self) -> float | None:
        """Bound on what `information` gives."""
        return self.curvature_max

    @property
    def score_weight(self) -> float:
        """What multiplies a score that is released beside an information; 0 where none may be, or had better.

        Above 0 the slope and the information are those of which ``mechanisms/information.md`` speaks.
        """
        return 0.0

    def curvature_total(self, slopes: FloatVector) -> float:
        """A bound on the sum of second derivatives of rows whose first ones are at most these, shape (k,)."""
        return math.inf if self.curvature_max is None else self.curvature_max * len(slopes)

    def ball_slope(self, eta: Any, y: float) -> Any:
        """The slope of one row whose eta is a ball (python-flint's arb): a ball that holds it.

        For the last steps to a minimiser (``mechanisms/finishing.py``). None where a family has none.
        """
        return None

    @abstractmethod
    def mean(self, eta: FloatVector) -> FloatVector:
        """Expected response: the inverse link; refused by a loss that is no likelihood."""

    @property
    def response_bounds(self) -> tuple[float, float]:
        """Least and largest coded response."""
        return (-1.0, 1.0) if self.response_kind == "number" else (0.0, 1.0)

    def prediction(self, eta: FloatVector) -> FloatVector:
        """What a row's coded response is predicted to be: its mean; of a margin loss, its level."""
        return self.mean(eta)


_COUNTS: Final = "Use family='poisson': errors hold a released dispersion, as those of quasi-Poisson do."
_LEVELS: Final = "dpglm.fit and dpglm.plan take family='multinomial', which has no class, for one table."
families: Registry[Family] = Registry(
    "family",
    "dpglm.glm.families",
    beside=("multinomial",),
    remedies=dict.fromkeys(("negativebinomial", "negbin", "nb", "nb2", "quasipoisson"), _COUNTS)
    | dict.fromkeys(("multinomial", "multinom", "mnlogit"), _LEVELS),
)
