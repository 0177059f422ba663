"""Vignettes as Jupyter notebooks, made from the blocks of their pages.

``python -m vignettes.notebooks FOLDER`` writes them. Output is the printed text of the page. Figures are
drawn and not saved, and no link is left that only a checkout could follow.
"""

from __future__ import annotations

import base64
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vignettes import pages

if TYPE_CHECKING:
    from nbformat import NotebookNode

_SAVED = re.compile(r"^(?P<drawn>.*?)\.figure\.savefig\(\"(?P<path>figures/[\w.]+)\".*\)$", re.MULTILINE)
_IMAGE = re.compile(r"!\[(?P<words>[^]]+)\]\(figures/[\w.]+\)")
_LINK = re.compile(r"(?<!!)\[(?P<words>[^]]+)\]\((?!https?:)[^)]+\)")


def notebook(path: Path) -> NotebookNode:
    """The notebook of a page: a cell of code for each block, and the words between."""
    from nbformat import v4

    page = path.read_text(encoding="utf-8")
    words = [_words(text) for text in pages.between(page)]
    cells = [v4.new_markdown_cell(words[0], id="words-0")]
    for place, (block, after) in enumerate(zip(pages.blocks(page), words[1:], strict=True), 1):
        outputs = [] if block.text is None else [v4.new_output("stream", name="stdout", text=block.text)]
        for found in _SAVED.finditer(block.code):
            picture = base64.b64encode((path.parent / found["path"]).read_bytes()).decode("ascii")
            outputs.append(v4.new_output("display_data", data={"image/png": picture, "text/plain": "figure"}))
        code = _SAVED.sub(r"\g<drawn>;", block.code).rstrip("\n")
        cells.append(v4.new_code_cell(code, outputs=outputs, id=f"code-{place}", execution_count=place))
        if after:
            cells.append(v4.new_markdown_cell(after, id=f"words-{place}"))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def _words(text: str) -> str:
    """Markdown between two blocks; a picture is drawn by the cell above, and its words stay."""
    return _LINK.sub(r"\g<words>", _IMAGE.sub(r"*\g<words>*", text)).strip("\n")


def write(folder: Path) -> list[Path]:
    """All notebooks, in ``folder``."""
    import nbformat

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for path in pages.PAGES:
        target = folder / f"{path.stem}.ipynb"
        nbformat.write(notebook(path), target)
        written.append(target)
    return written


if __name__ == "__main__":
    for one in write(Path(sys.argv[1])):
        print(f"wrote {one}")
