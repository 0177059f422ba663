"""Attacks that succeed on a broken computation and fail on ours; verdicts fail with probability 1e-4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.auditing.bounds import bounded
from dpglm.auditing.neighbours import Neighbours, Table, release_neighbours
from dpglm.data.coding.design import Design
from dpglm.data.coding.response import Response
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import open_source
from dpglm.glm.families import families
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.noise import SeededNoise
from dpglm.mechanisms.span import Span
from dpglm.rows import ArrayChunk
from tests.audits.harness import FAILURE, Acts, claimed
from tests.audits.test_minimiser import calibrated
from tests.audits.test_moments import planned
from tests.audits.twins import gamma_noise, pure, refuted

TRIALS = 4000


def stands(
    act: Any, pair: Neighbours, privacy: dpglm.Privacy, known: Mapping[str, Any] | None = None
) -> bool:
    found = bounded(
        act, [pair], claimed(privacy), SeededNoise(1), trials=TRIALS, failure=FAILURE, known=known or {}
    )
    return not found.bound.refuted


class SameNoise(Acts):
    """Every release of a fit is handed the same noise again."""

    def draw(self, table: Any, noise: Any, count: int, pair: Any, step: Any) -> list[Any]:
        drawn = []
        for _ in range(count):
            seed = int.from_bytes(noise.bytes(8), "little")
            drawn.append([one.run(table, pair.at, SeededNoise(seed)) for one in self.releases])
        return [np.array(answers) for answers in zip(*drawn, strict=True)]


class FreshNoise(Acts):
    """Every release at the same point, with noise of its own."""

    def draw(self, table: Any, noise: Any, count: int, pair: Any, step: Any) -> list[Any]:
        drawn = [[one.run(table, pair.at, noise) for one in self.releases] for _ in range(count)]
        return [np.array(answers) for answers in zip(*drawn, strict=True)]


@pytest.mark.audit
def test_noise_reused_by_a_second_release_cancels() -> None:
    privacy = dpglm.Privacy.gdp(1.0, delta=0.05, relation="add-remove")
    span = Span((TermColumns("x", "other", 0, 1, 1.0, np.eye(1), np.ones(1)),))
    releases: list[Release] = []
    for what in ("curvature", "score"):
        release = Information(families["binomial"](), 1.0, "gaussian", span, what)  # type: ignore[arg-type]
        releases.append(replace(release, scale=release.sensitivity("add-remove") * math.sqrt(2.0)))
    row = ArrayChunk(np.ones((1, 1), dtype=np.float32), np.ones(1), None)
    none = ArrayChunk(np.zeros((1, 0), dtype=np.float32), np.zeros(0), None)
    pair = Neighbours("a row or none", Table(row), Table(none), at=np.zeros(1))
    # In units of their scales both answers hold the same noise: the difference has none.
    scales = [release.scale for release in releases]  # type: ignore[attr-defined]
    known = {"difference": lambda z: z[:, 1] / scales[1] - z[:, 0] / scales[0]}
    assert not stands(SameNoise(tuple(releases)), pair, privacy, known)
    assert stands(FreshNoise(tuple(releases)), pair, privacy, known)


@pytest.mark.audit
def test_an_intercept_without_ridge_tells_whether_a_row_is_there() -> None:
    privacy = dpglm.Privacy(1.0, relation="add-remove")
    ours = calibrated(privacy)
    row = ArrayChunk(np.ones((1, 1), dtype=np.float32), np.ones(1), None)
    none = ArrayChunk(np.zeros((1, 0), dtype=np.float32), np.zeros(0), None)
    pair = Neighbours("a row or none", Table(row), Table(none))
    # Without a ridge the minimiser runs off, unless a row holds it.
    assert not stands(Acts((replace(ours, ridge=1e-4),)), pair, privacy)
    assert stands(Acts((ours,)), pair, privacy)


class LongRows:
    """A coding gone wrong: rows of norm 3."""

    columns = ("x",)
    size = 1

    def encoded(self, columns: Mapping[str, Any]) -> Any:
        count = len(columns["x"])
        return np.full((1, count), 3.0, dtype=np.float32), None, np.ones(count, dtype=bool)


@pytest.mark.audit
def test_rows_above_the_norm_bound_are_read_as_zeros() -> None:
    privacy = dpglm.Privacy(1.0)
    release = calibrated(privacy)
    schema = Schema.of({"y": ["no", "yes"], "x": (0, 1)})

    def table(answer: str) -> Design:
        source = open_source(pd.DataFrame({"x": [1.0], "y": [answer]}))
        return Design(source, schema, LongRows(), Response.of(schema, "y", "binary"))

    def long(answer: float) -> Table:
        return Table(ArrayChunk(np.full((1, 1), 3.0, dtype=np.float32), np.array([answer]), None))

    broken = Neighbours("long rows", long(1.0), long(0.0))
    held = Neighbours("long rows", table("yes"), table("no"))  # type: ignore[arg-type]
    assert not stands(Acts((release,)), broken, privacy)
    assert all(not block.X.any() for block in table("yes").chunks())
    assert stands(Drawless(release), held, privacy)


class Drawless(Acts):
    """Releases on tables that only the data room knows: no statistic looks inside them."""

    def __init__(self, *releases: Release) -> None:
        object.__setattr__(self, "_run", releases)
        object.__setattr__(self, "releases", ())

    def draw(self, table: Any, noise: Any, count: int, pair: Any, step: Any) -> list[Any]:
        return Acts(self._run).draw(table, noise, count, pair, step)  # type: ignore[attr-defined]


@pytest.mark.audit
@pytest.mark.parametrize("divisor", ["all rows", "rows of the level"])
def test_a_mean_whose_sensitivity_uses_the_wrong_count(divisor: str) -> None:
    """The mean of a level moves by 1 / n_j, not 1 / n; and n_j itself is private, so it may set no scale."""
    epsilon, rows = 1.0, 100

    def mean(table: Any, generator: np.random.Generator, count: int) -> Any:
        sensitivity = 1.0 / (rows if divisor == "all rows" else max(len(table), 1))
        centre = np.mean(table) if len(table) else 0.5
        return centre + sensitivity / epsilon * generator.laplace(size=count)

    tables = ([1.0], [0.0]) if divisor == "all rows" else ([0.5], [0.5] * 4)
    # Four rows where there was one: groups of three neighbours, for which 3 epsilon is promised.
    steps = 1 if divisor == "all rows" else 3
    assert refuted(mean, *tables, pure(steps * epsilon))
    release = planned(dpglm.Privacy(epsilon))
    level = np.zeros((2, 2), dtype=np.float32)
    level[0, 0] = level[1, 1] = 1.0
    first, second = (Table(ArrayChunk(level, np.array([1.0, answer]), None)) for answer in (1.0, -1.0))
    assert stands(Acts((release,)), Neighbours("a level of one row", first, second), dpglm.Privacy(epsilon))


@pytest.mark.audit
def test_an_inexact_minimiser_needs_the_noise_that_hides_its_residual() -> None:
    """A solver that stops early on one of two tables leaves its mark; the blur of Theorem A4 hides it."""
    privacy = dpglm.Privacy(2.0)
    release = replace(calibrated(privacy), tolerance=0.02)
    blur = 2.0 * release.tolerance / release.ridge / (0.01 * privacy.epsilon)
    grid = 2.0 * release.tolerance / release.ridge  # rounded to it, the score is off by the tolerance at most
    rate = 1.0 / release.scale

    def minimiser(hidden: bool) -> Any:
        def mechanism(table: Any, generator: np.random.Generator, count: int) -> Any:
            slope, stops_early = table
            theta = -(gamma_noise(generator, count, 1, rate) + slope) / release.ridge
            if stops_early:
                theta = grid * np.round(theta / grid)
            return theta + hidden * gamma_noise(generator, count, 1, 1.0 / blur)

        return mechanism

    known = {"on the grid": lambda z: -np.abs(z[:, 0] / grid - np.round(z[:, 0] / grid))}
    first, second = (1.0, True), (-1.0, False)
    assert refuted(minimiser(False), first, second, pure(privacy.epsilon), known=known)
    assert not refuted(minimiser(True), first, second, pure(privacy.epsilon), known=known)
    case = release_neighbours(calibrated(privacy), "replace-one", 1)
    assert stands(Acts((calibrated(privacy),)), case, privacy, known)
