"""Fits side by side: a row per term, a column per fit, a guarantee for each."""

import numpy as np
import pytest

from dpglm.errors import MethodError
from dpglm.results.compare import compare
from tests.golden.examples import NAMES, open_fit, private_fit, pure_fit


def test_terms_come_in_order_of_appearance_and_absent_is_not_zero():
    table = compare([pure_fit(), private_fit()])
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == ["Intercept", "age", *NAMES[1:3], NAMES[4]]
    assert rows[NAMES[2]] == ("-", "0")
    assert rows["age"] == ("0.03142", "0.03333")


def test_headings_are_numbers_or_the_keys_of_a_mapping():
    assert [column.heading for column in compare([pure_fit(), open_fit()]).columns] == ["term", "(1)", "(2)"]
    assert [column.heading for column in compare({"a": pure_fit()}).columns] == ["term", "a"]


def test_every_fit_brings_its_guarantee_and_one_in_full():
    pure, private, open_ = fits = [pure_fit(), private_fit(), open_fit()]
    notes = compare(fits).notes
    assert f"(1): {pure.privacy.statement()}" in notes
    budget = private.privacy.statement().split(": no set of results")[0]
    assert f"(2): {budget}; fit.summary() says what that means." in notes
    assert f"(3): {open_.privacy.statement()}" in notes
    assert sum("no set of results" in note for note in notes) == 1


def test_only_fits_without_guarantee_raise_the_alarm():
    assert compare([pure_fit(), private_fit()]).alarm == ""
    assert compare([pure_fit(), open_fit()]).alarm == f"(2): {open_fit()._record.alarm}"


@pytest.mark.parametrize("fits", [[], {}, None, "fits", [None], [pure_fit(), np.zeros(3)], 3, pure_fit()])
def test_what_is_not_a_list_of_fits_is_refused(fits):
    with pytest.raises(MethodError, match="fit1, fit2"):
        compare(fits)
