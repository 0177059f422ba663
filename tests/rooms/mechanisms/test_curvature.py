"""The curvature release: what it sums, and the law of its noise."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pytest
from scipy import stats

from dpglm.errors import MethodError
from dpglm.glm.families import Family, families
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.noise import SeededNoise
from dpglm.mechanisms.span import Span
from dpglm.optim.loss import ChunkLoss
from dpglm.privacy.events import GaussianEvent, PureEvent
from dpglm.rows import ArrayChunk

BINOMIAL = families["binomial"]()
COUNTS = families["poisson"]().with_bound(20.0)


def free(size: int) -> Span:
    return Span((TermColumns("x", "other", 0, size, 1.0, np.eye(size), np.ones(size)),))


def tied() -> Span:
    """An intercept and three levels."""
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [0.0, 2.0]]) / np.sqrt([2.0, 6.0])
    one = TermColumns("Intercept", "intercept", 0, 1, 0.25, np.array([[0.5]]), np.ones(1))
    return Span((one, TermColumns("g", "levels", 1, 3, 0.67, corners, np.ones(2))))


class Table:
    """Random rows in uneven blocks, with offsets."""

    size = 4

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self._chunks = [
            ArrayChunk(
                rng.uniform(-0.5, 0.5, (4, count)).astype(np.float32),
                rng.integers(0, 2, count).astype(float),
                rng.normal(size=count),
            )
            for count in (1, 300, 77)
        ]

    def chunks(self) -> list[ArrayChunk]:
        return self._chunks

    def row_count(self) -> int:
        return 378


def release(
    scale: float = 1e-12,
    law: Literal["gaussian", "gamma"] = "gaussian",
    span: Span | None = None,
    family: Family = BINOMIAL,
    **more: Any,
) -> Information:
    return Information(family, scale, law, span or free(4), **more)


class Empty:
    """No rows."""

    def __init__(self, size: int) -> None:
        self.size = size

    def chunks(self) -> list[ArrayChunk]:
        return []

    def row_count(self) -> int:
        return 0


def pure_noise(drawn: Information, noise: SeededNoise) -> Any:
    """What is released of no rows."""
    size = drawn.span.size
    return drawn.run(Empty(size), np.zeros(size), noise).reshape(size, size)


def test_it_sums_the_second_derivative_at_the_point_given() -> None:
    table, at = Table(), np.array([0.3, -1.0, 2.0, 0.0])
    found = release().run(table, at, SeededNoise(1)).reshape(4, 4)
    expected = ChunkLoss(table.chunks, BINOMIAL, 4).hessian(at, precise=True)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_array_equal(found, found.T)


def test_the_score_covariance_sums_squared_slopes() -> None:
    table, at = Table(), np.array([0.3, -1.0, 2.0, 0.0])
    found = release(what="score").run(table, at, SeededNoise(1)).reshape(4, 4)
    expected = np.zeros((4, 4))
    for block in table.chunks():
        X = block.X.astype(float)
        assert block.offset is not None
        slope = BINOMIAL.slope(at @ X + block.offset, block.y)
        expected += (X * slope**2) @ X.T
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("span", [free(3), tied()], ids=["free", "tied"])
def test_gaussian_noise_is_standard_on_the_span(span: Span) -> None:
    """Its squared norm is chi-square with as many degrees of freedom as the span has dimensions."""
    noise = SeededNoise(7)
    draws = [pure_noise(release(2.0, span=span), noise) for _ in range(4000)]
    squares = np.array([np.sum((draw / 2.0) ** 2) for draw in draws])
    # A correct law fails this with probability 1e-4.
    assert stats.kstest(squares, stats.chi2(span.dimension).cdf).pvalue > 1e-4
    for draw in draws[:5]:
        np.testing.assert_allclose(span.matrix(span.coordinates(draw)), draw, atol=1e-12)
    entries = np.array(draws)[:, 0, 0] / 2.0
    variance = 1.0 if span.dimension == 6 else 0.5**4 / span._total_length**2
    assert stats.kstest(entries, stats.norm(0.0, math.sqrt(variance)).cdf).pvalue > 1e-4


@pytest.mark.parametrize("span", [free(3), tied()], ids=["free", "tied"])
def test_gamma_noise_has_the_radius_of_the_span_and_any_direction(span: Span) -> None:
    noise = SeededNoise(8)
    draws = np.array([pure_noise(release(0.5, "gamma", span), noise) for _ in range(4000)])
    radii = np.sqrt((draws**2).sum(axis=(1, 2)))
    # Each of these fails for a correct law with probability 1e-4.
    assert stats.kstest(radii, stats.gamma(span.dimension, scale=0.5).cdf).pvalue > 1e-4
    gaussian = np.array([pure_noise(release(1.0, span=span), noise) for _ in range(4000)])
    for i, j in ((0, 0), (0, 1), (1, 2), (2, 2)):
        directions = draws[:, i, j] / radii
        expected = gaussian[:, i, j] / np.sqrt((gaussian**2).sum(axis=(1, 2)))
        assert stats.ks_2samp(directions, expected).pvalue > 1e-4
    for draw in draws[:5]:
        np.testing.assert_allclose(span.matrix(span.coordinates(draw)), draw, atol=1e-12)


def test_prices_follow_the_sensitivities() -> None:
    assert release(0.5).events("add-remove") == (("information matrix", GaussianEvent(0.5)),)
    assert release(0.5, "gamma").events("add-remove") == (("information matrix", PureEvent(0.5)),)
    ((_, event),) = release(0.5).events("replace-one")
    assert event == GaussianEvent(math.sqrt(2) / 2)
    assert release(0.5, family=COUNTS).events("add-remove") == (("information matrix", GaussianEvent(2.0)),)
    ((label, event),) = release(2.0, what="score").events("replace-one")
    assert (label, event) == ("score covariance", GaussianEvent(math.sqrt(2) / 2))


@pytest.mark.parametrize("what", ["curvature", "score"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("family", [BINOMIAL, COUNTS], ids=["binomial", "poisson"])
def test_the_worst_case_differs_by_the_sensitivity(
    what: Literal["curvature", "score"], relation: Any, size: int, family: Family
) -> None:
    asked = release(span=free(size), what=what, family=family)
    case = asked.worst_case(relation, size)
    assert case.at is not None
    sums = []
    for block in (case.first, case.second):
        rows = Table()
        rows._chunks, rows.size = [block], size  # type: ignore[list-item, misc]
        sums.append(asked._sum(rows, case.at)[0].floats())
    moved = float(np.linalg.norm(sums[0] - sums[1]))
    # With one column two rows cannot stand at a right angle.
    reached = asked.sensitivity("add-remove" if size == 1 else relation)
    assert moved == pytest.approx(reached, rel=1e-6)
    assert moved <= asked.sensitivity(relation) * (1 + 1e-12)
    assert abs(case.direction @ (sums[0] - sums[1]).ravel()) == pytest.approx(
        moved * np.linalg.norm(case.direction), rel=1e-6
    )


def test_pairs_of_rows_never_differ_by_more_than_the_sensitivity() -> None:
    rng = np.random.default_rng(2)
    for _ in range(2000):
        x, other = rng.normal(size=(2, 3))
        x, other = x / np.linalg.norm(x), other / np.linalg.norm(other)
        w, v = rng.uniform(0, 0.25, 2)
        change = np.linalg.norm(w * np.outer(x, x) - v * np.outer(other, other))
        assert change <= release(span=free(3)).sensitivity("replace-one") * (1 + 1e-12)


def test_other_families_and_scales_are_refused() -> None:
    with pytest.raises(MethodError, match="scale"):
        release(0.0)
    with pytest.raises(MethodError, match="curvature is at most"):
        Information(families["gaussian"](), 1.0, "gaussian", free(2))
