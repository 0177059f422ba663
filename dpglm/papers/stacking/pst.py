"""PST-S and PST-F: models on parts of the rows or on groups of columns, and a model of their answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.mechanisms.base import Release
from dpglm.methods.base import Ask, Estimate, Problem, budgeted_plan, methods, require_positive
from dpglm.papers.stacking.budget_split import BudgetSplit
from dpglm.papers.stacking.grouping import (
    Groups,
    Importance,
    column_groups,
    loadings_of,
    plain_list,
    public_shares,
)
from dpglm.papers.stacking.stack import MOST_MODELS
from dpglm.papers.stacking.stacked import (
    Grouping,
    Stacking,
    answers_of,
    dealt,
    distances,
    joined,
    meta_release,
    require_combine,
    stacked,
    whole_rows,
)
from dpglm.papers.stacking.submodel_minimisers import SubmodelMinimisers
from dpglm.privacy.budget import Privacy
from dpglm.privacy.description import Fact, MethodDescription
from dpglm.typing import FloatMatrix, FloatVector


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
        is_integer = isinstance(self.parts, int) and not isinstance(self.parts, bool)
        if not (is_integer and 2 <= self.parts <= MOST_MODELS):
            raise MethodError(
                "parts out of range",
                expected=f"a whole number from 2 to {MOST_MODELS}",
                remedy="Use parts=5.",
            )
        grouping = whole_rows(problem)
        (mask,) = grouping.masks(problem.geometry)
        model = SubmodelMinimisers((pricing.alone(problem, mask, self.ridge),), grouping.loadings)
        low = 1.0 - float(self.holdout) if self.combine == "model" else 1.0
        edges = (*(low * part / self.parts for part in range(self.parts)), low)
        releases = dealt([model] * self.parts, edges if low == 1.0 else (*edges, 1.0), range(self.parts))
        if self.combine == "model":
            meta = meta_release(pricing, problem, self.parts, 2.0 / math.sqrt(self.parts))
            releases += dealt([meta], (*edges, 1.0), [self.parts])
        return budgeted_plan(releases, pricing.privacy, mu=pricing.mu)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        names = tuple(f"part {part + 1}" for part in range(self.parts))
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


# What a guarantee of models of groups takes for granted, too.
GROUPED = "groups of columns and their weights were chosen without looking at these data"


@methods.register("pst-f")
@dataclass(frozen=True)
class PSTF(Stacking):
    r"""Models on groups of columns of the same rows, stacked.

    With a pure epsilon group k spends :math:`q_k \varepsilon`, :math:`\sum_k q_k = 1`. With a delta, Gaussian
    noise of one scale protects all groups together: K models for the price of one. Either way the meta model,
    on rows that no group read, has the whole budget again.

    Parameters
    ----------
    groups : int, mapping or None
        Names of groups to the terms that they read, each term in one group; or a number of groups, to which
        terms are dealt at random, whatever the data say. None: 5, or one a term.
    importance : mapping or None
        Public weights >= 0 of groups, or of terms, which add up in a group. None: all alike.
        Groups of weight 0 are left out.
    provenance : str or None
        Where the weights come from: "expert", "literature: ...", "public data: ...". Needed with importance:
        weights that were read off these rows would not be public.
    combine, holdout, ridge
        As in `PSTS`; ``"weighted"`` votes count by importance.
    split_seed : int
        Of the random groups; public.

    References
    ----------
    The STACK paper, PST-F, whose split of epsilon holds; ``papers/stacking/submodel_minimisers.md`` for the
    Gaussian one.

    Examples
    --------
    >>> PSTF(groups={"blood": ["hb", "wbc"], "person": ["age"]}).name
    'pst-f'
    """

    groups: Groups | None = None
    importance: Importance | None = None
    provenance: str | None = None
    split_seed: int = 0

    name: ClassVar[str] = "pst-f"

    def __post_init__(self) -> None:
        # Copies in plain kinds, which a result can keep and a user cannot change.
        if isinstance(self.groups, Mapping):
            object.__setattr__(self, "groups", {name: plain_list(own) for name, own in self.groups.items()})
        if isinstance(self.importance, Mapping):
            ordered = sorted(self.importance.items(), key=lambda item: str(item[0]))
            object.__setattr__(self, "importance", dict(ordered))

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        return self.plan_at(problem, privacy, None)

    def plan_at(
        self, problem: Problem, privacy: Privacy | None, source: FloatMatrix | None
    ) -> PricedReleases:
        """The plan where the ridges of models pull to those of a source, shape (K, p), coded."""
        pricing = BudgetSplit.of(problem, privacy, self.name)
        require_combine(self.combine, self.holdout)
        require_positive(self.ridge, "ridge")
        grouping, shares = self.grouping(problem, pricing.mu is None)
        fars = distances(grouping, source)
        masks = grouping.masks(problem.geometry)
        models: Sequence[Release]
        if pricing.mu is None:
            models = [
                SubmodelMinimisers((pricing.share(q).alone(problem, mask, self.ridge, far),), own[None])
                for q, mask, far, own in zip(shares.tolist(), masks, fars, grouping.loadings, strict=True)
            ]
        else:
            models = joined(pricing.together(problem, masks, self.ridge, fars), grouping)
        edges = self.edges(len(shares))
        releases = tuple(models)
        if len(edges) > 2:
            meta = meta_release(pricing, problem, len(shares), 2.0 * math.sqrt(len(shares)))
            releases = (*dealt(models, edges, [0] * len(models)), *dealt([meta], edges, [1]))
        return budgeted_plan(releases, pricing.privacy, mu=pricing.mu, more=(GROUPED,))

    def grouping(self, problem: Problem, pure: bool) -> tuple[Grouping, FloatVector]:
        """Groups with their loadings, and their public shares."""
        names, groups = column_groups(problem.geometry, self.groups, self.split_seed)
        shares = public_shares(names, groups, self.importance, self.provenance)
        weighted = np.flatnonzero(shares).tolist()
        members = [groups[group] for group in weighted]
        loadings = loadings_of(problem.geometry, members, shares[weighted], together=not pure)
        return Grouping(tuple(names[at] for at in weighted), tuple(map(tuple, members)), loadings), shares[
            weighted
        ]

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        return self.solve_at(problem, plan, ask, None)

    def solve_at(
        self, problem: Problem, plan: PricedReleases, ask: Ask, centre: FloatVector | None
    ) -> Estimate:
        """The estimate where the ridges of all models pull to a centre, in loaded coordinates."""
        assert plan.privacy is not None
        pure = plan.privacy.delta == 0.0 and plan.privacy.mu is None
        grouping, shares = self.grouping(problem, pure)
        low = plan.releases if len(self.edges(len(shares))) == 2 else plan.releases[:-1]
        answers = answers_of(grouping, low, ask, centre)
        return stacked(
            problem, grouping, answers, self.combine, shares, lambda at: ask(plan.releases[-1], at)
        )

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        assert plan.privacy is not None
        pure = plan.privacy.delta == 0.0 and plan.privacy.mu is None
        grouping, shares = self.grouping(problem, pure)
        groups = tuple(
            f"{name}: {' + '.join(terms)}" for name, terms in zip(grouping.names, grouping.terms, strict=True)
        )
        chosen = "given"
        if not isinstance(self.groups, Mapping):
            chosen = f"terms dealt at random with seed {self.split_seed}, without looking at data"
        facts = [
            Fact("Models", len(shares)),
            Fact("Answers combined by", self.combine),
            Fact("Groups of columns", groups),
            Fact("Origin of the groups", chosen),
        ]
        if pure:
            spent = tuple(float(share * plan.privacy.epsilon) for share in shares)
            facts.append(Fact("Epsilon of each group", spent))
        if self.importance is not None:
            weights = tuple(
                f"{name}: {share:.6g}" for name, share in zip(grouping.names, shares.tolist(), strict=True)
            )
            facts.append(Fact("Importance, public weights", weights))
            facts.append(Fact("Where the importance comes from", str(self.provenance)))
        return MethodDescription(
            "stacking of models on groups of columns (PST-F)",
            plan.describe(),
            "inside the objective of each model",
            plan.why(),
            facts=tuple(facts),
        )
