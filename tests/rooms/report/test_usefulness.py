"""Sections 3 and 4: the numbers of the tables are the result's, and what is not known is said."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dpglm.postprocessing.uncertainty import RULE, detectable, halving, widths
from dpglm.tables.table import coefficient, factor, plain_number
from tests.rooms.report.reading import Page
from tests.rooms.report.specimen import PAGES, approximate, fit, interval, plain, render
from tests.rooms.report.test_promises import table

RARE = "C(job)[T.R&D <lab>]"
COEFFICIENTS = "Coefficients, original scale"
ENDS = "; lower and upper ends of 95 % intervals"
DEBIASED = f"Debiased estimates, original scale{ENDS}"
USEFUL = "Precision, and what would halve the width"


def test_the_coefficient_table_has_errors_intervals_and_odds_ratios() -> None:
    result = interval()
    page = Page(render(result))
    for row, line in zip(table(page, COEFFICIENTS), result.tidy().itertuples(), strict=True):
        assert row == [line.term, coefficient(line.estimate), "yes" if line.selected else "no"]
    rows = {row[0]: row[1:] for row in table(page, DEBIASED)}
    frame = result.tidy(debiased=True).set_index("term")
    for name, row in rows.items():
        line = frame.loc[name]
        wanted = [line["estimate"], line["std_error"], line["conf_low"], line["conf_high"]]
        assert row[:4] == [coefficient(float(value)) for value in wanted]
    ratios = [coefficient(float(np.exp(frame.loc["religious", key]))) for key in ("estimate", "conf_low")]
    assert rows["religious"][4].startswith(f"{ratios[0]} ({ratios[1]} to ")
    assert [rows[RARE][k] for k in (0, 1, 4)] == ["-"] * 3


def test_without_a_penalty_there_is_one_estimate() -> None:
    rows = table(Page(render(interval(penalty="none"))), COEFFICIENTS + ENDS)
    assert {len(row) for row in rows} == {7}


def test_missing_intervals_have_a_reason_a_factor_and_the_rule_beside_them() -> None:
    read = Page(render(interval()))
    (row,) = table(read, "Coefficients without a standard error")
    assert row == [RARE, "too wide against the declared scale", "1.3"]
    assert all(words in read.visible for words in RULE)
    assert "merged with another by declaration" in read.visible


def test_declared_prior_scales_are_those_that_people_know() -> None:
    rows = table(Page(render(interval())), "Prior scales, as standard deviations")
    # 5 for the intercept, 1 a level so that two differ by the square root of 2, 3 over a declared range.
    assert [(row[0], row[2]) for row in rows] == [
        ("Intercept", "5"),
        ("C(job)", "1.414"),
        ("age", "3"),
        ("religious", "3"),
    ]


def test_the_usefulness_table_follows_from_the_standard_errors() -> None:
    result = interval()
    rows = {row[0]: row[1:] for row in table(Page(render(result)), USEFUL)}
    grown, least = halving(widths(result._record, "n")), detectable(result._record)
    assert RARE not in rows
    for name, row in rows.items():
        j = result.names.index(name)
        error = float(result.bse.iloc[j])
        assert row[0] == coefficient(float(np.ptp(result.conf_int().iloc[j])))
        assert float(row[0]) >= 3.9 * error
        sampling = result.tidy(debiased=True)["sampling_se"][j]
        assert float(row[1]) == pytest.approx(error / sampling, rel=5e-3)  # 3 digits
        assert row[2] == coefficient(least[j])
        assert row[3] == factor(grown[j])
        assert row[4] == "-"  # sampling alone is more than half of each width


def test_the_numbers_of_the_curves_start_from_today() -> None:
    read = Page(render(interval()))
    for symbol in ("rows", "ε"):
        rows = {row[0]: row[1:] for row in table(read, f"Relative width by factor on {symbol}")}
        assert rows["1"] == ["1", "1", "1"]
        assert float(rows["0.25"][0]) > 1.5 > 1.0 > float(rows["4"][0])
    median = re.search(r"For the median coefficient it is ([\d.]+) times", read.visible)
    assert median
    ratio = interval().bse / interval().tidy(debiased=True)["sampling_se"].to_numpy()
    assert median.group(1) == plain_number(float(f"{ratio.median():.3g}"))


def test_a_private_page_without_intervals_says_why_and_keeps_bias_and_small_groups() -> None:
    words = Page(render(fit(guarantee=approximate()))).by_id("usefulness").words
    assert "cannot be said from what was released" in words
    assert "information matrix" in words
    assert "Small groups" in words


def test_a_page_of_an_ordinary_fit_has_no_such_section() -> None:
    ids = {element.attributes.get("id") for element in Page(render(plain())).root.walk()}
    assert "usefulness" not in ids


def test_a_seeded_page_speaks_of_rows_alone() -> None:
    read = Page(render(PAGES["intervals_seeded"][0]()))
    assert {len(row) for row in table(read, USEFUL)} == {5}
    assert table(read, "Relative width by factor on rows")
