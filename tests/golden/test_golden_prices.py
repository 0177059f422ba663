"""Prices, noise scales and what a seed gives are today what they were yesterday; see ``prices.py``."""

from __future__ import annotations

import pytest

from tests.golden.prices import FOLDER, differences, written


@pytest.mark.parametrize(
    "name", ["prices.txt", pytest.param("prices_of_papers.txt", marks=pytest.mark.papers)]
)
def test_prices_are_what_they_were(name: str) -> None:
    apart = differences(written(name), (FOLDER / name).read_text(encoding="utf-8"))
    assert not apart, "\n".join(["see `make golden`", *(f"{now}\n   was {before}" for now, before in apart)])


def test_a_change_of_a_hundred_thousandth_is_seen_and_one_of_rounding_is_not() -> None:
    line = "binomial auto: epsilon 1.5, delta 1e-06; minimiser noise 8.29571958, 2 times; gives 0.0956 -0.14"
    assert not differences(line, line.replace("8.29571958", "8.29571961"))
    assert differences(line, line.replace("8.29571958", "8.29581958"))
    assert differences(line, line.replace("1e-06", "1.1e-06"))
    assert differences(line, line.replace("2 times", "3 times"))
    assert differences(line, line.replace("minimiser", "output"))
    assert differences(line, line.replace("-0.14", "0.14"))
    assert differences(f"{line}\nanother", line)
