"""Maps of very wide designs are those of their matrices: in doubles, with more digits and in balls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from flint import arb, ctx

import dpglm
from dpglm.data.coding.coded_model import CodedModel
from dpglm.data.formula import wide_factors
from dpglm.glm.families import Binomial
from dpglm.glm.penalties import Penalty
from dpglm.glm.penalties.elastic_net import L1, L2, ElasticNet
from dpglm.inference.coefficients import Scaling
from dpglm.mechanisms import ball_maps, finishing
from dpglm.mechanisms.certificate import Certified
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import minimise
from dpglm.rows import rows_at
from dpglm.wide_maps import MOST_DENSE, WideMap, wide_map

MANY = {"c": [f"c{k}" for k in range(200)], "d": [f"d{k}" for k in range(130)]}
SCHEMA = dpglm.Schema.of({**MANY, "e": ["a", "b", "c"], "x": (-4, 4), "y": [0, 1]})
FORMULA = "y ~ C(c, Treatment('c5')) + x*e + d"


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> CodedModel:
    with monkeypatch.context() as patched:
        patched.setattr(wide_factors, "MOST_DENSE", 150)
        return CodedModel.of(FORMULA, SCHEMA, Binomial())


def matrix_of(map_: Any) -> Any:
    return np.array([map_ @ unit for unit in np.eye(map_.shape[1])]).T


@pytest.fixture
def mixing(wide: CodedModel) -> WideMap:
    found = wide_map(Scaling.of(wide.coding).mixing)
    assert found is not None
    return found


def test_products_are_those_of_the_matrix(mixing: WideMap) -> None:
    matrix = matrix_of(mixing)
    slope = np.random.default_rng(1).normal(size=len(mixing))
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(mixing.T @ slope, matrix.T @ slope, atol=1e-12)
    np.testing.assert_allclose(abs(mixing) @ np.abs(slope), np.abs(matrix) @ np.abs(slope), rtol=1e-12)
    np.testing.assert_allclose(abs(mixing).T @ np.abs(slope), np.abs(matrix).T @ np.abs(slope), rtol=1e-12)
    np.testing.assert_allclose(mixing.T @ mixing.unturned(slope), slope, atol=1e-11)
    np.testing.assert_allclose(mixing.solve(mixing @ slope), slope, atol=1e-11)
    far = slope.astype(np.longdouble)
    assert (mixing @ far).dtype == (mixing.T @ far).dtype == mixing.unturned(far).dtype == far.dtype
    inverse = np.linalg.norm(np.linalg.inv(matrix), 2)
    assert inverse <= mixing.inverse_norm <= 20.0 * inverse


def test_noise_of_scaled_coefficients_is_that_of_the_matrix(wide: CodedModel, mixing: WideMap) -> None:
    inverse = np.linalg.inv(matrix_of(mixing))
    expected = np.sqrt((inverse**2).sum(axis=1))
    np.testing.assert_allclose(Scaling.of(wide.coding).noise_deviations(), expected, rtol=1e-10)


def test_balls_enclose_the_products(mixing: WideMap) -> None:
    matrix = matrix_of(mixing)
    values = np.random.default_rng(2).normal(size=len(mixing))
    with ctx.workprec(200):
        found = ball_maps.ball_map(mixing)  # type: ignore[arg-type]
        assert found is not None
        balls = [arb(value) for value in values.tolist()]
        for product, expected in ((found(balls), matrix @ values), (found.turned(balls), matrix.T @ values)):
            np.testing.assert_allclose([float(each.mid()) for each in product], expected, atol=1e-12)
            assert max(float(each.rad()) for each in product) < 1e-50
        outside = float(found.outside(balls).upper())
    expected = np.linalg.norm(np.linalg.solve(matrix.T, values))
    assert expected * (1.0 - 1e-12) <= outside <= expected * (1.0 + 1e-9)
    assert found.square == pytest.approx(np.linalg.norm(matrix) ** 2)


@pytest.mark.parametrize(
    "penalty", [L1(1.5), L2(0.7), ElasticNet(2.0, l1_ratio=0.8), L1(0.02)], ids=["l1", "l2", "both", "weak"]
)
def test_a_penalised_minimiser_is_that_of_the_matrix(
    penalty: Penalty, wide: CodedModel, mixing: WideMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    x, c = rng.normal(size=1500), rng.choice(MANY["c"][:40], 1500)
    frame = pd.DataFrame(
        {
            "c": c,
            "d": rng.choice(MANY["d"], 1500),
            "e": rng.choice(["a", "b", "c"], 1500),
            "x": x,
            "y": (rng.random(1500) < 1 / (1 + np.exp(-2.0 * x - 2.0 * (c == "c3")))).astype(int),
        }
    )
    chunks = list(wide.design(frame).chunks())
    dense = [rows_at(chunk, slice(None)) for chunk in chunks]
    size, penalised = wide.coding.size, wide.coding.penalised
    known = {"linear": rng.normal(size=size), "ridge": 0.3, "penalty": penalty, "penalised": penalised}
    matrix = matrix_of(mixing)
    expected = minimise(ChunkLoss(lambda: dense, Binomial(), size), mixing=matrix, **known)
    monkeypatch.setattr("dpglm.optim.minimise.MOST_DENSE", 150)
    found = minimise(ChunkLoss(lambda: chunks, Binomial(), size), mixing=mixing, **known)  # type: ignore[arg-type]
    assert expected.certified
    assert found.certified
    np.testing.assert_allclose(found.theta, expected.theta, atol=2e-8 / 0.3)
    np.testing.assert_array_equal(found.gamma == 0.0, expected.gamma == 0.0)
    if penalty.selects:
        assert 0 < np.count_nonzero(found.gamma) < size
    terms = known["linear"], 0.3
    own, other = (
        Certified.of(lambda rows=rows: rows, Binomial(), *terms, map_, penalty, penalised)
        for rows, map_ in ((chunks, mixing), (dense, matrix))
    )
    # Both are bounds on the same subgradient, whose norm the solver has kept below 1e-8.
    assert own.residual(found.gamma) <= 2e-7
    assert own.residual(found.gamma.astype(np.longdouble)) <= 2e-8
    assert own.residual(found.gamma + 1e-3) == pytest.approx(other.residual(found.gamma + 1e-3), rel=1e-6)
    # Finished in numbers with more digits, and in balls, from a point nearby.
    near = np.where(found.gamma == 0.0, 0.0, found.gamma * (1.0 + 1e-6))
    theta = np.asarray(finishing.finished(own, near, 1e-9))
    np.testing.assert_allclose(theta, expected.theta, atol=2e-8 / 0.3)


def test_balls_finish_a_wide_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide_factors, "MOST_DENSE", 50)
    monkeypatch.setattr(finishing, "MOST_DENSE", 50)
    levels = [f"c{k}" for k in range(66)]
    schema = dpglm.Schema.of({"c": levels, "x": (-4, 4), "y": [0, 1]})
    model = CodedModel.of("y ~ c + x", schema, Binomial())
    frame = pd.DataFrame({"c": ["c3", "c5", "c9"] * 2, "x": 0.5, "y": [0, 1] * 3})
    chunks, size = list(model.design(frame).chunks()), model.coding.size
    terms = {
        "linear": np.random.default_rng(5).normal(size=size),
        "ridge": 0.8,
        "mixing": Scaling.of(model.coding).mixing,
        "penalty": L1(1.0),
        "penalised": model.coding.penalised,
    }
    assert wide_map(terms["mixing"]) is not None
    matrix = matrix_of(terms["mixing"])
    expected = minimise(ChunkLoss(lambda: chunks, Binomial(), size), **(terms | {"mixing": matrix}))
    assert expected.certified
    objective = Certified.of(lambda: chunks, Binomial(), *terms.values())
    theta = np.asarray(finishing._in_balls(objective, expected.gamma * (1.0 + 1e-7), 1e-11))
    np.testing.assert_allclose(theta, expected.theta, atol=(1e-8 + 1e-11) / 0.8)


def test_a_list_of_thousands_of_levels_is_short() -> None:
    levels = [f"l{k}" for k in range(MOST_DENSE + 200)]
    schema = dpglm.Schema.of({"c": levels, "x": (-4, 4), "y": [0, 1]})
    rng = np.random.default_rng(1)
    x, c = rng.normal(size=20_000), rng.choice([*levels[:10], levels[-1]], 20_000)
    y = (rng.random(20_000) < 1 / (1 + np.exp(-2 * x + 3.0 * (c == "l4")))).astype(int)
    frame = pd.DataFrame({"c": c, "x": x, "y": y})
    fit = dpglm.fit(
        "y ~ c + x", frame, schema=schema, penalty="l1", privacy=(1.0, 1e-6), seed=1, progress=False
    )
    listed = fit.params[fit.params != 0.0].drop("Intercept")
    assert {"x", "c[T.l4]"} <= set(listed.index) <= {"x", *(f"c[T.l{k}]" for k in range(10))}
