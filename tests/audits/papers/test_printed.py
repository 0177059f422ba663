"""Algorithms as they were printed exceed their printed claims; the corrected ones keep the same claims.

The bounds are those of `dpglm.audit`, wrong with probability at most 1e-4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.auditing.bounds import bounded
from dpglm.auditing.neighbours import Neighbours, Table
from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.noise import SeededNoise
from dpglm.methods.base import Method, Problem
from dpglm.papers.dpsc.dpsc import DPSC
from dpglm.papers.radmm.admm import MPADMM
from dpglm.rows import ArrayChunk
from tests.audits.harness import FAILURE, claimed


@dataclass(frozen=True)
class Whole:
    """The answer of a method, drawn as a fit draws it; nobody looks at what lies between."""

    method: Method
    problem: Problem
    privacy: dpglm.Privacy
    releases: Sequence[Any] = ()

    def draw(self, table: Any, noise: Any, count: int, pair: Any, step: Any) -> list[Any]:
        drawn = []
        for _ in range(count):
            plan = self.method.plan(self.problem, self.privacy)
            answers = (release.run(table, None, noise) for release in plan.releases)
            drawn.append(np.concatenate(list(answers)))
        return [np.array(drawn)]


def problem(rows: int, family: str, strength: float) -> Problem:
    """One number without an intercept: the scaled coefficient is the coded one."""
    schema = Schema.of({"y": ["no", "yes"], "x": (-1, 1)})
    coding = Coding.of(parse("y ~ x - 1", schema), kind="centred")
    return Problem(
        coding,
        families[family](),
        penalties["l1"](strength=strength),
        strength=strength,
        count_rows=lambda: rows,
    )


def one_row(rows: int, rest: float) -> Neighbours:
    """Rows at ``rest``, half of them with the response 1, and one row at the rest or at 1."""
    tables = []
    for first in (rest, 1.0):
        X = np.full((1, rows), rest, dtype=np.float32)
        X[0, 0] = first
        y = np.where(np.arange(rows) % 2 == 0, 1.0, 0.0)
        tables.append(Table(ArrayChunk(X, y, None)))
    return Neighbours("one row", *tables)


def refuted(
    method: Method, problem: Problem, privacy: dpglm.Privacy, tables: Neighbours, trials: int
) -> bool:
    act: Any = Whole(method, problem, privacy)
    known = {"nearness to zero": lambda z: -np.abs(z[:, 0])}
    found = bounded(
        act, [tables], claimed(privacy), SeededNoise(1), trials=trials, failure=FAILURE, known=known
    )
    return found.bound.refuted


@pytest.mark.audit
@pytest.mark.parametrize("iterations", [2, 3])
def test_printed_dpsc_with_one_noise_vector_for_all_iterations_exceeds_its_claim(iterations: int) -> None:
    """At n = 101, c = 2.5 and lambda = .1 the last iterate alone tells far more than the printed epsilon.

    Where the proximal step is zero twice the noise cancels: w(2) says by how much the gradient bends, and for
    rows of zeros it does not.
    """
    privacy, rows = dpglm.Privacy(1.0), 101
    printed = DPSC(paper_exact=True, iterations=iterations, c=2.5, inner=12, alpha=0.37)
    assert refuted(printed, problem(rows, "binomial", 0.1), privacy, one_row(rows, 0.0), 3000)


@pytest.mark.audit
@pytest.mark.parametrize(("eta", "exceeded"), [(10.0, True), (1.0, False)])
def test_printed_mpadmm_with_large_steps_exceeds_its_claim(eta: float, exceeded: bool) -> None:
    """At eta = 10 one row moves x ten times as far as the printed noise is set for; at eta = 1 no further.

    The claim is of every x, y and z; the noisy x of the last step alone refutes it. Bounds at two seeds were
    3.3 and 3.7 for eta = 10, 1.9 and 2.0 for eta = 5, and .1 for eta = 1.
    """
    privacy, rows = dpglm.Privacy(2.0, 0.01), 50
    printed = MPADMM(paper_exact=True, steps=20, eta=eta, rho=0.5)
    tables = one_row(rows, -1.0)
    assert refuted(printed, problem(rows, "huber_svm", 1e-4), privacy, tables, 3000) is exceeded
