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
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]

# Its accountant and scikit-learn's deprecations print; only the measured numbers are wanted.
warnings.simplefilter("ignore")
ARRAYS: dict[str, Any] = {}


def load(rows: str, labels: str) -> dict[str, object]:
    """Keep an array and its labels in memory."""
    ARRAYS["X"], ARRAYS["y"] = np.load(rows), np.load(labels)
    return {"shape": ARRAYS["X"].shape}


def load_test(rows: str, labels: str) -> dict[str, object]:
    """Keep rows to predict in memory."""
    ARRAYS["test"], ARRAYS["truth"] = np.load(rows), np.load(labels)
    return {}


def model(epsilon: float, seed: int, strength: float = 1.0) -> Any:
    """Its logistic regression, by default as it comes, for rows of norm at most one."""
    return LogisticRegression(epsilon=epsilon, data_norm=1.0, C=strength, random_state=seed)


def fit(epsilon: float, seeds: list[int]) -> dict[str, object]:
    """CPU seconds of one fit, mean over noise seeds: how long it iterates depends on its noise."""
    fresh = [model(epsilon, seed) for seed in seeds]
    start = time.process_time()
    for one in fresh:
        one.fit(ARRAYS["X"], ARRAYS["y"])
    return {"cpu": (time.process_time() - start) / len(seeds)}


def predict(epsilon: float, seed: int, strength: float) -> dict[str, object]:
    """Area under the ROC curve and share of right classes on the test rows after one fit."""
    fitted = model(epsilon, seed, strength).fit(ARRAYS["X"], ARRAYS["y"])
    scores, truth = fitted.decision_function(ARRAYS["test"]), ARRAYS["truth"]
    return {
        "auc": float(roc_auc_score(truth, scores)),
        "accuracy": float(np.mean((scores > 0.0) == (truth == 1))),
    }


def main() -> None:
    """Answer one JSON line with one JSON line."""
    tasks: dict[str, Callable[..., dict[str, object]]] = {
        "load": load,
        "load_test": load_test,
        "fit": fit,
        "predict": predict,
    }
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(tasks[request.pop("do")](**request)), flush=True)


if __name__ == "__main__":
    main()
