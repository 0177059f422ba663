"""What the site needs beyond Sphinx: MathML, typeset proofs, reports and notebooks beside the pages."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from docutils import nodes
from latex2mathml.converter import convert
from sphinx import addnodes
from sphinx.application import Sphinx

from vignettes import notebooks

ROOT: Final = Path(__file__).parents[1]
PROOFS: Final = "dpglm/"
# A folder of proofs, which GitHub shows, is a page of the site.
FOLDERS: Final = {"](dpglm/mechanisms)": "](docs/proofs.md)"}
START: Final = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>dpglm</title>'
# Letters of one or two with indices and powers: x_i, sum_i, v_i^2, e^(eps - J), P^{-1}.
MARK: Final = re.compile(r"([_^])(\{[^{}]*\}|\([^()]*\)|-?[^\W_]+)")
SCRIPTS: Final = re.compile(
    r"(?P<base>(?<![\w.`])(?:[A-Za-z]{1,2}|sum|max|min|phi|beta|theta|mu|eta|sigma|Pi|tau|nu)|[)\]|'])"
    r"(?P<scripts>(?:[_^](?:\{[^{}]*\}|\([^()]*\)|-?[^\W_]{1,3}(?![^\W_]|\.\w)))+)(?!\w)"
)
SIGNS: Final = {"<=": "≤", ">=": "≥", "->": "→", "!=": "≠"}


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("source-read", _source)
    app.connect("doctree-read", _pages, priority=400)  # before files to download are collected
    app.connect("html-page-context", _roles)
    app.connect("build-finished", _beside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    text = node.astext().replace(r"\arg\min", r"\operatorname{argmin}")
    if "&" in text and r"\begin" not in text:
        text = rf"\begin{{split}}{text}\end{{split}}"
    # The theme's class for what may be wider than the page: it scrolls, by keyboard too.
    formula = convert(text, display="block")
    writer.body.append(f'<div class="pst-scrollable-table-container">{formula}</div>')
    raise nodes.SkipNode


def _roles(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """References are items of a list; the role that docutils writes is deprecated, and no item."""
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def _source(app: Sphinx, page: str, source: list[str]) -> None:
    """Links to folders lead to pages, and a vignette leads to its notebook."""
    for folder, target in FOLDERS.items():
        source[0] = source[0].replace(folder, target)
    if page.startswith("vignettes/"):
        name = html.escape(f"{page.removeprefix('vignettes/')}.ipynb")
        link = f'<p><a href="{name}" download>This page as a Jupyter notebook</a></p>'
        title, rest = source[0].split("\n", 1)
        source[0] = f"{title}\n\n{link}\n{rest}"


def _pages(app: Sphinx, tree: nodes.document) -> None:
    """Reports are pages and no downloads; a proof has indices and powers in place of marks for them."""
    for link in list(tree.findall(addnodes.download_reference)):
        if link["reftarget"].endswith(".html"):
            there = nodes.reference("", "", *link.children, refuri=link["reftarget"], internal=True)
            link.replace_self(there)
    if app.env.docname.startswith(PROOFS):
        for text in list(tree.findall(nodes.Text)):
            if not isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.raw | nodes.reference):
                text.parent.replace(text, list(typeset(text.astext())))


def typeset(text: str) -> Iterator[nodes.Node]:
    """Words of a proof as they are printed: ``x_i^2 <= 1`` with an index, a power and a sign."""
    place = 0
    for found in SCRIPTS.finditer(text):
        base = "Σ" if found["base"] == "sum" else found["base"]
        yield nodes.Text(_signs(text[place : found.start()]) + base)
        for mark, inner in MARK.findall(found["scripts"]):
            kind = nodes.subscript if mark == "_" else nodes.superscript
            yield kind("", _signs(inner.strip("{}")))
        place = found.end()
    yield nodes.Text(_signs(text[place:]))


def _signs(text: str) -> str:
    for typed, sign in SIGNS.items():
        text = text.replace(typed, sign)
    return text


def _on_the_site(report: Path, out: Path) -> str:
    """A report whose links to Markdown lead to pages; what is in the checkout alone is no link here."""

    def placed(link: re.Match[str]) -> str:
        target = re.sub(r"\.md$", ".html", link["target"])
        there = (out / "reports" / target).exists()
        return f'<a href="{target}">{link["words"]}</a>' if there else link["words"]

    text = report.read_text(encoding="utf-8")
    return re.sub(r'<a href="(?P<target>\.\./[^"#]+)">(?P<words>.*?)</a>', placed, text, flags=re.DOTALL)


def _beside(app: Sphinx, failure: Exception | None) -> None:
    """Reports and notebooks stand where links of the checkout expect them, and the site has a first page."""
    if failure is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    (out / "reports").mkdir(exist_ok=True)
    for page in sorted((ROOT / "reports").glob("*.html")):
        (out / "reports" / page.name).write_text(_on_the_site(page, out), encoding="utf-8")
    notebooks.write(out / "vignettes")
    first = f'{START}<meta http-equiv="refresh" content="0; url=docs/index.html"></head>'
    words = '<body><p><a href="docs/index.html">dpglm</a></p></body></html>\n'
    (out / "index.html").write_text(first + words, encoding="utf-8")
