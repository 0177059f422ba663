"""PLR, one perturbed minimiser; PST-S and PST-F, models on parts of the rows or of the columns, stacked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.inference.expectation import EstimateNoise, ExpectedRows
from dpglm.methods.base import Ask, Estimate, Problem, budgeted_plan, methods, require_positive
from dpglm.methods.iterated import require_whole
from dpglm.papers.stacking.budget_split import BudgetSplit, RidgeModels
from dpglm.papers.stacking.grouping import (
    Groups,
    Importance,
    column_groups,
    loadings_of,
    plain_list,
    public_shares,
)
from dpglm.papers.stacking.stack import MOST_MODELS
from dpglm.papers.stacking.stacked import Grouping, Stacking, distances, linear_estimate, whole_rows
from dpglm.papers.stacking.submodel_minimisers import SubmodelMinimisers
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import Fact, MethodDescription
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
        split = self.budget(problem, privacy)
        require_whole("parts", self.parts, 2, MOST_MODELS, "Use parts=5.")
        grouping = whole_rows(problem)
        (mask,) = grouping.masks(problem.geometry)
        model = SubmodelMinimisers((split.alone(problem, mask, self.ridge),), grouping.loadings)
        models, weight = [model] * self.parts, 2.0 / math.sqrt(self.parts)
        releases = self.dealt(split, problem, models, models=self.parts, parts=self.parts, weight=weight)
        return budgeted_plan(releases, split.privacy, mu=split.mu)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        grouping = whole_rows(problem, self.parts)
        answers = [ask(release) for release in plan.releases[: self.parts]]
        votes = np.ones(self.parts)
        return self.stacked(problem, grouping, answers, votes, lambda at: ask(plan.releases[-1], at))

    def expected(self, problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> EstimateNoise:
        """Models of parts of the rows are averaged."""
        return super().expected(problem, plan, rows).scaled(1.0 / self.parts)

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

    def plan(
        self, problem: Problem, privacy: Privacy | None, source: FloatMatrix | None = None
    ) -> PricedReleases:
        """The plan; ridges of models pull to those of a source, shape (K, p), coded, where one is given."""
        split = self.budget(problem, privacy)
        grouping, shares = self.grouping(problem, pure=split.mu is None)
        fars = [0.0] * len(shares) if source is None else distances(grouping.loaded(source))
        masks = grouping.masks(problem.geometry)
        if split.mu is None:
            models = [
                SubmodelMinimisers((split.share(q).alone(problem, mask, self.ridge, far),), own[None])
                for q, mask, far, own in zip(shares.tolist(), masks, fars, grouping.loadings, strict=True)
            ]
        else:
            together = split.together(problem, masks, self.ridge, fars)
            models = [SubmodelMinimisers(together, grouping.loadings)]
        weight = 2.0 * math.sqrt(len(shares))
        releases = self.dealt(split, problem, models, models=len(shares), parts=1, weight=weight)
        return budgeted_plan(releases, split.privacy, mu=split.mu, more=(GROUPED,))

    def grouping(self, problem: Problem, *, pure: bool) -> tuple[Grouping, FloatVector]:
        """Groups with their loadings, and their public shares."""
        groups = column_groups(problem.geometry, self.groups, self.split_seed)
        shares = public_shares(groups, self.importance, self.provenance)
        kept = {name: tuple(groups[name]) for name, share in zip(groups, shares, strict=True) if share}
        shares = shares[shares != 0.0]
        terms = tuple(kept.values())
        loadings = loadings_of(problem.geometry, terms, shares, together=not pure)
        return Grouping(tuple(kept), terms, loadings), shares

    def solve(
        self, problem: Problem, plan: PricedReleases, ask: Ask, source: FloatMatrix | None = None
    ) -> Estimate:
        """The estimate; ridges of models pull to those of a source, as in `plan`."""
        pure = plan.guarantee.mu is None
        grouping, shares = self.grouping(problem, pure=pure)
        centres = None if source is None else grouping.loaded(source)
        if pure:
            answers = [
                ask(release, None if centres is None else centres[group])
                for group, release in enumerate(plan.releases[: len(shares)])
            ]
        else:
            together = ask(plan.releases[0], None if centres is None else np.concatenate(centres))
            ends = np.cumsum(np.count_nonzero(grouping.loadings, axis=1))
            answers = np.split(together, ends[:-1])
        return self.stacked(problem, grouping, answers, shares, lambda at: ask(plan.releases[-1], at))

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        assert plan.privacy is not None
        pure = plan.guarantee.mu is None
        grouping, shares = self.grouping(problem, pure=pure)
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
