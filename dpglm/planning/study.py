"""A study as declared: formula, schema, rows and budget, and what its fit can be expected to release."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from dpglm.curator.priced_releases import PricedReleases
from dpglm.data.coding.coding import Coding
from dpglm.data.coding.encoder import RowEncoder
from dpglm.data.coding.expected_rows import expected_moments, expected_quantiles
from dpglm.data.coding.response import Response, response_of
from dpglm.data.formula.model import Model
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Numeric
from dpglm.errors import DpglmError, MethodError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.inference.contrasts import Contrasts, IntervalDecision, interval_decisions
from dpglm.inference.expected import (
    classical_deviations,
    estimate_parts,
    expected_equations,
    expected_model,
)
from dpglm.inference.linear_model import LinearModel
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.moments import SecondMoments
from dpglm.mechanisms.norm_clipped import NormClippedMinimiser
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Method, Problem
from dpglm.methods.moments import LATENT
from dpglm.privacy.budget import Privacy
from dpglm.typing import FloatMatrix, FloatVector

# Share of the response's variance that the model is taken to explain: rows then weigh less than at the same
# rate without any effect. On four public tables it is .06, .16, .17 and .45.
EXPLAINED: Final = 0.2
NO_CURVATURE: Final = "the whole budget goes to the estimate"


@dataclass(frozen=True, eq=False)
class Forecast:
    """Expected precision of each of the user's coefficients, on the scale of the family's link.

    Attributes
    ----------
    deviations : ndarray, shape (p,)
        Standard errors; of the estimate before its penalty where no curvature is released.
    parts : ndarray, shape (p, 4)
        Variance by source: sampling, noise of the estimate, noise of the curvature, adjustment.
    classical : ndarray, shape (p,)
        Standard errors of the fit without privacy.
    interval_decisions : tuple of IntervalDecision
        Whether each will probably have an interval.
    """

    deviations: FloatVector
    parts: FloatMatrix
    classical: FloatVector
    interval_decisions: tuple[IntervalDecision, ...]

    @property
    def printed(self) -> tuple[bool, ...]:
        """Which coefficients will probably have an interval."""
        return tuple(verdict.reported for verdict in self.interval_decisions)


@dataclass(frozen=True, eq=False)
class Study:
    """All that is declared of a fit that has not been run.

    Parameters
    ----------
    formula : str
        As for ``dpglm.fit``.
    schema : Schema
        Bounds, levels, and whatever is declared of effects, shares and spreads.
    family, penalty, goal, method
        As for ``dpglm.fit``, already made into objects.
    privacy : Privacy
        The budget.
    n : int
        Expected number of rows.
    rate : float
        Expected share of the response's second level.
    """

    formula: str
    schema: Schema
    family: Family
    penalty: Penalty
    goal: str
    method: Method
    privacy: Privacy
    n: int
    rate: float

    @cached_property
    def model(self) -> Model:
        """The formula, read against the schema."""
        return parse(self.formula, self.schema)

    @cached_property
    def coding(self) -> Coding:
        """Its public coding."""
        return Coding.of(self.model, kind=self.method.coding)

    @cached_property
    def response(self) -> Response:
        """The response that the family asks for."""
        return response_of(self.schema, self.model.response, self.family, centred=self.model.intercept)

    @cached_property
    def moments(self) -> FloatMatrix:
        """Mean of x x' over expected rows, shape (p, p); it does not depend on n or the budget."""
        return expected_moments(self.schema, RowEncoder(self.model, self.coding))

    @cached_property
    def problem(self) -> Problem:
        """What ``dpglm.fit`` would hand to the method."""
        return Problem(
            geometry=self.coding,
            family=self.family,
            penalty=self.penalty,
            strength=self.penalty.strength,
            rows=None if self.privacy.relation == "replace-one" else self.schema.rows,
            goal=self.goal,
            known_rows=self.schema.rows,
            count_rows=(lambda: self.n) if self.privacy.relation == "replace-one" else None,
            offset=bool(self.model.offsets),
        )

    def at(self, *, n: int | None = None, epsilon: float | None = None) -> Study:
        """The same study with another number of rows or budget, without drawing rows again."""
        other = self
        if n is not None:
            # A declared number of rows is that of the study.
            schema = self.schema if self.schema.rows is None else replace(self.schema, rows=n)
            other = replace(other, n=n, schema=schema)
        if epsilon is not None:
            other = replace(other, privacy=replace(self.privacy, epsilon=epsilon))
        return self._same_rows(other)

    def with_rate(self, rate: float) -> Study:
        """The same study with another share of successes."""
        return self._same_rows(replace(self, rate=rate))

    def _same_rows(self, other: Study) -> Study:
        """The other study with what the two have in common, which is not worked out again."""
        for name in ("model", "coding", "response", "moments"):
            other.__dict__[name] = getattr(self, name)
        return other

    @cached_property
    def plan(self) -> PricedReleases:
        """The releases of the fit and their guarantee."""
        return self.method.plan(self.problem, self.privacy)

    @cached_property
    def equations(self) -> LinearModel | None:
        """The linear model that the releases make on average; None where no curvature is released."""
        first, *rest = self.plan.releases
        if isinstance(first, SecondMoments):
            return self._normal_equations(first)
        if not rest:
            return None
        curvature = rest[0]
        if not isinstance(first, PerturbedMinimiser) or not isinstance(curvature, Information):
            raise self._unforeseen()
        return expected_model(
            self.coding.term_columns,
            self.curvature,
            ridge=first.ridges,
            score_scale=first.deviation,
            information_scale=curvature.deviation,
        )

    @cached_property
    def curvature(self) -> FloatMatrix:
        """Expected sum of weights times x x', shape (p, p)."""
        weight = 1.0
        if self.family.logistic:
            weight = self.rate * (1.0 - self.rate) * (1.0 - EXPLAINED)
        return np.asarray(self.n * weight * self.moments)

    @cached_property
    def dispersion(self) -> float:
        """Variance of the coded response that is left unexplained; 1 for a logistic response."""
        if self.family.logistic:
            return 1.0
        return (1.0 - EXPLAINED) * self._response_moments[1]

    @cached_property
    def forecast(self) -> Forecast:
        """Expected precision of each coefficient.

        Raises
        ------
        MethodError
            The budget or the number of rows is so small or large that nothing can be computed.
        """
        rows, unit = self.coding.user_from_coded, self.response.unit
        try:
            with np.errstate(all="ignore"):
                classical = classical_deviations(self.curvature, rows, self.dispersion)
                if self.equations is None:
                    parts = self._estimate_parts(rows)
                    answers = tuple(IntervalDecision(False, NO_CURVATURE, math.inf) for _ in rows)
                else:
                    found = Contrasts(self.equations, rows)
                    parts, answers = found.parts, interval_decisions(found)
        except DpglmError:
            raise
        except (np.linalg.LinAlgError, ValueError):
            parts = np.full((len(rows), 4), np.nan)
        if not np.isfinite(parts).all():
            raise MethodError(
                f"a plan for n={self.n:,} and epsilon={self.privacy.epsilon:g}",
                expected="numbers that can be computed with",
                remedy="Use a budget and a number of rows of usual size.",
            )
        return Forecast(unit * np.sqrt(parts.sum(axis=1)), unit**2 * parts, unit * classical, answers)

    def _estimate_parts(self, rows: FloatMatrix) -> FloatMatrix:
        (release,) = self.plan.releases
        stretch = 1.0
        if isinstance(release, NormClippedMinimiser):  # rows are stretched to a typical length
            length = release.margin * math.sqrt(float(np.trace(self.moments)))
            stretch = min(max(1.0 / length, 1.0), release.most)
            release = release.minimiser
        if not isinstance(release, PerturbedMinimiser):
            raise self._unforeseen()
        return estimate_parts(
            stretch**2 * self.curvature, stretch * rows, ridge=release.ridges, score_scale=release.deviation
        )

    def _unforeseen(self) -> MethodError:
        return MethodError(
            f"a plan for method={self.method.name!r}",
            expected="a method that releases a perturbed minimiser or second moments",
            remedy="Leave method out.",
        )

    @cached_property
    def _response_moments(self) -> tuple[float, float]:
        """Expected mean and variance of a numeric response, coded."""
        variable = self.schema.variables[self.model.response]
        assert isinstance(variable, Numeric)
        values = (expected_quantiles(variable) - self.response.shift) / self.response.unit
        return float(values.mean()), float(values.var())

    def _normal_equations(self, release: SecondMoments) -> LinearModel:
        """The model of `Moments`: no estimate is released, and all of theta multiplies the noise of X'X."""
        mean, variance = self._response_moments
        scale = math.sqrt(variance) / LATENT
        term_columns = tuple(
            replace(block, prior=np.maximum(scale * block.prior, 1.0 / np.abs(block.table[0])))
            if block.kind == "intercept"
            else replace(block, prior=scale * block.prior)
            for block in self.coding.term_columns
        )
        size = [
            np.full(1, mean / block.table[0, 0]) if block.kind == "intercept" else block.prior
            for block in term_columns
        ]
        return expected_equations(
            term_columns,
            self.curvature,
            products=np.diag(np.concatenate(size) ** 2),
            score_scale=release.cross_deviation,
            information_scale=release.gram_deviation,
            dispersion=self.dispersion,
        )
