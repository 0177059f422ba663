"""Mechanisms written down for tests: a few lines each, all draws at once, broken on purpose or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from dpglm.auditing.bounds import Statistic, bounded
from dpglm.auditing.neighbours import Neighbours
from dpglm.mechanisms.noise import SeededNoise
from dpglm.privacy.guarantee import Guarantee
from tests.audits.harness import FAILURE

Vector = Any


@dataclass(frozen=True)
class Drawn:
    """A mechanism as a function of table, generator and number of draws, shape (count, m)."""

    mechanism: Callable[[Any, np.random.Generator, int], Vector]

    releases = ()

    def draw(self, table: Any, noise: SeededNoise, count: int, pair: Any, step: Any) -> list[Vector]:
        generator = np.random.default_rng(int.from_bytes(noise.bytes(8), "little"))
        found = self.mechanism(table, generator, count)
        return [found if found.ndim == 2 else found[:, None]]


def refuted(
    mechanism: Callable[[Any, np.random.Generator, int], Vector],
    first: Any,
    second: Any,
    claim: Guarantee,
    *,
    trials: int = 20_000,
    known: Mapping[str, Statistic] | None = None,
    seed: int = 1,
) -> bool:
    """Whether an audit contradicts the claim; wrongly with probability at most `harness.FAILURE`."""
    pair = Neighbours("two tables", first, second)
    act: Any = Drawn(mechanism)
    found = bounded(act, [pair], claim, SeededNoise(seed), trials=trials, failure=FAILURE, known=known or {})
    return found.bound.refuted


def pure(epsilon: float, relation: Any = "replace-one") -> Guarantee:
    """A claim of pure epsilon."""
    return Guarantee(epsilon, 0.0, "pure", relation, "one row")


def gamma_noise(generator: np.random.Generator, count: int, size: int, rate: float) -> Vector:
    """Vectors with density proportional to exp(-rate |b|), shape (count, size)."""
    directions = generator.normal(size=(count, size))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return directions * generator.gamma(size, 1.0 / rate, size=(count, 1))


def logistic_minimisers(rows: Vector, y: Vector, times: Vector, tilt: Vector, ridge: Any) -> Vector:
    """Minimisers of ``sum times * loss + b'theta + ridge |theta|^2 / 2`` for each tilt b, by damped Newton.

    ``rows`` has shape (n, p), ``times`` says how often each is there, ``tilt`` has shape (count, p).
    """
    size = rows.shape[1]
    penalty = np.broadcast_to(np.asarray(ridge, dtype=float), (size,))
    theta = np.zeros_like(tilt)
    for _ in range(400):
        mean = expit(theta @ rows.T)
        score = (times * (mean - y)) @ rows + tilt + penalty * theta
        weights = times * mean * (1.0 - mean)
        hessian = np.einsum("cn,ni,nj->cij", weights, rows, rows) + np.diag(penalty)
        step = np.linalg.solve(hessian, score[:, :, None])[:, :, 0]
        # The loss bends by at most a factor e within distance 1 of a row: shorter steps never go astray.
        far = np.abs(step @ rows.T).max(axis=1, keepdims=True)
        theta = theta - step / np.maximum(1.0, far)
        if np.abs(score).max() < 1e-9:
            break
    return theta


def score(theta: Vector, rows: Vector, y: Vector, times: Vector, ridge: Any) -> Vector:
    """The tilt that makes theta the minimiser, with its sign turned; shape (count, p)."""
    return (times * (expit(theta @ rows.T) - y)) @ rows + np.asarray(ridge) * theta
