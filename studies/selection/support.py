"""Support recovery of `goal="select"` on simulated rows: ``python -m studies selection``.

The first two designs are those of two papers: correlated normal columns, 8 or 20 of 100 with a signal,
responses from the sign of the predictor (the first) or from a logistic model with an extra N(0, 1) in the
predictor (the second). Bounds of -3 to 3 are declared for every column, and the number of rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

import dpglm
from dpglm.privacy.budget import Relation
from dpglm.typing import BoolVector, FloatVector


@dataclass(frozen=True)
class Design:
    """One design with its budget and its bar: mean F1, or the share of runs with exactly the true support."""

    name: str
    rows: int
    signals: tuple[float, ...]
    columns: int
    response: str
    epsilon: float
    relation: Relation
    bar: float
    exact: bool = False

    def draw(self, seed: int) -> tuple[pd.DataFrame, BoolVector]:
        """Rows, and which columns have a signal."""
        generator = np.random.default_rng(seed)
        distance = np.abs(np.subtract.outer(range(self.columns), range(self.columns)))
        X = generator.normal(size=(self.rows, self.columns)) @ np.linalg.cholesky(0.5**distance).T
        truth: FloatVector = np.zeros(self.columns)
        truth[: len(self.signals)] = self.signals
        predictor = X @ truth
        if self.response == "sign":
            y = predictor >= 0.0
        else:
            spread = 1.0 if self.response == "noisy logit" else 0.0
            noisy = predictor + spread * generator.normal(size=self.rows)
            y = generator.random(self.rows) < 1.0 / (1.0 + np.exp(-noisy))
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(self.columns)])
        return frame.assign(y=y.astype(int)), truth != 0.0

    def run(self, seed: int) -> tuple[float, bool]:
        """F1 of one fit, and whether its support is the true one."""
        frame, truth = self.draw(seed)
        names = [name for name in frame.columns if name != "y"]
        schema = dpglm.Schema.of({**dict.fromkeys(names, (-3.0, 3.0)), "y": [0, 1]}, rows=self.rows)
        fit = dpglm.fit(
            "y ~ " + " + ".join(names),
            frame,
            schema=schema,
            penalty="l1/2",
            privacy=dpglm.Privacy(self.epsilon, 1e-6, self.relation),
            goal="select",
            seed=seed,
            progress=False,
        )
        found = np.array([name in fit.selected for name in names])
        hits = int((found & truth).sum())
        return 2.0 * hits / int(found.sum() + truth.sum()), bool((found == truth).all())


FIRST = (10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 0.5)
SECOND = (*(k / 2 for k in range(1, 11)), *(-k / 2 for k in range(1, 11)))
STRONG = (2.0, -2.0, 1.5, -1.5, 1.0, -1.0, 1.0, -1.0)
WEAKER = (1.0, -1.0, 0.8, 0.8, -0.8, 0.6, 0.6, -0.6)
DESIGNS = (
    Design("first paper", 10_000, FIRST, 100, "sign", 1.0, "replace-one", 0.94),
    Design("second paper", 40_000, SECOND, 100, "noisy logit", 1.0, "replace-one", 0.93),
    Design("first paper", 10_000, FIRST, 100, "sign", 0.5, "replace-one", 0.90),
    Design("second paper", 40_000, SECOND, 100, "noisy logit", 0.5, "replace-one", 0.90),
    Design("eight of 200", 5_000, STRONG, 200, "logit", 1.0, "add-remove", 0.90),
    Design("weaker of 200", 5_000, WEAKER, 200, "logit", 1.0, "add-remove", 0.90),
    Design("four of twenty", 5_000, (1.0, -1.0, 0.8, 0.6), 20, "logit", 1.0, "add-remove", 0.80, exact=True),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line per design; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m studies selection", description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    runs = parser.parse_args(arguments).runs
    missed = 0
    print("design          rows    p   epsilon  relation     F1 (se)        exact  bar")
    for design in DESIGNS:
        scores, exact = zip(*(design.run(seed) for seed in range(runs)), strict=True)
        reached = float(np.mean(exact if design.exact else scores))
        missed += reached < design.bar
        verdict = f"{'exact' if design.exact else 'F1'} {design.bar:.2f} "
        verdict += "met" if reached >= design.bar else "MISSED"
        print(
            f"{design.name:15} {design.rows:6,} {design.columns:4} {design.epsilon:7g}   {design.relation:11}"
            f"  {np.mean(scores):.3f} ({np.std(scores) / np.sqrt(runs):.3f})  {np.mean(exact):.2f}"
            f"   {verdict}",
            flush=True,
        )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
