"""What a release refuses before any row is read, where no shipped family or table comes near."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dpglm.errors import MethodError
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.rows import ShortenedRows, WithinLeverage
from dpglm.mechanisms.span import Span
from dpglm.rows import ArrayChunk

Binomial = families["binomial"]


@dataclass(frozen=True)
class Bent(Binomial):  # type: ignore[misc, valid-type]
    """A loss whose curvature may be 3/2."""

    name: ClassVar[str] = "bent"
    logistic: ClassVar[bool] = False
    curvature_max: ClassVar[float] = 1.5


@dataclass(frozen=True)
class Straight(Bent):
    """A loss whose curvature is just what the proof allows."""

    curvature_max: ClassVar[float] = 1.0


def free(size: int) -> Span:
    return Span((TermColumns("x", "other", 0, size, 1.0, np.eye(size), np.ones(size)),))


def minimiser(family: object) -> PerturbedMinimiser:
    return PerturbedMinimiser(
        family=family,  # type: ignore[arg-type]
        ridge=1.0,
        law="gaussian",
        scale=1.0,
        tolerance=1e-9,
        residual_noise_scale=1e-6,
        penalty=penalties["none"](),
        penalty_rows=1.0,
        mixing=np.eye(2),
        penalised=np.ones(2, dtype=bool),
    )


def test_curvatures_above_one_are_refused() -> None:
    """Theorem C bounds the Jacobian of one row by 1 + max_leverage, for curvatures of at most 1."""
    with pytest.raises(MethodError, match="family 'bent'"):
        minimiser(Bent())
    with pytest.raises(MethodError, match="family 'bent'"):
        Information(Bent(), 1.0, "gaussian", free(2))
    assert minimiser(Straight()).family.curvature_max == 1.0
    assert Information(Straight(), 1.0, "gaussian", free(2)).weight_max == 1.0


def test_rows_and_ridges_of_different_lengths_are_never_read() -> None:
    class Rows:
        size = 3

        def chunks(self) -> list[ArrayChunk]:
            return [ArrayChunk(np.full((3, 2), 0.5, dtype=np.float32), np.zeros(2), None)]

        def row_count(self) -> int:
            return 2

    with pytest.raises(ValueError, match=r"zip|fit together"):
        [chunk.X for chunk in WithinLeverage(Rows(), np.ones(2), 1.0).chunks()]


def test_a_table_of_zeros_is_refused_without_a_warning() -> None:
    one = TermColumns("Intercept", "intercept", 0, 1, 0.25, np.array([[0.5]]), np.ones(1))
    two = TermColumns("g", "levels", 1, 3, 0.0, np.zeros((3, 2)), np.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(MethodError, match="no centred simplex"):
            Span((one, two))


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_rows_that_no_factor_shortens_are_read_as_zeros(factor: float) -> None:
    class Rows:
        size = 2

        def chunks(self) -> list[ArrayChunk]:
            X = np.array([[0.25, np.inf, np.nan, 1e38], [0.25, 0.5, 0.5, 1e38]], dtype=np.float32)
            return [ArrayChunk(X, np.zeros(4), None)]

        def row_count(self) -> int:
            return 4

    (read,) = ShortenedRows(Rows(), factor * np.eye(2)).chunks()
    assert read.X[:, 0].tolist() == [0.25 * factor] * 2
    assert not read.X[:, 1:3].any()
    assert 0.99 < np.square(read.X[:, 3].astype(float)).sum() <= 1.0
