"""Recall of `dpglm.rank_features` on simulated rows: ``python -m studies features``.

The defaults of the methods were set on uniform columns (the first five designs, 40 columns and 5,000 rows).
The others judge them: correlated normal columns, skewed ones with wide bounds, and levels.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

import dpglm
from dpglm.spec.rank import RankingName
from dpglm.typing import FloatMatrix, FloatVector

METHODS: tuple[RankingName, ...] = ("fwell", "fwell-kmeans", "fwell-block", "objective", "marginal")


def linear(Z: FloatMatrix) -> FloatVector:
    return 6.0 * (Z - 0.5).sum(axis=1)


def thresholds(Z: FloatMatrix) -> FloatVector:
    return 3.0 * ((np.abs(Z - 0.5) > 0.25).sum(axis=1) - 0.5 * Z.shape[1])


def curved(Z: FloatMatrix) -> FloatVector:
    return 18.0 * ((Z - 0.5) ** 2 - 1.0 / 12.0).sum(axis=1)


def step(Z: FloatMatrix) -> FloatVector:
    return 3.0 * ((Z > 0.8).sum(axis=1) - 0.2 * Z.shape[1])


def xor(Z: FloatMatrix) -> FloatVector:
    return np.where((Z[:, 0] > 0.5) == (Z[:, 1] > 0.5), -500.0, 500.0)


@dataclass(frozen=True)
class Design:
    """Columns of one kind, of which ``active`` tell the classes apart by their ranks between 0 and 1."""

    name: str
    effect: Callable[[FloatMatrix], FloatVector]
    active: int
    columns: int = 40
    rows: int = 5000
    kind: str = "uniform"

    def draw(self, seed: int) -> tuple[pd.DataFrame, dict[str, object], set[str]]:
        """Rows, schema, and the names of the active columns."""
        generator = np.random.default_rng(seed)
        active = generator.permutation(self.columns)[: self.active]
        names = [f"x{column}" for column in range(self.columns)]
        if self.kind == "uniform":
            X = generator.random((self.rows, self.columns))
            U, bounds = X, (0.0, 1.0)
        else:
            common = generator.normal(size=(self.rows, 1))
            normal = np.sqrt(0.3) * common + np.sqrt(0.7) * generator.normal(size=(self.rows, self.columns))
            U = (np.argsort(np.argsort(normal, axis=0), axis=0) + 0.5) / self.rows
            X, bounds = normal, (-5.0, 5.0)
            if self.kind == "skewed":
                X, bounds = np.exp(normal), (0.0, 50.0)
        y = generator.random(self.rows) < 1.0 / (1.0 + np.exp(-self.effect(U[:, active])))
        frame = pd.DataFrame(X, columns=names)
        schema: dict[str, object] = dict.fromkeys(names, bounds)
        if self.kind == "levels":
            for place in range(0, self.columns, 2):
                codes = np.digitize(U[:, place], [0.25, 0.5, 0.75])
                frame[names[place]] = np.array(list("abcd"))[codes]
                schema[names[place]] = list("abcd")
        return frame.assign(y=y.astype(int)), {"y": [0, 1], **schema}, {names[c] for c in active}

    def recall(self, method: RankingName, epsilon: float, seed: int) -> float:
        """Share of the active columns among as many of the largest weights."""
        frame, schema, active = self.draw(seed)
        ranking = dpglm.rank_features(
            "y ~ .",
            frame,
            schema=schema,
            k=len(active),
            method=method,
            privacy=(epsilon, 1e-6),
            seed=seed,
        )
        return len(active & set(ranking.selected)) / len(active)


SET_ON = (
    Design("linear", linear, 5),
    Design("one threshold", step, 4),
    Design("two thresholds", thresholds, 4),
    Design("U-shaped", curved, 4),
    Design("XOR", xor, 2),
)
JUDGED_ON = (
    Design("linear, correlated normal", linear, 5, kind="normal"),
    Design("two thresholds, correlated normal", thresholds, 3, 60, 4000, "normal"),
    Design("U-shaped, correlated normal", curved, 3, 60, 4000, "normal"),
    Design("linear, skewed in wide bounds", linear, 5, kind="skewed"),
    Design("U-shaped, skewed in wide bounds", curved, 3, kind="skewed"),
    Design("linear, half of four levels", linear, 5, kind="levels"),
    Design("XOR, 20 columns, 10,000 rows", xor, 2, 20, 10_000),
)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    draws = parser.parse_args(arguments).draws
    for title, designs in (("set on", SET_ON), ("judged on", JUDGED_ON)):
        print(f"{title:<36} epsilon  " + "  ".join(f"{method:>12}" for method in METHODS))
        for design in designs:
            for epsilon in (0.5, 4.0):
                found = [
                    np.mean([design.recall(method, epsilon, 100 + seed) for seed in range(draws)])
                    for method in METHODS
                ]
                cells = "  ".join(f"{value:12.2f}" for value in found)
                print(f"{design.name:<36} {epsilon:7g}  {cells}", flush=True)
    return 0
