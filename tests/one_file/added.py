"""A method of two releases, a penalty and a family, as somebody else would write them: in one file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.glm.families.base import Family, families
from dpglm.glm.penalties.base import Penalty, penalties
from dpglm.mechanisms.base import CHOSEN, Release, Rows, WorstCase, worst_case_rows
from dpglm.mechanisms.noise import NoiseLaw, NoiseSource, add_normal
from dpglm.mechanisms.whole_sums import WholeNumbers, WholeSum
from dpglm.methods.base import Ask, Estimate, Method, Problem, budgeted_plan, methods
from dpglm.methods.iterated import gaussian_total
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.events import Event, Fact, GaussianEvent, MethodDescription, ReleaseDescription
from dpglm.typing import FloatVector

What: TypeAlias = Literal["rows", "responses"]


@dataclass(frozen=True)
class SumOfRows(Release):
    """The sum of the coded rows, or of the rows times their response less one half, with Gaussian noise."""

    what: What
    scale: float

    name: ClassVar[str] = "sum of rows"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN,)

    def sensitivity(self, relation: Relation) -> float:
        """A row has norm at most 1, and a response less one half is at most one half."""
        largest = 1.0 if self.what == "rows" else 0.5
        return largest * (2.0 if relation == "replace-one" else 1.0)

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        return ((f"{self.name}, {self.what}", GaussianEvent(self.sensitivity(relation) / self.scale)),)

    def describe(self, relation: Relation) -> ReleaseDescription:
        return ReleaseDescription(
            name=f"{self.name}, {self.what}",
            released=f"the sum of {self.what}",
            sensitivity=self.sensitivity(relation),
            noise=NoiseLaw("gaussian", self.scale, 1).words,
            scale=self.scale,
            theorem="Gaussian mechanism on bounded rows",
        )

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        total = WholeSum((rows.size,), 1.0)
        for chunk in rows.chunks():
            weights = np.ones(len(chunk.y)) if self.what == "rows" else chunk.y - 0.5
            total.add_terms(chunk.X, weights)
        values = WholeNumbers(total.total(), total.unit)
        return add_normal(values, scale=self.scale, sensitivity=self.sensitivity("add-remove"), noise=noise)

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        first, second = worst_case_rows(families["binomial"](), relation, size)
        return WorstCase(first, second, np.eye(size)[0])


@methods.register("centroid")
@dataclass(frozen=True)
class Centroid(Method):
    """Coefficients along the released sum of rows times response, as long as the released sum of rows says.

    Parameters
    ----------
    share : float
        Of the budget, in squares of mu, for the first release.
    """

    share: float = 0.8

    name: ClassVar[str] = "centroid"

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        privacy = problem.require_budget(privacy, self.name)
        mu = gaussian_total(privacy, self.name)
        shares: dict[What, float] = {"responses": self.share, "rows": 1.0 - self.share}
        sensitivities = {what: SumOfRows(what, 1.0).sensitivity(privacy.relation) for what in shares}
        releases = [
            SumOfRows(what, sensitivities[what] / (mu * math.sqrt(share)) * (1.0 + 1e-9))
            for what, share in shares.items()
        ]
        return budgeted_plan(tuple(releases), privacy, mu=mu)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        responses, rows = (ask(release) for release in plan.releases)
        coded = 4.0 * responses / max(1.0, float(np.linalg.norm(rows)))
        return Estimate(coded, problem.geometry.user_from_coded @ coded, coded != 0.0)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        share = Fact("Share of the sum of responses", self.share)
        return MethodDescription("centroid of the rows", plan.describe(), why=plan.why(), facts=(share,))


@penalties.register("double_l1")
@dataclass(frozen=True)
class DoubleL1(Penalty):
    """The lasso penalty at twice its strength."""

    name: ClassVar[str] = "double_l1"
    convex: ClassVar[bool] = True

    def value(self, beta: FloatVector) -> float:
        return 2.0 * self.weight * float(np.abs(beta).sum())

    def prox(self, v: FloatVector, step: float) -> FloatVector:
        return np.sign(v) * np.maximum(np.abs(v) - 2.0 * self.weight * step, 0.0)

    def strength_max(self, gradient_at_zero: FloatVector, step: float = 1.0) -> float:
        return float(np.abs(gradient_at_zero).max(initial=0.0)) / 2.0


@families.register("slow_logistic")
@dataclass(frozen=True)
class SlowLogistic(Family):
    """2 log(1 + exp(-m / 2)) of the margin m: a logistic loss in half of the margin."""

    name: ClassVar[str] = "slow_logistic"
    link: ClassVar[str] = "margin"
    slope_max: ClassVar[float | None] = 1.0
    curvature_max: ClassVar[float | None] = 0.125
    third_derivative_bound: ClassVar[float] = 0.5
    slope_range: ClassVar[float | None] = 1.0
    response_kind: ClassVar[Literal["binary", "count", "number"]] = "binary"
    likelihood: ClassVar[bool] = False

    def loss(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        margin = (2.0 * y - 1.0) * eta
        return 2.0 * np.logaddexp(0.0, -margin / 2.0)

    def slope(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return self.mean(eta) - y

    def curvature(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        share = self.mean(eta)
        return share * (1.0 - share) / 2.0

    def mean(self, eta: FloatVector) -> FloatVector:
        return 0.5 + 0.5 * np.tanh(0.25 * eta)
