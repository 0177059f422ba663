"""A table as a fragment of HTML: no script, no style, every text escaped."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dpglm.tables.content import TableContent

if TYPE_CHECKING:
    from jinja2 import Template


def render_html(content: TableContent) -> str:
    """``content`` as two ``<table>`` elements, facts and rows, with captions and header scopes."""
    return _template().render(table=content)


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader

    # Autoescape is set for every template, not by file ending: an unescaped name would be a hole.
    environment = Environment(
        loader=PackageLoader("dpglm.tables"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("table.html")
