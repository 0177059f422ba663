"""What a section and a figure of the report are: words and numbers, before anybody decides how they look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from dpglm.postprocessing.record import FitRecord
from dpglm.report.svg import Drawing


@dataclass(frozen=True)
class Rows:
    """A table of formatted cells: a caption, column headings, rows. A row's first cell is its heading.

    ``numeric`` names the right-aligned columns.
    """

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A drawing, the sentence below it, and every number in it as a table for those who cannot see it."""

    drawing: Drawing
    caption: str
    twin: Rows


@dataclass(frozen=True)
class Section:
    """A numbered part of the page, drawn by ``templates/<slug>.html``."""

    slug: str
    title: str
    content: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class ReportedPart(Protocol):
    """A part of a result that has a section of its own."""

    def section(self, record: FitRecord) -> Section:
        """The section."""
