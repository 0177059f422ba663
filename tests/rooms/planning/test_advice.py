"""Advice before the charge: what it says, when, and that it follows from public facts alone."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.errors import BudgetExceeded, PlanningAdvice, PrivacyError
from dpglm.planning.advice import _clear, _sentences

MANY = {"y": ["no", "yes"], **{f"x{j}": (0, 1) for j in range(24)}}
WIDE = " + ".join(list(MANY)[1:])
APPROXIMATE = (1.0, 1e-6)


def told(formula: str, schema: Any, **options: Any) -> str:
    return " ".join(dpglm.plan(formula, schema, **options).advice)


def rows(seed: int, schema: dict[str, Any] = MANY) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame({name: generator.random(50 + seed) for name in schema if name != "y"})
    frame["y"] = np.where(generator.random(50 + seed) < 0.5, "yes", "no")
    return frame


@pytest.mark.parametrize(
    "options",
    [
        {"privacy": APPROXIMATE},
        {"privacy": APPROXIMATE, "n": 6366},
        {"privacy": 0.01, "goal": "predict"},
        {"privacy": 0.01, "goal": "select"},
        {"privacy": 0.01, "penalty": "l1"},
        {"privacy": 0.01, "family": "huber_svm"},
        {"privacy": 0.01, "method": "output"},
        {"privacy": 0.01, "method": dpglm.methods.Objective(coding="clipped")},
        {"privacy": 100.0},
    ],
    ids=str,
)
def test_good_calls_and_calls_for_something_else_get_no_advice(options: dict[str, Any]) -> None:
    formula = "affair ~ age + yrs_married + children + religious + educ + rate_marriage"
    assert dpglm.plan(formula, dpglm.load_data("fair"), **options).advice == ()


def test_a_pure_epsilon_for_many_columns_is_told_what_a_delta_would_give() -> None:
    text = told(f"y ~ {WIDE}", MANY, privacy=1.0)
    assert text.startswith("No standard errors or intervals: this budget does not pay for those of 25 coef")
    assert "privacy=(1, 1e-6) would pay for them." in text
    assert told(f"y ~ {WIDE}", MANY, privacy=APPROXIMATE, n=10**6) == ""


@pytest.mark.parametrize("privacy", [dpglm.Privacy.gdp(0.5), dpglm.Privacy.zcdp(0.1)], ids=str)
def test_a_budget_in_mu_or_rho_is_told_its_epsilon_and_delta(privacy: dpglm.Privacy) -> None:
    assert f"{privacy.epsilon:.3g}"[:3] in told("y ~ x1 + x2", MANY, privacy=privacy)


def test_wide_bounds_and_long_factors_are_named_with_what_they_cost() -> None:
    schema = {
        "y": ["no", "yes"],
        "score": {"bounds": (0, 100), "mean": 50, "sd": 4},
        "age": {"bounds": (20, 80), "mean": 50, "sd": 15},
        "job": {"levels": [f"job {j}" for j in range(30)], "shares": [1 / 30] * 30},
    }
    words: dict[str, Any] = {"privacy": 1.0, "n": 3000, "family": "gaussian"}
    numbers = schema | {"y": (0, 100)}
    text = told("y ~ score + age + job", numbers, **words)
    assert "tighten score to half its range" in text
    assert "age" not in text
    assert "merge levels of job, which has 30" in text
    assert "declare" not in text
    assert "if levels" not in text
    found = sum(dpglm.plan("y ~ score + age + job", numbers, **words).expected().printed)
    assert f"for {found} of 32 coefficients in 3,000 rows." in text
    # Where scales are measured, wide bounds cost next to nothing.
    text = told("y ~ score + age + job", schema, privacy=APPROXIMATE, n=3000)
    assert "merge levels of job" in text
    assert "tighten" not in text


@pytest.mark.parametrize("n", [None, 500])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 1e6])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("count", [1, 9, 24])
def test_there_are_three_sentences_at_most_and_none_is_said_to_be_certain(
    count: int, delta: float, epsilon: float, n: int | None
) -> None:
    formula = "y ~ " + " + ".join(list(MANY)[1 : count + 1])
    plan = dpglm.plan(formula, MANY, privacy=(epsilon, delta) if delta else epsilon, n=n)
    assert len(plan.advice) <= 3
    for sentence in plan.advice:
        assert sentence.endswith(".")
        assert "\n" not in sentence
        assert "intervals for" not in sentence.lower() or "if levels and numbers" in sentence
    assert all(sentence in plan.summary().notes for sentence in plan.advice)


@pytest.mark.parametrize("data", ["table", "sites"])
def test_it_is_raised_once_before_the_charge_and_from_public_facts_alone(data: str, tmp_path: Path) -> None:
    ledger = dpglm.Ledger(tmp_path / "ward.db", budget=9.0, dataset="ward")
    texts = []
    for seed in (1, 2):
        tables = rows(seed) if data == "table" else {"north": rows(seed), "south": rows(seed + 5)}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dpglm.fit(f"y ~ {WIDE}", tables, schema=MANY, privacy=1.0, progress=False)
        (warning,) = (one for one in caught if issubclass(one.category, PlanningAdvice))
        assert warning.filename == __file__
        texts.append(str(warning.message))
        with warnings.catch_warnings():
            warnings.simplefilter("error", PlanningAdvice)
            with pytest.raises(PlanningAdvice):
                dpglm.fit(f"y ~ {WIDE}", tables, schema=MANY, privacy=1.0, ledger=ledger, progress=False)
    assert texts[0] == texts[1]
    assert len(ledger.entries) == 0


@pytest.mark.parametrize("verb", ["fit", "fit at sites", pytest.param("rank", marks=pytest.mark.papers)])
@pytest.mark.parametrize(
    ("budget", "seed", "told"),
    [
        (dpglm.Privacy(9.0, relation="add-remove"), None, "relation 'replace-one'"),
        (9.0, 1, "not private"),
        (0.5, None, "left in ledger"),
    ],
)
def test_a_ledger_refuses_first_and_what_is_refused_gets_no_advice(
    verb: str, budget: Any, seed: int | None, told: str, tmp_path: Path
) -> None:
    ledger = dpglm.Ledger(tmp_path / "ward.db", budget=budget, dataset="ward")
    tables = {"north": rows(1), "south": rows(2)} if verb == "fit at sites" else rows(1)[:9]
    run = dpglm.rank_features if verb == "rank" else partial(dpglm.fit, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((PrivacyError, BudgetExceeded), match=told):
            run(f"y ~ {WIDE}", tables, schema=MANY, privacy=1.0, ledger=ledger, seed=seed)


def test_a_filter_silences_it_and_a_plan_that_was_read_is_run_without_it() -> None:
    plan = dpglm.plan(f"y ~ {WIDE}", MANY, privacy=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dpglm.fit(plan, rows(1), progress=False)
        warnings.simplefilter("ignore", PlanningAdvice)
        dpglm.fit(f"y ~ {WIDE}", rows(1), schema=MANY, privacy=1.0, progress=False)


def test_without_declarations_a_plan_gives_a_range_and_promises_no_line() -> None:
    women = dpglm.load_data("fair")
    formula = "affair ~ C(occupation) + C(occupation_husb) + age + religious + educ"
    table = dpglm.plan(formula, women, n=len(women), privacy=APPROXIMATE).summary()
    words = dict(table.wide)["Intervals"]
    low, high = (int(word) for word in words.split()[1:4:2])
    assert low < high
    assert "if levels are equally frequent" in words
    cells = [row[-1] for row in table.rows]
    assert (cells.count("yes"), cells.count("perhaps")) == (low, high - low)
    fit = dpglm.fit(formula, women, privacy=APPROXIMATE, seed=1, progress=False)
    assert low <= int(fit.bse.notna().sum()) <= high


def test_with_declarations_a_plan_says_yes_or_no() -> None:
    schema = {
        "y": ["no", "yes"],
        "age": {"bounds": (20, 80), "mean": 50, "sd": 15},
        "job": {"levels": ["a", "b", "c"], "shares": [0.6, 0.39, 0.01]},
    }
    table = dpglm.plan("y ~ age + job", schema, n=4000, privacy=APPROXIMATE).summary()
    assert "Intervals" not in dict(table.wide)
    assert {row[-1] for row in table.rows} == {"yes", "no"}


@settings(max_examples=60, deadline=None)
@given(
    widths=st.lists(st.sampled_from([None, 0.25, 0.1, 0.03]), min_size=1, max_size=5),
    levels=st.lists(st.sampled_from([2, 3, 12]), max_size=2),
    epsilon=st.sampled_from([0.1, 0.5, 1.0, 4.0]),
    delta=st.sampled_from([0.0, 1e-6]),
    rows=st.sampled_from([None, 800, 5_000, 40_000]),
)
def test_what_is_clear_without_a_closer_look_has_no_advice(
    widths: list[float | None], levels: list[int], epsilon: float, delta: float, rows: int | None
) -> None:
    numbers = {
        f"x{j}": {"bounds": (0, 100)} | ({} if width is None else {"mean": 50, "sd": 100 * width})
        for j, width in enumerate(widths)
    }
    factors = {f"f{j}": [f"{level}" for level in range(count)] for j, count in enumerate(levels)}
    schema = dpglm.Schema.of({"y": ["no", "yes"], **numbers, **factors}, rows=rows)
    plan = dpglm.plan(
        " + ".join(["y ~ 1", *numbers, *factors]),
        schema,
        n=rows,
        privacy=(epsilon, delta) if delta else epsilon,
    )
    if _clear(plan):
        assert not _sentences(plan, plan.specification.privacy)
