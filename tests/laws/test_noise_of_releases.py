"""On no rows at all a release is its noise, and that has the scale from which the price is read.

Every bar is at least five standard deviations of its mean, so that a right release fails with probability
below 1e-6 (and never again for a seed that passed). Noise smaller by a fifth moves mean squares by 36 % and
mean norms by 20 %: more than each bar and three standard deviations.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pytest

from dpglm.errors import MethodError
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.moments import MomentSums, SecondMoments
from dpglm.mechanisms.noise import SeededNoise
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.span import Span
from dpglm.rows import ArrayChunk
from dpglm.typing import FloatMatrix
from tests.effort import quick

Law = Literal["gaussian", "gamma"]
LAWS: tuple[Law, ...] = ("gaussian", "gamma")
BINOMIAL = families["binomial"]()
SCALE = 3.0


class Empty:
    """No rows."""

    def __init__(self, size: int) -> None:
        self.size = size

    def chunks(self) -> list[ArrayChunk]:
        return []

    def row_count(self) -> int:
        return 0


def free(size: int) -> Span:
    return Span((TermColumns("x", "other", 0, size, 1.0, np.eye(size), np.ones(size)),))


def tied() -> Span:
    """An intercept and three levels: four free numbers of six."""
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [0.0, 2.0]]) / np.sqrt([2.0, 6.0])
    one = TermColumns("Intercept", "intercept", 0, 1, 0.25, np.array([[0.5]]), np.ones(1))
    return Span((one, TermColumns("g", "levels", 1, 3, 0.67, corners, np.ones(2))))


def drawn(release: Release, size: int, count: int, at: Any = None) -> FloatMatrix:
    noise = SeededNoise(7)
    return np.array([release.run(Empty(size), at, noise) for _ in range(count)])


def minimiser(law: Law, claimed: float | None, **more: Any) -> PerturbedMinimiser:
    numbers: dict[str, Any] = {"ridge": 0.5, "scale": SCALE, "tolerance": 1e-8, "residual_noise_scale": 1e-7}
    numbers |= {"penalty": penalties["none"](), "penalty_rows": 1.0, "claimed_epsilon": claimed}
    numbers |= {"mixing": np.eye(2), "penalised": np.ones(2, dtype=bool)}
    return PerturbedMinimiser(family=BINOMIAL, law=law, **(numbers | more))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "claimed"),
    quick([("gaussian", None), ("gaussian", 1.0), ("gamma", None)], ("gaussian", None), ("gamma", None)),
)
def test_a_minimiser_is_tilted_and_blurred_by_its_scales(law: Law, claimed: float | None) -> None:
    tilts = -0.5 * drawn(minimiser(law, claimed), 2, 1500)  # the ridge's score balances the tilt
    blurs = drawn(minimiser(law, claimed, scale=1e-7, residual_noise_scale=SCALE), 2, 1500)
    if law == "gaussian":
        assert np.square(tilts).mean() / SCALE**2 == pytest.approx(1.0, abs=0.15)
    else:  # the norm is Gamma(2, scale)
        assert np.linalg.norm(tilts, axis=1).mean() / (2.0 * SCALE) == pytest.approx(1.0, abs=0.1)
    if law == "gaussian" and claimed is None:
        assert np.square(blurs).mean() / SCALE**2 == pytest.approx(1.0, abs=0.15)
    else:  # Laplace in each coordinate
        assert np.abs(blurs).mean() / SCALE == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "span", [pytest.param(free(3), marks=pytest.mark.audit), tied()], ids=["free", "tied"]
)
def test_the_curvature_has_noise_of_its_scale_in_every_free_direction(law: Law, span: Span) -> None:
    found = drawn(Information(BINOMIAL, SCALE, law, span), 3, 2000, np.zeros(3)).reshape(-1, 3, 3)
    np.testing.assert_allclose(found, found.transpose(0, 2, 1))
    norms = np.linalg.norm(found, axis=(1, 2))
    if law == "gaussian":
        assert np.square(norms).mean() / (SCALE**2 * span.dimension) == pytest.approx(1.0, abs=0.1)
    else:
        assert norms.mean() / (SCALE * span.dimension) == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "span", [pytest.param(free(2), marks=pytest.mark.audit), tied()], ids=["free", "tied"]
)
def test_moments_have_noise_of_their_scale_over_their_weights(law: Law, span: Span) -> None:
    size, weights = span.size, (0.8, 1.5, 0.7, 0.4)
    release = SecondMoments(span, law, SCALE, *weights)
    parts = [MomentSums.of(flat, size) for flat in drawn(release, size, 2000)]
    squares = np.array(
        [
            [
                (weights[0] ** 2) * np.square(part.gram).sum() / span.dimension,
                (weights[1] ** 2) * np.square(part.cross).sum() / size,
                (weights[2] * part.square) ** 2,
                (weights[3] * part.count) ** 2,
            ]
            for part in parts
        ]
    )
    dimension = span.dimension + size + 2
    assert release.dimension == dimension
    # Of a norm that is Gamma(D, scale) each coordinate has the mean square scale^2 (D + 1).
    expected = SCALE**2 * (dimension + 1.0 if law == "gamma" else 1.0)
    np.testing.assert_allclose(squares.mean(axis=0) / expected, 1.0, atol=0.25)
    if law == "gamma":
        norms = np.sqrt(squares @ np.array([span.dimension, size, 1, 1]))
        assert norms.mean() / (SCALE * dimension) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("ratio", [0.3, 1.0, 1.9, 2.1, 3.0, 5.0])
def test_the_sensitivity_of_moments_is_that_of_the_best_angle(ratio: float) -> None:
    """Two rows of norm 1 at an angle, both with response 1: the count and y'y are the same."""
    gram, cross = 0.7, math.sqrt(ratio) * 0.7
    release = SecondMoments(free(2), "gaussian", 1.0, gram, cross, 0.5 * cross, 0.5 * gram)
    cosines = np.linspace(-1.0, 1.0, 200_001)
    moved = np.sqrt(2.0 * gram**2 * (1.0 - cosines**2) + 2.0 * cross**2 * (1.0 - cosines))
    assert release.sensitivity("replace-one") == pytest.approx(float(moved.max()), rel=1e-8)
    whole = math.sqrt(gram**2 + cross**2 + (0.5 * cross) ** 2 + (0.5 * gram) ** 2)
    assert release.sensitivity("add-remove") == pytest.approx(whole, rel=1e-12)


