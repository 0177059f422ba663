"""Rows of numbers and codes are those of the matrix, to the last bit, and so are their minimisers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.data.coding import coding as coding_room
from dpglm.data.coding.coded_model import CodedModel
from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.factor_rows import FactorRows, SimplexColumns, squares
from dpglm.glm.families.binomial import Binomial
from dpglm.glm.penalties.elastic_net import L1
from dpglm.mechanisms import finishing
from dpglm.mechanisms.certificate import Certified
from dpglm.mechanisms.rows import DownWeightedRows, WithinLeverage
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import minimise
from dpglm.rows import ArrayChunk, JoinedRows, RowChunk, rows_at

LEVELS = {"c": [f"c{k}" for k in range(180)], "d": [f"d{k}" for k in range(150)]}
SCHEMA = dpglm.Schema.of({**LEVELS, "e": ["a", "b", "c"], "x": (-4, 4), "w": (-1, 1), "y": [0, 1]})
FORMULA = "y ~ c + x + d + e + offset(w)"


def frame(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    x[rng.random(rows) < 0.02] = np.nan
    return pd.DataFrame(
        {
            "c": rng.choice([*LEVELS["c"], "no such level"], rows),
            "d": rng.choice(LEVELS["d"], rows),
            "e": rng.choice(["a", "b", "c"], rows),
            "x": x,
            "w": rng.uniform(-1, 1, rows),
            "y": (rng.random(rows) < 1 / (1 + np.exp(-np.nan_to_num(x)))).astype(int),
        }
    )


def coded_chunks(rows: int = 4100) -> tuple[Coding, list[Any]]:
    model = CodedModel.of(FORMULA, SCHEMA, Binomial())
    return model.coding, list(model.design(frame(rows)).chunks())


class Held(NamedTuple):
    held: list[RowChunk]
    size: int

    def chunks(self) -> list[RowChunk]:
        return self.held

    def row_count(self) -> int:
        return sum(chunk.count for chunk in self.held)


def test_wide_designs_keep_factors_of_many_levels_as_codes_of_the_same_rows() -> None:
    coding, chunks = coded_chunks()
    assert all(len(chunk.entries.factors) == 2 for chunk in chunks)
    columns = SCHEMA.clean(frame(4100), coding.columns)
    expected, _, usable = coding.encode(columns)
    assert 0 < (~usable).sum() < 200
    found = np.concatenate([chunk.X for chunk in chunks], axis=1)
    assert found.tobytes() == expected.tobytes()
    norms = np.concatenate([squares(np.ones(coding.size), chunk.entries) for chunk in chunks])
    np.testing.assert_allclose(norms, np.square(expected, dtype=float).sum(axis=0), rtol=1e-13)
    assert norms.max() <= 1.0
    some = rows_at(chunks[0], np.array([3, 1999, 5]))
    assert some.X.tobytes() == np.ascontiguousarray(expected[:, [3, 1999, 5]]).tobytes()
    assert {codes.dtype for chunk in chunks for codes in chunk.entries.codes} == {np.dtype(np.uint8)}
    few = Coding.of(parse("y ~ e + x", SCHEMA))
    assert isinstance(few.encoded(columns)[0], np.ndarray)


def test_mapped_rows_keep_their_codes_unless_levels_are_mixed() -> None:
    coding, chunks = coded_chunks()
    table = JoinedRows((Held(chunks, coding.size),))
    dense = JoinedRows((Held([rows_at(chunk, slice(None)) for chunk in chunks], coding.size),))
    matrix = coding.row_matrix({"x": (0.3, 0.7)}, 0.7)
    mixed = matrix.copy()
    mixed[0, chunks[0].entries.factors[1].start] = 0.25
    for scales, kind in ((matrix, FactorRows), (mixed, np.ndarray)):
        found, expected = (list(DownWeightedRows(rows, scales).chunks()) for rows in (table, dense))
        for chunk, plain in zip(found, expected, strict=True):
            assert isinstance(chunk.entries, kind)
            assert chunk.X.tobytes() == plain.X.tobytes()
            np.testing.assert_allclose(chunk.weight, plain.weight, rtol=1e-13)
        assert min(chunk.weight.min() for chunk in found) < 0.9
    found, expected = (
        list(WithinLeverage(rows, np.ones(coding.size), 0.87).chunks()) for rows in (table, dense)
    )
    for chunk, plain in zip(found, expected, strict=True):
        assert chunk.X.tobytes() == plain.X.tobytes()
    assert 10 < sum((~chunk.X.any(axis=0)).sum() for chunk in found) < 4000


def test_a_map_that_leaves_out_a_factor_is_made_of_the_matrix() -> None:
    corners = SimplexColumns(2, np.float32([-0.1] * 8), np.float32([0.2] * 8))
    numbers = np.full((2, 9), 0.5, dtype=np.float32)
    rows = FactorRows(numbers, np.arange(2), (corners,), (np.arange(9, dtype=np.uint8),))
    chunk = ArrayChunk(rows, np.zeros(9), None)
    mapped = DownWeightedRows(JoinedRows((Held([chunk], 10),)), np.eye(10)[:2]).view(chunk)
    assert mapped.X.tobytes() == numbers.tobytes()


@pytest.mark.parametrize("levels", [9, 40, 256])
def test_lengths_of_levels_are_added_in_one_order_on_every_machine(levels: int) -> None:
    """A product of matrices is added in an order of the processor's, and workers may have different ones."""
    rng = np.random.default_rng(5)
    before, own = rng.uniform(0.1, 1.0, (2, levels - 1)).astype(np.float32)
    weights = rng.uniform(0.5, 2.0, levels - 1)
    corners = SimplexColumns(0, -before, own)
    expected = squares(weights, corners.at(np.arange(levels + 1)))
    assert corners.squares(weights).tobytes() == expected.tobytes()


