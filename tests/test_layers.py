"""Imports point down, foreign packages have one door, and nothing heavy is imported at the top."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

PACKAGE = Path(__file__).parent.parent / "dpglm"

# Height of each room; a module may import rooms of its own height or below that its row names.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "typing": set(),
    "registry": {"errors"},
    "_row_loops": set(),  # compiled
    "row_loops": {"typing", "_row_loops"},
    "factor_rows": {"typing", "row_loops"},
    "rows": {"typing", "threads", "factor_rows"},
    "kept_rows": {"rows", "errors", "factor_rows"},
    "wide_maps": {"errors", "typing", "factor_rows"},
    "privacy": set(),
    "tables": set(),
    "glm": set(),
    "ledger": {"privacy", "tables"},
    "optim": {"glm"},
    "inference": {"optim", "glm"},
    "data": {"glm", "tables"},
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
    "exchange": {"*"},
    "verification": {"*"},
    "api": {"*"},
    "sklearn": {"*"},
    "maketables": {"results"},
    "cli": {"*"},
    "__init__": {"*"},
}
BASE = {"errors", "typing", "registry", "factor_rows", "rows", "threads", "kept_rows", "wide_maps"}
BASE |= {"row_loops", "_row_loops"}
# Known to the rest of the package through registries alone.
UNKNOWN = {"papers"}

# Which files may touch a foreign package at all.
DOORS: dict[str, set[str]] = {
    "patsy": {"data/formula/parse.py", "postprocessing/wald.py"},
    "dp_accounting": {"privacy/loss_distribution.py"},
    "jinja2": {"tables/markup.py"},
    "great_tables": {"tables/markup.py"},
    "matplotlib": {"report/plots.py", "results/fit_result.py"},
    "statsmodels": {"tables/table.py", "data/tables/datasets.py"},
    "sqlite3": {"ledger/log.py"},
    # Two uses that share nothing: signatures under a ledger, and masks between sites.
    "cryptography": {"ledger/signing.py", "mechanisms/pairwise_masks.py"},
    "click": {
        f"cli/{name}.py"
        for name in (
            "commands",
            "exchange",
            "failures",
            "filed",
            "files",
            "group",
            "ledger",
            "options",
            "output",
            "saved",
            "schema",
            "standard_input",
            "tables",
        )
    },
    "pyreadstat": {"data/codebooks/stat_files.py"},
    "sklearn": {"sklearn.py"},
    "maketables": {"maketables.py"},
    "distributed": {"exchange/dask_queues.py", "data/tables/dask_frame.py"},
    "pyspark": {"data/tables/spark_frame.py"},
    "cloudpickle": {"data/tables/cluster.py"},
    "threadpoolctl": {"threads.py"},
    "tqdm": {"spec/arguments.py"},
    "flint": {"mechanisms/k_norm.py", "mechanisms/finishing.py", "mechanisms/ball_maps.py"},
    # By frames in memory, their columns, files, queries and frames of Spark.
    "pyarrow": {
        f"data/tables/{name}.py"
        for name in ("sources", "columns", "csv_rows", "files", "queries", "spark_frame")
    },
}
TOP_LEVEL = {"numpy", "scipy"}
LIGHT_SCIPY = ("scipy.linalg", "scipy.special")


@dataclass(frozen=True)
class Import:
    """One import in one file of the package."""

    module: str
    line: int
    name: str
    where: Literal["top", "function", "types", "block"]

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.name}"


@cache
def imports() -> tuple[Import, ...]:
    return tuple(
        found
        for path in sorted(PACKAGE.rglob("*.py"))
        for found in imports_of(
            path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
        )
    )


def imports_of(module: str, tree: ast.Module) -> Iterator[Import]:
    """Every import of a file, and whether it is at the top, in a function or for types alone."""

    def walk(node: ast.AST, where: Literal["top", "function", "types", "block"]) -> Iterator[Import]:
        for inner in ast.iter_child_nodes(node):
            yield from (Import(module, inner.lineno, name, where) for name in imported(inner))
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or where == "function":
                yield from walk(inner, "function")
            elif where == "types" or (isinstance(inner, ast.If) and "TYPE_CHECKING" in ast.dump(inner.test)):
                yield from walk(inner, "types")
            else:
                yield from walk(inner, "block")

    return walk(tree, "top")


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


def forbidden_upward(one: Import) -> bool:
    if not one.name.startswith("dpglm."):
        return False
    here, target = room(one.module), one.name.split(".")[1]
    allowed = MAY_IMPORT[here] | BASE | {here}
    return not ("*" in allowed or target in allowed) or target in UNKNOWN - {here}


def test_own_imports_point_down() -> None:
    assert not [str(one) for one in imports() if forbidden_upward(one)]


def test_no_own_import_inside_a_function() -> None:
    assert not [str(one) for one in imports() if one.where == "function" and one.name.startswith("dpglm")]


def opens_a_second_door(one: Import) -> bool:
    package = one.name.split(".")[0]
    if package == "dpglm" or package in sys.stdlib_module_names - {"sqlite3"} or one.where == "types":
        return False
    if package in DOORS and one.module not in DOORS[package]:
        return True
    # Rooms that a user of these packages alone imports.
    if one.where != "top" or room(one.module) in ("cli", "sklearn"):
        return False
    return package not in TOP_LEVEL or (package == "scipy" and not one.name.startswith(LIGHT_SCIPY))


def test_foreign_packages_have_one_door_and_heavy_ones_are_lazy() -> None:
    assert not [str(one) for one in imports() if opens_a_second_door(one)]


def test_each_rule_can_fail() -> None:
    code = """
from dpglm.methods import auto
import pandas
import scipy.stats
import patsy
from dpglm.papers import dpsc
def late():
    import dpglm.errors
    import pandas
"""
    found = list(imports_of("glm/twin.py", ast.parse(code)))
    assert {one.line for one in found if forbidden_upward(one)} == {2, 6}
    assert {one.line for one in found if opens_a_second_door(one)} == {3, 4, 5}
    assert {one.line for one in found if one.where == "function"} == {8, 9}


def test_modules_form_no_cycle() -> None:
    def key(module: str) -> str:
        return module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")

    files = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}
    known = {key(module) for module in files}
    graph: dict[str, set[str]] = {name: set() for name in known}
    for one in imports():
        target, here = one.name.removeprefix("dpglm."), key(one.module)
        # A package's own __init__ gathers its files; that is not a dependency of theirs.
        inner = one.where != "types" and one.name.startswith("dpglm.") and target in known
        if inner and not here.startswith(f"{target}.") and here != target:
            graph[here].add(target)
    done: set[str] = set()

    def visit(node: str, path: tuple[str, ...]) -> None:
        assert node not in path, " -> ".join((*path, node))
        if node not in done:
            for target in sorted(graph[node]):
                visit(target, (*path, node))
            done.add(node)

    for node in sorted(graph):
        visit(node, ())


def test_import_loads_nothing_heavy() -> None:
    heavy = [*DOORS, "pandas", "distributed", "numba", "yaml", "scipy.stats", "scipy.optimize"]
    code = f"import sys, dpglm; print([name for name in {heavy!r} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