def test_moments_say_the_deviation_of_their_noise_and_refuse_what_has_none() -> None:
    weights = {"gram_weight": 0.8, "cross_weight": 0.8, "square_weight": 0.8, "count_weight": 0.8}
    assert SecondMoments(free(2), "gaussian", SCALE, **weights).deviation == SCALE
    assert SecondMoments(free(2), "gamma", SCALE, **weights).deviation == SCALE * math.sqrt(8.0)
    for name in (*weights, "scale"):
        for bad in (0.0, -0.1, math.inf, math.nan):
            with pytest.raises(MethodError, match=name):
                SecondMoments(**({"span": free(2), "law": "gamma", "scale": SCALE} | weights | {name: bad}))
    for heavy in ("square_weight", "count_weight"):
        with pytest.raises(MethodError, match="order"):
            SecondMoments(**({"span": free(2), "law": "gamma", "scale": SCALE} | weights | {heavy: 0.81}))


def test_without_an_intercept_nothing_is_tied() -> None:
    assert Span(()).size == Span(()).dimension == 0
    span = free(3)
    assert span.dimension == 6
    assert span._ties == ()
    matrix = np.add.outer(np.arange(3.0), np.arange(3.0) ** 2)
    matrix += matrix.T
    np.testing.assert_allclose(span.matrix(span.coordinates(matrix)), matrix, rtol=1e-15)
