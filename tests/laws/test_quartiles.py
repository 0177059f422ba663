"""Quartiles from counts in classes: exact without noise, in order with any, and classes that never fail."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpglm.auditing.neighbours import Table
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.mapped import Mapped
from dpglm.mechanisms.number_classes import NumberClasses
from dpglm.postprocessing.correlations import ProfiledColumn
from dpglm.postprocessing.profile import _quartiles
from dpglm.postprocessing.quartiles import (
    EDGES,
    PROBABILITIES,
    ROUND_SHARES,
    Distribution,
    first_edges,
    next_edges,
    shortest,
)
from dpglm.rows import ArrayChunk
from tests.laws.test_column_sums import RELATIONS, Relation
from tests.silence import Silence

ANY = st.floats(allow_nan=True, allow_infinity=True)
UNIT = st.floats(-1.0, 1.0)


def counted(values: Any, edges: Any) -> Any:
    return np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1).astype(float)


def found(values: Any, edges: Any, variance: float = 1e-12) -> Distribution:
    return Distribution.of(np.asarray(edges), counted(values, edges), variance, float(len(values)), 0.0)


@given(st.lists(UNIT, min_size=1, max_size=200), st.lists(UNIT, min_size=1, max_size=40))
@example(values=[-1.0, -1e-218], edges=[-1e-64, -1e-218])
@settings(max_examples=200, deadline=None)
def test_without_noise_a_quartile_lies_in_the_class_of_the_true_one(values: Any, edges: Any) -> None:
    known = found(values, np.sort(edges))
    for probability in PROBABILITIES.values():
        truth = np.quantile(values, probability, method="inverted_cdf")
        first, last = known.places(probability, 2.0, sampling=False)
        assert known.ends[first] <= truth <= known.ends[last]
        # One class, or two where the share up to its end is the probability itself.
        estimate = known.quantile(probability)
        assert known.ends[first] <= estimate <= known.ends[last]


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=6),
    st.lists(UNIT, min_size=5, max_size=5),
    st.floats(1e-3, 1e9),
    st.floats(-1e6, 1e9),
)
@settings(max_examples=200, deadline=None)
def test_with_any_noise_quartiles_are_in_order_and_between_the_bounds(
    counts: Any, edges: Any, variance: float, total: float
) -> None:
    known = Distribution.of(np.sort(edges), np.array(counts), variance, total, variance)
    quartiles = [known.quantile(probability) for probability in PROBABILITIES.values()]
    assert -1.0 <= quartiles[0] <= quartiles[1] <= quartiles[2] <= 1.0
    told = [each.value for each in _quartiles(ProfiledColumn("x", False, 0.0, 10.0), "overall", known)]
    assert 0.0 <= told[0] <= told[1] <= told[2] <= 10.0  # after each was rounded by itself, too
    for probability, estimate in zip(PROBABILITIES.values(), quartiles, strict=True):
        ends = [known.places(probability, errors) for errors in (0.0, 1.0, 3.0)]
        assert ends[2][0] <= ends[1][0] <= ends[0][0] < ends[0][1] <= ends[1][1] <= ends[2][1]
        assert known.ends[ends[0][0]] <= estimate <= known.ends[ends[0][1]]


@given(ANY, ANY, st.lists(st.floats(-1e12, 1e12), min_size=EDGES + 1, max_size=EDGES + 1))
@settings(max_examples=200, deadline=None)
def test_edges_are_as_many_as_planned_and_rising_whatever_was_answered(
    mean: float, deviation: float, answers: Any
) -> None:
    edges = first_edges(mean, abs(deviation))
    for _ in range(3):
        assert edges.shape == (EDGES,)
        assert (np.diff(edges) >= 0.0).all()
        assert -1.0 <= edges[0] <= edges[-1] <= 1.0
        edges = next_edges(Distribution.of(edges, np.array(answers), 1.0, 100.0, 1.0))


def test_rounds_close_in_on_a_heap_and_on_a_smooth_quartile_alike() -> None:
    values = np.concatenate([np.full(500, 0.3), np.random.default_rng(0).uniform(-0.02, 0.02, 500)])
    edges = first_edges(math.nan, math.nan)
    widths = []
    for _ in ROUND_SHARES:
        known = found(values, edges, 1.0)
        first, last = known.places(0.75, 2.0)
        widths.append(known.ends[last] - known.ends[first])
        assert known.ends[first] <= 0.3 <= known.ends[last]
        edges = next_edges(known)
    assert widths[1] < 0.5 * widths[0]
    assert widths[2] < 0.5 * widths[1]
    assert widths[2] < 0.003


def test_counts_are_made_to_add_up_by_their_precision() -> None:
    # By hand: 10 + 20 + 30 = 60 with variance 4 each against 66 with variance 12: half of the gap is made up.
    known = Distribution.of(np.array([-0.5, 0.5]), np.array([10.0, 20.0, 30.0]), 4.0, 66.0, 12.0)
    assert known.total == pytest.approx(63.0)
    assert known.shares == pytest.approx([0.0, 11.0 / 63.0, 32.0 / 63.0, 1.0])
    # The noise of (c1 + c2) - p * (all), by its covariance: I - J / 6 times 4, plus what the 66 add.
    covariance = 4.0 * (np.eye(3) - np.ones((3, 3)) / 6.0)
    weights = np.array([1.0, 1.0, 0.0]) - 0.5
    expected = math.sqrt(weights @ covariance @ weights) / 63.0
    assert known.noise[0.5][2] == pytest.approx(expected)


def test_the_number_with_the_fewest_digits_is_found() -> None:
    cases = [((0.0, 1e-9, 1e-10), 0.0), ((-2.3, -1.9, -2.1), -2.0), ((1234.5, 1234.9, 1234.7), 1234.7)]
    cases += [((5e307, 1.7e308, 6e307), 1e308), ((1e-300, 3e-300, 2e-300), 2e-300)]
    for (low, high, near), expected in cases:
        assert shortest(low, high, near) == expected
        assert low <= shortest(low, high, near) <= high


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("groups", [1, 3])
def test_the_worst_case_of_classes_moves_their_counts_by_all_of_the_sensitivity(
    relation: Relation, groups: int
) -> None:
    inner = ColumnSums((), (5, 5), groups, relation == "add-remove", "gaussian", 1.0)
    release = Mapped(inner, NumberClasses(2, 5, 1))
    case = release.worst_case(relation, 3)
    first, second = (release.run(Table(chunk), case.at, Silence()) for chunk in (case.first, case.second))
    moved = np.linalg.norm((first - second).reshape(groups, -1) * inner._weights)
    assert moved == pytest.approx(release.sensitivity(relation))


@given(st.lists(st.one_of(UNIT, st.sampled_from([math.nan, math.inf, 1e30])), min_size=1, max_size=20))
@settings(max_examples=100, deadline=None)
def test_the_class_of_a_row_is_its_own_between_edges_in_any_order(values: Any) -> None:
    """`searchsorted` begins where it ended, which is felt between edges out of order."""
    at = np.random.default_rng(len(values)).uniform(-1.0, 1.0, 7)
    mapping = NumberClasses(1, 8, 1)

    def classes(*numbers: float) -> list[float]:
        X = np.array([[0.0] * len(numbers), numbers], dtype=np.float32)
        rows, _ = mapping.mapped(Table(ArrayChunk(X, np.zeros(len(numbers)), None)), at)
        return [float(code) for chunk in rows.chunks() for code in chunk.X[1]]

    assert classes(*values) == [code for value in values for code in classes(value)]
