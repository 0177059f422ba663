"""Sums over columns keep their claim, under both laws; with 20 % less noise they are caught."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dpglm
from dpglm.auditing.neighbours import release_neighbours
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.spec.describe import ProfilePlan
from tests.audits.harness import BUDGETS, Case, check, of_releases, under_both

SCHEMA = dpglm.Schema.of({"x": {"bounds": [0, 9], "missing": 0}, "g": ["a", "b"]})


def cases() -> list[Case]:
    found = []
    for title, privacy in under_both(BUDGETS | {"pure": dpglm.Privacy(1.0)}):
        for by in (None, "g"):
            release = ProfilePlan.of(SCHEMA, ["x"], by, privacy).release
            pairs = [release_neighbours(release, privacy.relation, release.size)]
            words = f"{title}, {'one group' if by is None else 'two groups'}"
            # Five sums of Laplace noise blur a fifth less of it more than three do.
            trials = (100_000 if by else 50_000) if title == "pure" else 6000
            found.append(of_releases(ColumnSums, words, privacy, [release], pairs, trials=trials))
    return found


CASES = cases()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)
