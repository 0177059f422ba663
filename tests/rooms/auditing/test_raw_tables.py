"""Raw tables of an audit hold what readers go wrong with, and statistics see what noise should hide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.auditing.audit import tasks_of
from dpglm.auditing.raw_tables import OF_A_PERSON, REST, Corners, declared_neighbours
from dpglm.auditing.statistics import digits, learned
from dpglm.data.schema.variables import Numeric
from dpglm.mechanisms.noise import SeededNoise

SCHEMA = {
    "y": ["no", "yes"],
    "x": {"bounds": [0, 9], "missing_codes": [999]},
    "z": {
        "bounds": [0, 1],
        "missing_codes": [2],
    },  # what lies beyond the bound is a code: the bound is written
    "g": ["a", "b"],
}


def neighbours(relation: Any, unit: Any = None, **options: Any) -> list[Any]:
    schema = dpglm.Schema.of(SCHEMA, unit=unit)
    privacy = dpglm.Privacy(1.0, 1e-6, relation=relation)
    plan = dpglm.plan(options.pop("formula", "y ~ x + z + g"), schema, n=100, privacy=privacy, **options)
    return declared_neighbours(plan.specification.coded_model, relation)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_longest_row_comes_through_as_text_beside_rows_that_say_nothing(relation: str) -> None:
    pair = neighbours(relation)[-1]
    assert pair.label.endswith("beside missing values")
    rows = [
        np.concatenate([chunk.X for chunk in table.chunks()], axis=1) for table in (pair.first, pair.second)
    ]
    assert [X.shape[1] for X in rows] == [REST + 1, REST + (relation == "replace-one")]
    blank = [X[:, X.shape[1] - REST :] for X in rows]
    assert not blank[0].any()
    assert not blank[1].any()
    schema = dpglm.Schema.of(SCHEMA)
    model = dpglm.plan("y ~ x + z + g", schema, n=9, privacy=1.0).specification.coded_model
    corners = Corners.of(schema, model.coding)
    np.testing.assert_array_equal(rows[0][:, 0], corners.X[:, corners.longest])


def test_cells_that_differ_are_read_by_the_column_and_by_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    honest = Numeric.read

    def read(self: Numeric, column: Any) -> Any:
        seen.append(list(column))
        return honest(self, column)

    monkeypatch.setattr(Numeric, "read", read)
    neighbours("add-remove", formula="y ~ x")
    cells = [cell for column in seen for cell in column]
    assert {"-1.0", -1.0, 999} <= set(cells)


def test_a_person_of_many_rows_differs_where_a_column_tells_whose_a_row_is() -> None:
    pair = neighbours("add-remove", unit={"column": "who"})[-1]
    assert (pair.first.row_count(), pair.second.row_count()) == (OF_A_PERSON, 0)
    (chunk,) = pair.first.chunks()
    assert chunk.share.sum() <= 1.0
    pair = neighbours("replace-one", unit={"column": "who", "rows": 3})[-1]
    assert [table.row_count() for table in (pair.first, pair.second)] == [3, 3]


def test_draws_of_several_releases_end_in_their_likelihood_ratio() -> None:
    plan = dpglm.plan("y ~ x", {"y": (0, 1), "x": (0, 9)}, n=9, privacy=(1.0, 0.05), family="gaussian")
    act, pairs, _ = tasks_of(plan)[-1]
    pair = pairs[0]
    near, far = (
        act.draw(table, SeededNoise(1), 60, pair, lambda: None)[-1] for table in (pair.first, pair.second)
    )
    assert near.shape == far.shape == (60, 1)
    assert near.mean() > far.mean()


@pytest.mark.parametrize(("formula", "rows"), [("y ~ g", "declared"), ("y ~ x + g", "norm 1")])
def test_a_score_behind_products_is_looked_at_along_the_worst_rows(formula: str, rows: str) -> None:
    """Of rows as they are read, declared ones stand for the axes; a map of rows takes any of norm 1."""
    plan = dpglm.plan(formula, SCHEMA, privacy=dpglm.Privacy(1.0, 1e-6, "add-remove"))
    act, pairs, _ = tasks_of(plan)[-2]  # the last release, with a score
    size, pair = plan.problem.geometry.term_columns[-1].stop, pairs[0]
    assert rows in pair.label
    assert pair.direction is not None
    assert pair.direction.shape == (size * (size + 1),)
    # The noise of one seed is the same on both tables: what is left is what the row adds.
    ((near,), _), ((far,), _) = (
        act.once(table, SeededNoise(1), pair.at) for table in (pair.first, pair.second)
    )
    moved, (*_, last) = near - far, act.releases[0].options
    assert 0.5 < np.linalg.norm(moved) / last.inside.sensitivity("add-remove") <= 1.0  # type: ignore[attr-defined]
    assert moved @ pair.direction > 0.8 * np.linalg.norm(moved) * np.linalg.norm(pair.direction)


def test_a_direction_without_noise_and_numbers_that_repeat_are_learned() -> None:
    generator = np.random.default_rng(1)
    noise = generator.normal(size=(2, 200, 1))
    first, second = (
        np.hstack([one, 3.0 * one + shift]) for one, shift in zip(noise, (1e-3, 0.0), strict=True)
    )
    score = learned(first, second)["without noise"]
    assert score(first).min() > score(second).max()
    first, second = noise.copy()
    first[::4] = 0.25
    score = learned(first, second)["repeats"]
    assert set(score(first)) == {0.0, score(np.array([[0.25]]))[0]}
    assert not score(second).any()
    assert "repeats" not in learned(*noise)


def test_lowest_bits_and_equal_numbers_of_an_output_are_counted() -> None:
    z = np.array([[0.5, 0.125], [3.0, -3.0], [np.inf, 0.0]])
    statistics = digits(z, np.zeros((3, 2)))
    assert (-statistics["equal numbers"](z)).tolist() == [0.0, 1.0, 0.0]  # two noughts are equal
    assert statistics["finest bit of all"](z).tolist() == [3.0, 0.0, 0.0]
    assert statistics["finest bit of 0 below 0.25"](z).tolist() == [0.0, 0.0, 0.0]
    assert statistics["finest bit of 1 below 0.25"](z).tolist() == [3.0, 0.0, 0.0]
    assert digits(np.zeros((3, 2)), z)["finest bit of all"](z).tolist() == [-3.0, 0.0, 0.0]
    assert "finest bit of 0" not in digits(np.zeros((3, 100)), np.zeros((3, 100)))


def test_dates_of_a_schema_are_written_as_dates() -> None:
    schema = {"y": ["no", "yes"], "since": {"bounds": [0, 365], "date": {"origin": "2015-01-01"}}}
    plan = dpglm.plan("y ~ since", schema, n=9, privacy=1.0)
    model = plan.specification.coded_model
    corners = Corners.of(model.schema, model.coding)
    for pair in declared_neighbours(model, "replace-one"):
        X = np.concatenate([chunk.X for chunk in pair.first.chunks()], axis=1)
        np.testing.assert_array_equal(X[:, 0], corners.X[:, corners.longest])
