"""Example reports: what is in `reports/` is what the package writes today."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies import examples, index
from studies.study import PAGES


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.papers) if name == "example-stack" else name
        for name in sorted(examples.EXAMPLES)
    ],
)
def test_an_example_report_is_what_the_package_writes_today(name: str) -> None:
    path = PAGES / f"{name}.html"
    fit = examples.saved(path)
    assert fit.private
    assert len(path.read_bytes()) <= 300 * 1024
    assert examples.page(fit) == path.read_bytes().decode("utf-8"), "run python -m studies.examples"


def test_the_index_lists_every_example_report() -> None:
    text = (PAGES / index.NAME).read_text(encoding="utf-8")
    assert all(f'href="{name}.html"' in text for name in examples.EXAMPLES)


@pytest.mark.papers
@pytest.mark.slow
def test_examples_are_fitted_anew_and_written_again_from_what_they_hold(tmp_path: Path) -> None:
    paths = examples.write(tmp_path, fit=True)
    assert [path.stem for path in paths] == list(examples.EXAMPLES)
    before = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in examples.write(tmp_path)] == before
