"""Predictions are no worse for a better budget, for the goal that asks for them, or for measured scales.

Means over seeds, which are the same for both sides of a comparison. The table has skewed columns, bounds 30
standard deviations wide and a rare level; nothing was tuned on it.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.methods import Objective

SEEDS = 24
# A difference of means below this is no difference. Standard errors of a mean: .0054 at pure .2, .0018 at
# pure .5, .0006 and less with a delta from .5 on; where it is large, so is the difference that is asked for.
CLOSE = 0.005


@cache
def table() -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any], str]:
    generator = np.random.default_rng(12)
    count, size = 12_000, 12
    X = np.minimum(generator.lognormal(0.0, 0.8, (count, size)), 40.0)
    level = generator.choice(["a", "b", "c"], count, p=[0.7, 0.28, 0.02])
    eta = -1.5 + X[:, :4] @ [0.5, -0.4, 0.3, 0.3] + 0.8 * (level == "b")
    ill = np.where(generator.random(count) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no")
    names = [f"x{place}" for place in range(size)]
    frame = pd.DataFrame(X, columns=names).assign(level=level, ill=ill)
    schema = {**dict.fromkeys(names, (0.0, 40.0)), "level": ["a", "b", "c"], "ill": ["no", "yes"]}
    return frame[:8000], frame[8000:], schema, "ill ~ level + " + " + ".join(names)


@cache
def areas(privacy: dpglm.Privacy, goal: Any = "predict", method: Any = "auto", penalty: Any = None) -> float:
    """Mean area under the ROC curve of rows that were not fitted."""
    train, test, schema, formula = table()
    asked: dict[str, Any] = {"schema": schema, "goal": goal, "method": method, "penalty": penalty}
    fits = (dpglm.fit(formula, train, privacy=privacy, seed=seed, **asked) for seed in range(SEEDS))
    return float(np.mean([fit.auc(test) for fit in fits]))


def budget(epsilon: float, delta: float, relation: Any = "add-remove") -> dpglm.Privacy:
    return dpglm.Privacy(epsilon, delta, relation=relation)


@pytest.mark.audit
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_larger_epsilon_predicts_no_worse(relation: str, delta: float) -> None:
    found = [areas(budget(epsilon, delta, relation)) for epsilon in (0.2, 0.5, 1.0, 4.0)]
    assert all(more >= less - CLOSE for less, more in itertools.pairwise(found)), found
    assert found[-1] > found[0]


@pytest.mark.audit
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_a_weaker_promise_predicts_no_worse_than_a_stronger_one(epsilon: float) -> None:
    weaker, pure = areas(budget(epsilon, 1e-6)), areas(budget(epsilon, 0.0))
    exchanged = areas(budget(epsilon, 1e-6, "replace-one"))
    assert weaker >= max(pure, exchanged) - CLOSE, (weaker, pure, exchanged)


@pytest.mark.audit
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_goal_and_its_defaults_predict_no_worse_than_other_calls(epsilon: float, delta: float) -> None:
    privacy = budget(epsilon, delta)
    found = areas(privacy)
    others = {
        "select": areas(privacy, "select"),
        "explain": areas(privacy, "explain"),
        "ridge": areas(privacy, penalty="l2"),
        "declared": areas(privacy, method=Objective(scales="declared")),
        "declared ridge": areas(privacy, method=Objective(scales="declared"), penalty="l2"),
    }
    assert found >= max(others.values()) - CLOSE, (found, others)
