"""A row of a table moves no rows of a fit but those that it becomes, and these weigh at most 1 in all."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.data.coding.coded_model import CodedModel
from dpglm.data.schema.schema import Schema
from dpglm.glm.families import families

law = settings(derandomize=True, deadline=None, max_examples=60)
CELLS: dict[str, Any] = {"ordinal": [str(level) for level in range(7)], "binomial": [0, 1, 2.5, 4, 9]}
FORMULAS = {"ordinal": "at ~ x * C(at)", "binomial": "Surv(at, ill) ~ x * C(at)"}


def model_of(family: str, count: int) -> CodedModel:
    levels = {"levels": [str(level) for level in range(count + 1)], "ordered": True}
    at: Any = levels if family == "ordinal" else (1, count)
    schema = Schema.of({"at": at, "ill": ["no", "yes"], "x": (-3, 3)})
    return CodedModel.of(FORMULAS[family], schema, families[family]())


def rows_of(model: CodedModel, persons: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Each row of the fit, with its answer and its share; those that can be used."""
    table = pd.DataFrame(persons, columns=["at", "ill", "x"]).astype(object)
    found: Counter[tuple[Any, ...]] = Counter()
    for chunk in model.design(table).chunks():
        lengths = np.linalg.norm(chunk.X.astype(np.float64), axis=0)
        assert (lengths <= 1.0).all()
        parts = zip(np.asarray(chunk.X).T, np.asarray(chunk.y), np.asarray(chunk.share), strict=True)
        found.update((x.tobytes(), float(y), float(share)) for x, y, share in parts if x.any())
    return found


@pytest.mark.parametrize("family", ["ordinal", "binomial"])
@law
@given(data=st.data(), count=st.integers(2, 5))
def test_neighbouring_tables_differ_by_rows_of_one_person_that_weigh_at_most_one(
    family: str, data: st.DataObject, count: int
) -> None:
    answer = st.sampled_from([*CELLS[family], None, "strange", np.inf])
    person = st.tuples(answer, st.sampled_from(["no", "yes", None]), st.sampled_from([-9.0, 0.5, 3.0, None]))
    others = data.draw(st.lists(person, max_size=5))
    one, two = data.draw(person), data.draw(person)
    at = data.draw(st.integers(0, len(others)))
    model = model_of(family, count)
    without, first, second = (
        rows_of(model, [*others[:at], *ana, *others[at:]]) for ana in ([], [one], [two])
    )
    for found, ana in ((first, one), (second, two)):
        assert not without - found  # everybody else's rows are where they were
        own = found - without
        assert own == rows_of(model, [ana])
        assert sum(own.values()) <= count
        assert sum(share * times for (_, _, share), times in own.items()) <= 1.0


@law
@given(count=st.integers(2, 100), relation=st.sampled_from(["add-remove", "replace-one"]))
def test_the_price_of_levels_is_that_of_as_many_periods(count: int, relation: Any) -> None:
    privacy = dpglm.Privacy(1.0, 1e-6, relation)
    model = model_of("ordinal", count)
    spec = dpglm.ModelSpec.of("at ~ x", model.schema, family="ordinal", privacy=privacy)
    times = dpglm.ModelSpec.of("Surv(at, ill) ~ x", model_of("binomial", count).schema, privacy=privacy)
    assert spec.privacy == times.privacy
    assert spec.privacy is not None
    assert spec.privacy.shared
    assert spec.privacy.unit_rows == count
    assert not spec.rows_are_public
