"""Prices, noise scales and what a seed gives are today what they were yesterday; see ``numbers.py``.

Floats may differ by 1e-10, relative: processors and libraries round differently. What solvers and transforms
find may differ by a little more, as said below. Everything else is the same to the letter.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.golden.numbers import flat, kept, sections

KEPT = kept()
# By the beginning of a section's name: relative and absolute differences that are none.
LOOSE = {
    "numeric composition": (1e-8, 0.0),
    "sums of samples": (1e-8, 0.0),
    "solved": (1e-9, 0.0),
    "solved exactly": (1e-6, 1e-6),
}


@pytest.mark.parametrize("name", sorted(sections()))
def test_numbers_are_what_they_were(name: str) -> None:
    found, wanted = flat(sections()[name]()), KEPT[name]
    assert list(found) == list(wanted), "see `make golden`"
    loose = max((sizes for word, sizes in LOOSE.items() if name.startswith(word)), default=(1e-10, 0.0))
    apart = {key: (found[key], wanted[key]) for key in wanted if not same(found[key], wanted[key], *loose)}
    assert not apart, "see `make golden`"


def test_no_number_is_left_over() -> None:
    assert sorted(KEPT) == sorted(sections())


def test_a_difference_in_the_ninth_digit_is_seen() -> None:
    assert same(1.0, 1.0 + 5e-11, 1e-10)
    assert not same(1.0, 1.0 + 1e-9, 1e-10)
    assert not same(1e-200, 1.1e-200, 1e-10)
    assert not same("inf", 1.0, 1e-10)
    assert not same(True, False, 1e-10)


def same(found: Any, wanted: Any, relative: float, absolute: float = 0.0) -> bool:
    """Whether floats agree but for rounding, and other values exactly."""
    if isinstance(found, float) and isinstance(wanted, float):
        return math.isclose(found, wanted, rel_tol=relative, abs_tol=absolute or 1e-300)
    return type(found) is type(wanted) and bool(found == wanted)
