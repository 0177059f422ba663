"""Sensitivities of a perturbed output, by the numbers of its theorem; and what it reads and refuses."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpglm.errors import MethodError
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.gradient import Gradient
from dpglm.mechanisms.noise import SeededNoise
from dpglm.mechanisms.output_perturbation import PerturbedOutput
from dpglm.row_loops import predictors
from dpglm.rows import ArrayChunk


def output(**more: Any) -> PerturbedOutput:
    numbers: dict[str, Any] = {"ridge": 2.0, "law": "gaussian", "scale": 1.0, "tolerance": 0.05}
    numbers |= {"penalty": penalties["none"](), "penalty_rows": 1.0, "mixing": np.eye(1)}
    return PerturbedOutput(families["binomial"](), penalised=np.ones(1, dtype=bool), **(numbers | more))


class Rows:
    """Given rows."""

    size = 1

    def __init__(self, y: list[float]) -> None:
        self.block = ArrayChunk(np.ones((1, len(y)), dtype=np.float32), np.array(y), None)

    def chunks(self) -> list[ArrayChunk]:
        return [self.block]

    def row_count(self) -> int:
        return len(self.block.y)


def test_one_row_moves_a_minimiser_by_its_slope_over_the_ridge_and_the_solver_by_four_tolerances() -> None:
    assert output().sensitivity("add-remove") == pytest.approx(1 / 2 + 4 * 0.05 / 2)
    assert output().sensitivity("replace-one") == pytest.approx(2 / 2 + 4 * 0.05 / 2)
    bound = 1.0 / (1.0 + math.exp(-math.sqrt(0.2784645427610738 * 10 / 2.0)))
    assert output(plain_rows=10).sensitivity("replace-one") == pytest.approx(bound + 0.1)


def test_rows_beyond_the_declared_number_are_not_read_and_their_claim_is_for_replace_one() -> None:
    release = output(plain_rows=3, tolerance=1e-9, scale=1e-9)
    first = release.run(Rows([1.0, 1.0, 0.0]), None, SeededNoise(1))
    more = release.run(Rows([1.0, 1.0, 0.0, 1.0, 1.0, 1.0]), None, SeededNoise(1))
    np.testing.assert_allclose(first, more, atol=1e-8)
    with pytest.raises(MethodError, match="add-remove"):
        release.events("add-remove")
    for bad in (0, -1):
        with pytest.raises(MethodError, match="no rows"):
            output(plain_rows=bad)
    with pytest.raises(MethodError, match="penalty"):
        output(plain_rows=3, penalty=penalties["l1"](strength=1.0))


def test_parts_are_dealt_out_by_place_across_blocks() -> None:
    """Rows 0, 2, 4 and rows 1, 3 go to two points, whichever blocks they stand in."""

    class Two(Rows):
        def chunks(self) -> list[ArrayChunk]:
            X, y = self.block.X, self.block.y
            return [ArrayChunk(X[:, :3], y[:3], None), ArrayChunk(X[:, 3:], y[3:], None)]

    release = Gradient(families["binomial"](), 1e-9, parts=2)
    found = release.run(Two([1.0, 0.0, 1.0, 0.0, 1.0]), np.zeros(2), SeededNoise(1))
    np.testing.assert_allclose(found, [-1.5, 1.0], atol=1e-6)


def test_a_point_of_another_length_than_the_rows_is_no_point() -> None:
    for size in (1, 3):
        with pytest.raises(ValueError, match="zip"):
            predictors(np.ones(size), np.ones((2, 4)))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_numbers_out_of_range_are_refused(bad: float) -> None:
    for name in ("ridge", "scale", "tolerance"):
        with pytest.raises(MethodError, match=name):
            replace(output(), **{name: bad})
    for name in ("scale", "clip"):
        with pytest.raises(MethodError, match=name):
            replace(Gradient(families["binomial"](), 1.0), **{name: bad})
