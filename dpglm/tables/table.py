"""A table that can be printed, shown in a notebook, or put into a paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpglm.tables.content import TableContent
from dpglm.tables.markup import render_html, render_latex, render_markdown
from dpglm.tables.text import render_text, simple_table

if TYPE_CHECKING:
    from statsmodels.iolib.table import SimpleTable


@dataclass(frozen=True, repr=False)
class Table(TableContent):
    """The words of a table and the ways to write them down.

    The same content gives the same bytes: no date, no path, no object id.

    Examples
    --------
    >>> from dpglm.tables.content import Column
    >>> table = Table("Doses", (Column("drug", "left"), Column("mg")), (("aspirin", "100"),))
    >>> print(table.to_markdown())
    **Doses**
    <BLANKLINE>
    | drug | mg |
    |:--|--:|
    | aspirin | 100 |
    <BLANKLINE>
    """

    def __str__(self) -> str:
        return render_text(self)

    def __repr__(self) -> str:
        return f"<Table {self.title!r}: {len(self.rows)} rows>" + (f" {self.alarm}" if self.alarm else "")

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """A fragment of HTML: escaped, with captions and header scopes, without script or style."""
        return render_html(self)

    def to_latex(self) -> str:
        """A LaTeX ``table`` environment; the preamble needs ``\\usepackage{booktabs}``."""
        return render_latex(self)

    def to_markdown(self) -> str:
        """A Markdown table with pipes, its facts as a list above it."""
        return render_markdown(self)

    def as_simple_table(self) -> SimpleTable:
        """The rows as statsmodels' ``SimpleTable``, for code that expects one; imports statsmodels.

        Facts and notes have no place there; an alarm is kept in the title.
        """
        return simple_table(self)
