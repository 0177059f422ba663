"""What a row of a table with times and events becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpglm.data.coding.coded_model import CodedModel
from dpglm.data.coding.person_periods import PersonPeriods, PersonStages
from dpglm.data.formula.periods import Periods
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.source import CHUNK_ROWS
from dpglm.errors import SchemaError
from dpglm.glm.families import families
from dpglm.rows import ROWS
from dpglm.typing import SHARES

SCHEMA: dict[str, Any] = {"week": (1, 4), "left": ["no", "yes"], "x": (0, 10)}


def rows(cells: list[tuple[Any, Any]], week: Any = (1, 4)) -> list[list[tuple[int, float]]]:
    """Periods, with whether the event happened in them, of each person of a table; x tells persons apart."""
    schema = Schema.of(SCHEMA | {"week": week, "x": (0, len(cells))})
    model = CodedModel.of("Surv(week, left) ~ 0 + C(week) + x", schema, families["binomial"]())
    table = pd.DataFrame(cells, columns=["week", "left"]).assign(x=range(len(cells)))
    found: list[list[tuple[int, float]]] = [[] for _ in cells]
    for chunk in model.design(table).chunks():
        user = chunk.X.T.astype(np.float64) @ model.coding.coded_from_user  # rows of the formula's columns
        assert np.array_equal(chunk.share, chunk.weight)
        for row, y in zip(user, np.asarray(chunk.y), strict=True):
            found[round(float(row[-1]))].append((int(np.argmax(row[:4])) + 1, float(y)))
    return found


@pytest.mark.parametrize(
    ("time", "event", "expected"),
    [
        (1, "yes", [(1, 1.0)]),
        (3, "yes", [(1, 0.0), (2, 0.0), (3, 1.0)]),
        (3, "no", [(1, 0.0), (2, 0.0), (3, 0.0)]),
        ("3", "yes", [(1, 0.0), (2, 0.0), (3, 1.0)]),
        # Between two whole numbers: in the period that ends at the next; one is seen to the last whole one.
        (2.4, "yes", [(1, 0.0), (2, 0.0), (3, 1.0)]),
        (2.4, "no", [(1, 0.0), (2, 0.0)]),
        (0.3, "yes", [(1, 1.0)]),
        (0.3, "no", []),
        # Beyond the last period nothing had happened by its end.
        (4.5, "yes", [(1, 0.0), (2, 0.0), (3, 0.0), (4, 0.0)]),
        (99, "yes", [(1, 0.0), (2, 0.0), (3, 0.0), (4, 0.0)]),
        (np.inf, "no", []),
        (0, "yes", []),
        (-7, "no", []),
        (None, "yes", []),
        ("soon", "yes", []),
        (2, None, []),
        (2, "perhaps", []),
    ],
)
def test_a_time_becomes_the_periods_in_which_a_person_was_at_risk(
    time: Any, event: Any, expected: list[tuple[int, float]]
) -> None:
    # Beside other rows, whose types of cells change nothing.
    found = rows([(2, "yes"), (time, event), (1, "no")])
    assert found == [[(1, 0.0), (2, 1.0)], expected, [(1, 0.0)]]


def test_levels_are_periods_in_their_order() -> None:
    week = ["early", "mid", "late", "end"]
    assert rows([("late", "yes"), ("early", "no"), ("never", "yes")], week) == [
        [(1, 0.0), (2, 0.0), (3, 1.0)],
        [(1, 0.0)],
        [],
    ]


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("poor", [(1, 0.0)]),
        ("fair", [(1, 1.0), (2, 0.0)]),
        ("good", [(1, 1.0), (2, 1.0), (3, 0.0)]),
        ("best", [(1, 1.0), (2, 1.0), (3, 1.0)]),
        ("Best", []),
        ("none", []),
        (None, []),
        (np.nan, []),
        (3, []),
        ("", []),
    ],
)
def test_a_level_becomes_the_stages_that_a_person_reached(
    level: Any, expected: list[tuple[int, float]]
) -> None:
    cells = ["fair", level, "poor"]
    schema = Schema.of(
        {"grade": {"levels": ["poor", "fair", "good", "best"], "ordered": True}, "x": (0, len(cells))}
    )
    model = CodedModel.of("grade ~ x", schema, families["ordinal"]())
    found: list[list[tuple[int, float]]] = [[] for _ in cells]
    for chunk in model.design(pd.DataFrame({"grade": cells, "x": range(len(cells))})).chunks():
        assert np.array_equal(chunk.share, np.full(chunk.count, 1365 / SHARES))
        user = chunk.X.T.astype(np.float64) @ model.coding.coded_from_user  # intercepts of stages, and x
        for row, y in zip(user, np.asarray(chunk.y), strict=True):
            found[round(float(row[-1]))].append((int(np.argmax(row[:3])) + 1, float(y)))
    assert found == [[(1, 1.0), (2, 0.0)], expected, [(1, 0.0)]]


def test_the_answers_of_stages_stand_under_a_name_that_no_column_has() -> None:
    stages = PersonStages(Periods("grade", ("a", "b"), False, True))
    with pytest.raises(SchemaError):
        Schema.of({stages.event: (0, 1)})


@pytest.mark.parametrize("count", [2, 3, 7, 100])
def test_shares_are_whole_parts_that_add_up_to_at_most_one(count: int) -> None:
    share = PersonPeriods(Periods("week", tuple(range(count)), True), "left").share
    parts = share * SHARES
    assert parts == int(parts)
    assert count * parts <= SHARES < count * (parts + 1)


def test_chunks_do_not_depend_on_how_a_table_is_cut() -> None:
    """More rows of periods than a chunk holds, and persons whose periods lie in two chunks."""
    random = np.random.default_rng(1)
    table = pd.DataFrame(
        {"week": random.integers(1, 5, 30_000), "left": random.choice(["no", "yes"], 30_000), "x": 1.0}
    )
    model = CodedModel.of("Surv(week, left) ~ x", Schema.of(SCHEMA), families["binomial"]())
    chunks = list(model.design(table).chunks())
    assert all(chunk.count == len(chunk.y) == chunk.X.shape[1] <= ROWS for chunk in chunks)
    assert sum(chunk.count for chunk in chunks) == int(table["week"].sum())
    assert sum(float(np.asarray(chunk.y).sum()) for chunk in chunks) == (table["left"] == "yes").sum()
    assert {float(share) for chunk in chunks for share in np.asarray(chunk.share)} == {0.25}


@pytest.mark.parametrize("count", [2, 7, 100])
def test_no_more_rows_are_held_at_once_whatever_times_are(count: int) -> None:
    """A table of long times would take up to a hundred times the memory of one of short ones."""
    periods = PersonPeriods(Periods("week", tuple(range(1, count + 1)), True), "left")
    people = 40_000
    columns = {"week": np.full(people, float(count)), "left": np.zeros(people, dtype=np.int32)}
    rows = [len(shares) for _, shares in periods.pieces(columns)]
    assert sum(rows) == people * count
    assert max(rows) <= CHUNK_ROWS
    # Where a piece ends follows from the places of persons alone, and not from their times.
    assert len(rows) == len(list(periods.pieces(columns | {"week": np.ones(people)})))
