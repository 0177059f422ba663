"""Output perturbation: the minimiser of a strongly convex objective, with noise added to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit

from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.mechanisms import why
from dpglm.mechanisms.base import (
    CERTIFICATE,
    CHOSEN,
    IDEAL_NOISE,
    LAWS,
    Release,
    Rows,
    WorstCase,
    require_bounded_slopes,
    require_convex,
    require_positive,
    require_public_rows,
)
from dpglm.mechanisms.noise.lattice import add_normal, grid_step
from dpglm.mechanisms.noise.source import NoiseSource
from dpglm.mechanisms.rows import FirstRows, worst_case_rows
from dpglm.optim.minimise import minimise
from dpglm.optim.rows import ArrayChunk, ChunkLoss
from dpglm.privacy.budget import Relation
from dpglm.privacy.description import Fact, ReleaseDescription
from dpglm.privacy.events import Event, GaussianEvent, PureEvent
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# max over t of t * expit(-t), rounded up: how far a ridge lets one row carry the minimiser.
_PULL = 0.2784645427610738 * (1.0 + 1e-12)


@dataclass(frozen=True, eq=False)
class PerturbedOutput(Release):
    r"""The minimiser of losses, a ridge and a convex penalty, plus noise.

    With rows x_i of norm at most 1 it releases ``theta + noise``, theta minimising

        sum_i loss(x_i'theta, y_i) + ridge |theta|^2 / 2 + penalty(gamma),   theta = mixing @ gamma,

    in sum units. One row moves theta by at most the largest slope over the ridge.

    Parameters
    ----------
    family : Family
        With slopes of a row in an interval of length 1 that holds 0: binomial, poisson, the hinges.
    ridge : float
        Strong convexity, > 0, sum units.
    law : {"gamma", "gaussian"}
        Noise of density proportional to exp(-|noise| / scale), or Gaussian on a grid.
    scale : float
        Of the noise, in units of theta.
    tolerance : float
        As in `PerturbedMinimiser`.
    penalty, penalty_rows, mixing, penalised
        As in `PerturbedMinimiser`.
    plain_rows : int or None
        A number of rows, beyond which none are read, where there are no offsets, no penalty and a logistic
        loss: slopes at the minimiser then stay below 1 by a known amount. Replace-one only.

    Raises
    ------
    MethodError
        A penalty that is not convex, a family without these bounds, or a number that is not positive.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate (2011); ``output_perturbation.md`` beside this file.
    """

    family: Family
    ridge: float
    law: Literal["gamma", "gaussian"]
    scale: float
    tolerance: float
    penalty: Penalty
    penalty_rows: float | None
    mixing: FloatMatrix
    penalised: BoolVector
    plain_rows: int | None = None

    name: ClassVar[str] = "perturbed output"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN, CERTIFICATE, IDEAL_NOISE)

    @property
    def assumptions(self) -> tuple[str, ...]:
        return self.premises if self.law == "gamma" else (CHOSEN, CERTIFICATE)

    def __post_init__(self) -> None:
        require_convex(self.penalty, "output perturbation")
        require_bounded_slopes(self.family, "output perturbation", curvature=False)  # proof: slopes
        if self.plain_rows is not None and not (self.family.name == "binomial" and not self.penalty.weight):
            raise MethodError(
                "a number of rows for slopes below 1, with a penalty or another loss",
                expected="a logistic loss with a ridge alone",
                remedy="Leave plain_rows out.",
            )
        if self.plain_rows is not None and not self.plain_rows >= 1:
            raise MethodError(
                "no rows at all",
                expected="plain_rows of 1 or more",
                remedy="Leave plain_rows out.",
            )
        require_positive(self, "ridge", "scale", "tolerance")
        if self.law == "gaussian":
            grid_step(self.scale, self.sensitivity("add-remove"), len(self.mixing))

    def sensitivity(self, relation: Relation) -> float:
        """How far one neighbour moves what the noise hides, the solver's error included, Euclidean norm."""
        rows, slope = 1.0, 1.0
        if relation == "replace-one":
            rows = 2.0
            if self.plain_rows is not None:
                slope = float(expit(math.sqrt(_PULL * self.plain_rows / self.ridge)))  # proof: pull
        residual = 2.0 * 2.0 * self.tolerance / self.ridge  # proof: residual
        return rows * slope / self.ridge + residual  # proof: sensitivity

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        require_public_rows(relation, self.penalty_rows)
        if relation == "add-remove" and self.plain_rows is not None:
            raise MethodError(
                "the first rows of a table under add-remove, where another row moves up for one that leaves",
                expected="replace-one, where places are public",
                remedy="Leave plain_rows out.",
            )
        price = self.sensitivity(relation) / self.scale
        if self.law == "gaussian":
            return ((self.name, GaussianEvent(price)),)  # proof: gaussian
        return ((self.name, PureEvent(price)),)  # proof: gamma

    def describe(self, relation: Relation) -> ReleaseDescription:
        rows = () if self.plain_rows is None else (Fact("Rows read, at most", self.plain_rows),)
        mechanism = "Gaussian" if self.law == "gaussian" else "K-norm"
        return ReleaseDescription(
            name=self.name,
            released="the minimiser of sum of losses + ridge/2 |theta|^2 + penalty, once",
            sensitivity=self.sensitivity(relation),
            noise=LAWS[self.law],
            scale=self.scale,
            theorem=f"output perturbation, {mechanism} mechanism (output_perturbation.md)",
            facts=(
                Fact("Ridge, sum units", self.ridge),
                Fact("Certified solver residual", self.tolerance),
                *rows,
            ),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        return (why.OUTPUT,)

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """Minimise to the certificate and add noise; shape (p,), coded coefficients."""
        assert at is None, "a minimiser without a centre"
        if self.plain_rows is not None:
            rows = FirstRows(rows, self.plain_rows)  # proof: first
        count = rows.row_count() if self.penalty_rows is None else self.penalty_rows
        minimum = minimise(
            ChunkLoss(rows.chunks, self.family, size=rows.size, row_count=rows.row_count()),
            linear=np.zeros(rows.size),
            ridge=self.ridge,
            mixing=self.mixing,
            penalty=self.penalty.with_strength(self.penalty.weight * count),
            penalised=self.penalised,
            tolerance=self.tolerance,
        )
        centre = minimum.theta if minimum.certified else np.zeros(rows.size)  # proof: certificate
        if self.law == "gaussian":
            least = self.sensitivity("add-remove")
            return add_normal(centre, scale=self.scale, sensitivity=least, noise=noise)  # proof: lattice
        return np.asarray(centre + noise.gamma_norm(rows.size, rate=1.0 / self.scale), dtype=np.float64)

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """One row, against none or against its opposite; offsets keep their slopes at 1 wherever theta is."""
        first, second = worst_case_rows(self.family, relation, size)
        if self.plain_rows is not None:  # without offsets
            first, second = (ArrayChunk(piece.X, piece.y, None) for piece in (first, second))
        return WorstCase(first, second, np.eye(size)[0])
