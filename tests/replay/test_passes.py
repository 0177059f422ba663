"""How often a solver read the rows stands nowhere: neither in what is printed nor in what is stored."""

from __future__ import annotations

import re
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from dpglm.data.coding.design import Design
from dpglm.kept_rows import KeptRows
from tests.replay.recorder import differences, watched
from tests.replay.studies import Study, everything

# Words for counts and times of a run, in keys and texts; "one pass" as prose has no number beside it.
COUNTS = re.compile(
    r"\b(n_?iter\w*|iterations?|passes|n_passes|evaluations?|newton_steps|elapsed|run_?time|seconds|duration)\b\W{0,3}[:=]?\s*\d",
    re.IGNORECASE,
)
READ = KeptRows.chunks


VOID = dict.fromkeys(["y", "z", "k", "x", "w", "g"])
FULL = {"y": "yes", "z": 5.0, "k": 20, "x": 1.0, "w": 100.0, "g": "b"}


def tables(others: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Neighbours, one of which has a row that says nothing: a solver has less to do there."""
    rows = [FULL | {"y": "no", "k": 0}] * others
    return pd.DataFrame([*rows, VOID], dtype=object), pd.DataFrame([*rows, FULL], dtype=object)


def counted(study: Study, data: object, swapped: Any = None) -> tuple[Any, int]:
    """What a run showed, and its passes over the rows."""
    passes = []

    def chunks(self: KeptRows) -> Any:
        passes.append(None)
        return READ(self)

    with mock.patch.object(KeptRows, "chunks", chunks):
        seen = watched(lambda: study.fit(data), everything, swapped=swapped)
    return seen, len(passes)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize("goal", ["explain", "select"])
def test_more_passes_leave_no_trace(family: str, goal: str) -> None:
    found = []
    for budget, others in (("pure", 0), ("approximate", 20)):
        study = Study(family, penalty="l1", goal=goal, budget=budget, side="x + w + g")
        first, second = tables(others)
        one, passes = counted(study, first)
        other, more = counted(study, second, one.answers)
        assert not differences(one.public(), other.public())
        found.append((passes, more))
        shown = "\n".join(str(text) for text in one.outcome.values())
        assert not COUNTS.search(shown), COUNTS.search(shown)
    assert any(passes != more for passes, more in found), "the tables are to need different numbers of passes"


def test_a_count_would_be_found() -> None:
    assert COUNTS.search('"n_iter": 17')
    assert COUNTS.search("passes = 3")
    assert COUNTS.search("elapsed: 0.3")


@pytest.mark.parametrize("scratch", ["", "off"])
def test_a_table_that_is_not_in_memory_shows_the_same(scratch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether rows are kept in memory is a matter of size, and shows nowhere either."""
    _, easy = tables(20)
    study = Study(budget="approximate")
    one = watched(lambda: study.fit(easy), everything)
    start = Design.__init__

    def small(self: Design, *pieces: Any, **options: Any) -> None:
        start(self, *pieces, **{**options, "memory_limit": 0})

    monkeypatch.setenv("DPGLM_SCRATCH", scratch)
    with mock.patch.object(Design, "__init__", small):
        other = watched(lambda: study.fit(easy), everything)
    assert all(np.array_equal(a, b) for a, b in zip(one.answers, other.answers, strict=True))
    assert one.outcome == other.outcome
