"""PLR: one perturbed minimiser of all columns, the first algorithm of the STACK paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpglm.curator.curator import PricedReleases
from dpglm.inference.expectation import EstimateNoise, ExpectedRows
from dpglm.methods.base import Ask, Estimate, Problem, budgeted_plan, methods, require_positive
from dpglm.papers.stacking.budget_split import BudgetSplit, RidgeModels
from dpglm.papers.stacking.stacked import linear_estimate, whole_rows
from dpglm.papers.stacking.submodel_minimisers import SubmodelMinimisers
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import MethodDescription


@methods.register("plr")
@dataclass(frozen=True)
class PLR(RidgeModels):
    """Private logistic regression: the model that the STACK paper stacks, alone, with the whole budget.

    It differs from ``"objective"``, the default, in what surrounds the same perturbed minimiser. Nothing is
    measured before it, no information matrix follows, and so there are no intervals. Its rows are those of a
    stack's models: scaled to norm 1 where variables are uniform on their ranges, and shortened beyond that.

    Parameters
    ----------
    ridge : float or None
        Sum units. None: the least that privacy needs.

    References
    ----------
    The STACK paper, Algorithm 1, after Chaudhuri, Monteleoni and Sarwate (2011). No epsilon is lost to the
    curvature, as in the printed bound: see ``objective_perturbation.md``.

    Examples
    --------
    >>> PLR().name
    'plr'
    """

    ridge: float | None = None

    name: ClassVar[str] = "plr"

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        split = BudgetSplit.of(problem, privacy, self.name)
        require_positive(self.ridge, "ridge")
        grouping = whole_rows(problem)
        (mask,) = grouping.masks(problem.geometry)
        model = SubmodelMinimisers((split.alone(problem, mask, self.ridge),), grouping.loadings)
        return budgeted_plan((model,), split.privacy, mu=split.mu)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        grouping = whole_rows(problem)
        (release,) = plan.releases
        return linear_estimate(problem, grouping.coded([ask(release)])[0])

    def expected(self, problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> EstimateNoise:
        (release,) = plan.of_kind(SubmodelMinimisers)
        return release.expected_noise(rows)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        return MethodDescription(
            "objective perturbation of one model (PLR)", plan.describe(), "inside the objective", plan.why()
        )
