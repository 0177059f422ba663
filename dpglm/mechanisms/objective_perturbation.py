"""Objective perturbation: the minimiser of a loss plus a random linear term, released once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.mechanisms import why
from dpglm.mechanisms.audit_statistics import perturbation_log_ratio, worst_case_rows
from dpglm.mechanisms.base import (
    CERTIFICATE,
    CHOSEN,
    LAWS,
    TAIL,
    Release,
    Rows,
    WorstCase,
    release_error,
    require_bounded_slopes,
    require_convex,
    require_positive,
    require_public_rows,
)
from dpglm.mechanisms.noise.lattice import add_laplace, add_normal, grid_step, laplace_price
from dpglm.mechanisms.noise.source import NoiseSource
from dpglm.mechanisms.row_views import WithinLeverage
from dpglm.optim.minimise import minimise
from dpglm.optim.rows import ChunkLoss
from dpglm.privacy.budget import Relation
from dpglm.privacy.description import Fact, ReleaseDescription
from dpglm.privacy.events import (
    ApproximateEvent,
    BoundedSlopeEvent,
    Event,
    GaussianEvent,
    PerturbedEvent,
    PureEvent,
    bounded_shift,
    gamma_epsilon,
    mu_perturbed,
    perturbed_profile,
)
from dpglm.privacy.joint_profile import is_gaussian_at
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

_SLACK = 1e-3
# What the ridge may pull with, in units of the tolerance: a double is off by 1/256 of that at most.
_DIGITS = 2.0**45
# A centre may be this many tolerances long: rounding in the certificate grows with the point it is about.
CENTRE = 1e7
NEIGHBOURS: dict[Relation, float] = {"add-remove": 1.0, "replace-one": 2.0}


@dataclass(frozen=True, eq=False)
class PerturbedMinimiser(Release):
    r"""The minimiser of a randomly perturbed objective, with noise that hides the solver's own error.

    With rows x_i of norm at most 1 it releases ``theta + residual noise``, theta minimising

        sum_i loss(x_i'theta, y_i) + b'theta + theta' P theta / 2 + penalty(gamma),   theta = mixing @ gamma,

    in sum units: nothing is divided by the number of rows. ``b`` is drawn afresh for each run. Run at a point
    c that was released before, the ridge pulls towards c: ``(theta - c)' P (theta - c) / 2``.

    Parameters
    ----------
    family : Family
        Keeps slopes of a row in an interval of length 1 that holds 0, and curvatures in [0, 1].
    ridge : float or ndarray, shape (p,)
        Public diagonal of P, > 0, sum units; a number for all coordinates alike.
    law : {"gamma", "gaussian"}
        ``b`` has density exp(-|b| / scale), or is N(0, scale^2 I).
    scale : float
        Noise scale, sum units of the score.
    tolerance : float
        Certified Euclidean norm of the smallest subgradient at the solver's answer, sum units.
    residual_noise_scale : float
        Scale of the noise that hides what the solver left over, added on a grid: the standard deviation of
        Gaussian noise where the claim composes and ``law`` is Gaussian, else the scale of independent
        Laplace noise.
    penalty : Penalty
        Convex, on the scaled coefficients gamma.
    penalty_rows : float or None
        Multiplies the penalty's strength, which is per row; None takes the table's own number of rows, which
        is public under replace-one only.
    mixing : ndarray, shape (p, p)
        Public invertible map from scaled coefficients to coded ones.
    penalised : ndarray of bool, shape (p,)
        Which scaled coefficients the penalty sees.
    claimed_epsilon : float or None
        With Gaussian noise: the epsilon at which the release is claimed as (epsilon, delta) by itself. None
        claims what composes with Gaussian releases: Gaussian differential privacy where every ridge is at
        least ``2 scale**2`` or ``max_leverage`` is None, and otherwise a `PerturbedEvent`. Families
        that are not logistic have None only, and a `BoundedSlopeEvent`.
    max_leverage : float or None
        Public bound on x' P^-1 x; rows beyond it are read as zeros. Needed where ``ridge`` is an array; for a
        number it is 1 / ridge, and saying so asks for the claim that composes.

    Raises
    ------
    MethodError
        A penalty that is not convex, a family without these bounds, or numbers that no theorem allows.

    References
    ----------
    Theorems A1, A2, A2', A4, B and C in ``objective_perturbation.md`` beside this file.
    """

    family: Family
    ridge: float | FloatVector
    law: Literal["gamma", "gaussian"]
    scale: float
    tolerance: float
    residual_noise_scale: float
    penalty: Penalty
    penalty_rows: float | None
    mixing: FloatMatrix
    penalised: BoolVector
    claimed_epsilon: float | None = None
    max_leverage: float | None = None

    name: ClassVar[str] = "perturbed minimiser"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN, CERTIFICATE, TAIL)
    turns: ClassVar[bool] = True

    @property
    def assumptions(self) -> tuple[str, ...]:
        return self.premises if self.law == "gamma" else (CHOSEN, CERTIFICATE)

    def __post_init__(self) -> None:
        require_convex(self.penalty, "a perturbed objective")
        require_bounded_slopes(self.family, "a perturbed objective")  # proof: slopes
        if self.claimed_epsilon is not None and not self.family.logistic:
            raise release_error(
                f"a claim at one epsilon for family {self.family.name!r}",
                "a logistic loss, whose slope is at most 1 and whose curvature is a(1 - a)",
            )
        require_positive(self, "scale", "tolerance", "residual_noise_scale")
        ridge = np.asarray(self.ridge, dtype=np.float64)
        if ridge.ndim > 1 or ridge.size == 0 or not np.all((ridge > 0.0) & (ridge < math.inf)):
            raise release_error("a ridge", "ridge > 0, finite, a number or a vector")
        # Rows may be declared a little shorter than 1; one number takes no advantage of that.
        least = 1.0 / float(ridge.max()) * (1.0 - (_SLACK if ridge.ndim else 0.0))
        if (self.max_leverage is None and ridge.ndim) or (
            self.max_leverage is not None and not self.max_leverage >= least
        ):
            raise release_error(
                f"max_leverage={self.max_leverage!r} with a largest ridge of {float(ridge.max()):g}",
                "the largest x' P^-1 x of a row, at least 1 / max(ridge)",
            )

    @property
    def least_ridge(self) -> float:
        """Strong convexity: the smallest ridge of any coordinate."""
        return float(np.min(self.ridge))  # proof: convexity

    @property
    def moved(self) -> float:
        """How far apart neighbours' answers lie where their minimisers are the same: twice 2 tolerances."""
        return 2.0 * 2.0 * self.tolerance / self.least_ridge  # proof: residual

    @property
    def _max_leverage(self) -> float:
        """x' P^-1 x at most, for rows within ``max_leverage`` and of norm at most 1."""
        return min(1.0 / self.least_ridge, math.inf if self.max_leverage is None else self.max_leverage)

    def sensitivity(self, relation: Relation) -> float:
        """Largest change of the score sum_i slope_i x_i: one row moves it by its norm, at most 1."""
        return NEIGHBOURS[relation]  # proof: sensitivity

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        require_public_rows(relation, self.penalty_rows)
        if self.claimed_epsilon is None and self.law == "gaussian":
            residual = GaussianEvent(self.moved / self.residual_noise_scale)
            return (self.name, self._composable(relation)), ("solver residual", residual)
        minimum: Event
        if self.law == "gamma":
            minimum = PureEvent(self._pure(1.0 / self.scale, relation))
        else:
            claimed = self.claimed_epsilon
            assert claimed is not None, "what composes is above"
            delta = self._claimed_profile(claimed, relation)
            minimum = ApproximateEvent(claimed, float(delta[0]))  # proof: profile
        # Rows of norm sqrt(p) at most in the sum of absolute values.
        distance, size = self.moved * math.sqrt(len(self.mixing)), len(self.mixing)
        price = laplace_price(distance, self.residual_noise_scale, size)  # proof: blur
        return (self.name, minimum), ("solver residual", PureEvent(price))

    @property
    def noise_scales(self) -> tuple[float, float]:
        return self.scale, self.residual_noise_scale

    @property
    def ridges(self) -> FloatVector:
        """Diagonal of P, shape (p,)."""
        return np.broadcast_to(np.asarray(self.ridge, dtype=np.float64), (len(self.mixing),))

    @property
    def deviation(self) -> float:
        """Standard deviation of each coordinate of b."""
        return self.scale * (1.0 if self.law == "gaussian" else math.sqrt(len(self.mixing) + 1.0))

    def _theorem(self, relation: Relation) -> tuple[str, str]:
        """What is claimed, and the theorem of the proof that says so."""
        if self.law == "gamma":
            return "pure epsilon", "A1" if self.family.logistic else "C"
        if self.claimed_epsilon is not None:
            steps = int(NEIGHBOURS[relation])
            gaussian = is_gaussian_at(self.claimed_epsilon, 1.0 / self.scale, 1.0 / self.least_ridge, steps)
            return "(epsilon, delta)", "B" if gaussian else "A2 and A2'"
        if not self.family.logistic:
            return "(epsilon, delta)", "C"
        if isinstance(self._composable(relation), GaussianEvent):
            return "Gaussian differential privacy", "A2"
        return "(epsilon, delta) beside Gaussian releases", "A2' and B"

    def describe(self, relation: Relation) -> ReleaseDescription:
        claim, theorem = self._theorem(relation)
        plural = "s" if " and " in theorem else ""
        return ReleaseDescription(
            name=self.name,
            released="the minimiser of sum of losses + b'theta + ridge/2 |theta|^2 + penalty, once",
            sensitivity=self.sensitivity(relation),
            noise=LAWS[self.law],
            scale=self.scale,
            theorem=f"objective perturbation, {claim} (Theorem{plural} {theorem}, objective_perturbation.md)",
            facts=(
                Fact("Ridge, sum units", tuple(np.unique(self.ridge).tolist())),
                Fact("Certified solver residual", self.tolerance),
                Fact("Noise that hides the residual", self.residual_noise_scale),
            ),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        terms = (why.DIAGONAL,) if np.ndim(self.ridge) else ()
        return (*why.COMMON, why.BY_THEOREM[self._theorem(relation)[1]], *terms, why.RESIDUAL)

    def profile(self, epsilons: FloatVector, relation: Relation) -> FloatVector | None:
        if self.law == "gamma" or self.claimed_epsilon is None:
            return None
        _, (_, residual) = self.events(relation)
        assert isinstance(residual, PureEvent)
        deltas = self._claimed_profile(np.maximum(epsilons - residual.epsilon, 0.0), relation)
        return np.where(epsilons < residual.epsilon, 1.0, deltas)

    def _claimed_profile(self, epsilons: ArrayLike, relation: Relation) -> FloatVector:
        return perturbed_profile(epsilons, self.scale, self.least_ridge, relation=relation)

    def log_ratio(
        self, answers: FloatMatrix, first: Rows, second: Rows, at: FloatMatrix | None
    ) -> FloatVector | None:
        return self.scaled_log_ratio(answers, first, second, None)

    def scaled_log_ratio(
        self, answers: FloatMatrix, first: Rows, second: Rows, factor: FloatVector | None
    ) -> FloatVector:
        """`log_ratio` on rows times ``factor``, clipped to norm 1."""
        tables = self._within_leverage(first), self._within_leverage(second)
        return perturbation_log_ratio(self.family, self.ridges, self.law, self.scale, answers, tables, factor)

    def _within_leverage(self, rows: Rows) -> Rows:
        if np.ndim(self.ridge) == 0:
            return rows
        assert self.max_leverage is not None, "checked on construction"
        return WithinLeverage(rows, np.asarray(self.ridge), self.max_leverage)  # proof: reach

    def _pure(self, rate: float, relation: Relation) -> float:
        if self.family.logistic:
            return gamma_epsilon(rate, 1.0 / self._max_leverage, relation=relation)  # proof: gamma
        return NEIGHBOURS[relation] * rate + bounded_shift(self._max_leverage)  # proof: bounded-gamma

    def _composable(self, relation: Relation) -> Event:
        """What holds beside other Gaussian releases."""
        if not self.family.logistic:
            return BoundedSlopeEvent(1.0 / self.scale, self._max_leverage, relation)  # proof: bounded
        if self.max_leverage is None or self.least_ridge >= 2.0 * self.scale**2:
            mu = mu_perturbed(self.scale, self.least_ridge, relation=relation)  # proof: gaussian
            return GaussianEvent(mu)
        uniform = np.ndim(self.ridge) == 0
        return PerturbedEvent(1.0 / self.scale, self._max_leverage, relation, uniform)  # proof: staged

    def residual_noise_for(self, price: float) -> float:
        """The scale of the residual noise at which hiding the residual costs ``price``, in epsilon or in mu.

        Raises
        ------
        MethodError
            A price below what rounding to the grid costs.
        """
        if self.law == "gaussian" and self.claimed_epsilon is None:
            grid_step(self.moved / price, self.moved, len(self.mixing))
            return self.moved / price
        size = len(self.mixing)
        left = price - laplace_price(0.0, 1.0, size)
        if not left > 0.0:
            raise MethodError(
                f"a share of {price:.3g} of epsilon for the solver's residual",
                expected=f"more than {laplace_price(0.0, 1.0, size):.1g}",
                remedy="Spend a larger epsilon.",
            )
        return laplace_price(self.moved * math.sqrt(size), 1.0, 0) / left

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """Draw b, minimise to the certificate, add the residual noise; shape (p,), coded coefficients.

        ``at`` is where the ridge pulls to, zero if None.
        """
        tilt = self._draw(noise, rows.size)  # proof: fresh
        if at is not None:
            tilt = tilt - self._pull(at)  # proof: centre
        rows = self._within_leverage(rows)
        count = rows.row_count() if self.penalty_rows is None else self.penalty_rows
        minimum = minimise(
            ChunkLoss(rows.chunks, self.family, size=rows.size, row_count=rows.row_count()),
            linear=tilt,
            ridge=self.ridge,
            mixing=self.mixing,
            penalty=self.penalty.with_strength(self.penalty.weight * count),
            penalised=self.penalised,
            tolerance=self.tolerance,
        )
        # A point without its certificate never leaves: zeros take its place, in silence.
        centre = minimum.theta if minimum.certified else np.zeros(rows.size)  # proof: certificate
        if self.law == "gaussian" and self.claimed_epsilon is None:
            return add_normal(centre, scale=self.residual_noise_scale, sensitivity=self.moved, noise=noise)
        return add_laplace(centre, scale=self.residual_noise_scale, noise=noise)

    def within_double_precision(self, at: FloatVector) -> bool:
        """Whether the ridge pulls to all of a centre: none of it cut, near enough for the certificate."""
        felt = np.abs(np.asarray(self.ridge) * at) <= _DIGITS * self.tolerance
        return bool(np.all(felt) and np.linalg.norm(at) <= CENTRE * self.tolerance * (1.0 + 1e-9))

    def _pull(self, at: FloatVector) -> FloatVector:
        """P times the centre, which is cut where rounding in it would be felt beside the tolerance."""
        most = _DIGITS * self.tolerance
        return np.clip(np.asarray(self.ridge) * at, -most, most)

    def _draw(self, noise: NoiseSource, size: int) -> FloatVector:
        if self.law == "gaussian":
            return noise.normal(size, scale=self.scale)
        return noise.gamma_norm(size, rate=1.0 / self.scale)

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """One row, against none or against its opposite; offsets keep their slopes at 1 wherever theta is."""
        first, second = worst_case_rows(self.family, relation, size)
        return WorstCase(first, second, np.eye(size)[0])
