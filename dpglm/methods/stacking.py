"""Stacks: models on parts of the rows, or on groups of columns, and a model of their answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dpglm.curator import Plan
from dpglm.errors import MethodError
from dpglm.glm.penalties import Penalty
from dpglm.inference.stack import MOST_MODELS, Combine
from dpglm.methods.base import Ask, Estimate, Method, Problem, methods
from dpglm.methods.grouping import (
    Groups,
    Importance,
    column_groups,
    loadings_of,
    plain_list,
    public_shares,
)
from dpglm.methods.iterated import require_positive
from dpglm.methods.promise import promise
from dpglm.methods.stacked import (
    Grouping,
    Pricing,
    answers_of,
    dealt,
    distances,
    joined,
    meta_release,
    own_ridge,
    require_combine,
    stacked,
    whole_rows,
)
from dpglm.privacy.budget import Privacy
from dpglm.releases import BlockMinimisers, MetaMinimiser, OnPart, Release
from dpglm.typing import FloatMatrix, FloatVector

# What a guarantee of models of groups takes for granted, too.
GROUPED = "groups of columns and their weights were chosen without looking at these data"


@dataclass(frozen=True)
class _Stacking(Method):
    """What both stacks do with answers."""

    combine: Combine = "model"
    holdout: float = 0.5
    ridge: float | None = None

    coding: ClassVar[Literal["centred", "reference"]] = "centred"  # type: ignore[misc]

    def inside(self, penalty: Penalty, strength: object) -> Penalty:
        return own_ridge(penalty, strength)

    def _edges(self, models: int) -> tuple[float, ...]:
        """Shares of the rows of models, and of those that the meta model reads, where there is one."""
        if self.combine != "model" or models == 1:
            return (0.0, 1.0)
        return (0.0, 1.0 - float(self.holdout), 1.0)

    def _facts(self, plan: Plan) -> dict[str, Any]:
        privacy = plan.privacy
        assert privacy is not None
        blocks = [one for one in map(_inner, plan.releases) if isinstance(one, BlockMinimisers)]
        inside = [minimiser for one in blocks for minimiser in one.minimisers]
        metas = [one for one in map(_inner, plan.releases) if isinstance(one, MetaMinimiser)]
        law = {
            "gamma": "density proportional to exp(-|b| / scale)",
            "gaussian": "Gaussian, N(0, scale^2 I)",
        }
        meta = {}
        if metas:
            meta = {
                "meta_ridge": metas[0].inner.least_ridge,
                "meta_noise_scale": metas[0].inner.scale,
                "meta_pulled_to": metas[0].weight,
                "parallel_parts": "models and meta model read different rows: a row is in one part",
            }
        return {
            "theorem": plan.guarantee.theorem,
            "models": len(inside),
            "combine": self.combine,
            "sensitivity": blocks[0].sensitivity(privacy.relation),
            "noise": law[inside[0].law] + ", fresh for every model",
            "noise_scale": _each([one.scale for one in inside]),
            "ridge": _each([one.least_ridge for one in inside]),
            "solver_residual": max(one.tolerance for one in inside),
            "residual_noise_scale": max(one.blur_scale for one in inside),
            **meta,
            "proof_sketch": self._sketch(plan),
        }

    def _sketch(self, plan: Plan) -> str:
        """Why the claim holds, for the report."""
        blocks = [one for one in map(_inner, plan.releases) if isinstance(one, BlockMinimisers)]
        texts = [TOGETHER if any(len(one.minimisers) > 1 for one in blocks) else ALONE]
        if any(release.reads is not None for release in plan.releases):
            texts.append(APART)
        return " ".join(texts)


# Why a stack costs what it says.
TOGETHER = (
    "One row moves the scores of all groups together by no more than its norm, which is at most 1. With "
    "Gaussian noise of one scale, and a ridge of at least twice its variance, a group is as private as a "
    "Gaussian mechanism whose mu is what the group sees of the row over the scale; independent noise adds "
    "squares of mu, which for all groups together are at most those of the whole row."
)
ALONE = (
    "Each model is the minimiser of a randomly tilted objective. At the minimiser the gradient is zero, so "
    "that outputs and noise determine each other; for neighbours the noises differ by at most the norms of "
    "one row or two, and the Jacobians by one factor that the ridge bounds. Prices of models of the same "
    "rows add up."
)
APART = (
    "Rows are dealt to parts by their place, which is public where the number of rows is: a row that is "
    "exchanged stays in its part, so that releases on different parts are paid for once."
)


def _each(numbers: list[float]) -> float | list[float]:
    """One number where all are alike, else one for each model."""
    return numbers[0] if len(set(numbers)) == 1 else numbers


def _inner(release: Release) -> Release:
    return release.inner if isinstance(release, OnPart) else release


@methods.register("pst-s")
@dataclass(frozen=True)
class PSTS(_Stacking):
    """Models on disjoint parts of the rows, stacked: every model has the whole budget, and few rows.

    Parameters
    ----------
    parts : int
        Number K of models.
    combine : {"model", "majority", "weighted"}
        A meta model on rows that no model read; or votes, for which no rows are held out. ``"weighted"``
        votes are those of ``"majority"`` here.
    holdout : float
        Share of the rows for the meta model.
    ridge : float or None
        Of each model, sum units. None: the least that privacy needs.

    References
    ----------
    The STACK paper, PST-S; ``releases/parts.md`` and ``releases/meta.md`` for the theorems used.

    Examples
    --------
    >>> PSTS(parts=10).name
    'pst-s'
    """

    parts: int = 5

    name: ClassVar[str] = "pst-s"

    def plan(self, problem: Problem, privacy: Privacy | None) -> Plan:
        pricing = Pricing.of(problem, privacy, self.name)
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
        model = BlockMinimisers((pricing.alone(problem, mask, self.ridge),), grouping.loadings)
        low = 1.0 - float(self.holdout) if self.combine == "model" else 1.0
        edges = (*(low * place / self.parts for place in range(self.parts)), low)
        releases = dealt([model] * self.parts, edges if low == 1.0 else (*edges, 1.0), range(self.parts))
        if self.combine == "model":
            meta = meta_release(pricing, problem, self.parts, 2.0 / math.sqrt(self.parts))
            releases += dealt([meta], (*edges, 1.0), [self.parts])
        theorem = "Theorem A1 on parts" if pricing.mu is None else "Theorem A2 on parts"
        return promise(releases, pricing.privacy, theorem, mu=pricing.mu)

    def solve(self, problem: Problem, plan: Plan, ask: Ask) -> Estimate:
        names = tuple(f"part {place + 1}" for place in range(self.parts))
        loadings = np.repeat(whole_rows(problem).loadings, self.parts, axis=0)
        grouping = Grouping(names, ((),) * self.parts, loadings)
        answers = [ask(release) for release in plan.releases[: self.parts]]
        votes = np.ones(self.parts)
        return stacked(problem, grouping, answers, self.combine, votes, lambda at: ask(plan.releases[-1], at))

    def card(self, problem: Problem, plan: Plan) -> dict[str, Any]:
        return {
            "algorithm": "stacking of models on parts of the rows (PST-S)",
            "released": f"{self.parts} perturbed minimisers, each on its own rows"
            + (", and one on their answers" if self.combine == "model" else ""),
            **self._facts(plan),
        }


@methods.register("pst-f")
@dataclass(frozen=True)
class PSTF(_Stacking):
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
    The STACK paper, PST-F, whose split of epsilon holds; ``releases/blocks.md`` for the Gaussian one.

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
            object.__setattr__(self, "importance", dict(self.importance))

    def plan(self, problem: Problem, privacy: Privacy | None) -> Plan:
        return self.plan_at(problem, privacy, None)

    def plan_at(self, problem: Problem, privacy: Privacy | None, source: FloatMatrix | None) -> Plan:
        """The plan where the ridges of models pull to those of a source, shape (K, p), coded."""
        pricing = Pricing.of(problem, privacy, self.name)
        require_combine(self.combine, self.holdout)
        require_positive(self.ridge, "ridge")
        grouping, shares = self.grouping(problem, pricing.mu is None)
        fars = distances(grouping, source)
        masks = grouping.masks(problem.geometry)
        models: Sequence[Release]
        if pricing.mu is None:
            models = [
                BlockMinimisers((pricing.share(q).alone(problem, mask, self.ridge, far),), own[None])
                for q, mask, far, own in zip(shares.tolist(), masks, fars, grouping.loadings, strict=True)
            ]
        else:
            models = joined(pricing.together(problem, masks, self.ridge, fars), grouping)
        edges = self._edges(len(shares))
        releases = tuple(models)
        if len(edges) > 2:
            meta = meta_release(pricing, problem, len(shares), 2.0 * math.sqrt(len(shares)))
            releases = (*dealt(models, edges, [0] * len(models)), *dealt([meta], edges, [1]))
        theorem = "Theorem A1, epsilon shared by groups" if pricing.mu is None else "Theorem A2 on groups"
        return promise(releases, pricing.privacy, theorem, mu=pricing.mu, more=(GROUPED,))

    def grouping(self, problem: Problem, pure: bool) -> tuple[Grouping, FloatVector]:
        """Groups with their loadings, and their public shares."""
        names, groups = column_groups(problem.geometry, self.groups, self.split_seed)
        shares = public_shares(names, groups, self.importance, self.provenance)
        kept = np.flatnonzero(shares).tolist()
        members = [groups[place] for place in kept]
        loadings = loadings_of(problem.geometry, members, shares[kept], together=not pure)
        return Grouping(tuple(names[at] for at in kept), tuple(map(tuple, members)), loadings), shares[kept]

    def solve(self, problem: Problem, plan: Plan, ask: Ask) -> Estimate:
        return self.solve_at(problem, plan, ask, None)

    def solve_at(self, problem: Problem, plan: Plan, ask: Ask, centre: FloatVector | None) -> Estimate:
        """The estimate where the ridges of all models pull to a centre, in loaded coordinates."""
        assert plan.privacy is not None
        pure = plan.privacy.delta == 0.0 and plan.privacy.mu is None
        grouping, shares = self.grouping(problem, pure)
        low = [one for one in plan.releases if isinstance(_inner(one), BlockMinimisers)]
        answers = answers_of(grouping, low, ask, centre)
        return stacked(
            problem, grouping, answers, self.combine, shares, lambda at: ask(plan.releases[-1], at)
        )

    def card(self, problem: Problem, plan: Plan) -> dict[str, Any]:
        assert plan.privacy is not None
        pure = plan.privacy.delta == 0.0 and plan.privacy.mu is None
        grouping, shares = self.grouping(problem, pure)
        spent: dict[str, Any] = {}
        if pure:
            spent = {"group_epsilon": [float(share * plan.privacy.epsilon) for share in shares]}
        if self.importance is not None:
            spent |= {
                "importance": dict(zip(grouping.names, shares.tolist(), strict=True)),
                "importance_provenance": str(self.provenance),
            }
        if isinstance(self.groups, Mapping):
            chosen = "given"
        else:
            chosen = f"terms dealt at random with seed {self.split_seed}, without looking at data"
        return {
            "algorithm": "stacking of models on groups of columns (PST-F)",
            "released": f"{len(shares)} perturbed minimisers, each on its own columns"
            + (", and one on their answers" if len(plan.releases) > 1 and self.combine == "model" else ""),
            "groups": {name: list(terms) for name, terms in zip(grouping.names, grouping.terms, strict=True)},
            "groups_chosen": chosen,
            **spent,
            **self._facts(plan),
        }
