"""Without noise every iterative method ends at the minimiser that the exact solver finds.

``ask`` answers each planned release exactly. Convex penalties: the coefficients agree to 1e-6. Others: the
end is stationary, the gradient balancing the penalty on the support and zero being kept by the proximal step
off it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.inference.coefficients import Scaling
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.gradient import Gradient
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.output_perturbation import PerturbedOutput
from dpglm.methods.base import Method, Problem
from dpglm.methods.output import Output
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import minimise
from dpglm.papers.dpsc.dpsc import DPSC
from dpglm.papers.radmm.admm import DPADMM, DPSGD, MPADMM, SSADMM
from dpglm.rows import ArrayChunk
from dpglm.typing import FloatVector
from tests.effort import quick

NAMES = ("a", "b", "c", "d")
ROWS, STRENGTH = 300, 0.01
PRIVACY = dpglm.Privacy(500.0, 1e-6)  # nothing is drawn; the ridge of DPSC has to be large enough


def coding(kind: Any) -> Coding:
    schema = Schema.of({"y": ["no", "yes"], **dict.fromkeys(NAMES, (-2, 2))})
    return Coding.of(parse("y ~ " + " + ".join(NAMES), schema), kind=kind)


def rows(family: str, kind: str) -> ArrayChunk:
    """Rows of norm at most 1 with an intercept; responses follow the first two numbers."""
    generator = np.random.default_rng(3)
    X = generator.normal(size=(len(NAMES) + 1, ROWS))
    X[0] = 1.0
    X /= np.linalg.norm(X, axis=0)
    signal = 4.0 * X[1] - 3.0 * X[2] + 0.5
    if family == "gaussian":
        y = np.clip(0.2 * signal + generator.normal(scale=0.1, size=ROWS), -1.0, 1.0)
    else:
        y = (generator.uniform(size=ROWS) < 1.0 / (1.0 + np.exp(-signal))).astype(float)
    return ArrayChunk(X.astype(np.float32), y, None)


def problem(penalty: str, family: str, kind: Any) -> Problem:
    return Problem(
        coding(kind),
        families[family](),
        penalties[penalty](strength=STRENGTH),
        strength=STRENGTH,
        known_rows=ROWS,
        count_rows=lambda: ROWS,
    )


def noiseless(piece: ArrayChunk, family: str) -> Callable[..., FloatVector]:
    """Answers of releases without their noise."""
    loss = ChunkLoss(lambda: [piece], families[family](), size=len(piece.X), row_count=ROWS)
    X = piece.X.astype(np.float64)

    def ask(release: Release, at: FloatVector | None = None) -> FloatVector:
        if isinstance(release, Gradient):
            assert at is not None
            points = at.reshape(release.parts, -1)
            sums = [
                X[:, part :: release.parts]
                @ release.family.slope(point @ X[:, part :: release.parts], piece.y[part :: release.parts])
                for part, point in enumerate(points)
            ]
            return np.concatenate(sums)
        if isinstance(release, PerturbedMinimiser):
            assert at is not None
            pull = -np.asarray(release.ridge) * at
            return minimise(loss, linear=pull, ridge=release.ridge, tolerance=1e-10).theta
        assert isinstance(release, PerturbedOutput)
        return minimise(
            loss,
            linear=np.zeros(len(X)),
            ridge=release.ridge,
            mixing=release.mixing,
            penalty=release.penalty.with_strength(release.penalty.weight * ROWS),
            penalised=release.penalised,
            tolerance=1e-10,
        ).theta

    return ask


METHODS: list[Method] = [
    DPSC(iterations=400, c=0.3),
    SSADMM(steps=6000, eta=3.0, rho=0.3, clip=10.0),
    MPADMM(steps=6000, eta=3.0, rho=0.2, clip=10.0),
    DPSGD(steps=6000, eta=3.0, clip=10.0),
    DPADMM(steps=6000, eta=2.0, rho=0.3, parties=2, clip=10.0),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize(
    ("penalty", "family"),
    quick([("l1", "binomial"), ("elastic_net", "huber_svm"), ("l1", "gaussian")], ("l1", "binomial")),
)
def test_without_noise_a_method_ends_at_the_minimiser(method: Method, penalty: str, family: str) -> None:
    if method.name == "dpsc" and family == "gaussian":
        pytest.skip("slopes without bound: refused by the release")
    asked = problem(penalty, family, method.coding)
    piece = rows(family, method.coding)
    found = method.solve(asked, method.plan(asked, PRIVACY), noiseless(piece, family))
    scaling = Scaling.of(asked.geometry)
    loss = ChunkLoss(lambda: [piece], asked.family, size=len(piece.X), row_count=ROWS)
    exact = minimise(
        loss,
        linear=np.zeros(len(piece.X)),
        ridge=1e-9,
        mixing=scaling.mixing,
        penalty=asked.penalty.with_strength(STRENGTH * ROWS),
        penalised=scaling.penalised,
        tolerance=1e-10,
    )
    assert 0 < int(found.selected.sum()) < len(NAMES) + 1 or penalty == "elastic_net"
    np.testing.assert_allclose(found.coded, exact.theta, atol=1e-6)
    np.testing.assert_array_equal(found.selected, exact.gamma != 0.0)


@pytest.mark.parametrize("method", METHODS[:4], ids=lambda method: method.name)
@pytest.mark.parametrize("penalty", quick(["l1/2", "scad", "mcp"], "scad"))
def test_without_noise_a_method_ends_where_a_penalty_that_is_not_convex_is_stationary(
    method: Method, penalty: str
) -> None:
    asked = problem(penalty, "binomial", method.coding)
    piece = rows("binomial", method.coding)
    found = method.solve(asked, method.plan(asked, PRIVACY), noiseless(piece, "binomial"))
    scaling = Scaling.of(asked.geometry)
    loss = ChunkLoss(lambda: [piece], asked.family, size=len(piece.X), row_count=ROWS)
    gamma = scaling.scaled(found.coded)
    score = scaling.mixing.T @ loss.gradient(found.coded)
    quadratic = ROWS * {"dpsc": 0.3, "ssadmm": 0.3, "mpadmm": 0.2, "dpsgd": 1.0 / 3.0}[method.name]
    # Both copies of a coefficient agree, and the multiplier is the gradient: a proximal step changes nothing.
    bound = asked.penalty.with_scale(np.full(len(NAMES), quadratic)).with_strength(STRENGTH * ROWS)
    kept = scaling.penalised
    stepped = bound.prox((gamma - score / quadratic)[kept], 1.0 / quadratic)
    np.testing.assert_allclose(stepped, gamma[kept], atol=1e-6)
    np.testing.assert_allclose(score[~kept], 0.0, atol=1e-5)


@pytest.mark.parametrize("penalty", ["l1", "none"])
def test_without_noise_output_perturbation_is_the_ridge_minimiser(penalty: str) -> None:
    method = Output(ridge=2.0)
    asked = problem(penalty, "binomial", method.coding)
    piece = rows("binomial", method.coding)
    plan = method.plan(asked, PRIVACY)
    found = method.solve(asked, plan, noiseless(piece, "binomial"))
    loss = ChunkLoss(lambda: [piece], asked.family, size=len(piece.X), row_count=ROWS)
    score = loss.gradient(found.coded) + 2.0 * found.coded
    most = 0.0 if penalty == "none" else STRENGTH * ROWS
    assert np.abs(score[0]) < 1e-8
    assert np.abs(score[1:]).max() <= most + 1e-8


@pytest.mark.audit
@pytest.mark.parametrize(("epsilon", "least"), [(0.5, 0.90), (1.0, 0.94), (2.0, 0.955)])
def test_dpsc_is_accurate_on_the_simulation_of_its_paper(epsilon: float, least: float) -> None:
    """n = 10,000, p = 100, delta = 1e-6, replace-one; as printed the accuracy is about one half.

    Means over six tables were .928, .960 and .974 with standard deviations of .013, .005 and .004 a table:
    three of them stay above the bars but with probability below 1e-3, and always for seeds that passed. With
    noise five times as large the first two are .61 and .79. The half penalty keeps fewer columns, and sets no
    fewer of the 92 irrelevant ones to zero.
    """
    kept: dict[str, list[float]] = {"l1": [], "l1/2": []}
    zeroed: dict[str, list[float]] = {"l1": [], "l1/2": []}
    right = []
    places = np.arange(100)
    root = np.linalg.cholesky(0.5 ** np.abs(places[:, None] - places[None, :]))
    w = np.r_[10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 0.5, np.zeros(92)]
    names = [f"x{place}" for place in places]
    schema = {"y": ["0", "1"], **dict.fromkeys(names, (-3.0, 3.0))}
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(12_000, 100)) @ root.T
        y = np.where(X @ w >= 0.0, "1", "0")
        frame = pd.DataFrame(X, columns=names).assign(y=y)
        for penalty in kept:
            fit = dpglm.fit(
                "y ~ " + " + ".join(names),
                frame[:10_000],
                schema=schema,
                method="dpsc",
                penalty=penalty,
                privacy=(epsilon, 1e-6),
                seed=seed,
                progress=False,
            )
            slopes = fit._record.estimates[1:]
            kept[penalty].append(float(np.count_nonzero(slopes)))
            zeroed[penalty].append(float(np.count_nonzero(slopes[8:] == 0.0)))
            if penalty == "l1":
                found = np.asarray(fit.predict(frame[10_000:], what="class"))
                right.append(float(np.mean(found == y[10_000:])))
    assert np.mean(right) >= least
    assert np.mean(kept["l1/2"]) < np.mean(kept["l1"])
    assert np.mean(zeroed["l1/2"]) >= np.mean(zeroed["l1"])
