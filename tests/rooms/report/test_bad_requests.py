"""Requests that mean nothing, and extreme public numbers: told in three parts, or shown."""

import math
import os

import pytest

from dpglm.errors import MethodError, StoreError
from dpglm.tables.table import chance, percent
from tests.rooms.report import specimen
from tests.rooms.report.specimen import plot, render


@pytest.mark.parametrize("choices", [5, "tuning", ["tuning"], {"tuning": 5}, {5: "fixed"}])
def test_answers_must_be_a_mapping_of_text(choices):
    with pytest.raises(MethodError, match="mapping of text") as caught:
        render(specimen.fit(), choices=choices)
    assert caught.value.remedy


def test_only_axes_are_drawn_on():
    with pytest.raises(MethodError, match="Axes") as caught:
        plot(specimen.fit(), ax=5)
    assert caught.value.remedy


@pytest.mark.parametrize("path", ["", None, 5, "\0", ".", "/none/report.html"])
def test_a_report_for_a_bad_path_is_refused(path):
    with pytest.raises(StoreError) as caught:
        specimen.fit().report(path)
    assert caught.value.remedy


def test_a_report_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    assert specimen.fit().report(path) == path
    before = path.read_bytes()
    assert before.decode() == specimen.fit().to_html()

    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(StoreError, match="No space left"):
        specimen.fit().report(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["report.html"]


def test_extreme_numbers_have_words():
    assert [percent(share) for share in (math.nan, math.inf, -math.inf)] == ["-", "-", "-"]
    assert chance(5e-324) == chance(1e-300) == "less than 1 in 1,152,921,504,606,846,976"
    assert chance(1e-6) == "1 in 1,000,000"


def test_the_smallest_epsilon_can_be_reported():
    tiny = specimen.pure(epsilon=5e-324)
    assert render(specimen.fit(guarantee=tiny, spend_lines=(), ledger=None))
