"""Notebooks made of vignettes run from first to last cell in a real kernel, and print their page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.signed import assert_signed
from vignettes import notebooks, pages

nbclient = pytest.importorskip("nbclient", reason="no nbclient on this machine")
pytest.importorskip("ipykernel", reason="no ipykernel on this machine")

WHOLE = "from_code_book_to_methods"


def printed(cell: Any) -> str:
    """What a cell printed; warnings go to another stream."""
    texts = [
        one["text"] for one in cell.outputs if one["output_type"] == "stream" and one["name"] == "stdout"
    ]
    return "".join(line.rstrip() + "\n" for line in "".join(texts).splitlines())


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        # `tests/test_vignettes.py` runs all blocks each time; the audit starts the kernels of the others.
        path if path.stem == WHOLE else pytest.param(path, marks=[pytest.mark.audit, pytest.mark.papers])
        for path in pages.PAGES
    ],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs_and_prints_what_its_page_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MPLBACKEND", raising=False)  # a kernel draws in the page where nothing else is asked
    shown = list(pages.blocks(path.read_text(encoding="utf-8")))
    made = notebooks.notebook(path)
    made.cells = [cell for cell in made.cells if cell.cell_type == "code"]
    for cell in made.cells:
        cell.outputs = []
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(made, timeout=600, resources=resources).execute()
    for block, cell in zip(shown, made.cells, strict=True):
        assert pages.agrees(block.text or "", printed(cell)), f"{path.name}, line {block.line}"
        drawn = [one for one in cell.outputs if "image/png" in one.get("data", {})]
        assert len(drawn) == block.code.count("savefig(")
    if path.stem == WHOLE:
        assert_signed(tmp_path / "readmission.html", tmp_path / "readmission.db")
