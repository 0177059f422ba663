"""Tables are today what they were yesterday, byte for byte, in all four formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.examples import RESULTS, outputs
from tests.golden.prices import FILES

HERE = Path(__file__).parent
EXPECTED = outputs()


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_table_is_what_it_was(name: str) -> None:
    assert EXPECTED[name] == (HERE / name).read_bytes().decode("utf-8"), "see `make golden`"


def test_no_golden_file_is_left_over() -> None:
    kept = {path.name for path in HERE.iterdir() if path.suffix in {".txt", ".html", ".tex", ".md"}}
    assert kept == {*EXPECTED, *FILES}


def test_a_table_is_the_same_when_drawn_again() -> None:
    assert outputs() == EXPECTED


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_every_format_shows_every_coefficient(name: str) -> None:
    result = RESULTS[name]()
    shown = {ending: EXPECTED[f"summary_{name}.{ending}"] for ending in ("txt", "html", "tex", "md")}
    for row in result.summary().rows:
        digits = row[1].lstrip("-").partition("e")[0]
        assert all(digits in text for text in shown.values()), row[0]
