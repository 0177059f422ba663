"""Bounds of expressions: tight where they can be, sound always, an error where a value may not exist."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpglm.data.formula.expressions import Expression, interval
from dpglm.data.formula.model import NumericFactor
from dpglm.data.formula.operations import Interval
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.errors import FormulaError

BOUNDS = {"x": Interval(-3.0, 2.0), "z": Interval(0.5, 4.0), "w": Interval(-1.0, 1.0)}
SCHEMA = Schema.of({"y": ["no", "yes"], **{name: tuple(ends) for name, ends in BOUNDS.items()}})


def read(code: str) -> Expression:
    (factor,) = parse(f"y ~ 0 + I({code})", SCHEMA).factors
    assert isinstance(factor, NumericFactor)
    return factor.expression


def bounded(code: str) -> Interval:
    return interval(read(code), BOUNDS)


@pytest.mark.parametrize(
    ("code", "low", "high"),
    [
        ("x + 1", -2, 3),
        ("x - z", -7, 1.5),
        ("-x", -2, 3),
        ("x * z", -12, 8),
        ("x / z", -6, 4),
        ("2 / z", 0.5, 4),
        ("x ** 2", 0, 9),
        ("z ** 2", 0.25, 16),
        ("w ** 2", 0, 1),
        ("abs(x)", 0, 3),
        ("abs(z)", 0.5, 4),
        ("abs(z - 5)", 1, 4.5),
        ("minimum(x, 1)", -3, 1),
        ("maximum(x, z)", 0.5, 4),
        ("clip(x, -1, 5)", -1, 2),
        ("clip(x, a_min=0, a_max=1)", 0, 1),
        ("sqrt(z)", 0.5**0.5, 2),
        ("center(x, at=-1)", -2, 3),
        ("scale(x, center=-3, by=5)", 0, 1),
        ("scale(x, center=-3, by=-5)", -1, 0),
    ],
)
def test_bounds_are_exact_where_each_column_stands_once(code: str, low: float, high: float) -> None:
    assert bounded(code) == (low, high)


@pytest.mark.parametrize(
    ("code", "low", "high"),
    [
        ("x ** 3", -27, 8),
        ("x ** 4", 0, 81),
        ("z ** -1", 0.25, 2),
        ("z ** -2", 1 / 16, 4),
        ("z ** 0.5", 0.5**0.5, 2),
        ("2 ** x", 1 / 8, 4),
        ("z ** x", 4.0**-3, 16),
        ("log(z)", np.log(0.5), np.log(4)),
        ("log1p(z)", np.log(1.5), np.log(5)),
        ("log2(z)", -1, 2),
        ("log10(z)", np.log10(0.5), np.log10(4)),
        ("exp(x)", np.exp(-3), np.exp(2)),
        ("expm1(x)", np.expm1(-3), np.expm1(2)),
        ("tanh(x)", np.tanh(-3), np.tanh(2)),
        ("sin(x)", -1, 1),
        ("sin(w)", np.sin(-1), np.sin(1)),
        ("cos(w)", np.cos(1), 1),
        ("cos(z)", -1, np.cos(0.5)),
    ],
)
def test_bounds_of_other_functions_are_tight_to_rounding(code: str, low: float, high: float) -> None:
    found = bounded(code)
    assert found.low <= low
    assert high <= found.high
    assert found == pytest.approx((low, high), rel=1e-13, abs=1e-13)  # 16 units in the last place


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("log(x)", "log1p"),
        ("log(w + 1)", "log1p"),
        ("log1p(w)", "> -1"),
        ("sqrt(x)", "abs"),
        ("1 / x", "without 0"),
        ("1 / (w + 1)", "without 0"),
        ("x ** -1", "without 0"),
        ("x ** 0.5", "integer"),
        ("exp(exp(exp(exp(z))))", "tighter"),
        ("z ** 1e6", "tighter"),
        ("1e299 * z * 1e299", "tighter"),
    ],
)
def test_a_value_that_may_not_exist_is_refused_with_a_remedy(code: str, remedy: str) -> None:
    with pytest.raises(FormulaError) as caught:
        bounded(code)
    assert remedy in caught.value.remedy
    assert "^" in caught.value.found


LEAVES = st.one_of(
    st.sampled_from([Expression("column", name=name) for name in BOUNDS]),
    st.floats(-3, 3, allow_subnormal=False).map(lambda value: Expression("constant", value=value)),
)
UNARY = ("log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "abs", "sin", "cos", "tanh", "negative")
BINARY = ("add", "subtract", "multiply", "divide", "minimum", "maximum", "power", "less", "equal")


def grown(smaller: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    exponents = st.integers(-4, 5).map(lambda value: Expression("constant", value=float(value)))
    return st.one_of(
        st.builds(lambda op, part: Expression(op, (part,)), st.sampled_from(UNARY), smaller),
        st.builds(lambda op, a, b: Expression(op, (a, b)), st.sampled_from(BINARY), smaller, smaller),
        st.builds(lambda base, by: Expression("power", (base, by)), smaller, exponents),
    )


@settings(max_examples=600)
@given(expression=st.recursive(LEAVES, grown, max_leaves=8), seed=st.integers(0, 2**16))
def test_no_row_within_the_bounds_leaves_the_interval(expression: Expression, seed: int) -> None:
    try:
        found = interval(expression, BOUNDS)
    except FormulaError:
        assume(False)
    rng = np.random.default_rng(seed)
    columns = {
        name: np.concatenate(
            [rng.uniform(low, high, 60), [low, high, 0.5 * (low + high), min(max(0.0, low), high)]]
        )
        for name, (low, high) in BOUNDS.items()
    }
    for column in columns.values():
        rng.shuffle(column)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # inside the bounds nothing is undefined, so numpy has nothing to say
        with np.errstate(over="ignore", under="ignore"):
            values = np.asarray(expression.evaluate(columns))
    assert (found.low <= values).all()
    assert (values <= found.high).all()


@settings(max_examples=200)
@given(
    low=st.floats(-1e3, 1e3), width=st.floats(1e-3, 30), name=st.sampled_from(["sin", "cos", "tanh", "exp"])
)
def test_waves_and_curves_are_enclosed_on_any_interval(low: float, width: float, name: str) -> None:
    ends = {"x": Interval(low, low + width)}
    expression = Expression(name, (Expression("column", name="x"),))
    try:
        found = interval(expression, ends)
    except FormulaError:
        assume(False)
    values = expression.evaluate({"x": np.clip(np.linspace(low, low + width, 2001), *ends["x"])})
    assert (found.low <= values).all()
    assert (values <= found.high).all()
    assert found.high - found.low <= (values.max() - values.min()) * 1.001 + 1e-4 * (1 + abs(values).max())
