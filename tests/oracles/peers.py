"""Peers under one name, whichever version is installed."""

from __future__ import annotations

import inspect
from typing import Any

import pytest


def logistic(l1_ratio: float, **options: Any) -> Any:
    """scikit-learn's logistic regression with an L1 share; before its 1.8, the penalty is to be named too."""
    kind = pytest.importorskip("sklearn.linear_model").LogisticRegression
    penalty = inspect.signature(kind).parameters.get("penalty")
    if penalty is None or penalty.default == "deprecated":
        return kind(l1_ratio=l1_ratio, **options)
    named = {"penalty": "l1"} if l1_ratio == 1.0 else {"penalty": "elasticnet", "l1_ratio": l1_ratio}
    return kind(**named, **options)
