"""Every release has a proof beside it, and the proof was read after the definitions it leans on changed."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import dpglm
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.unclaimed import UnclaimedRelease
from tests.proofs import ROOT, compiled, definitions, fingerprint, head_and_body, stale

for module in pkgutil.walk_packages(dpglm.__path__, "dpglm."):
    if module.name.startswith(("dpglm.mechanisms", "dpglm.papers")):
        importlib.import_module(module.name)


def kinds(base: type[Release]) -> Iterator[type[Release]]:
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


PROVED = sorted(
    {
        kind
        for kind in kinds(Release)
        if kind.__module__.startswith("dpglm.") and not inspect.isabstract(kind)
    },
    key=lambda kind: kind.__name__,
)


def proof_of(kind: type[Release]) -> Path:
    return Path(inspect.getfile(kind)).with_suffix(".md")


PROOFS = sorted(ROOT.rglob("*.md"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("kind", PROVED, ids=lambda kind: kind.__name__)
def test_each_release_has_a_proof_beside_it(kind: type[Release]) -> None:
    head, _ = head_and_body(proof_of(kind))
    assert kind.__name__ in str(head["proves"]).split(", ")
    # Its assumptions travel with it.
    assert tuple(head["assumes"] or ()) == kind.premises


@pytest.mark.parametrize("path", PROOFS, ids=name_of)
def test_proof_was_read_after_what_it_leans_on_changed(path: Path) -> None:
    assert not stale(path), f"re-read the proof, then: python -m tests.proofs dpglm/{name_of(path)}"


@pytest.mark.parametrize("path", PROOFS, ids=name_of)
def test_labels_of_code_and_proof_agree_and_lie_in_definitions_that_it_leans_on(path: Path) -> None:
    head, body = head_and_body(path)
    code = path.with_suffix(".py").read_text(encoding="utf-8")
    marked = {number: found[1] for number, line in enumerate(code.splitlines(), 1) if (found := _label(line))}
    assert set(marked.values()) == set(re.findall(r"`proof: ([a-z-]+)`", body))
    assert all(re.search(rf"^(class|def) {name}\b", code, re.M) for name in str(head["proves"]).split(", "))
    pins = {key.partition("::")[2] for key in head["leans_on"] or {}}
    for name, node in definitions(code).items():
        inside = [label for number, label in marked.items() if node.lineno <= number <= _end(node)]
        assert not inside or name in pins, f"{name} holds {inside}"


def _label(line: str) -> re.Match[str] | None:
    return re.search(r"# proof: ([a-z-]+)", line)


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def test_printed_algorithms_and_fits_without_privacy_claim_nothing() -> None:
    assert all(not kind.premises for kind in PROVED if issubclass(kind, UnclaimedRelease))


def test_changed_code_changes_the_fingerprint_of_its_definition_alone() -> None:
    first = 'scale = 2.0  # proof: scale\ndef f():\n    """Doc."""\n    return scale\n'
    second = '"""Words."""\n\nscale = 2.0\n\n\ndef f():\n    """Other words."""\n    return scale\n'
    third = "scale = 1.0\ndef f():\n    return scale\n"
    marks = [
        {name: fingerprint(node) for name, node in definitions(text).items()}
        for text in (first, second, third)
    ]
    assert marks[0] == marks[1] != marks[2]
    assert marks[0]["f"] == marks[2]["f"]


def test_changed_code_in_c_changes_the_fingerprint_of_its_function_alone() -> None:
    first = "static int f(int a)\n{\n    return a; /* it */\n}\n\n"
    first += "WIDE static void\ng(double *x)\n{\n    x[0] = 1.0;\n}\n"
    second = first.replace("/* it */", "").replace("    return", "  return")
    third = first.replace("x[0] = 1.0", "x[0] = 2.0")
    marks = [compiled(text) for text in (first, second, third)]
    assert marks[0].keys() == {"f", "g"}
    assert marks[0] == marks[1]
    assert marks[0]["f"] == marks[2]["f"]
    assert marks[0]["g"] != marks[2]["g"]
    loops = compiled((ROOT / "_row_loops.c").read_text(encoding="utf-8"))
    assert {"summed", "predictors_loop", "SCATTERED"} <= loops.keys()
