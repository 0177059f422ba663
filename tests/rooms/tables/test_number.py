"""Numbers in tables say no more, and promise no less, than the numbers they stand for."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.tables.table import ABSENT, balance, budget, coefficient, count, p_value, statistic

FINITE = st.floats(-1e300, 1e300)
POSITIVE = st.floats(min_value=1e-300, max_value=1e300)
WRITERS = [coefficient, statistic, p_value, budget, balance, count]


@pytest.mark.parametrize("write", WRITERS)
def test_absent_is_a_dash(write):
    assert write(None) == ABSENT


@pytest.mark.parametrize("write", [coefficient, statistic, p_value, budget, balance])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_absent(write, value):
    assert write(value) == ABSENT


@given(FINITE)
@settings(derandomize=True, deadline=None, max_examples=500)
def test_a_coefficient_keeps_four_significant_digits(value):
    text = coefficient(value)
    # Half a unit in the fourth digit is at most 5e-4 of a number whose first digit is 1.
    assert math.isclose(float(text), value, rel_tol=5.0000001e-4, abs_tol=1e-320)
    digits = text.partition("e")[0].replace("-", "").replace(".", "").lstrip("0")
    assert len(digits) == (0 if value == 0.0 else 4)
    assert (text == "0") == (value == 0.0)


@given(POSITIVE)
@settings(derandomize=True, deadline=None, max_examples=500)
def test_a_budget_is_never_understated(value):
    assert float(budget(value)) >= value
    assert math.isclose(float(budget(value)), value, rel_tol=1e-3)


@given(POSITIVE)
@settings(derandomize=True, deadline=None, max_examples=500)
def test_a_balance_is_never_overstated(value):
    # Fourteen digits are kept before rounding down.
    assert float(balance(value)) <= value * (1.0 + 1e-13)
    assert math.isclose(float(balance(value)), value, rel_tol=1e-3)


@given(st.integers(1, 9_999_999), st.integers(-12, 3))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_a_declared_budget_is_shown_as_declared(digits, exponent):
    declared = float(f"{digits}e{exponent}")
    assert float(budget(declared)) == declared
    assert float(balance(declared)) == declared


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (1, "1"), (1e-06, "1e-6"), (0.1, "0.1"), (0.0, "0"), (40.0, "40")]
)
def test_usual_budgets_read_as_typed(value, text):
    assert budget(value) == text


@given(st.floats(0.0, 1.0))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_a_p_value_is_never_zero(value):
    assert float(p_value(value).lstrip("<")) > 0.0
