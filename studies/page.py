"""HTML pages: one self-contained file with text, tables and figures, made by a template."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup, escape


def _code(text: str) -> Markup:
    """Text, escaped if it is no markup, in which `words` between backquotes are code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _plain(text: str) -> str:
    """Text without tags and backquotes, as the name of a table."""
    return text.striptags() if isinstance(text, Markup) else text.replace("`", "")


def anchor(heading: str) -> str:
    """A heading as the name of a place on the page.

    Examples
    --------
    >>> anchor("Figure 1: privacy, at last")
    'figure-1-privacy-at-last'
    """
    return "-".join(re.findall(r"[a-z0-9]+", heading.lower()))


def link(file: str, text: str) -> Markup:
    """A link, as a cell of a table.

    Examples
    --------
    >>> link("dpsc.html", "n < p")
    Markup('<a href="dpsc.html">n &lt; p</a>')
    """
    return Markup('<a href="{}">{}</a>').format(file, text)


def fraction(value: float, digits: int = 3) -> str:
    """A share, without the 0 before its point: wide tables have many.

    Examples
    --------
    >>> fraction(0.8451), fraction(-0.05, 2), fraction(1.0)
    ('.845', '-.05', '1.000')
    """
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.{digits}f}")


# Signs, digits, units and brackets: a cell of these is a number, with its error or its interval.
_NUMBER = re.compile(r"[-+±.,:;/%*()\[\]\d\s]*(to[-+.\d\s)]*|e-\d+|ms|s|GB)?")


def _numbers(table: Table) -> str:
    """A class for each column of numbers, n1 for the first: they stand on the right and are not broken."""
    columns = enumerate(zip(*table.rows, strict=True), start=1)
    return " ".join(
        f"n{place}" for place, cells in columns if all(_NUMBER.fullmatch(str(cell)) for cell in cells)
    )


_TEMPLATES = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
_TEMPLATES.filters |= {"code": _code, "plain": _plain, "anchor": anchor, "numbers": _numbers}
PAGE = _TEMPLATES.from_string(
    """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
body { font: 16px/1.5 Georgia, serif; color: #1a1a1a; }
body { max-width: 68.75rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { font-family: system-ui, sans-serif; line-height: 1.2; }
p, ul { max-width: 44rem; }
nav { font: 14px/1.6 system-ui, sans-serif; }
nav ul { padding-left: 1.2rem; columns: 20rem; max-width: none; }
.wide { overflow-x: auto; background:
linear-gradient(90deg, #fff 1rem, #fff0) left / 3rem 100% no-repeat local,
linear-gradient(270deg, #fff 1rem, #fff0) right / 3rem 100% no-repeat local,
linear-gradient(90deg, #0003, #0000) left / 1rem 100% no-repeat scroll,
linear-gradient(270deg, #0003, #0000) right / 1rem 100% no-repeat scroll; }
table { border-collapse: collapse; margin: .4rem 0; font: 13px/1.4 system-ui, sans-serif; }
th, td { padding: .2rem .5rem; text-align: left; }
th { vertical-align: bottom; }
{% for place in range(1, widest + 1) %}
.n{{ place }} tr > :nth-child({{ place }}) { text-align: right; }
.n{{ place }} td:nth-child({{ place }}) { white-space: nowrap; }
{% endfor %}
@media (max-width: 40rem) { table:not(.n1) td:first-child { min-width: 9rem; } }
thead { border-top: 2px solid; border-bottom: 1px solid; }
tbody { border-bottom: 2px solid; }
tbody tr { vertical-align: top; }
figure { margin: 1.5rem 0; }
figcaption { font: 14px/1.4 system-ui, sans-serif; max-width: 50rem; color: #444; }
svg { display: block; width: 100%; height: auto; }
</style>
</head>
<body>
<main>
<h1>{{ title }}</h1>
{% if paper %}
<p>The paper: {{ paper.authors }}, <cite>{{ paper.title }}</cite>, {{ paper.venue }}, {{ paper.year }}.</p>
{% endif %}
{% if contents %}
<nav aria-label="Contents"><ul>
{% for section in sections if section.heading %}
<li><a href="#{{ section.heading | anchor }}">{{ section.heading }}</a></li>
{% endfor %}
</ul></nav>
{% endif %}
{% for section in sections %}
{% if section.heading %}
<h2 id="{{ section.heading | anchor }}">{{ section.heading }}</h2>
{% endif %}
{% for text in section.texts %}
<p>{{ text | code }}</p>
{% endfor %}
{% if section.links %}
<ul>
{% for link in section.links %}
<li><a href="{{ link.file }}">{{ link.title }}</a>{{ ": " if link.about }}{{ link.about }}</li>
{% endfor %}
</ul>
{% endif %}
{% for figure in section.figures %}
<figure role="img" aria-label="{{ figure.caption }}">
<div class="wide">
{{ figure.svg | safe }}
</div>
<figcaption>{{ figure.caption }}</figcaption>
</figure>
{% endfor %}
{% for table in section.tables %}
<figure>
<figcaption>{{ table.caption | code }}</figcaption>
<div class="wide" tabindex="0" role="group" aria-label="{{ table.caption | plain }}">
<table class="{{ table | numbers }}">
<thead><tr>{% for name in table.columns %}<th>{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}
<tr>{% for cell in row %}<td>{{ cell | code }}</td>{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
</div>
</figure>
{% endfor %}
{% endfor %}
</main>
</body>
</html>
"""
)


# Headings from which on a page begins with a list of them.
CONTENTS_FROM = 3


@dataclass(frozen=True)
class Picture:
    """A figure as SVG, and what it shows."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Table:
    """Cells as they are printed."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Link:
    """Another page, and a sentence about it."""

    file: str
    title: str
    about: str = ""


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, links, figures and tables, in this order; `code` stands between backquotes."""

    heading: str
    texts: Sequence[str] = ()
    figures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    links: Sequence[Link] = ()


@dataclass(frozen=True)
class Paper:
    """The paper whose claims a page asks about.

    Examples
    --------
    >>> Paper("A. Author", "On noise", "A journal", 2020).year
    2020
    """

    authors: str
    title: str
    venue: str
    year: int


def write(path: Path, title: str, sections: Sequence[Section], paper: Paper | None = None) -> None:
    """Write the page, with a table of contents from three headings on."""
    contents = sum(bool(section.heading) for section in sections) >= CONTENTS_FROM
    widest = max((len(table.columns) for section in sections for table in section.tables), default=0)
    text = PAGE.render(title=title, sections=sections, paper=paper, contents=contents, widest=widest)
    path.write_text(text + "\n", encoding="utf-8")
