"""Between neighbouring tables in memory nothing differs but what was released.

Two forms. *Replayed*: both runs draw the same bytes; lines of dpglm that run up to the last release, the
releases asked, draws of noise, exceptions with their causes and contexts, warnings, log records, output and
steps of the bar are equal. *Swapped*: the second run is handed what the first one released, and all that
follows is equal too, to the last byte: tables, JSON, pages, predictions, refits, figures.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.replay.neighbours import DRESSES, ROWS, SOUND, Row, neighbours
from tests.replay.recorder import Seen, differences, watched
from tests.replay.studies import BUDGETS, METHODS, Study, all_studies, everything, few_studies, some_studies

ALL = list(all_studies())
SOUND_ROW: Row = {"y": "no", "z": 1.0, "k": 3, "x": 0.3, "w": 40.0, "g": "a"}
ODD_ROW: Row = {"y": "canary", "z": float("inf"), "k": None, "x": "q", "w": 10**400, "g": [1]}


def pair(
    study: Study, first: object, second: object, *, swap: bool, trace: bool = True, plots: bool = False
) -> tuple[Seen, Seen]:
    """Both runs, the second one handed the released numbers of the first where ``swap``."""

    def then(fit: Any) -> Any:
        return everything(fit, plots=plots) if swap else sorted(vars(fit._record))

    one = watched(lambda: study.fit(first), then, trace=trace)
    other = watched(lambda: study.fit(second), then, swapped=one.answers if swap else None, trace=trace)
    assert "canary" not in one.printed + other.printed + repr(one.warned) + repr(one.logged)
    return one, other


def require_same(study: Study, first: object, second: object, *, swap: bool, **options: bool) -> None:
    """Fail with the first difference of two runs."""
    one, other = pair(study, first, second, swap=swap, **options)
    found = differences(one.public(up_to_release=not swap), other.public(up_to_release=not swap))
    assert not found, (study, found)
    assert all(finite for _, _, finite in one.shapes + other.shapes), study
    # Advice follows from public facts alone, and is the same on both tables.
    assert [warned for warned in one.warned if warned[0] != "PlanningAdvice"] == [], study
    if not swap:
        assert one.outcome == other.outcome, study


def dressed(name: str, first: list[Row], second: list[Row]) -> tuple[Any, Any]:
    return DRESSES[name](first), DRESSES[name](second)


STUDIES = st.sampled_from(ALL)
COMMON = st.builds(
    Study,
    family=st.sampled_from(["binomial", "gaussian", "poisson"]),
    penalty=st.sampled_from(["l1", "none", "l2"]),
    goal=st.sampled_from(["explain", "select"]),
    budget=st.sampled_from(["pure", "approximate"]),
    relation=st.sampled_from(["replace-one", "add-remove"]),
)


@pytest.mark.parametrize("swap", [False, True], ids=["replayed", "swapped"])
def test_rows_of_any_kind(effort: int, swap: bool) -> None:
    @settings(max_examples=4 * effort, phases=[Phase.generate])
    @given(st.data(), st.one_of(COMMON, STUDIES), st.sampled_from(list(DRESSES)))
    def law(data: st.DataObject, study: Study, dress: str) -> None:
        first, second = data.draw(neighbours(study.relation))
        require_same(study, *dressed(dress, first, second), swap=swap)

    law()


def test_figures_hold_the_same_data(effort: int) -> None:
    @settings(max_examples=1 * effort, phases=[Phase.generate])
    @given(st.data(), COMMON)
    def law(data: st.DataObject, study: Study) -> None:
        first, second = data.draw(neighbours(study.relation, most=4))
        require_same(study, *dressed("objects", first, second), swap=True, trace=False, plots=True)

    law()


def odd_pair(study: Study) -> tuple[Any, Any]:
    table = [SOUND_ROW, SOUND_ROW | {"y": "yes"}] * 3
    return dressed(
        "objects", [*table, ODD_ROW], [*table, SOUND_ROW] if study.relation == "replace-one" else table
    )


@pytest.mark.parametrize("study", few_studies(), ids=lambda study: f"{study.method}-{study.penalty}")
def test_every_registered_name(study: Study) -> None:
    require_same(study, *odd_pair(study), swap=True, trace=False)


@pytest.mark.audit
@pytest.mark.parametrize("place", range(6))
def test_every_registered_name_with_every_family(place: int) -> None:
    for study in list(some_studies())[place::6]:
        require_same(study, *odd_pair(study), swap=True, trace=False)


@pytest.mark.audit
@pytest.mark.parametrize("method", range(len(METHODS)))
def test_every_combination_of_registered_names(method: int) -> None:
    for study in ALL[::3]:
        if study.method is METHODS[method]:
            require_same(study, *odd_pair(study), swap=True, trace=False)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("family", ["binomial", "gaussian", "poisson"])
@pytest.mark.parametrize("budget", [name for name in BUDGETS if name != "gdp"])
def test_zero_rows_one_row_and_one_class(relation: Any, family: str, budget: str) -> None:
    study = Study(family, budget=budget, relation=relation)
    if (relation, budget) == ("add-remove", "none"):
        return  # the number of rows is told
    odd = [ODD_ROW] if relation == "replace-one" else []
    for first, second in (([SOUND_ROW], odd), ([SOUND_ROW] * 9, [SOUND_ROW] * 8 + odd)):
        require_same(study, *dressed("inferred", first, second), swap=True)


def test_columns_that_no_formula_reads_and_an_index_of_any_kind(effort: int) -> None:
    @settings(max_examples=2 * effort, phases=[Phase.generate])
    @given(
        st.lists(st.one_of(ROWS, SOUND), min_size=1, max_size=5), st.sampled_from(["dates", "twice", "odd"])
    )
    def law(rows: list[Row], kind: str) -> None:
        first = DRESSES["objects"](rows)
        second = first.copy()
        indices: dict[str, Any] = {
            "dates": pd.date_range("2020-01-01", periods=len(rows)),
            "twice": [0] * len(rows),
            "odd": pd.MultiIndex.from_tuples([(None, f"canary {place}") for place in range(len(rows))]),
        }
        second.index = indices[kind]
        first["unused"], second["unused"] = None, [object() for _ in rows]  # a name is public
        one, other = pair(Study(), first, second, swap=False)
        assert not differences(one.public(up_to_release=True), other.public(up_to_release=True))
        assert all((a == b).all() for a, b in zip(one.answers, other.answers, strict=True))
        assert one.outcome == other.outcome == sorted(one.outcome)

    law()
