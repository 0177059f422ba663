"""Margins among centres of clusters of both classes, which private k-means finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.mechanisms.base import Rows, release_error
from dpglm.mechanisms.class_numbers import ClassNumbersView
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.mapped import Mapped, RowMapping
from dpglm.methods.base import Ask, budgeted_plan
from dpglm.methods.class_moments import ClassMoments, class_moments, class_sums
from dpglm.papers.fwell.fwell import margin_minimiser, released
from dpglm.papers.fwell.margins import MarginMapping, Margins, near_margins
from dpglm.privacy.events import Fact
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.spec.ranking import RankingMethod, Weights, rankings
from dpglm.typing import FloatMatrix, FloatVector

# Clusters of each class, and steps of k-means after the means of both classes.
CENTRES: Final = 4
STEPS: Final = 5
# Of mu squared, or of a pure epsilon, for the centres.
SHARE: Final = 0.6
# Of the public signs that tell where clusters begin.
_SEED: Final = 20141


@rankings.register("fwell-kmeans")
class ClusterFWELL(RankingMethod):
    """Near hits and near misses among centres of four clusters of either class, found by private k-means."""

    name = "fwell-kmeans"
    takes = frozenset({"strength"})

    def plan(self) -> PricedReleases:
        problem, privacy = self.problem, self.problem.privacy
        if privacy is None:
            raise MethodError(
                "method='fwell-kmeans' with privacy=None",
                expected="method='fwell', which is then the original: near hits among all rows",
                remedy="Use method='fwell'.",
            )
        minimiser, price = margin_minimiser(problem, privacy, share=SHARE)
        pure, missing = privacy.definition == "pure", problem.box.may_be_missing
        each = price / (1 + STEPS) ** (1.0 if pure else 0.5)
        near = NearestCentre(CENTRES)
        steps = [
            class_sums(missing, each, privacy.relation, pure=pure, groups=2 * CENTRES, mapping=near)
            for _ in range(STEPS)
        ]
        releases = (
            class_sums(missing, each, privacy.relation, pure=pure),
            *steps,
            Mapped(minimiser, CentreMargins(CENTRES)),
        )
        return budgeted_plan(releases, privacy, mu=privacy.mu, curve=True)

    def weights(self, plan: PricedReleases, ask: Ask) -> Weights:
        sums = plan.of_kind(ColumnSums)
        first, *steps, last = plan.releases
        centres = begun(class_moments(sums[0], ask(first)))
        for step, release in zip(sums[1:], steps, strict=True):
            centres = moved(centres, class_moments(step, ask(release, centres.ravel())))
        return released(self.problem, plan, ask(last, centres.ravel()))

    def algorithm(self) -> str:
        return "k-means of both classes, then objective perturbation on margins among their centres"


def begun(moments: ClassMoments) -> FloatMatrix:
    """A standard deviation from the mean of each class, with public signs, shape (2 * centres, size).

    The first centres of both classes come first, then the second ones.

    Examples
    --------
    >>> half = np.full((2, 3), 0.5)
    >>> begun(ClassMoments(half, 0.5 * half, half, half > 0.0)).shape
    (8, 3)
    """
    signs = np.random.default_rng(_SEED).choice([-1.0, 1.0], (CENTRES, 1, moments.means.shape[1]))
    return np.clip(moments.means + signs * moments.deviations, 0.0, 1.0).reshape(2 * CENTRES, -1)


def moved(centres: FloatMatrix, moments: ClassMoments) -> FloatMatrix:
    """Centres at the means of their rows; those with too few rows stay."""
    return np.where(moments.enough, moments.means, centres)


def centres_at(at: FloatVector | None, centres: int, size: int) -> FloatMatrix:
    """The centres that were released, in the unit box, shape (centres, 2, size)."""
    if at is None or len(at) != 2 * centres * size:
        raise release_error("no centres", "points of both classes in every column")
    return np.clip(np.nan_to_num(at), 0.0, 1.0).reshape(centres, 2, size)


@dataclass(frozen=True)
class NearestCentre(RowMapping):
    """The nearest centre of a row's own class as its group, -1 without a class; columns from -1 to 1.

    Group ``2 k + y`` is centre k of class y. A missing value counts as 1/2 where the nearest is looked for.
    ``at`` is the centres, group by group.

    Parameters
    ----------
    centres : int
        Of each class.
    """

    centres: int
    label = "means of the rows of each centre"

    @property
    def fact(self) -> Fact:
        return Fact("Numbers", f"in the unit box, by class and by the nearest of {self.centres} centres")

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        return _ByCentre(rows, centres_at(at, self.centres, rows.size)), None

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        """All centres in one place: the first is then the nearest."""
        return np.full(2 * self.centres * size, 0.5)

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        X = np.asarray(0.5 + 0.5 * rows.X[1 : 1 + size], dtype=np.float32)
        return ArrayChunk(X, rows.X[0].astype(np.float64), None, rows.weight, rows.share)


class _ByCentre(ClassNumbersView):
    def __init__(self, rows: Rows, centres: FloatMatrix) -> None:
        super().__init__(rows)
        self._centres = centres

    def view(self, chunk: RowChunk) -> RowChunk:
        from scipy.spatial.distance import cdist

        numbers = super().view(chunk)
        z = np.where(np.isnan(chunk.X), 0.5, chunk.X).T.astype(np.float64)
        for label in (0, 1):
            own = np.flatnonzero(chunk.y == label)
            nearest = cdist(z[own], self._centres[:, label], "sqeuclidean").argmin(axis=1)  # proof: nearest
            numbers.X[0, own] = 2 * nearest + label
        return numbers


@dataclass(frozen=True)
class CentreMargins(MarginMapping):
    """Margins between the nearest centres of both classes; ``at`` is the centres, as for `NearestCentre`.

    Parameters
    ----------
    centres : int
        Of each class.
    """

    centres: int

    @property
    def fact(self) -> Fact:
        return Fact("Rows", f"margins between near hit and near miss among {self.centres} released centres")

    def _margins_at(self, at: FloatVector | None, size: int) -> Margins:
        points = centres_at(at, self.centres, size)
        return near_margins(points[:, 0], points[:, 1])

    def before(self, at: FloatVector | None, size: int) -> FloatVector:
        """Centres of the first class at 0 and of the second at 1."""
        return np.tile(np.repeat([0.0, 1.0], size), self.centres)

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        """Rows of the second class at 1 where a margin is positive, at 0 where negative."""
        X = (0.5 + 0.5 * np.sign(rows.X) * (2.0 * rows.y - 1.0)).astype(np.float32)
        return ArrayChunk(X, np.ones(X.shape[1]), None, rows.weight, rows.share)
