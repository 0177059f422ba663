"""What may be asked for, and what is refused."""

from __future__ import annotations

import math

import pytest

from dpglm.errors import PrivacyError
from dpglm.privacy.budget import Privacy
from dpglm.privacy.gdp import gdp_delta


def test_a_number_means_pure_epsilon_and_a_pair_adds_delta() -> None:
    assert Privacy.of(0.5) == Privacy(0.5)
    assert Privacy.of(1).definition == "pure"
    assert Privacy.of((1.0, 1e-6)) == Privacy.of([1.0, 1e-6]) == Privacy(1.0, 1e-6)
    assert Privacy(1.0, 1e-6).definition == "approximate"
    asked = Privacy(2.0, relation="add-remove", unit="one patient")
    assert Privacy.of(asked) is asked


def test_defaults_are_replace_one_and_one_row() -> None:
    assert (Privacy(1.0).relation, Privacy(1.0).unit) == ("replace-one", "one row")


def test_gaussian_budgets_carry_their_epsilon() -> None:
    asked = Privacy.gdp(0.5, delta=1e-6)
    assert (asked.definition, asked.mu, asked.rho) == ("gdp", 0.5, 0.125)
    assert gdp_delta(asked.epsilon, 0.5) <= 1e-6
    concentrated = Privacy.zcdp(0.125, delta=1e-6)
    assert concentrated.definition == "zcdp"
    assert concentrated.mu == pytest.approx(0.5)
    assert concentrated.epsilon == pytest.approx(asked.epsilon)


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, True, "1", None, (1.0,), (1.0, 1e-6, 2), {}])
def test_meaningless_budgets_are_refused(value: object) -> None:
    with pytest.raises(PrivacyError) as refusal:
        Privacy.of(value)
    assert all((refusal.value.found, refusal.value.expected, refusal.value.remedy))


@pytest.mark.parametrize(
    "arguments",
    [
        {"delta": 1.0},
        {"delta": -1e-9},
        {"delta": math.nan},
        {"delta": "small"},
        {"relation": "swap"},
        {"unit": ""},
        {"unit": 3},
    ],
)
def test_meaningless_parts_of_a_budget_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(PrivacyError):
        Privacy(1.0, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0.0, -0.1, math.inf, math.nan])
def test_meaningless_gaussian_budgets_are_refused(bad: float) -> None:
    with pytest.raises(PrivacyError):
        Privacy.gdp(bad)
    with pytest.raises(PrivacyError):
        Privacy.zcdp(bad)