def test_a_row_depends_on_itself_alone() -> None:
    coding, _ = coded_chunks(1)
    columns = SCHEMA.clean(frame(300), coding.columns)
    together, _, _ = coding.encoded(columns)
    ones = np.ones(coding.size)
    assert isinstance(together, FactorRows)
    for at in (0, 7, 299):
        alone, _, _ = coding.encoded({name: values[at : at + 1] for name, values in columns.items()})
        assert isinstance(alone, FactorRows)
        assert alone.dense().tobytes() == together.rows_at(slice(at, at + 1)).dense().tobytes()
        assert squares(ones, alone).tobytes() == squares(ones, together)[at : at + 1].tobytes()


def test_products_and_derivatives_are_those_of_the_matrix() -> None:
    coding, chunks = coded_chunks()
    theta, direction = np.random.default_rng(1).normal(size=(2, coding.size))
    loss = ChunkLoss(lambda: chunks, Binomial(), coding.size)
    dense = [rows_at(chunk, slice(None)) for chunk in chunks]
    plain = ChunkLoss(lambda: dense, Binomial(), coding.size)
    np.testing.assert_allclose(loss.gradient(theta), plain.gradient(theta), atol=1e-11)
    np.testing.assert_allclose(
        loss.products(theta)(direction), plain.hessian(theta, precise=True) @ direction, atol=1e-3
    )
    np.testing.assert_allclose(
        loss.hessian(theta, precise=True), plain.hessian(theta, precise=True), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("precision", [np.float64, np.longdouble])
def test_each_product_is_right_to_its_bound(precision: Any) -> None:
    """Against fractions: a predictor is off by `depth` + 2 units, the sum of k rows by k + `depth` + 8."""
    coding, chunks = coded_chunks(60)
    rows = chunks[0].entries
    X = [[Fraction(float(v)) for v in line] for line in rows.dense()]
    rng = np.random.default_rng(2)
    theta, values = rng.normal(size=coding.size) * 1e3, rng.uniform(-1, 1, 60)
    one = float(np.finfo(precision).eps) / 2.0
    etas, score = theta.astype(precision) @ rows, rows @ values.astype(precision)
    assert etas.dtype == score.dtype == np.dtype(precision)
    for at, eta in enumerate(etas):
        terms = [X[j][at] * Fraction(theta[j]) for j in range(coding.size)]
        off = abs(float(sum(terms) - Fraction(*eta.as_integer_ratio())))
        assert off <= (rows.depth + 2) * one * float(sum(map(abs, terms)))
    off = [
        float(
            sum(X[j][at] * Fraction(values[at]) for at in range(60)) - Fraction(*score[j].as_integer_ratio())
        )
        for j in range(coding.size)
    ]
    assert 0.0 < np.linalg.norm(off) <= (60 + rows.depth + 8) * one * np.abs(values).sum()


@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_a_wide_objective_is_finished_without_a_matrix(
    strength: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    coding, chunks = coded_chunks(900)
    size, dense = coding.size, [rows_at(chunk, slice(None)) for chunk in chunks]
    linear = np.random.default_rng(4).normal(size=size) * 3.0
    expected = minimise(
        ChunkLoss(lambda: dense, Binomial(), size), linear=linear, ridge=0.5, penalty=L1(strength)
    )
    assert expected.certified
    terms = Binomial(), linear, 0.5, np.eye(size), L1(strength), np.ones(size, dtype=bool)
    near = np.where(expected.gamma == 0.0, 0.0, expected.gamma + 1e-4 * np.sign(expected.gamma))
    monkeypatch.setattr(finishing, "_second_derivative", None)
    found = np.asarray(finishing.finished(Certified.of(lambda: chunks, *terms), near, 1e-9))
    assert Certified.of(lambda: dense, *terms).residual(found) <= 1e-8
    np.testing.assert_allclose(found, expected.theta, atol=(1e-8 + 1e-9) / 0.5)


@pytest.mark.parametrize("unit", [None, {"column": "person"}])
def test_a_fit_is_that_of_the_matrix(unit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = frame(3000).assign(person=lambda rows: rows.index // 2)
    schema = dpglm.Schema.of(
        {**LEVELS, "e": ["a", "b", "c"], "x": (-4, 4), "w": (-1, 1), "y": [0, 1]}, unit=unit
    )
    asked = {"schema": schema, "penalty": "l2", "privacy": 1.0, "seed": 3, "progress": False}
    found = dpglm.fit(FORMULA, table, **asked)
    seen: list[Any] = []
    dense = FactorRows.dense
    monkeypatch.setattr(coding_room, "_MANY_COLUMNS", 10_000)
    monkeypatch.setattr(FactorRows, "dense", lambda rows: seen.append(rows) or dense(rows))
    expected = dpglm.fit(FORMULA, table, **asked)
    assert not seen
    # Both minimisers are within 1.6 tolerances over the ridge; the noise is the same.
    np.testing.assert_allclose(found.params, expected.params, atol=1e-4)
