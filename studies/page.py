"""HTML pages: one self-contained file with text, tables and figures, made by a template."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup, escape


def _code(text: str) -> Markup:
    """Escaped text in which `words` between backquotes are code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


_TEMPLATES = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
_TEMPLATES.filters["code"] = _code
PAGE = _TEMPLATES.from_string(
    """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
body { font: 16px/1.5 Georgia, serif; color: #1a1a1a; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { font-family: system-ui, sans-serif; line-height: 1.2; }
table { border-collapse: collapse; margin: 1rem 0; font: 14px/1.4 system-ui, sans-serif; }
th, td { padding: .2rem .7rem; text-align: right; }
th:first-child, td:first-child { text-align: left; }
thead { border-top: 2px solid; border-bottom: 1px solid; }
tbody { border-bottom: 2px solid; }
figure { margin: 1.5rem 0; overflow-x: auto; }
figcaption, caption { font: 14px/1.4 system-ui, sans-serif; text-align: left; color: #444; }
svg { max-width: 100%; height: auto; }
</style>
</head>
<body>
<h1>{{ title }}</h1>
{% for section in sections %}
{% if section.heading %}
<h2>{{ section.heading }}</h2>
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
{{ figure.svg | safe }}
<figcaption>{{ figure.caption }}</figcaption>
</figure>
{% endfor %}
{% for table in section.tables %}
<table>
<caption>{{ table.caption }}</caption>
<thead><tr>{% for name in table.columns %}<th>{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}
<tr>{% for cell in row %}<td>{{ cell | code }}</td>{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
{% endfor %}
{% endfor %}
</body>
</html>
"""
)


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


def write(path: Path, title: str, sections: Sequence[Section]) -> None:
    """Write the page."""
    path.write_text(PAGE.render(title=title, sections=sections) + "\n", encoding="utf-8")
