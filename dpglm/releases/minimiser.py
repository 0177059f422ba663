"""Objective perturbation: the minimiser of a loss plus a random linear term, released once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.noise import NoiseSource
from dpglm.optim import BlockLoss, minimise
from dpglm.optim.rows import Piece
from dpglm.privacy.budget import Relation
from dpglm.privacy.composition import ApproximateEvent, Event, GaussianEvent, PureEvent
from dpglm.privacy.perturbation import gamma_epsilon, mu_perturbed, perturbed_profile
from dpglm.releases.base import Release, Rows, WorstCase
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# An offset beyond which a logistic slope is 1 for the audit's purposes.
FAR = 1e3
NEIGHBOURS: dict[Relation, float] = {"add-remove": 1.0, "replace-one": 2.0}


@dataclass(frozen=True, eq=False)
class PerturbedMinimiser(Release):
    r"""The minimiser of a randomly tilted objective, blurred by the solver's own error.

    With rows x_i of norm at most 1 it releases ``theta + blur``, theta minimising

        sum_i loss(x_i'theta, y_i) + b'theta + ridge/2 |theta|^2 + penalty(gamma),   theta = mixing @ gamma,

    in sum units: nothing is divided by the number of rows. ``b`` is drawn afresh for each run.

    Parameters
    ----------
    family : Family
        Must have slopes of at most 1 (binomial).
    ridge : float
        Public strong convexity, > 0, sum units.
    law : {"gamma", "gaussian"}
        ``b`` has density exp(-|b| / scale), or is N(0, scale^2 I).
    scale : float
        Noise scale, sum units of the score.
    tolerance : float
        Certified Euclidean norm of the smallest subgradient at the solver's answer, sum units.
    blur_scale : float
        Scale of the noise, of the same law, that hides what the solver left over.
    penalty : Penalty
        Convex, on the scaled coefficients gamma.
    penalty_rows : float or None
        Public number of rows that multiplies the penalty's strength, which is per row; None takes the table's
        own number of rows, which is public under replace-one only.
    mixing : ndarray, shape (p, p)
        Public invertible map from scaled coefficients to coded ones.
    penalised : ndarray of bool, shape (p,)
        Which scaled coefficients the penalty sees.
    claimed_epsilon : float or None
        With Gaussian noise: the epsilon at which the release is claimed as (epsilon, delta); None claims
        Gaussian differential privacy.

    Raises
    ------
    MethodError
        A penalty that is not convex, or a family without a slope bound of 1.

    References
    ----------
    Theorems A1, A2, A2', A4 and B in ``minimiser.md`` beside this file.
    """

    family: Family
    ridge: float
    law: Literal["gamma", "gaussian"]
    scale: float
    tolerance: float
    blur_scale: float
    penalty: Penalty
    penalty_rows: float | None
    mixing: FloatMatrix
    penalised: BoolVector
    claimed_epsilon: float | None = None

    name: ClassVar[str] = "perturbed minimiser"
    assumptions: ClassVar[tuple[str, ...]] = (
        "bounds, levels, formula and penalty strength were chosen without looking at these data",
        "the solver's certificate and the noise are computed in double precision (idealized numerics)",
    )

    def __post_init__(self) -> None:
        if not self.penalty.convex:
            raise MethodError(
                f"penalty {self.penalty.name!r} inside a perturbed objective",
                expected="a convex penalty: a global minimiser of another one may jump",
                remedy="Use penalty='l1', 'l2', 'elastic_net' or 'none'.",
            )
        if not self.family.logistic:
            raise MethodError(
                f"family {self.family.name!r} in a perturbed objective",
                expected="a logistic loss, whose slope is at most 1 and whose curvature is a(1 - a)",
                remedy="Use family='binomial'.",
            )
        for name in ("ridge", "scale", "tolerance", "blur_scale"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise MethodError(
                    f"{name}={getattr(self, name)!r}",
                    expected=f"{name} > 0, finite",
                    remedy="Let a method calibrate the release.",
                )

    def sensitivity(self, relation: Relation) -> float:
        """Largest change of the score sum_i slope_i x_i: one row moves it by its norm, at most 1."""
        return NEIGHBOURS[relation]  # proof: sensitivity

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        if relation == "add-remove" and self.penalty_rows is None:
            raise MethodError(
                "a penalty per row under add-remove, where the number of rows is private",
                expected="a public number of rows",
                remedy="Declare it, Schema(..., rows=10000), leave strength out, or use replace-one.",
            )
        moved = 2.0 * self.tolerance / self.ridge  # proof: residual
        tilt: Event
        if self.law == "gamma":
            tilt = PureEvent(gamma_epsilon(1.0 / self.scale, self.ridge, relation=relation))  # proof: gamma
        elif self.claimed_epsilon is None:
            tilt = GaussianEvent(mu_perturbed(self.scale, self.ridge, relation=relation))  # proof: gaussian
            return (self.name, tilt), ("solver residual", GaussianEvent(moved / self.blur_scale))
        else:
            epsilon = self.claimed_epsilon
            delta = perturbed_profile(np.array([epsilon]), self.scale, self.ridge, relation=relation)[0]
            tilt = ApproximateEvent(epsilon, float(delta))  # proof: profile
        return (self.name, tilt), ("solver residual", PureEvent(moved / self.blur_scale))  # proof: blur

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """Draw the tilt, minimise to the certificate, blur; shape (p,), coded coefficients."""
        assert at is None, "a minimiser is not evaluated at a point"
        tilt = self._draw(noise, rows.size, self.scale)  # proof: fresh
        count = rows.row_count() if self.penalty_rows is None else self.penalty_rows
        minimum = minimise(
            BlockLoss(rows.blocks, self.family, size=rows.size, row_count=rows.row_count()),
            linear=tilt,
            ridge=self.ridge,
            mixing=self.mixing,
            penalty=self.penalty.with_strength(self.penalty.weight * count),
            penalised=self.penalised,
            tolerance=self.tolerance,
        )
        # A point without its certificate never leaves: zeros take its place, in silence.
        centre = minimum.theta if minimum.certified else np.zeros(rows.size)  # proof: certificate
        blur_law = self.law if self.claimed_epsilon is None else "gamma"
        return centre + self._draw(noise, rows.size, self.blur_scale, blur_law)

    def _draw(
        self, noise: NoiseSource, size: int, scale: float, law: Literal["gamma", "gaussian"] | None = None
    ) -> FloatVector:
        if (law or self.law) == "gaussian":
            return noise.normal(size, scale=scale)
        return noise.gamma_norm(size, rate=1.0 / scale)

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """One row, against none or against its opposite; offsets keep their slopes at 1 wherever theta is."""
        axis = np.eye(size, 1)
        first = Piece(axis.astype(np.float32), np.array([1.0]), np.array([-FAR]))
        second = Piece(axis.astype(np.float32), np.array([0.0]), np.array([FAR]))
        if relation == "add-remove":
            second = Piece(np.zeros((size, 0), dtype=np.float32), np.zeros(0), np.zeros(0))
        return WorstCase(first, second, axis[:, 0])
