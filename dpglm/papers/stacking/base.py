"""What both stacks are: models, what combines them, and why they cost what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dpglm.curator.priced_releases import PricedReleases
from dpglm.glm.penalties import Penalty
from dpglm.mechanisms.base import Release
from dpglm.methods.base import Method
from dpglm.papers.stacking.budget_split import own_ridge
from dpglm.papers.stacking.meta_minimiser import MetaMinimiser
from dpglm.papers.stacking.parts import OnPart
from dpglm.papers.stacking.stack import Combine
from dpglm.papers.stacking.submodel_minimisers import SubmodelMinimisers


@dataclass(frozen=True)
class Stacking(Method):
    """What both stacks do with answers."""

    combine: Combine = "model"
    holdout: float = 0.5
    ridge: float | None = None

    coding: ClassVar[Literal["centred", "reference"]] = "centred"  # type: ignore[misc]

    def inside(self, penalty: Penalty, strength: object) -> Penalty:
        return own_ridge(penalty, strength)

    def edges(self, models: int) -> tuple[float, ...]:
        """Shares of the rows of models, and of those that the meta model reads, where there is one."""
        if self.combine != "model" or models == 1:
            return (0.0, 1.0)
        return (0.0, 1.0 - float(self.holdout), 1.0)

    def facts(self, plan: PricedReleases) -> dict[str, Any]:
        """What the card says of both."""
        privacy = plan.privacy
        assert privacy is not None
        blocks = [one for one in map(inner_of, plan.releases) if isinstance(one, SubmodelMinimisers)]
        inside = [minimiser for one in blocks for minimiser in one.minimisers]
        metas = [one for one in map(inner_of, plan.releases) if isinstance(one, MetaMinimiser)]
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
            "residual_noise_scale": max(one.residual_noise_scale for one in inside),
            **meta,
            "proof_sketch": self._sketch(plan),
        }

    def _sketch(self, plan: PricedReleases) -> str:
        """Why the claim holds, for the report."""
        blocks = [one for one in map(inner_of, plan.releases) if isinstance(one, SubmodelMinimisers)]
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


def inner_of(release: Release) -> Release:
    """The release that is run on a part, or the release itself."""
    return release.inner if isinstance(release, OnPart) else release
