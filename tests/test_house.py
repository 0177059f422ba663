"""The house stays small: files, lines, and how much of it one fit walks through."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.test_layers import room

PACKAGE = Path(__file__).parent.parent / "dpglm"
FILES, LINES, LINES_OF_A_FILE = 375, 66_312, 350
# Own files of which a default fit, with its printed summary, runs at least one function.
FILES_OF_A_FIT = 95
# Questions that a family answers itself elsewhere: `family.logistic` and its like.
FLAGS, FLAGS_ASKED = {"logistic", "counts", "binary", "likelihood"}, 9
RELEASES_TOLD_APART = 0
FIT = """
import json, sys
import dpglm.api  # what imports run is not counted
flow = set()
def enter(frame, event, value):
    code = frame.f_code
    if event == "call" and code.co_flags & 1:  # a function, not the body of a module or a class
        flow.add(code.co_filename)
women = dpglm.load_data("fair")
sys.setprofile(enter)
fit = dpglm.fit("affair ~ age + religious", women, privacy=1.0, seed=1)
print(fit.summary(), file=sys.stderr)
sys.setprofile(None)
print(json.dumps(sorted(flow)))
"""


@cache
def sources() -> dict[str, str]:
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(text) for name, text in sources().items()}


def test_files_and_lines_do_not_grow() -> None:
    lines = {name: len(text.splitlines()) for name, text in sources().items()}
    assert len(lines) <= FILES
    assert sum(lines.values()) <= LINES
    assert not {name: count for name, count in lines.items() if count > LINES_OF_A_FILE}


def test_a_default_fit_and_its_summary_run_few_files() -> None:
    done = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    own = [name for name in json.loads(done.stdout) if name.startswith(str(PACKAGE))]
    assert 20 <= len(own) <= FILES_OF_A_FIT, "\n".join(own)


def names_in(node: ast.expr) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name | ast.Attribute):
            yield inner.id if isinstance(inner, ast.Name) else inner.attr


@cache
def classes_below(base: str) -> dict[str, str]:
    """Classes that inherit from ``base``, directly or not, and the room of each."""
    parents = {
        node.name: ({name for parent in node.bases for name in names_in(parent)}, room(module))
        for module, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {base: parents[base][1]}
    while more := {name for name, (above, _) in parents.items() if above & found.keys()} - found.keys():
        found |= {name: parents[name][1] for name in more}
    return found


def test_no_release_is_told_from_another_outside_its_room() -> None:
    releases = classes_below("Release")
    assert len(releases) > 8
    told_apart = [
        f"{module}:{node.lineno} {ast.unparse(node)}"
        for module, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("isinstance", "issubclass")
        and any(releases.get(name, room(module)) != room(module) for name in names_in(node.args[1]))
    ]
    assert len(told_apart) <= RELEASES_TOLD_APART, "\n".join(told_apart)


def test_families_are_seldom_asked_what_they_are() -> None:
    asked = [
        f"{module}:{node.lineno} {ast.unparse(node)}"
        for module, tree in trees().items()
        if room(module) not in ("glm", "mechanisms")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in FLAGS
        and "family" in ast.unparse(node.value).lower()
    ]
    assert len(asked) <= FLAGS_ASKED, "\n".join(asked)
