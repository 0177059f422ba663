"""Which definitions a proof leans on, by fingerprints; ``python -m tests.proofs FILE.md`` writes them anew.

A proof's front matter maps ``file.py::Class.method`` (or a function, or a constant) to a fingerprint of that
definition's syntax tree without docstrings. A definition may move to another file: it is then found by its
name. Read the proof again before writing fingerprints.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import dpglm

ROOT = Path(dpglm.__file__).parent
HELD = ast.Module | ast.ClassDef | ast.FunctionDef


def without_docstrings(tree: ast.AST) -> ast.AST:
    """The tree, changed in place: comments, layout and docstrings do not count, code does."""
    for node in ast.walk(tree):
        if isinstance(node, HELD) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def named(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Functions, methods, constants and fields by qualified name."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from named(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        yield f"{prefix}{name.id}", node


def definitions(text: str) -> dict[str, ast.stmt]:
    """What a file defines."""
    return dict(named(ast.parse(text).body))


def fingerprint(node: ast.AST) -> str:
    """Hash of a definition, on every Python: 3.12 has a new field, and 3.13 leaves out empty lists."""
    for part in ast.walk(tree := without_docstrings(node)):
        if getattr(part, "type_params", None) == []:
            del part.type_params  # type: ignore[attr-defined]
    more: dict[str, Any] = {"show_empty": True} if sys.version_info >= (3, 13) else {}
    return hashlib.sha256(ast.dump(tree, **more).encode()).hexdigest()[:16]


def compiled(text: str) -> dict[str, str]:
    """Fingerprints of functions and long macros of a file in C: comments and layout do not count."""
    code = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    found = re.findall(r"^(?:WIDE )?static [^;{}]*?\b(\w+)\(([^;{}]*\)\n\{.*?)^\}", code, flags=re.M | re.S)
    found += re.findall(r"^#define (\w+)(\((?:.*\\\n)+.*)$", code, flags=re.M)
    return {name: hashlib.sha256(" ".join(body.split()).encode()).hexdigest()[:16] for name, body in found}


@cache
def package() -> dict[tuple[str, str], str]:
    """Fingerprints of all definitions, by path and qualified name."""
    known = {
        (path.relative_to(ROOT).as_posix(), name): fingerprint(node)
        for path in sorted(ROOT.rglob("*.py"))
        for name, node in definitions(path.read_text(encoding="utf-8")).items()
    }
    for path in sorted(ROOT.rglob("*.c")):
        marks = compiled(path.read_text(encoding="utf-8"))
        known |= {(path.relative_to(ROOT).as_posix(), name): mark for name, mark in marks.items()}
    return known


def current(key: str) -> set[str]:
    """Fingerprints of the definition of this key: in its file, or else wherever its name stands."""
    file, _, name = key.partition("::")
    of_name = [(f"/{path}", mark) for (path, own), mark in package().items() if own == name]
    here = {mark for path, mark in of_name if path.endswith(f"/{file}")}
    return here or {mark for _, mark in of_name}


def head_and_body(path: Path) -> tuple[dict[str, Any], str]:
    """Front matter and text of a proof."""
    _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), body


def stale(path: Path) -> dict[str, set[str]]:
    """Keys of a proof whose definition is not the one that was read, and what it is now."""
    pins = head_and_body(path)[0]["leans_on"] or {}
    return {key: now for key, mark in pins.items() if mark not in (now := current(key))}


def write(path: Path) -> None:
    """Take today's definitions as read."""
    text = path.read_text(encoding="utf-8")
    for key, now in stale(path).items():
        assert len(now) == 1, f"{key}: {len(now)} definitions of this name"
        text = re.sub(rf'^(  "?{re.escape(key)}"?: ).*$', rf'\g<1>"{min(now)}"', text, flags=re.M)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for given in sys.argv[1:]:
        write(Path(given))
    for proof in sorted(ROOT.rglob("*.md")):
        for key, now in stale(proof).items():
            print(f"{proof.relative_to(ROOT)}: {key} is now {' or '.join(sorted(now)) or 'nowhere'}")
