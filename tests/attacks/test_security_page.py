"""SECURITY.md has its sections, and docs/attacks.md names every attack that is tried, and only such."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py::\w+)`", (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8"))
HEADINGS = (
    "In short",
    "Who is who",
    "What is promised",
    "What is not promised",
    "Numerics and randomness",
    "How to report",
    "Supported versions",
)


def attacks_in(file: Path) -> set[str]:
    """Names of the tests of a file, as the page writes them."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    path = file.relative_to(ROOT).as_posix()
    return {
        f"{path}::{node.name}"
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.mark.parametrize("of_papers", [False, pytest.param(True, marks=pytest.mark.papers)])
def test_every_test_of_the_page_exists(of_papers: bool) -> None:
    named = {name for name in NAMED if ("/papers/" in name) is of_papers}
    assert named
    assert named <= set().union(*(attacks_in(ROOT / name.partition("::")[0]) for name in named))


def test_every_attack_is_on_the_page_once() -> None:
    assert len(NAMED) == len(set(NAMED)), "a test with two rows"
    attacks = set().union(*map(attacks_in, (ROOT / "tests" / "attacks").glob("test_*.py")))
    assert attacks <= set(NAMED)
    assert attacks_in(ROOT / "tests" / "browser" / "test_injection.py") <= set(NAMED)
    assert {f"## {heading}" for heading in HEADINGS} <= set(PAGE.splitlines())
