"""Every release has a proof beside it, and the proof was read after the code last changed."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
from pathlib import Path

import pytest
import yaml

import dpglm.releases
from dpglm.releases import Release

ROOT = Path(dpglm.releases.__file__).parent.parent
RELEASES = sorted(
    (kind for kind in vars(dpglm.releases).values() if inspect.isclass(kind) and issubclass(kind, Release)),
    key=lambda kind: kind.__name__,
)
PROVED = [kind for kind in RELEASES if not inspect.isabstract(kind)]


def fingerprint(path: Path) -> str:
    """Hash of a file's syntax tree without docstrings: comments and layout do not count, code does."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def proof_of(kind: type[Release]) -> tuple[dict[str, object], str, Path]:
    source = Path(inspect.getfile(kind))
    text = source.with_suffix(".md").read_text(encoding="utf-8")
    _, head, body = text.split("---\n", 2)
    return yaml.safe_load(head), body, source


@pytest.mark.parametrize("kind", PROVED, ids=lambda kind: kind.__name__)
def test_proof_was_read_after_the_code_changed(kind: type[Release]) -> None:
    head, _, _ = proof_of(kind)
    leans_on = head["leans_on"]
    assert isinstance(leans_on, dict)
    now = {name: fingerprint(ROOT / name) for name in leans_on}
    assert leans_on == now, f"re-read the proof, then write: {now}"


@pytest.mark.parametrize("kind", PROVED, ids=lambda kind: kind.__name__)
def test_labels_of_code_and_proof_agree(kind: type[Release]) -> None:
    head, body, source = proof_of(kind)
    marked = set(re.findall(r"# proof: ([a-z-]+)", source.read_text(encoding="utf-8")))
    assert marked == set(re.findall(r"`proof: ([a-z-]+)`", body))
    assert head["proves"] == kind.__name__
    assert source.relative_to(ROOT).as_posix() in head["leans_on"]  # type: ignore[operator]


@pytest.mark.parametrize("kind", PROVED, ids=lambda kind: kind.__name__)
def test_assumptions_of_the_proof_travel_with_the_release(kind: type[Release]) -> None:
    head, _, _ = proof_of(kind)
    assert tuple(head["assumes"] or ()) == kind.assumptions  # type: ignore[arg-type]


def test_changed_code_changes_the_fingerprint(tmp_path: Path) -> None:
    first, second, third = (tmp_path / f"{name}.py" for name in "abc")
    first.write_text('"""Doc."""\nscale = 2.0  # proof: scale\n')
    second.write_text('"""Other words."""\n\nscale = 2.0\n')
    third.write_text("scale = 1.0\n")
    assert fingerprint(first) == fingerprint(second) != fingerprint(third)
