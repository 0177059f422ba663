"""A row of a table is about one estimate: its interval, its test and its selection never contradict it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.results.fit_result import FitResult
from dpglm.tables.table import Table

FORMULA = "affair ~ C(occupation) + age + yrs_married + children + religious + educ + rate_marriage"
PENALTIES = [name for name in dpglm.penalties.penalties if name != "adaptive_l1"]
TESTED = ["std_error", "statistic", "p_value"]
ENDS = ["conf_low", "conf_high"]


@cache
def released(seed: int) -> FitResult:
    privacy = dpglm.Privacy(1.0, 1e-6, "add-remove")
    return dpglm.fit(FORMULA, dpglm.load_data("fair"), privacy=privacy, seed=seed, progress=False)


def check_frame(frame: pd.DataFrame, zero: float = 0.0) -> None:
    given = frame[frame["std_error"].notna()]
    untold = frame[frame["std_error"].isna()]
    assert untold[TESTED].isna().all(axis=None)
    ends = untold[ENDS].notna()
    if len(given) or ends.any(axis=None):  # else of a fit without an information matrix
        wide = untold.dropna(subset="estimate")
        assert ends.all(axis=None)
        assert (wide["conf_low"] < wide["estimate"]).all()
        assert (wide["estimate"] < wide["conf_high"]).all()
    assert (given["conf_low"] < given["estimate"]).all()
    assert (given["estimate"] < given["conf_high"]).all()
    assert not (frame["reliable"] & frame["std_error"].isna()).any()
    outside = (given["conf_low"] > zero) | (given["conf_high"] < zero)
    np.testing.assert_array_equal(outside, given["p_value"] < 0.05)
    if "selected" in frame:
        assert (frame["estimate"] != zero)[frame["selected"]].all()
        assert given["selected"].all() or not (given["p_value"] < 0.05)[~given["selected"]].any()


def check_table(table: Table) -> None:
    headings = [column.heading for column in table.columns]
    for row in table.rows:
        cells = dict(zip(headings, row, strict=True))
        if cells.get("P>|z|", "-") == "-":
            continue
        estimate = float(cells["debiased" if "debiased" in cells else "coef"])
        assert float(cells["[0.025"]) <= estimate <= float(cells["0.975]"])
        assert estimate != 0.0
        assert cells.get("selected", "yes") == "yes"
    if table.below is not None:
        check_table(table.below)


def check(fit: FitResult) -> None:
    for debiased in (False, True):
        check_frame(fit.tidy(debiased=debiased))
        check_frame(fit.tidy(debiased=debiased, exponentiate=True), zero=1.0)
    check_table(fit.summary())


@pytest.mark.parametrize("strength", [None, 5.0, 500.0])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_row_of_a_refit_contradicts_itself(seed: int, penalty: str, strength: Any) -> None:
    check(released(seed).refit(penalty, strength=strength))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_no_row_of_a_fit_with_a_penalty_contradicts_itself(penalty: str) -> None:
    options: dict[str, Any] = {"penalty": penalty, "privacy": (2.0, 1e-6), "progress": False}
    formula = "affair ~ age + religious + rate_marriage"
    for seed in (1, 2):
        check(dpglm.fit(formula, dpglm.load_data("fair"), seed=seed, **options))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_lists_by_rate_and_by_criterion_do_not_contradict_themselves(seed: int) -> None:
    check(released(seed))
    check(released(seed).select("fdr", q=0.1))
    check(released(seed).select("bic"))


def test_the_debiased_estimates_are_those_of_every_penalty() -> None:
    frames = [released(1).refit(penalty).tidy(debiased=True) for penalty in ("none", "l1", "l1/2")]
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])
    assert "selected" not in frames[0]
