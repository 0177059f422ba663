"""PST-S: models on disjoint parts of the rows, and a model of their answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.curator.priced_releases import PricedReleases
from dpglm.errors import MethodError
from dpglm.methods.base import Ask, Estimate, Problem, budgeted_plan, methods
from dpglm.methods.iterated import require_positive
from dpglm.papers.stacking.budget_split import BudgetSplit
from dpglm.papers.stacking.stack import MOST_MODELS
from dpglm.papers.stacking.stacked import (
    Grouping,
    Stacking,
    dealt,
    meta_release,
    require_combine,
    stacked,
    whole_rows,
)
from dpglm.papers.stacking.submodel_minimisers import SubmodelMinimisers
from dpglm.privacy.budget import Privacy
from dpglm.privacy.description import Fact, MethodDescription


@methods.register("pst-s")
@dataclass(frozen=True)
class PSTS(Stacking):
    """Models on disjoint parts of the rows, stacked: every model has the whole budget, and few rows.

    Parameters
    ----------
    parts : int
        Number K of models.
    combine : {"model", "majority", "weighted"}
        A meta model on rows that no model read; or votes, for which no rows are held out. ``"weighted"``
        votes are those of ``"majority"`` here. Where a response is rare, no model may ever vote for it.
    holdout : float
        Share of the rows for the meta model.
    ridge : float or None
        Of each model, sum units. None: the least that privacy needs.

    References
    ----------
    The STACK paper, PST-S; ``papers/stacking/parts.md`` and ``papers/stacking/meta_minimiser.md`` for the
    theorems used.

    Examples
    --------
    >>> PSTS(parts=10).name
    'pst-s'
    """

    parts: int = 5

    name: ClassVar[str] = "pst-s"

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        pricing = BudgetSplit.of(problem, privacy, self.name)
        require_combine(self.combine, self.holdout)
        require_positive(self.ridge, "ridge")
        whole = isinstance(self.parts, int) and not isinstance(self.parts, bool)
        if not (whole and 2 <= self.parts <= MOST_MODELS):
            raise MethodError(
                "parts out of range",
                expected=f"a whole number from 2 to {MOST_MODELS}",
                remedy="Use parts=5.",
            )
        grouping = whole_rows(problem)
        (mask,) = grouping.masks(problem.geometry)
        model = SubmodelMinimisers((pricing.alone(problem, mask, self.ridge),), grouping.loadings)
        low = 1.0 - float(self.holdout) if self.combine == "model" else 1.0
        edges = (*(low * place / self.parts for place in range(self.parts)), low)
        releases = dealt([model] * self.parts, edges if low == 1.0 else (*edges, 1.0), range(self.parts))
        if self.combine == "model":
            meta = meta_release(pricing, problem, self.parts, 2.0 / math.sqrt(self.parts))
            releases += dealt([meta], (*edges, 1.0), [self.parts])
        return budgeted_plan(releases, pricing.privacy, mu=pricing.mu)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        names = tuple(f"part {place + 1}" for place in range(self.parts))
        loadings = np.repeat(whole_rows(problem).loadings, self.parts, axis=0)
        grouping = Grouping(names, ((),) * self.parts, loadings)
        answers = [ask(release) for release in plan.releases[: self.parts]]
        votes = np.ones(self.parts)
        return stacked(problem, grouping, answers, self.combine, votes, lambda at: ask(plan.releases[-1], at))

    def weight_of_each(self, problem: Problem) -> float:
        """Models of parts of the rows are averaged."""
        return 1.0 / self.parts

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        return MethodDescription(
            "stacking of models on parts of the rows (PST-S)",
            plan.describe(),
            "inside the objective of each model",
            plan.why(),
            facts=(Fact("Models", self.parts), Fact("Answers combined by", self.combine)),
        )
