"""Our rows against patsy's: the same names and, mapped back, the same numbers on random frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import patsy
import pytest
from numpy.typing import NDArray

from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric

SCHEMA = Schema.of(
    {
        "y": ["no", "yes"],
        "x": (1, 5),
        "z": (-2, 3),
        "w": (-1, 1),
        "age": (18, 95),
        "g": ["a", "b", "c"],
        "h": ["u", "v"],
        "k": [1, 2, 3, 4],
        "odd name": (0, 1),
        "h-1": ["low", "high"],
    }
)

FORMULAS = [
    "1",
    "x + z + g + h",
    "C(g, Treatment(reference='b')) + x",
    "C(g, Treatment('c')):z",
    "C(g, Sum) * x",
    "C(k, Sum(omit=2)) + h",
    "C(k, Helmert) + z",
    "C(k, Poly) * h",
    "C(k, Diff) + age",
    "C(k)",
    "g * h",
    "g:h",
    "g:h + h",
    "x:g",
    "x + x:g",
    "g * h * x",
    "x * z * w",
    "g:k:h + x",
    "I(x ** 2) + x",
    "np.log(x) + np.exp(-z) + np.sqrt(np.abs(w))",
    "I((x - 1) / (age + 2)) + np.minimum(x, 3) + np.clip(z, -1, 1)",
    "I(x > 3) * z",
    "bs(age, knots=[30, 50], lower_bound=18, upper_bound=95)",
    "bs(age, knots=[40], degree=2, lower_bound=18, upper_bound=95) * g",
    "bs(x, knots=[2, 3, 4], degree=1, lower_bound=0, upper_bound=6):h",
    "0 + g",
    "0 + g:h + x",
    "-1 + x",
    "0 + x + g:x",
    "h / x",
    "(x + z + g) ** 2",
    "g * h - h",
    "Q('odd name') * Q('h-1')",
    "z:g + k * h + x:w",
    "h:x:z + x:h:g",
    "g + k:g",
    "h + g + k:g:h",
]


def frame(seed: int, rows: int = 200) -> pd.DataFrame:
    """Values within the bounds, both bounds and all levels among them."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    for name, variable in SCHEMA.variables.items():
        if isinstance(variable, Numeric):
            values = rng.uniform(variable.low, variable.high, rows)
            values[:2] = variable.low, variable.high
        else:
            codes = np.concatenate(
                [np.arange(len(variable.levels)), rng.integers(0, len(variable.levels), rows)]
            )
            values = pd.Categorical.from_codes(codes[:rows], categories=list(variable.levels))
        columns[name] = values
    return pd.DataFrame(columns)


def cleaned(data: pd.DataFrame) -> dict[str, NDArray[Any]]:
    return {
        name: data[name].cat.codes.to_numpy().astype(np.int32)
        if isinstance(variable, Categorical)
        else data[name].to_numpy()
        for name, variable in SCHEMA.variables.items()
    }


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("seed", [0, 1])
def test_rows_mapped_back_are_the_rows_of_patsy(formula: str, seed: int) -> None:
    data = frame(seed)
    expected = patsy.dmatrix(formula, data)
    model = parse(f"y ~ {formula}", SCHEMA)
    coding = Coding.of(model)
    exact, offset = coding.coded(cleaned(data))
    single, _, usable = coding.encode(cleaned(data))

    assert model.names == tuple(expected.design_info.column_names)
    assert [name for name, _ in coding.terms] == list(expected.design_info.term_names)
    assert offset is None
    assert usable.all()
    size = np.abs(np.asarray(expected)).max(axis=0)
    # Rounding of a few operations on numbers of this size.
    np.testing.assert_allclose(exact @ coding.coded_from_user / size, expected / size, atol=1e-13)
    # float32 entries are off by 2^-24 of at most 1; the map back can add them up over its columns.
    slack = 2.0**-22 * np.abs(coding.coded_from_user).sum(axis=0)
    assert (np.abs(single.T.astype(np.float64) @ coding.coded_from_user - expected) <= slack).all()


@pytest.mark.parametrize("formula", FORMULAS)
def test_clipped_rows_mapped_back_are_the_rows_of_patsy_unless_clipped(formula: str) -> None:
    data = frame(2)
    expected = np.asarray(patsy.dmatrix(formula, data))
    model = parse(f"y ~ {formula}", SCHEMA)
    coding = Coding.of(model, kind="clipped")
    rows, _ = coding.coded(cleaned(data))
    norms = np.linalg.norm(rows, axis=1)
    long = expected @ coding.user_from_coded
    lengths = np.linalg.norm(long, axis=1)
    whole = lengths < 1 - 2.0**-18
    size = np.abs(expected).max(axis=0)
    np.testing.assert_allclose(
        (rows @ coding.coded_from_user / size)[whole], (expected / size)[whole], atol=1e-13
    )
    assert (norms <= 1).all()
    # A clipped row keeps its direction.
    np.testing.assert_allclose(rows[~whole], (long / lengths[:, None])[~whole], atol=1e-5)


def test_declared_forms_are_their_arithmetic() -> None:
    data = frame(3)
    model = parse(
        "y ~ center(age, at=50) + scale(x, center=2, by=4) + bs(z, df=5) + offset(log1p(x) * 2)", SCHEMA
    )
    coding = Coding.of(model)
    rows, offset = coding.coded(cleaned(data))
    # df=5 with degree 3 leaves two inner knots, at thirds of the declared bounds.
    expected = patsy.dmatrix(
        "I(age - 50) + I((x - 2) / 4) + bs(z, knots=[-1 / 3, 4 / 3], lower_bound=-2, upper_bound=3)",
        data,
    )
    np.testing.assert_allclose(rows @ coding.coded_from_user, expected, atol=1e-11)
    np.testing.assert_allclose(offset, 2 * np.log1p(data["x"]))
