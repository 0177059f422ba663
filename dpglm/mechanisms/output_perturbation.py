"""Output perturbation: the minimiser of a strongly convex objective, with noise added to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from dpglm.errors import MethodError
from dpglm.mechanisms.base import (
    CERTIFICATE,
    CHOSEN,
    Covered,
    PenalisedMinimiser,
    Rows,
    WorstCase,
    require_public_rows,
)
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.rows import FirstRows
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import Event, Fact, ReleaseDescription
from dpglm.rows import ArrayChunk
from dpglm.typing import FloatVector

# max over t of t * expit(-t), rounded up: how far a ridge lets one row carry the minimiser.
_PULL = 0.2784645427610738 * (1.0 + 1e-12)


@dataclass(frozen=True, eq=False)
class PerturbedOutput(PenalisedMinimiser):
    r"""The minimiser of losses, a ridge and a convex penalty, plus noise.

    With rows x_i of norm at most 1 it releases ``theta + noise``, theta minimising

        sum_i loss(x_i'theta, y_i) + ridge |theta|^2 / 2 + penalty(gamma),   theta = mixing @ gamma,

    in sum units. One row moves theta by at most the largest slope over the ridge. The noise is in units of
    theta; Gaussian noise is added on a grid.

    Parameters
    ----------
    plain_rows : int or None
        A number of rows, beyond which none are read, where there are no offsets, no penalty and a logistic
        loss: slopes at the minimiser then stay below 1 by a known amount. Replace-one only.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate (2011), "Differentially private empirical risk minimization", JMLR.
    """

    ridge: float
    plain_rows: int | None = None

    name: ClassVar[str] = "perturbed output"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN, CERTIFICATE)

    def __post_init__(self) -> None:
        self.require_bounds(self.name, curvature=False)  # proof: slopes
        plain = self.family.name == "binomial" and self.family.steepness == 1.0 and not self.penalty.weight
        if self.plain_rows is not None and not plain:
            raise MethodError(
                "a number of rows for slopes below 1, with a penalty or another loss",
                expected="a logistic loss with a ridge alone",
                remedy="Leave plain_rows out.",
            )
        if self.plain_rows is not None and not self.plain_rows >= 1:
            raise MethodError(
                "no rows at all", expected="plain_rows of 1 or more", remedy="Leave plain_rows out."
            )
        self.noise_law.require_grid(self.sensitivity("add-remove"))

    def sensitivity(self, relation: Relation) -> float:
        """How far one neighbour moves what the noise hides, the solver's error included, Euclidean norm."""
        rows, slope = 1.0, 1.0
        if relation == "replace-one":
            rows = 2.0
            if self.plain_rows is not None:
                slope = float(expit(math.sqrt(_PULL * self.plain_rows / self.ridge)))  # proof: pull
        residual = 2.0 * 2.0 * self.tolerance / self.ridge  # proof: residual
        return rows * slope / self.ridge + residual  # proof: sensitivity

    @property
    def covers(self) -> Covered:
        if self.plain_rows is not None:
            return "nothing"
        return "one row" if self.penalty_rows is None else "all rows"  # proof: persons

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        require_public_rows(relation, self.penalty_rows)
        if relation == "add-remove" and self.plain_rows is not None:
            raise MethodError(
                "the first rows of a table under add-remove, where another row moves up for one that leaves",
                expected="replace-one, where places are public",
                remedy="Leave plain_rows out.",
            )
        return ((self.name, self.noise_law.event(self.sensitivity(relation))),)  # proof: law

    def describe(self, relation: Relation) -> ReleaseDescription:
        rows = () if self.plain_rows is None else (Fact("Rows read, at most", self.plain_rows),)
        return ReleaseDescription(
            name=self.name,
            released="the minimiser of sum of losses + ridge/2 |theta|^2 + penalty, once",
            sensitivity=self.sensitivity(relation),
            noise=self.noise_law.words,
            scale=self.scale,
            theorem=f"output perturbation, {self.noise_law.mechanism} (output_perturbation.md)",
            facts=(
                Fact("Ridge, sum units", self.ridge),
                Fact("Certified solver residual", self.tolerance),
                *rows,
            ),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        return (
            "The ridge makes the objective strongly convex: one row moves its minimiser by at most its slope "
            "over the ridge, and the solver’s residual adds a known amount. Noise of that scale hides both.",
        )

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """Minimise to the certificate and add noise; shape (p,), coded coefficients."""
        assert at is None, "a minimiser without a centre"
        if self.plain_rows is not None:
            rows = FirstRows(rows, self.plain_rows)  # proof: first
        centre = self.certified_minimum(rows, np.zeros(rows.size))  # proof: certificate
        return self.noise_law.add(centre, self.sensitivity("add-remove"), noise)  # proof: lattice

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        case = super().worst_case(relation, size)
        if self.plain_rows is None:
            return case
        first, second = (ArrayChunk(chunk.X, chunk.y, None) for chunk in (case.first, case.second))
        return WorstCase(first, second, case.direction)
