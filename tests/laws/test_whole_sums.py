"""Sums over rows are exact: what a row adds does not depend on the others, on their order, or on how many."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.noise import SLACK
from dpglm.mechanisms.span import Span
from dpglm.mechanisms.whole_sums import FINE, WholeNumbers, WholeSum, product

ENTRIES = st.floats(-1.0, 1.0, width=64)
FACTORS = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(0, 40)), elements=ENTRIES)
ANY_WHOLE = st.integers(-(2**90), 2**90)


def products(rows: Any, largest: float = 1.0) -> Any:
    total = WholeSum((len(rows), len(rows)), largest)
    total.add_products(rows.copy())
    return total


def terms(rows: Any) -> Any:
    total = WholeSum((len(rows),), 1.0)
    total.add_terms(rows, np.ones(rows.shape[1]))
    return total


@given(FACTORS, st.randoms(use_true_random=False), st.integers(1, 7))
def test_a_sum_is_that_of_its_rows_alone_in_any_order_and_any_parts(
    rows: Any, random: Any, width: int
) -> None:
    order = list(range(rows.shape[1]))
    random.shuffle(order)
    for of in (products, terms):
        alone = sum((of(rows[:, [at]]).total() for at in order), start=0 * of(rows[:, :0]).total())
        assert (of(rows).total() == alone).all()
        parts = WholeSum(alone.shape, 1.0)
        for first in range(0, len(order), width):
            some = rows[:, order[first : first + width]].copy()
            parts.add_products(some) if of is products else parts.add_terms(some, np.ones(some.shape[1]))
        assert (parts.total() == alone).all()


@given(FACTORS, st.sampled_from([1.0, 0.5, 0.7]))
def test_no_row_is_made_longer_and_little_is_lost(rows: Any, largest: float) -> None:
    rows = rows * largest
    for at in range(rows.shape[1]):
        row = [Fraction(value) for value in rows[:, at].tolist()]
        total = products(rows[:, [at]], largest)
        found = [[Fraction(total.unit) * each for each in line] for line in total.total().tolist()]
        room = Fraction(2) ** -44 * len(row) + sum(value**2 for value in row) * Fraction(2) ** -49
        square = sum(value**2 for line in found for value in line)
        assert square <= (sum(value**2 for value in row) + room) ** 2
        for i, line in enumerate(found):
            for j, value in enumerate(line):
                assert abs(value - row[i] * row[j]) <= Fraction(2) ** -42 * Fraction(largest) ** 2


def test_largest_rows_of_one_sign_are_summed_without_rounding_in_any_width() -> None:
    """As many rows as double precision adds at once, each as large as can be, and one row more."""
    for count in (511, 512, 513, 2000):
        rows = np.ones((2, count))
        assert (products(rows).total() == count * products(rows[:, :1]).total()).all()
    many = np.full((1, 8193), 1.0 - 2.0**-41)
    assert terms(many).total().tolist() == [8193 * (2**40 - 1)]


def test_a_row_is_felt_by_itself_beside_a_total_that_double_precision_rounds() -> None:
    """The twin, a sum in double precision, does not see a row beside 10^17 others as it is."""
    total, row = terms(np.ones((1, 1))), terms(np.full((1, 1), 0.75)).total()
    total._total = total._total + 10**17 * total.total()
    before = total.total().copy()
    total.add_terms(np.full((1, 1), 0.75), np.ones(1))
    assert (total.total() - before == row).all()
    steps = [WholeNumbers(whole, total.unit).steps(2.0**-30) for whole in (total.total(), before)]
    assert steps[0] - steps[1] == [3 * 2**28]
    twin = 1e17
    assert (twin + 0.75) - twin != 0.75


@given(
    arrays(object, (3, 2), elements=ANY_WHOLE),
    arrays(np.float64, (4, 3), elements=st.integers(-(2**30), 2**30)),
)
def test_products_of_whole_numbers_are_exact(whole: Any, table: Any) -> None:
    found = product(table, whole)
    for i, line in enumerate(table.astype(int).tolist()):
        for j in range(2):
            assert found[i, j] == sum(a * b for a, b in zip(line, whole[:, j].tolist(), strict=True))


@given(arrays(object, (3,), elements=ANY_WHOLE), st.floats(1e-9, 1e9), st.floats(1e-9, 1e9))
def test_whole_steps_are_the_nearest(whole: Any, unit: float, step: float) -> None:
    for number, steps in zip(whole.tolist(), WholeNumbers(whole, unit).steps(step).tolist(), strict=True):
        assert abs(Fraction(unit) * number - steps * Fraction(step)) <= Fraction(step) / 2


def simplex(levels: int) -> Any:
    """Columns at right angles that add up to 0, by Helmert."""
    table = np.zeros((levels, levels - 1))
    for at in range(levels - 1):
        table[: at + 1, at], table[at + 1, at] = 1.0, -(at + 1.0)
        table[:, at] /= np.linalg.norm(table[:, at])
    return 0.3 * table


@pytest.mark.parametrize("levels", [2, 3, 7, 40])
def test_whole_coordinates_are_those_of_the_span_and_lengthen_nothing_beyond_the_slack(levels: int) -> None:
    size = levels + 2
    span = Span(
        (
            TermColumns("Intercept", "intercept", 0, 1, 0.25, np.array([[0.5]]), np.array([1.0])),
            TermColumns("f", "levels", 1, levels, 0.25, simplex(levels), np.ones(levels - 1)),
            TermColumns("x", "other", levels, size, 0.25, np.eye(2), np.ones(2)),
        )
    )
    random = np.random.default_rng(levels)
    for _ in range(5):
        rows = random.normal(size=(size, 3))
        total = products(rows / np.linalg.norm(rows, axis=0))
        whole = span.whole_coordinates(total.total())
        found = np.asarray(WholeNumbers(whole, total.unit * 2.0**-FINE))
        np.testing.assert_allclose(found, span.coordinates(total.floats()), atol=1e-8)
        length = np.linalg.norm(span.matrix(span.coordinates(total.floats())))
        assert np.linalg.norm(found) <= length * (1.0 + SLACK / 8)
        # Linear, but for rounding down: a thousand million times as much has that many times the coordinates.
        much = span.whole_coordinates(total.total() * 10**18)
        assert (abs(much - 10**18 * whole) <= 4 * 10**18 + 4).all()
        again = span.whole_coordinates(total.total() * (10**18 + 1))
        assert (abs(again - much - whole) <= 8).all()
