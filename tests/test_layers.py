"""Imports point down, foreign packages have one door, and nothing heavy is imported at the top."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "dpglm"

# Height of each room; a module may import rooms of its own height or below that its row names.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "typing": set(),
    "registry": {"errors"},
    "privacy": set(),
    "tables": set(),
    "glm": set(),
    "ledger": {"privacy"},
    "optim": {"glm"},
    "inference": {"optim", "glm"},
    "data": {"glm"},
    "mechanisms": {"glm", "optim", "privacy"},
    "curator": {"mechanisms", "privacy"},
    "methods": {"curator", "mechanisms", "optim", "glm", "inference", "privacy", "postprocessing"},
    "postprocessing": {"privacy", "tables", "inference", "glm"},
    "report": {"postprocessing", "tables", "privacy"},
    "results": {"report", "postprocessing", "privacy", "tables", "glm"},
    "papers": {"*"},
    "planning": {"*"},
    "auditing": {"*"},
    "spec": {"*"},
    "api": {"*"},
    "cli": {"*"},
    "__init__": {"*"},
}
BASE = {"errors", "typing", "registry"}
# Known to the rest of the package through registries alone.
UNKNOWN = {"papers"}

# Which files may touch a foreign package at all.
DOORS: dict[str, set[str]] = {
    "patsy": {"data/formula/parse.py", "postprocessing/wald.py"},
    "dp_accounting": {"privacy/composition.py"},
    "jinja2": {"tables/html.py", "report/page.py"},
    "matplotlib": {"report/plots.py", "results/fit_result.py"},
    "statsmodels": {"tables/text.py", "data/tables/datasets.py"},
    "sqlite3": {"ledger/log.py"},
    "click": {"cli.py"},
    "tqdm": {"spec/fitting.py", "auditing/progress.py"},
    "pyarrow": {"data/tables/sources.py", "data/tables/cells.py"},
}
TOP_LEVEL = {"numpy", "scipy"}
LIGHT_SCIPY = ("scipy.linalg", "scipy.special")


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def room(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


def imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "relative import"
        yield str(node.module)
        if node.module == "dpglm":
            yield from (f"dpglm.{name.name}" for name in node.names)


def type_checking_only(tree: ast.Module) -> set[int]:
    return {
        id(inner)
        for node in tree.body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }


@pytest.mark.parametrize(
    ("module", "tree"), list(modules()), ids=lambda item: item if isinstance(item, str) else ""
)
def test_own_imports_point_down(module: str, tree: ast.Module) -> None:
    allowed = MAY_IMPORT[room(module)] | BASE | {room(module)}
    for node in ast.walk(tree):
        for name in imported(node):
            if name.startswith("dpglm."):
                target = name.split(".")[1]
                assert "*" in allowed or target in allowed, f"{module} imports {name}"
                assert target not in UNKNOWN - {room(module)}, f"{module} imports {name}: use a registry"


@pytest.mark.parametrize(
    ("module", "tree"), list(modules()), ids=lambda item: item if isinstance(item, str) else ""
)
def test_no_own_import_inside_a_function(module: str, tree: ast.Module) -> None:
    for outer in ast.walk(tree):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for node in ast.walk(outer):
                for name in imported(node):
                    assert not name.startswith("dpglm"), f"{module}:{node.lineno} imports {name} late"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("module", "tree"), list(modules()), ids=lambda item: item if isinstance(item, str) else ""
)
def test_foreign_packages_have_one_door_and_heavy_ones_are_lazy(module: str, tree: ast.Module) -> None:
    for_types = type_checking_only(tree)
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        for name in imported(node):
            package = name.split(".")[0]
            if (
                package == "dpglm"
                or package in sys.stdlib_module_names - {"sqlite3"}
                or id(node) in for_types
            ):
                continue
            if package in DOORS:
                assert module in DOORS[package], f"{module} opens a second door to {package}"
            if id(node) in top and module != "cli.py":
                assert package in TOP_LEVEL, f"{module} imports {name} at the top"
                if package == "scipy":
                    assert name.startswith(LIGHT_SCIPY), f"{module} imports {name} at the top"


def test_modules_form_no_cycle() -> None:
    graph: dict[str, set[str]] = {}
    known = {name.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for name, _ in modules()}
    for name, tree in modules():
        key = name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        skip = type_checking_only(tree)
        targets = {found for node in ast.walk(tree) if id(node) not in skip for found in imported(node)}
        inner = {found.removeprefix("dpglm.") for found in targets if found.startswith("dpglm.")}
        # A package's own __init__ gathers its files; that is not a dependency of theirs.
        graph[key] = {found for found in inner & known if not key.startswith(f"{found}.") and found != key}
    done: set[str] = set()

    def visit(node: str, path: tuple[str, ...]) -> None:
        assert node not in path, " -> ".join((*path, node))
        if node not in done:
            for target in sorted(graph.get(node, ())):
                visit(target, (*path, node))
            done.add(node)

    for node in sorted(graph):
        visit(node, ())


def test_files_hold_one_concept() -> None:
    for path in PACKAGE.rglob("*.py"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 400, f"{path.name} has {lines} lines"


def test_import_loads_nothing_heavy() -> None:
    heavy = [*DOORS, "pandas", "distributed", "numba", "yaml", "scipy.stats", "scipy.optimize"]
    code = f"import sys, dpglm; print([name for name in {heavy!r} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
