"""Between neighbouring tables a ranking of features shows nothing but what was released."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.data.coding.unit_box import BoxTable
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.methods.base import methods
from dpglm.spec.ranking import rankings
from tests.replay.recorder import Replayed, differences, watched

pytestmark = pytest.mark.papers
# What is registered is imported before lines are recorded.
REGISTERED = [*rankings, *methods, *families, *penalties]
SCHEMA = {"y": ["no", "yes"], "a": (0, 10), "b": (-1, 1), "g": ["p", "q", "r"]}
ROWS: list[dict[str, Any]] = [
    {"y": "yes" if place % 3 else "no", "a": place % 11, "b": 0.1 * (place % 7), "g": "pqr"[place % 3]}
    for place in range(24)
]
ODD = [
    {"y": "canary", "a": float("inf"), "b": None, "g": "canary"},
    {"y": "no", "a": "q", "b": 1e300, "g": [1]},
    {"y": None, "a": None, "b": float("nan"), "g": ""},
]
PRIVATE = [
    ("fwell", dpglm.Privacy(1.0, 1e-6)),
    ("fwell", dpglm.Privacy(1.0, relation="add-remove")),
    ("fwell-kmeans", dpglm.Privacy(1.0, 1e-6)),
    ("fwell-block", dpglm.Privacy(2.0)),
    ("marginal", dpglm.Privacy(1.0, 1e-6, relation="add-remove")),
    ("objective", dpglm.Privacy(1.0, 1e-6)),
]


def shown(rows: list[dict[str, Any]], method: Any, privacy: Any, swapped: Any = None) -> Any:
    """All that a ranking shows of a table; released numbers are swapped for those of another run."""
    drawn: list[int] = []
    frame = pd.DataFrame(rows, columns=list(SCHEMA), dtype=object)

    def rank() -> Any:
        return dpglm.rank_features("y ~ .", frame, schema=SCHEMA, method=method, privacy=privacy)

    def then(ranking: Any) -> Any:
        return str(ranking), ranking.to_html(), ranking.tidy().to_csv(), repr(ranking), ranking.formula

    with mock.patch("dpglm.spec.rank.noise_of", side_effect=lambda seed: Replayed(drawn)):
        seen = watched(rank, then, swapped=swapped)
    seen.drawn = drawn
    return seen


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """Templates and libraries are loaded at their first use: that is no difference between tables."""
    for method, privacy in PRIVATE:
        shown(ROWS, method, privacy)


@pytest.mark.parametrize(("method", "privacy"), PRIVATE)
@pytest.mark.parametrize("odd", range(len(ODD)))
def test_what_follows_the_releases_is_the_same_on_neighbours(method: Any, privacy: Any, odd: int) -> None:
    other = [*ROWS[:5], *([] if privacy.relation == "add-remove" else [ODD[odd]]), *ROWS[6:]]
    one = shown(ROWS, method, privacy)
    two = shown(other, method, privacy, swapped=one.answers)
    first, second = (seen.public() for seen in (one, two))
    assert not differences(first, second)
    assert "canary" not in repr(two.outcome) + two.printed + repr(two.warned)
    assert all(finite for _, _, finite in one.shapes + two.shapes)


def test_a_box_holds_rows_only_after_a_whole_pass() -> None:
    frame = pd.concat([pd.DataFrame(ROWS)] * 400, ignore_index=True)
    table = dpglm.data.coding.unit_box.UnitBox.of("y ~ .", dpglm.Schema.of(SCHEMA)).table(frame)
    assert isinstance(table, BoxTable)
    passes = []
    for _ in range(3):
        passes.append([chunk.X for chunk in table.chunks()])
        next(table.chunks())  # broken off
    assert all(one is two for one, two in zip(passes[1], passes[2], strict=True))
    assert all(np.array_equal(one, two) for one, two in zip(passes[0], passes[1], strict=True))
