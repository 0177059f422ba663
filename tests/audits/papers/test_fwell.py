"""Margins to prototypes and inside of blocks keep their claims, twins fall; the printed Private FWELL falls.

One margin row of length 1 stands against its opposite, with a shift of the loss that keeps all slopes near 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.auditing.bounds import bounded
from dpglm.auditing.neighbours import Neighbours, Table, release_neighbours
from dpglm.data.coding.unit_box import UnitBox
from dpglm.data.schema.schema import Schema
from dpglm.glm.families.binomial import Binomial
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.mapped import Mapped
from dpglm.mechanisms.noise import SeededNoise
from dpglm.methods.class_moments import class_sums
from dpglm.papers.fwell.blocks import OnBlocks
from dpglm.papers.fwell.fwell import FWELL, BlockFWELL
from dpglm.papers.fwell.kmeans import CentreMargins, ClusterFWELL, NearestCentre
from dpglm.papers.fwell.margins import PrototypeMargins
from dpglm.papers.fwell.printed import NeighbourWeights, neighbour_margins
from dpglm.rows import ArrayChunk
from dpglm.spec.ranking import RankingMethod, RankingProblem
from dpglm.typing import FloatVector
from tests.audits.harness import (
    BUDGETS,
    FAILURE,
    LESS,
    Acts,
    Case,
    broken,
    check,
    claimed,
    of_releases,
    quieter,
    under_both,
)
from tests.audits.test_minimiser import calibrated

FAR = 12.0
# Of the noise on six sums of one row, of which a statistic in one direction sees little.
VERY_LITTLE = 0.15


@dataclass(frozen=True)
class Far(Binomial):
    """The logistic loss of a margin less 12: its slope is near 1 wherever noise carries the weights."""

    def loss(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return super().loss(eta - (2.0 * y - 1.0) * FAR, y)

    def slope(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return super().slope(eta - (2.0 * y - 1.0) * FAR, y)

    def curvature(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return super().curvature(eta - (2.0 * y - 1.0) * FAR, y)


def of_margins() -> list[Case]:
    """The minimiser on margins between prototypes at both ends of a column, and on a block of three rows."""
    found = []
    for title, privacy in under_both(BUDGETS):
        inner = replace(calibrated(privacy), family=Far())
        if title != "approximate":
            among = title == "Gaussian" and privacy.relation == "replace-one"
            mapping = CentreMargins(2) if among else PrototypeMargins(2)
            what = f"margins{' among centres' if among else ''}, {title}"
            found.append(of_releases(Mapped, what, privacy, [Mapped(inner, mapping)], trials=8000))
        if privacy.relation == "replace-one":
            blocks = OnBlocks(inner, 3, 0.1)
            found.append(of_releases(OnBlocks, title, privacy, [blocks], trials=8000))
    return found


def of_clusters() -> list[Case]:
    """A step of k-means, on rows of different clusters."""
    found = []
    for title, privacy in under_both(BUDGETS):
        price = privacy.epsilon if title == "pure" else privacy.mu
        if price is not None:
            near, one = NearestCentre(2), np.zeros(1, dtype=bool)
            step = class_sums(one, price, privacy.relation, pure=title == "pure", groups=4, mapping=near)
            trials, part = (10_000, VERY_LITTLE) if title == "pure" else (6000, LESS)
            what = f"clusters, {title}"
            found.append(of_releases(Mapped, what, privacy, [step], trials=trials, part=part))
    return found


CASES = of_margins() + of_clusters()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)


def test_the_worst_cases_are_margin_rows_of_length_1_and_their_opposites() -> None:
    privacy = dpglm.Privacy(1.0)
    inner = replace(calibrated(privacy), family=Far())
    for release in (
        Mapped(inner, PrototypeMargins(2)),
        Mapped(inner, CentreMargins(2)),
        OnBlocks(inner, 3, 0.1),
    ):
        pair = release_neighbours(release, "replace-one", 1)
        seen = [rows(release, table, pair.at) for table in (pair.first, pair.second)]
        assert [np.abs(X).max(axis=1).round(4).tolist() for X in seen] == [[1.0], [1.0]]
        assert seen[0][0, 0] > 0.0 > seen[1][0, 0]


def rows(release: Any, table: Table, at: Any) -> Any:
    """Margin rows that the inner release reads."""
    read: list[Any] = []
    watched = replace(release, inner=_Watched(read))
    watched.run(table, at, SeededNoise(1))
    return read[0]


@dataclass(frozen=True, eq=False)
class _Watched:
    read: list[Any]
    name = "watched"
    summed = None

    def run(self, rows: Any, at: Any, noise: Any) -> Any:
        self.read.append(np.concatenate([chunk.X for chunk in rows.chunks()], axis=1))
        return np.zeros(1)


# --- whole rankings, on the table that breaks the printed one ---

SCHEMA = Schema.of({"y": ["no", "yes"], "a": (0, 1), "b": (0, 1)}, rows=61)


def near_miss_of_all() -> Neighbours:
    """Sixty rows of one class in the middle, and one of the other class on one side of them or below.

    It is the near miss of all others, so that all their margins change with it.
    """
    spread = 0.02 * np.random.default_rng(1).random((2, 60)) + 0.49
    tables = []
    for place in ((1.0, 0.5), (0.5, 1.0)):
        X = np.column_stack([spread, place]).astype(np.float32)
        tables.append(Table(ArrayChunk(X, np.array([1.0] * 60 + [0.0]), None)))
    return replace(Neighbours("the near miss of all", *tables), direction=np.array([1.0, -1.0]))


def between_clusters() -> Neighbours:
    """A thousand rows at either end, and one of a class on one side of the diagonal or the other.

    Fewer rows would move no centre at this budget.
    """
    spread = 0.02 * np.random.default_rng(1).random((2, 2000)) + np.repeat([0.09, 0.89], 1000)
    tables = []
    for place in ((1.0, 0.0), (0.0, 1.0)):
        X = np.column_stack([spread, place]).astype(np.float32)
        y = np.repeat([0.0, 1.0, 0.0], [1000, 1000, 1])
        tables.append(Table(ArrayChunk(X, y, None)))
    return replace(Neighbours("between two clusters", *tables), direction=np.array([1.0, -1.0]))


@dataclass(frozen=True)
class Ranked:
    """Weights of the columns, drawn as a ranking draws them."""

    method: RankingMethod
    part: float = 1.0
    releases: Sequence[Any] = ()

    def draw(self, table: Any, noise: Any, count: int, pair: Any, step: Any) -> list[Any]:
        plan = self.method.plan()
        if self.part != 1.0:
            quiet = tuple(broken(release, quieter(release, self.part)) for release in plan.releases)
            plan = replace(plan, releases=quiet)

        def ask(release: Release, at: Any = None) -> Any:
            return release.run(table, at, noise)

        return [np.array([self.method.weights(plan, ask).values for _ in range(count)])]


def refuted(act: Any, privacy: dpglm.Privacy, trials: int, tables: Neighbours) -> bool:
    known = {"difference of the weights": lambda w: w[:, 0] - w[:, 1]}
    found = bounded(
        act,
        [tables],
        claimed(privacy),
        SeededNoise(1),
        trials=trials,
        failure=FAILURE,
        known=known,
    )
    return found.bound.refuted


def problem(privacy: dpglm.Privacy) -> RankingProblem:
    return RankingProblem("y ~ .", UnitBox.of("y ~ .", SCHEMA), privacy)


def test_one_row_changes_all_margins_of_the_printed_algorithm() -> None:
    pair = near_miss_of_all()
    first, second = (
        neighbour_margins(table._blocks[0].X.T.astype(float), table._blocks[0].y)
        for table in (pair.first, pair.second)
    )
    assert int((first != second).any(axis=1).sum()) == 60


@pytest.mark.audit
def test_the_printed_private_fwell_exceeds_its_claim() -> None:
    """At n = 61 and lambda = .1 the weights move by 1.2, and the printed noise is set for .33."""
    printed: Any = Acts((NeighbourWeights(0.1, epsilon=1.0),))
    assert refuted(printed, dpglm.Privacy(1.0), 2000, near_miss_of_all())


RANKED = [
    (FWELL, near_miss_of_all()),
    (BlockFWELL, near_miss_of_all()),
    (ClusterFWELL, between_clusters()),
]


@pytest.mark.audit
@pytest.mark.parametrize(("kind", "tables"), RANKED)
def test_corrected_rankings_keep_their_claim(kind: type[RankingMethod], tables: Neighbours) -> None:
    """The first tables are those on which the printed ranking breaks it."""
    privacy = dpglm.Privacy(1.0)
    assert not refuted(Ranked(kind(problem(privacy))), privacy, 2000, tables)


@pytest.mark.audit
@pytest.mark.parametrize(("kind", "tables"), RANKED)
def test_rankings_with_a_twentieth_of_their_noise_are_caught(
    kind: type[RankingMethod], tables: Neighbours
) -> None:
    privacy = dpglm.Privacy(1.0)
    assert refuted(Ranked(kind(problem(privacy)), 0.05), privacy, 2000, tables)
