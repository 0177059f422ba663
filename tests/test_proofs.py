"""Every release has a proof beside it, and the proof was read after the code last changed."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
from pathlib import Path

import pytest
import yaml

import dpglm.mechanisms
from dpglm.mechanisms.base import Release

ROOT = Path(dpglm.mechanisms.__file__).parent.parent
RELEASES = sorted(
    (kind for kind in vars(dpglm.mechanisms).values() if inspect.isclass(kind) and issubclass(kind, Release)),
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


def head_and_body(path: Path) -> tuple[dict[str, object], str]:
    _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), body


def proof_of(kind: type[Release]) -> Path:
    return Path(inspect.getfile(kind)).with_suffix(".md")


# Proofs of releases, of what they add noise with, and of who may run them.
PROOFS = sorted(
    {
        *(proof_of(kind) for kind in PROVED),
        ROOT / "mechanisms/noise/lattice.md",
        ROOT / "curator/curator.md",
        ROOT / "privacy/loss_distribution.md",
    }
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_proof_is_looked_at() -> None:
    assert sorted(ROOT.rglob("*.md")) == PROOFS


@pytest.mark.parametrize("path", PROOFS, ids=name_of)
def test_proof_was_read_after_the_code_changed(path: Path) -> None:
    leans_on = head_and_body(path)[0]["leans_on"]
    assert isinstance(leans_on, dict)
    now = {name: fingerprint(ROOT / name) for name in leans_on}
    assert leans_on == now, f"re-read the proof, then write: {now}"


@pytest.mark.parametrize("path", PROOFS, ids=name_of)
def test_labels_of_code_and_proof_agree(path: Path) -> None:
    head, body = head_and_body(path)
    source = path.with_suffix(".py")
    code = source.read_text(encoding="utf-8")
    marked = set(re.findall(r"# proof: ([a-z-]+)", code))
    assert marked == set(re.findall(r"`proof: ([a-z-]+)`", body))
    assert all(re.search(rf"^(class|def) {name}\b", code, re.M) for name in str(head["proves"]).split(", "))
    assert name_of(source) in head["leans_on"]  # type: ignore[operator]


@pytest.mark.parametrize("kind", PROVED, ids=lambda kind: kind.__name__)
def test_assumptions_of_the_proof_travel_with_the_release(kind: type[Release]) -> None:
    head, _ = head_and_body(proof_of(kind))
    assert kind.__name__ in str(head["proves"])
    assert tuple(head["assumes"] or ()) == kind.premises  # type: ignore[arg-type]


def test_changed_code_changes_the_fingerprint(tmp_path: Path) -> None:
    first, second, third = (tmp_path / f"{name}.py" for name in "abc")
    first.write_text('"""Doc."""\nscale = 2.0  # proof: scale\n')
    second.write_text('"""Other words."""\n\nscale = 2.0\n')
    third.write_text("scale = 1.0\n")
    assert fingerprint(first) == fingerprint(second) != fingerprint(third)
