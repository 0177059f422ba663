"""diffprivlib, timed in its own interpreter: run by `measure.Contestant`, imports nothing of ours."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from diffprivlib.models import LogisticRegression  # type: ignore[import-not-found]

# Its accountant and scikit-learn's deprecations print; only the measured numbers are wanted.
warnings.simplefilter("ignore")
ARRAYS: dict[str, Any] = {}


def load(rows: str, labels: str) -> dict[str, object]:
    """Keep an array and its labels in memory."""
    ARRAYS["X"], ARRAYS["y"] = np.load(rows), np.load(labels)
    return {"shape": ARRAYS["X"].shape}


def model(epsilon: float, seed: int) -> Any:
    """Its logistic regression as it comes, for rows of norm at most one."""
    return LogisticRegression(epsilon=epsilon, data_norm=1.0, random_state=seed)


def fit(epsilon: float, seeds: list[int]) -> dict[str, object]:
    """CPU seconds of one fit, mean over noise seeds: how long it iterates depends on its noise."""
    fresh = [model(epsilon, seed) for seed in seeds]
    start = time.process_time()
    for one in fresh:
        one.fit(ARRAYS["X"], ARRAYS["y"])
    return {"cpu": (time.process_time() - start) / len(seeds)}


def accuracy(rows: str, labels: str, epsilon: float, seed: int) -> dict[str, object]:
    """Share of right classes on other rows after one fit."""
    fitted = model(epsilon, seed).fit(ARRAYS["X"], ARRAYS["y"])
    return {"accuracy": float(np.mean(fitted.predict(np.load(rows)) == np.load(labels)))}


def main() -> None:
    """Answer one JSON line with one JSON line."""
    tasks: dict[str, Callable[..., dict[str, object]]] = {"load": load, "fit": fit, "accuracy": accuracy}
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(tasks[request.pop("do")](**request)), flush=True)


if __name__ == "__main__":
    main()
