"""What CONTRIBUTING.md points at is there: files, and the functions and classes named beside them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# Examples of files that a newcomer would add.
ADDED = {"dpglm/glm/penalties/mine.py", "dpglm/mechanisms/mine.py", "dpglm/mechanisms/mine.md"}
FILES = sorted({name for name in re.findall(r"`([\w/.]+\.(?:py|md))`", TEXT) if "/" in name} - ADDED)
NAMED = re.findall(r"`([A-Z]?\w+(?:\.\w+)?)` \(`([\w/]+\.py)`\)", TEXT)
NAMED += [(name, path) for path, name in re.findall(r"`([\w/]+\.py)`, `([A-Z]?\w+(?:\.\w+)?)`", TEXT)]


def marked(path: str, *values: str) -> Any:
    """Values for a test, which needs the papers where the path lies among them."""
    return pytest.param(*values, marks=[pytest.mark.papers] if "papers/" in path else [])


def whole(path: str) -> Path:
    return ROOT / (path if path.startswith(("dpglm/", "tests/", "docs/")) else f"dpglm/{path}")


@pytest.mark.parametrize("path", [marked(path, path) for path in FILES])
def test_a_file_that_is_named_is_there(path: str) -> None:
    assert whole(path).exists() or (ROOT / path).exists(), path


@pytest.mark.parametrize(("name", "path"), [marked(path, name, path) for name, path in NAMED])
def test_a_definition_is_in_the_file_named_beside_it(name: str, path: str) -> None:
    tree: ast.AST = ast.parse(whole(path).read_text(encoding="utf-8"))
    for part in name.split("."):
        inside = {
            **{
                node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
            },
            **{
                target.id: node
                for node in ast.walk(tree)
                if isinstance(node, ast.Assign | ast.AnnAssign)
                for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
                if isinstance(target, ast.Name)
            },
        }
        assert part in inside, f"{name} in {path}"
        tree = inside[part]
