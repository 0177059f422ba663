"""The benchmark of free submodels: its designs, its bars on a few of them, and what was accepted before."""

from __future__ import annotations

import numpy as np
import pytest

import dpglm
from dpglm.errors import MethodError
from studies.submodels import judge
from studies.submodels.designs import EPSILONS, MOST_COLUMNS, drawn

# Accepted before, with errors of .10 to 4.8: a product of numbers, a rare level that moves far, and slopes
# that differ between levels, or have no finite estimate in one.
FAILED = [
    (10, {"drop": "x1:x0"}),
    (30, {"drop": "x0:f0"}),
    (34, {"merge": {"f1": {"both": ["l02", "l00"]}}}),
    (47, {"drop": "x0:f0"}),
]


def test_designs_are_of_many_kinds_and_the_same_each_time() -> None:
    designs = [drawn(seed) for seed in range(30)]
    assert {one.epsilon for one in designs} == set(EPSILONS)
    assert {one.family for one in designs} == {"binomial", "poisson"}
    assert sum(":" in one.formula for one in designs) >= 8
    assert sum(any(one.idle) for one in designs) >= 15
    for one in designs:
        X, _ = one.columns(one.formula, {})
        assert 1_000 <= len(X) <= 50_000
        assert X.shape[1] <= MOST_COLUMNS
        assert one.submodels
    again = drawn(7)
    np.testing.assert_array_equal(again.response(3), designs[7].response(3))
    assert again.submodels == designs[7].submodels


@pytest.mark.parametrize(("seed", "asked"), FAILED)
def test_what_was_accepted_and_too_far_is_refused(seed: int, asked: dict[str, object]) -> None:
    design = drawn(seed)
    assert asked in design.submodels
    with pytest.raises(MethodError, match="too far from the fit"):
        judge._fit(design, 0, None).refit(**asked)


def test_accepted_submodels_are_within_a_tenth_of_a_standard_error() -> None:
    """On designs that the limits were not set on; the whole benchmark has 150 of them."""
    lines = [line for seed in (100, 106, 123, 151) for line in judge.judged(drawn(seed), 1)]
    near = [line for line in lines if line["submodel"] and line["near"]]
    assert len(near) >= 8
    assert max(line["exact_error"] for line in near) < judge.ERROR_BAR
    told = judge.summary(lines)
    assert len(told) == 9
    assert "0 beyond 0.1" in told[0]


def test_advice_of_a_refusal_is_followed() -> None:
    design = drawn(2)
    fit = judge._fit(design, 0, 1.0)
    (asked,) = [one for one in design.submodels if one.get("drop") == "f0"]
    found = judge.followed(fit, asked)
    assert found["named"] >= 1
    assert found["true"]
    assert isinstance(fit, dpglm.FitResult)
