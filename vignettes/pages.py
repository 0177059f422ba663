"""Vignettes are Markdown whose Python runs: a block ```` ```text ```` is what the block before it prints.

``python -m vignettes.pages`` runs all of them and writes printed text and figures again; read the difference.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dpglm

FOLDER = Path(__file__).parent
FIGURES = "figures"
PAGES = tuple(sorted(FOLDER.glob("*.md")))
# Printed numbers may differ by this share, or by one in their last digit: machines round differently.
SHARE = 2e-3

_BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```text\n(?P<text>.*?)```)?", flags=re.DOTALL)
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class CodeBlock:
    """A piece of Python on a page, and the text that stands below it, None if there is none."""

    code: str
    text: str | None
    line: int


def blocks(page: str) -> Iterator[CodeBlock]:
    """The Python of a page, in order; `line` is that of its first line of code, from 1."""
    for found in _BLOCK.finditer(page):
        yield CodeBlock(found["code"], found["text"], page.count("\n", 0, found.start("code")) + 1)


def between(page: str) -> list[str]:
    """The words before, between and after the blocks of a page."""
    places = [found.span() for found in _BLOCK.finditer(page)]
    starts, stops = [0, *(stop for _, stop in places)], [*(start for start, _ in places), len(page)]
    return [page[start:stop] for start, stop in zip(starts, stops, strict=True)]


def outputs(path: Path, folder: Path) -> list[str]:
    """Run all blocks of a page in one scope, with ``folder`` as the working folder; what each prints."""
    scope: dict[str, object] = {"__name__": path.stem}
    printed = []
    (folder / FIGURES).mkdir(exist_ok=True)
    with _inside(folder):
        for block in blocks(path.read_text(encoding="utf-8")):
            caught = io.StringIO()
            # Empty lines before the code: a traceback then names the line of the page.
            code = compile("\n" * (block.line - 1) + block.code, str(path), "exec")
            with contextlib.redirect_stdout(caught):
                exec(code, scope)
            printed.append("".join(line.rstrip() + "\n" for line in caught.getvalue().splitlines()))
    return printed


def agrees(text: str, printed: str) -> bool:
    """Whether two texts have the same words, and the same numbers but for rounding."""
    left, right = _NUMBER.split(text), _NUMBER.split(printed)
    if [part.split() for part in left] != [part.split() for part in right]:
        return False
    return all(map(_close, _NUMBER.findall(text), _NUMBER.findall(printed)))


def _close(one: str, other: str) -> bool:
    if one == other:  # a part of a fingerprint may be too large for a number
        return True
    here, there = (float(text.replace(",", "")) for text in (one, other))
    mantissa = one.split("e")[0]
    digit = 10.0 ** -len(mantissa.partition(".")[2])
    return abs(here - there) <= max(SHARE * abs(here), 1.001 * digit if "." in mantissa else 0.0)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def rewritten(page: str, printed: list[str]) -> str:
    """The page with what its blocks print now; blocks without a text below them stay without."""
    rest = iter(printed)

    def fill(found: re.Match[str]) -> str:
        now = next(rest)
        return found[0] if found["text"] is None else f"```python\n{found['code']}```\n\n```text\n{now}```"

    return _BLOCK.sub(fill, page)


def main() -> None:
    """Run the pages that are named, or every one, and write their text and figures again."""
    parser = argparse.ArgumentParser(prog="python -m vignettes.pages", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME.md", help="all pages if none is named")
    names = parser.parse_args().names
    if unknown := set(names) - {path.name for path in PAGES}:
        parser.error(f"no such page: {', '.join(sorted(unknown))}")
    for path in PAGES:
        if names and path.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            printed = outputs(path, Path(folder))
            page = rewritten(path.read_text(encoding="utf-8"), printed)
            path.write_text(page, encoding="utf-8", newline="\n")
            for figure in sorted((Path(folder) / FIGURES).glob("*.png")):
                (FOLDER / FIGURES).mkdir(exist_ok=True)
                shutil.copy(figure, FOLDER / FIGURES / figure.name)
        print(f"wrote {path.name}, dpglm {dpglm.__version__}")


if __name__ == "__main__":
    main()
