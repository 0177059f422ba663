"""Output perturbation of the DLR paper (DLP): what is output moves further than its noise is set for.

The noise of its Algorithm 2 is right for the minimiser of the whole objective. What Algorithm 1 ends at
after K rounds of M gradient steps need not be near it: sensitivities are compared, and draws refute the
claim. The same audit of ours, on the same two computers, finds nothing; `test_joint.py` has its worst case
and its twin with a fifth less noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import dpglm
from dpglm.auditing.bounds import bounded
from dpglm.auditing.neighbours import Neighbours, Table
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import NoiseSource, SeededNoise
from dpglm.mechanisms.output_perturbation import PerturbedOutput
from dpglm.rows import ArrayChunk, JoinedRows
from dpglm.typing import FloatMatrix, FloatVector
from tests.audits.harness import FAILURE, Outcome, claimed

RIDGE, ROWS = 1.0, 20
PRINTED = 2.0 / (ROWS * RIDGE)


def iterates(parts: Sequence[FloatMatrix], *, c: float, step: float, inner: int, rounds: int) -> FloatMatrix:
    """Algorithm 1 on computers that are all neighbours, itself included: w of each, shape (J, p).

    Parameters
    ----------
    parts : sequence of ndarray, shape (n_j, p)
        Each computer's rows, times their responses of -1 or 1.
    """
    count, size = len(parts), parts[0].shape[1]
    whole = sum(len(own) for own in parts)
    w: FloatMatrix = np.zeros((count, size))
    V = np.zeros((count, count, size))
    for _ in range(rounds):
        Z = (c * w[None] - V).sum(axis=1) / (RIDGE / count + c * count)
        for j, own in enumerate(parts):
            for _ in range(inner):
                slope = -expit(-own @ w[j]) @ own / whole
                w[j] = w[j] - step * (slope + (c * (w[j] - Z) - V[:, j]).sum(axis=0))
        V += c * (Z[:, None] - w[None])
    return w


def moved(*, c: float, step: float, inner: int, rounds: int) -> float:
    """How far one of twenty rows moves the first computer's w, in printed sensitivities."""
    ends = []
    for changed in (1.0, -1.0):
        rows = np.ones((ROWS, 1))
        rows[0] = changed
        halves = np.split(rows, 2)
        ends.append(iterates(halves, c=c, step=step, inner=inner, rounds=rounds)[0])
    return float(np.linalg.norm(ends[0] - ends[1])) / PRINTED


def test_the_output_of_dlp_moves_further_than_its_noise_is_set_for() -> None:
    assert moved(c=0.001, step=2.0, inner=100, rounds=5) > 8.0


def test_near_the_minimiser_the_printed_sensitivity_of_dlp_holds() -> None:
    assert 0.1 < moved(c=1.0, step=0.2, inner=200, rounds=300) < 1.0


CLAIM, TRIALS = dpglm.Privacy(1.0), 4000


def halves(changed: float) -> tuple[Table, Table]:
    """Ten rows at each of two computers, of norm 1 and times their responses; the first may be changed."""
    rows = np.ones((1, ROWS), dtype=np.float32)
    rows[0, 0] = changed
    return tuple(Table(ArrayChunk(own, np.ones(ROWS // 2), None)) for own in np.split(rows, 2, axis=1))  # type: ignore[return-value]


@dataclass(frozen=True)
class Drawn:
    """Outputs of an algorithm on the rows of both computers, of which the first one's table is given."""

    output: Callable[[Table, NoiseSource], FloatVector]
    releases: tuple[Release, ...] = ()

    def draw(self, table: Any, noise: NoiseSource, count: int, pair: Any, step: Any) -> list[Any]:
        return [np.array([self.output(table, noise) for _ in range(count)])]


def audited(output: Callable[[Table, NoiseSource], FloatVector]) -> Outcome:
    pair = Neighbours("a row and its opposite", halves(1.0)[0], halves(-1.0)[0], np.ones(1))
    act: Any = Drawn(output)
    found = bounded(act, [pair], claimed(CLAIM), SeededNoise(1), trials=TRIALS, failure=FAILURE)
    return Outcome(found.bound.epsilon, found.bound.refuted)


def printed(table: Table, noise: NoiseSource) -> FloatVector:
    """Algorithm 2: the first w after five rounds, and its noise of density exp(-n eps lambda |b| / 2)."""
    ends = _ends(float(next(table.chunks()).X[0, 0]))
    return ends + noise.k_norm(1, scale=PRINTED / CLAIM.epsilon)


@cache
def _ends(changed: float) -> FloatVector:
    parts = [next(each.chunks()).X.T.astype(float) for each in halves(changed)]
    return iterates(parts, c=0.001, step=2.0, inner=100, rounds=5)[0]


def ours(table: Table, noise: NoiseSource) -> FloatVector:
    """The same ridge and budget: the certified minimiser over both computers."""
    return _ours.run(JoinedRows((table, halves(1.0)[1])), None, noise)


_ours = PerturbedOutput(
    families["binomial"](),
    ridge=ROWS * RIDGE,
    law="gamma",
    scale=1.0,
    tolerance=1e-7,
    penalty=penalties["none"](),
    penalty_rows=1.0,
    mixing=np.eye(1),
    penalised=np.ones(1, dtype=bool),
)
_ours = replace(_ours, scale=_ours.sensitivity("replace-one") / CLAIM.epsilon)


@pytest.mark.audit
def test_draws_refute_the_printed_claim_of_dlp_on_an_iterate_that_has_not_converged() -> None:
    found = audited(printed)
    assert found.refuted
    assert found.epsilon > 3.0


@pytest.mark.audit
def test_on_the_same_tables_the_certified_minimiser_keeps_the_claim() -> None:
    assert not audited(ours).refuted
