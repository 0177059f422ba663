"""The low-order bits of what is released tell nothing; with noise in double precision they do.

A value in double precision plus such noise is a whole multiple of the value's last place. On an empty table
the value is 0 and the noise keeps all of its bits; one row more takes some away (Mironov 2012). The events
are fixed beforehand, thresholds of the place of the lowest bit; the draws are those of `make audit`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.auditing.bounds import bounded
from dpglm.auditing.neighbours import Neighbours, Table
from dpglm.auditing.statistics import finest
from dpglm.glm.families import families
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms import noisy_sum
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.noise import NoiseLaw, NoiseSource, SeededNoise
from dpglm.mechanisms.span import Span
from dpglm.rows import ArrayChunk
from tests.audits.harness import FAILURE, Acts, claimed
from tests.audits.test_moments import planned
from tests.audits.test_output import one_column

TRIALS = 20_000
BUDGETS = {"pure": dpglm.Privacy(1.0, relation="add-remove"), "gdp": dpglm.Privacy.gdp(1.0, delta=1e-5)}
BUDGETS["gdp"] = replace(BUDGETS["gdp"], relation="add-remove")
SPAN = Span((TermColumns("x", "other", 0, 1, 1.0, np.eye(1), np.ones(1)),))


@dataclass(frozen=True)
class Attacked:
    """A release of one column, the value and response of its row, and what each number was divided by."""

    release: Release
    at: Any = None
    value: float = 0.7
    response: float = 1.0
    weights: Any = 1.0


def information(family: str, budget: str) -> Attacked:
    """A curvature that is no power of two and not much below the noise."""
    release = Information(families[family]().with_bound(20.0), 1.0, law_of(budget), SPAN)
    at = {"binomial": 0.3, "poisson": 4.2}[family]
    return Attacked(replace(release, scale=release.sensitivity("add-remove")), np.array([at]))


def moments(budget: str) -> Attacked:
    release = planned(BUDGETS[budget], 1)
    weights = [release.gram_weight, release.cross_weight, release.square_weight, release.count_weight]
    return Attacked(release, weights=np.array(weights))


def output(family: str, budget: str) -> Attacked:
    response = {"binomial": 1.0, "poisson": 7.0}[family]  # at 1 a count says nothing of the slope
    return Attacked(replace(one_column(family, "add-remove"), law=law_of(budget)), response=response)


def sums(budget: str) -> Attacked:
    release = ColumnSums((False,), (), 1, True, "laplace" if budget == "pure" else "gaussian", 1.0)
    return Attacked(release.at_price(1.0, "add-remove"))


def law_of(budget: str) -> Any:
    return "gamma" if budget == "pure" else "gaussian"


ATTACKED = {
    "information, binomial": lambda budget: information("binomial", budget),
    "information, poisson": lambda budget: information("poisson", budget),
    "second moments": moments,
    "output, binomial": lambda budget: output("binomial", budget),
    "output, poisson": lambda budget: output("poisson", budget),
    "column sums": sums,
}


def bits(attacked: Attacked, budget: str, seed: int) -> Any:
    """The bound that low-order bits give, on an empty table and a table of one row."""
    size = 2 if isinstance(attacked.release, ColumnSums) else 1
    X = np.full((size, 1), attacked.value, dtype=np.float32)
    if size == 2:
        X[0] = 0.0  # the group
    row = ArrayChunk(X, np.full(1, attacked.response), None)
    none = ArrayChunk(np.zeros((size, 0), dtype=np.float32), np.zeros(0), None)
    pair = Neighbours("no row or one", Table(none), Table(row), at=attacked.at)
    count = len(attacked.release.run(pair.first, attacked.at, SeededNoise(0)))
    # Of any number, and of those that double precision tells more finely than the value.
    known = {
        f"lowest bit of {at} below {top}": lambda z, at=at, top=top: finest(
            (z * attacked.weights)[:, at], top
        )
        for at in range(count)
        for top in (np.inf, 0.25, 0.03125)
    }
    acts: Any = Acts((attacked.release,))
    found = bounded(
        acts, [pair], claimed(BUDGETS[budget]), SeededNoise(seed), trials=TRIALS, failure=FAILURE, known=known
    )
    return found.bound


def in_double_precision(
    self: NoiseLaw, values: np.ndarray, sensitivity: float, noise: NoiseSource
) -> np.ndarray:
    """The twin: noise as textbooks write it."""
    return np.asarray(values + self.draw(noise))


@pytest.mark.audit
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", ATTACKED)
def test_low_order_bits_stay_within_the_claim_and_give_a_twin_away(
    name: str, budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacked = ATTACKED[name](budget)
    assert not bits(attacked, budget, 1).refuted

    def laplace(values: np.ndarray, *, scale: float, noise: NoiseSource) -> np.ndarray:
        uniform = noise.uniform(2 * len(values)).reshape(2, -1)
        return np.asarray(values - scale * np.log(uniform[0]) * np.where(uniform[1] < 0.5, -1.0, 1.0))

    monkeypatch.setattr(NoiseLaw, "add", in_double_precision)
    monkeypatch.setattr(noisy_sum, "add_laplace", laplace)
    assert bits(attacked, budget, 2).refuted, "noise in double precision is not caught"
