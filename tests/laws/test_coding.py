"""Laws of the public coding: bounded rows, row by row, for any formula and any data."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpglm.data.coding.coding import Coding, Kind
from dpglm.data.formula.model import simplex_corners
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Numeric

SCHEMA = Schema.of(
    {
        "y": ["no", "yes"],
        "x": (1, 5),
        "z": (-2, 3),
        "w": (-1, 1),
        "year": (1990, 2020),
        "tiny": (1e-9, 2e-9),
        "g": ["a", "b", "c"],
        "h": ["u", "v"],
        "k": ["1", "2", "3", "4", "5", "6", "7"],
    }
)
MAIN = [
    "1",
    "x",
    "x + z + g + h + k",
    "g",
    "h",
    "C(k, Poly) + year",
    "bs(year, df=6) + h",
    "tiny + k",
    "0 + g + x",
]
OTHERS = [
    "g * h", "g * x * h", "x * z * w", "k:g", "0 + k", "x:g", "x + x:g", "-1 + x", "0 + g:x", "x:z", "h / x",
    "bs(year, df=4) * g", "bs(x, df=3, degree=1):z", "log(x) + I(x ** 2) + x", "h:x:z + g", "tiny:year",
    "I(x > 2) * w", "tiny * year * k", "x:z + z:w + x:w + g:k", "C(g, Sum):h:w", "abs(z) + sin(z) + exp(z)",
    "0 + x:z:w + bs(z, knots=[0, 1])",
]  # fmt: skip

CURVES = (
    "exp(z) + expm1(z) + log1p(x) + log2(x) + log10(x) + cos(z) + tanh(z) + sqrt(x) + I(x ** 2.5) + I(z ** 5)"
)

Columns = dict[str, NDArray[Any]]


def corners(names: tuple[str, ...]) -> Columns:
    """All combinations of bounds (and 0 and the middle) and levels of the columns."""
    choices: list[list[float]] = []
    for name in names:
        variable = SCHEMA.variables[name]
        if isinstance(variable, Numeric):
            middle = (variable.low + variable.high) / 2
            choices.append([variable.low, variable.high, middle, min(max(0.0, variable.low), variable.high)])
        else:
            choices.append(list(range(len(variable.levels))))
    if not names:
        return {"y": np.zeros(1, np.int32)}
    grid = np.array(list(itertools.product(*choices)))
    return typed({name: grid[:, position] for position, name in enumerate(names)})


def random_rows(names: tuple[str, ...], seed: int, rows: int = 500) -> Columns:
    rng = np.random.default_rng(seed)
    found = {}
    for name in names:
        variable = SCHEMA.variables[name]
        if isinstance(variable, Numeric):
            found[name] = (
                rng.choice([rng.uniform(), 0.0, 1.0], rows) * (variable.high - variable.low) + variable.low
            )
        else:
            found[name] = rng.integers(0, len(variable.levels), rows)
    return typed(found) or {"y": np.zeros(rows, np.int32)}


def typed(columns: Columns) -> Columns:
    return {
        name: values.astype(np.float64 if isinstance(SCHEMA.variables[name], Numeric) else np.int32)
        for name, values in columns.items()
    }


def coding_of(formula: str, kind: Kind = "centred") -> Coding:
    model = parse(f"y ~ {formula}", SCHEMA)
    return Coding.of(model, kind=kind)


def norms(coding: Coding, columns: Columns) -> NDArray[np.float64]:
    rows, _, _ = coding.encode(columns)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    return np.sqrt((rows.astype(np.float64) ** 2).sum(axis=0))


@pytest.mark.parametrize("kind", ["centred", "clipped"])
@pytest.mark.parametrize("formula", MAIN + OTHERS)
def test_no_row_is_longer_than_one_after_rounding(formula: str, kind: Kind) -> None:
    found = coding_of(formula, kind)
    # Without tolerance: the privacy proofs take the norm of the float32 row as at most 1.
    assert norms(found, corners(found.columns)).max() <= 1.0
    for seed in range(3):
        assert norms(found, random_rows(found.columns, seed)).max() <= 1.0


@pytest.mark.parametrize("formula", MAIN)
def test_the_bound_is_attained_by_some_row_of_a_main_effects_model(formula: str) -> None:
    found = coding_of(formula)
    assert norms(found, corners(found.columns)).max() >= 1 - 1e-4


@pytest.mark.parametrize("formula", OTHERS)
def test_the_bound_is_not_far_from_the_longest_row(formula: str) -> None:
    found = coding_of(formula)
    # Measured on this list; a bound lost to a factor would cost accuracy, not privacy.
    assert norms(found, corners(found.columns)).max() >= 0.75


@pytest.mark.parametrize("kind", ["centred", "clipped"])
@pytest.mark.parametrize("formula", MAIN + OTHERS)
def test_maps_are_inverse_to_each_other(formula: str, kind: Kind) -> None:
    coding = coding_of(formula, kind)
    there = coding.coded_from_user / np.linalg.norm(coding.coded_from_user, axis=0)
    back = coding.user_from_coded * np.linalg.norm(coding.coded_from_user, axis=0)[:, None]
    # Directions in any unit; the year alone makes a condition number near 1e3.
    np.testing.assert_allclose(back @ there, np.eye(coding.size), atol=1e-11)


@pytest.mark.parametrize("formula", MAIN + OTHERS)
def test_groups_cover_the_coded_columns_and_bound_their_parts(formula: str) -> None:
    found = coding_of(formula)
    coding = found
    stops = [group.stop for group in coding.groups]
    assert [group.start for group in coding.groups] == [0, *stops[:-1]]
    assert stops[-1] == coding.size
    rows, _ = found.coded(corners(found.columns))
    for group in coding.groups:
        part = (rows[:, group.start : group.stop] ** 2).sum(axis=1).max() * coding.row_norm**2
        assert part <= group.bound
        assert all(product.scale > 0 for product in group.products)


@pytest.mark.parametrize("formula", MAIN + OTHERS)
def test_only_the_intercept_is_free_of_the_penalty(formula: str) -> None:
    coding = coding_of(formula)
    assert [name for name, on in zip(coding.names, coding.penalised, strict=True) if not on] == (
        ["Intercept"] if "Intercept" in coding.names else []
    )


@settings(max_examples=150)
@given(
    formula=st.sampled_from(MAIN + OTHERS + ["g * x + offset(log(x) - z)"]),
    kind=st.sampled_from(["centred", "clipped"]),
    data=st.data(),
)
def test_each_row_depends_on_itself_only_and_nothing_is_raised(
    formula: str, kind: Kind, data: st.DataObject
) -> None:
    found = coding_of(formula, kind)
    names = found.columns or ("y",)
    rows = data.draw(st.integers(1, 6))
    columns: Columns = {}
    for name in names:
        variable = SCHEMA.variables[name]
        if isinstance(variable, Numeric):
            value = st.one_of(st.floats(variable.low, variable.high), st.just(float("nan")))
            columns[name] = np.array(data.draw(st.lists(value, min_size=rows, max_size=rows)))
        else:
            code = st.integers(-1, len(variable.levels) - 1)
            columns[name] = np.array(data.draw(st.lists(code, min_size=rows, max_size=rows)), dtype=np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        together, offset, usable = found.encode(columns)
        exact, exact_offset = found.coded(columns)
        for row in range(rows):
            alone, own_offset, own = found.encode(
                {name: column[row : row + 1] for name, column in columns.items()}
            )
            np.testing.assert_array_equal(together[:, row], alone[:, 0])
            own_exact, _ = found.coded({name: column[row : row + 1] for name, column in columns.items()})
            np.testing.assert_array_equal(exact[row], own_exact[0])
            assert usable[row] == own[0]
            if offset is not None:
                assert own_offset is not None
                assert offset[row] == own_offset[0]
    lacks = np.zeros(rows, dtype=bool)
    for name in found.columns:
        lacks |= columns[name] < 0 if columns[name].dtype == np.int32 else np.isnan(columns[name])
    np.testing.assert_array_equal(usable, ~lacks)
    assert not together[:, lacks].any()
    np.testing.assert_array_equal(np.isnan(exact).all(axis=1), lacks)
    assert np.isfinite(exact[~lacks]).all()
    if offset is not None:
        assert exact_offset is not None
        assert not offset[lacks].any()
        np.testing.assert_array_equal(np.isnan(exact_offset), lacks)


@pytest.mark.parametrize("formula", ["g * x + bs(year, df=5) + k", "k:x + x:z + log(x) + sin(z):g", CURVES])
def test_chunks_do_not_change_rows(formula: str) -> None:
    # More rows than the coding works on at once, cut at odd places: bit for bit, in either precision.
    found = coding_of(formula)
    columns = random_rows(found.columns, 5, rows=20_000)
    parts = [
        {name: column[a:b] for name, column in columns.items()}
        for a, b in itertools.pairwise([0, 1, 8, 8191, 8193, 20_000])
    ]
    whole, _, _ = found.encode(columns)
    np.testing.assert_array_equal(whole, np.concatenate([found.encode(part)[0] for part in parts], axis=1))
    exact, _ = found.coded(columns)
    np.testing.assert_array_equal(exact, np.concatenate([found.coded(part)[0] for part in parts]))


@given(levels=st.integers(2, 60))
@settings(max_examples=30)
def test_levels_lie_on_a_centred_simplex(levels: int) -> None:
    points = simplex_corners(levels)
    np.testing.assert_allclose(points.sum(axis=0), 0, atol=1e-12)
    distances = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    apart = distances[~np.eye(levels, dtype=bool)]
    np.testing.assert_allclose(apart, 1.0 if levels == 2 else 2.0, rtol=1e-12)


def test_a_row_longer_than_the_bound_would_be_seen() -> None:
    # The broken twin of the norm law: rows divided by 1 % less than their bound.
    found = coding_of("x + z + g + h + k")
    assert (norms(found, corners(found.columns)) / 0.99).max() > 1.0
