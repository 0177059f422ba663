"""Accuracy on Adult: private fits of 13 columns, beside diffprivlib on the same coded rows.

Run as ``python -m studies accuracy [--peer-python .venv-peers/bin/python]`` from the project root.

80 % of the rows, drawn with a fixed seed, are fitted and the other 20 % predicted. All columns but
``fnlwgt``, the survey weight, are in the formula. Noise seeds are 0..4, so the figures can be reproduced (and
the fits are marked as not private).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import dpglm
from studies.real_tables import absence, available, table
from studies.speed.measure import Contestant, Line, table_text
from studies.speed.pieces import Pieces, coded_rows

if TYPE_CHECKING:
    import pandas as pd

SPLIT_SEED = 0
NOISE_SEEDS = range(5)
LEFT_OUT = ("fnlwgt",)
SETTINGS = (
    ("epsilon 1, delta 1e-6, add-remove", dpglm.Privacy(1.0, 1e-6, relation="add-remove"), 0.848),
    ("epsilon 1, pure, replace-one", dpglm.Privacy(1.0), 0.843),
    ("epsilon 0.1, delta 1e-6, add-remove", dpglm.Privacy(0.1, 1e-6, relation="add-remove"), 0.833),
    ("epsilon 0.1, pure, replace-one", dpglm.Privacy(0.1), 0.797),
)
PEER_EPSILONS = (1.0, 0.1)


def split(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Four fifths to fit and one fifth to predict, always the same."""
    order = np.random.default_rng(SPLIT_SEED).permutation(len(frame))
    cut = int(0.8 * len(frame))
    return frame.iloc[order[:cut]], frame.iloc[order[cut:]]


def own_accuracies(privacy: dpglm.Privacy) -> list[float]:
    """Share of right classes on the held-out rows, one fit for each noise seed."""
    adult = table("adult")
    train, test = split(adult.frame())
    schema, formula = adult.schema(), adult.formula(left_out=LEFT_OUT)
    truth = test[adult.response].to_numpy()
    shares = []
    for seed in NOISE_SEEDS:
        fitted = dpglm.fit(formula, train, schema=schema, privacy=privacy, seed=seed, goal="predict")
        shares.append(float(np.mean(np.asarray(fitted.predict(test, what="class")) == truth)))
    return shares


def main(words: Sequence[str] | None = None) -> int:
    """Print the table; 1 when a bar is missed, 0 when all are met or there is no data."""
    parser = argparse.ArgumentParser(prog="python -m studies accuracy", description=__doc__)
    parser.add_argument("--peer-python", help="interpreter of the environment with diffprivlib")
    arguments = parser.parse_args(words)
    if not available("adult"):
        print(f"skipped: {absence('adult')}")
        return 0
    lines = []
    for name, privacy, bar in SETTINGS:
        shares = own_accuracies(privacy)
        mean = float(np.mean(shares))
        lines.append(Line(f"dpglm, {name}", mean, bar, at_least=True, note=deviation(shares)))
    if arguments.peer_python:
        lines += peer_lines(arguments.peer_python)
    print(table_text("Adult, accuracy on 20 % held out, mean (sd) over 5 noise seeds", lines))
    return 0 if all(line.met for line in lines) else 1


def deviation(shares: list[float]) -> str:
    """The standard deviation over seeds, as a note."""
    return f"sd {np.std(shares, ddof=1):.4f}"


def peer_lines(python: str) -> list[Line]:
    """diffprivlib with its defaults on the coded rows that dpglm fits, intercept column left to it."""
    adult = table("adult")
    train, test = split(adult.frame())
    lines = []
    with tempfile.TemporaryDirectory() as folder, Contestant(python, "peer.py") as peer:
        paths = {}
        for part, frame in (("train", train), ("test", test)):
            rows, labels = coded_rows(Pieces.of(adult.formula(left_out=LEFT_OUT), frame, adult.schema()))
            for what, array in (("rows", rows), ("labels", labels)):
                paths[part, what] = str(Path(folder) / f"{part}-{what}.npy")
                np.save(paths[part, what], array)
        peer.ask("load", rows=paths["train", "rows"], labels=paths["train", "labels"])
        for epsilon in PEER_EPSILONS:
            shares = [
                peer.ask(
                    "accuracy",
                    rows=paths["test", "rows"],
                    labels=paths["test", "labels"],
                    epsilon=epsilon,
                    seed=seed,
                )["accuracy"]
                for seed in NOISE_SEEDS
            ]
            name = f"diffprivlib, epsilon {epsilon:g}, pure"
            lines.append(Line(name, float(np.mean(shares)), note=deviation(shares)))
    return lines


if __name__ == "__main__":
    sys.exit(main())
