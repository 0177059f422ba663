"""The site without building it: names have a place, links lead to headings, notebooks are the pages.

``make docs`` builds it, with warnings as errors, and runs `tests/browser/test_site.py` on what it built.
"""

from __future__ import annotations

import inspect
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import dpglm
from vignettes import notebooks, pages

ROOT = Path(__file__).parents[1]
DOCS = (
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    *sorted((ROOT / "docs").glob("*.md")),
    *pages.PAGES,
)
LISTED = re.findall(r"^   ~dpglm\.([\w.]+)$", (ROOT / "docs" / "api.rst").read_text("utf-8"), re.MULTILINE)


def public() -> dict[str, Any]:
    """Everything that users may name: of the package, its registries, the exchange and the errors."""
    found = {name: getattr(dpglm, name) for name in dpglm.__all__}
    modules = {name: thing for name, thing in found.items() if inspect.ismodule(thing)}
    for module, thing in modules.items():
        for name in dir(thing):
            if not name.startswith("_") and (
                inspect.isclass(value := getattr(thing, name)) or callable(value)
            ):
                home = str(getattr(value, "__module__", ""))
                if home.startswith("dpglm") and not (module == "errors" and home != "dpglm.errors"):
                    found[f"{module}.{name}"] = value
    # Doors to other packages, which `from dpglm import *` leaves closed.
    for module in ("maketables", "sklearn"):
        thing = getattr(dpglm, module)
        found |= {f"{module}.{name}": getattr(thing, name) for name in thing.__all__}
    kinds = (inspect.isclass, inspect.isfunction)
    return {name: thing for name, thing in found.items() if any(kind(thing) for kind in kinds)}


@pytest.mark.papers
def test_every_public_name_has_a_page_and_no_other_has() -> None:
    assert sorted(LISTED) == sorted(public())


@pytest.mark.papers
def test_no_parameter_begins_with_a_letter_that_typesets_as_a_list() -> None:
    listed = re.compile(r"^ *\w[\w, ]* : .*\n +(?:[A-Za-z]|\d+)[.)] ", re.MULTILINE)
    assert listed.search("iterations : int or None\n    K. None: 10.")
    assert [name for name, thing in public().items() if listed.search(inspect.getdoc(thing) or "")] == []


@pytest.mark.papers
@pytest.mark.parametrize("name", sorted(public()))
def test_every_public_name_has_an_example(name: str) -> None:
    thing = public()[name]
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return  # found, expected, remedy: the base has the example
    assert ">>>" in (inspect.getdoc(thing) or ""), name


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    words = re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.papers
def test_links_lead_to_headings_that_are_there() -> None:
    seen = 0
    for path in DOCS:
        text = path.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)]+)\)", text):
            there = (path.parent / target).resolve() if target else path
            assert anchor in anchors(there), f"{path.name}: {target}#{anchor}"
            seen += 1
    assert seen > 15


@pytest.mark.papers
@pytest.mark.parametrize("path", [*DOCS, *sorted((ROOT / "dpglm").rglob("*.md"))], ids=lambda path: path.stem)
def test_headings_are_in_order_and_pictures_have_words(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    levels = [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert not re.findall(r"!\[\s*\]\(", text)
    assert all('alt="' in image for image in re.findall(r"<img [^>]*>", text))


@pytest.mark.papers
def test_the_landing_page_leads_every_reader_somewhere() -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for reader in ("statistician", "data owner", "officer", "reviewer of privacy", "contributor"):
        (row,) = re.findall(rf"^\| an? {reader} \|.*$", text, re.MULTILINE)
        assert row.count("](") >= 2
    toctrees = re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
    listed = {
        line.split("<")[-1].rstrip(">").split("/")[-1] for tree in toctrees for line in tree.splitlines()
    }
    for page in (ROOT / "docs").glob("*.md"):
        assert page.stem == "index" or page.stem in listed, page.name


def test_proofs_are_typeset_and_code_and_file_names_are_left_alone() -> None:
    nodes = list(
        _site_parts().typeset("v_i^2 |x_i|^2 <= 1, P^{-1}, objective_perturbation.md, e^(J) and a_long_name")
    )
    assert [node.astext() for node in nodes if node.tagname == "subscript"] == ["i", "i"]
    assert [node.astext() for node in nodes if node.tagname == "superscript"] == ["2", "2", "-1", "(J)"]
    text = "".join(node.astext() for node in nodes)
    assert "≤ 1" in text
    assert "objective_perturbation.md" in text
    assert "a_long_name" in text


def _site_parts() -> Any:
    import importlib.util

    for package in ("docutils", "sphinx", "latex2mathml"):
        pytest.importorskip(package, reason=f"no {package}: pip install .[docs]")
    spec = importlib.util.spec_from_file_location("site_parts", ROOT / "docs" / "site_parts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", pages.PAGES, ids=lambda path: path.stem)
def test_a_notebook_has_the_blocks_of_its_page(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="no nbformat on this machine")
    made = notebooks.notebook(path)
    nbformat.validate(made)
    page = path.read_text(encoding="utf-8")
    cells = [cell for cell in made.cells if cell.cell_type == "code"]
    for block, cell in zip(pages.blocks(page), cells, strict=True):
        drawn = "savefig" in block.code
        assert drawn or cell.source == block.code.rstrip("\n")
        assert "savefig" not in cell.source
        printed = [one["text"] for one in cell.outputs if one["output_type"] == "stream"]
        assert printed == ([] if block.text is None else [block.text])
        assert any(one["output_type"] == "display_data" for one in cell.outputs) is drawn
    words = "".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert "](" not in re.sub(r"\]\(https?:", "", words)
    assert "not private" in words


def test_the_citation_names_the_version_and_the_licence() -> None:
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert told["version"] == dpglm.__version__
    assert told["license"] == "MIT"
    assert {"cff-version", "message", "title", "authors"} <= told.keys()


def test_no_docstring_refers_to_a_package_that_may_be_absent() -> None:
    """The site has no inventory of it: where it is installed, the reference would have no target."""
    absent = re.compile(r"(?<!`)`(great_tables|maketables|sklearn|pyspark|pyreadstat)\b[^`]*`(?!`)")
    found = [path.name for path in (ROOT / "dpglm").rglob("*.py") if absent.search(path.read_text("utf-8"))]
    assert not found
