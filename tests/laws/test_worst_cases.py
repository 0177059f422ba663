"""The tables that audits of minimisers look at are neighbours, and as far apart as the proof allows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from dpglm.glm.families import Family, families
from dpglm.glm.penalties import penalties
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.span import Span
from dpglm.rows import RowChunk
from dpglm.typing import FloatVector

Relation = Literal["add-remove", "replace-one"]
RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one")
FAMILIES = {"binomial": families["binomial"](), "poisson": families["poisson"]().with_bound(20.0)}


def minimiser(family: Family, size: int) -> PerturbedMinimiser:
    more: dict[str, Any] = {"penalty": penalties["none"](), "penalty_rows": 1.0, "residual_noise_scale": 1e-8}
    more |= {"mixing": np.eye(size), "penalised": np.ones(size, dtype=bool)}
    return PerturbedMinimiser(family, 1.0, "gaussian", 1.0, 1e-8, **more)


def score(family: Family, table: RowChunk, theta: FloatVector) -> FloatVector:
    X = np.asarray(table.X, dtype=np.float64)
    offset = 0.0 if table.offset is None else table.offset
    return np.asarray(X @ family.slope(theta @ X + offset, table.y), dtype=np.float64)


def rows_of(table: RowChunk) -> list[tuple[float, ...]]:
    offset = np.zeros(len(table.y)) if table.offset is None else table.offset
    return [tuple(row) for row in np.column_stack([table.X.T, table.y, offset]).tolist()]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", list(FAMILIES))
@pytest.mark.parametrize("size", [1, 3])
def test_a_minimisers_worst_rows_move_its_score_by_all_of_the_sensitivity(
    relation: Relation, name: str, size: int
) -> None:
    family = FAMILIES[name]
    release = minimiser(family, size)
    case = release.worst_case(relation, size)
    assert len(case.first.y) == 1
    assert len(case.second.y) == (1 if relation == "replace-one" else 0)
    assert case.first.X.shape == (size, 1)
    for row in (*case.first.X.T, *case.second.X.T):
        assert np.linalg.norm(row) == 1.0
    assert case.direction.shape == (size,)
    for theta in np.random.default_rng(1).normal(scale=20.0, size=(5, size)):
        moved = score(family, case.first, theta) - score(family, case.second, theta)
        # Offsets keep the slopes at 1 wherever the minimiser may be.
        assert np.linalg.norm(moved) == pytest.approx(release.sensitivity(relation), rel=1e-9)
        # The statistic looks where the tables differ.
        assert abs(moved @ case.direction) == pytest.approx(
            float(np.linalg.norm(moved) * np.linalg.norm(case.direction))
        )


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("size", [2, 3])
def test_the_worst_rows_of_a_curvature_are_at_a_right_angle(relation: Relation, size: int) -> None:
    block = TermColumns("x", "other", 0, size, 1.0, np.eye(size), np.ones(size))
    release = Information(FAMILIES["binomial"], 1.0, "gaussian", Span((block,)))
    case = release.worst_case(relation, size)
    assert len(case.first.y) == case.first.X.shape[1] == 1
    assert len(case.second.y) == case.second.X.shape[1] == (1 if relation == "replace-one" else 0)
    apart = 0.25 * (case.first.X @ case.first.X.T - case.second.X @ case.second.X.T)
    assert np.linalg.norm(apart) == pytest.approx(release.sensitivity(relation), rel=1e-6)
