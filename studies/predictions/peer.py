"""diffprivlib's predictions, in an interpreter of its own: imports nothing of the package."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from diffprivlib.models import LogisticRegression  # type: ignore[import-not-found]
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]

from studies.speed.timing import serve

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


def predict(epsilon: float, seed: int, strength: float) -> dict[str, object]:
    """Area under the ROC curve and share of right classes on the test rows after one fit."""
    fitted = model(epsilon, seed, strength).fit(ARRAYS["X"], ARRAYS["y"])
    scores, truth = fitted.decision_function(ARRAYS["test"]), ARRAYS["truth"]
    return {
        "auc": float(roc_auc_score(truth, scores)),
        "accuracy": float(np.mean((scores > 0.0) == (truth == 1))),
    }


if __name__ == "__main__":
    serve({one.__name__: one for one in (load, load_test, predict)})
