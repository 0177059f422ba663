"""What a report is about, its sections, and the words for guarantees and public facts that they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from dpglm.postprocessing.record import FitRecord
from dpglm.privacy.events import FactValue
from dpglm.privacy.guarantee import Guarantee
from dpglm.tables.table import ABSENT, budget, one_line, plain_number

LONGEST: Final = 240  # characters of a user's text that the page shows at one place
LONGEST_FACT: Final = 3000  # a guarantee in words, whose end may say that there is none


@dataclass(frozen=True)
class Section:
    """A numbered part of the page, drawn by ``templates/<slug>.html`` with its ``content``."""

    slug: str
    title: str
    content: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """What a page is about: the words and sections in which the page of a fit differs from that of a profile.

    ``decided`` names the questions of ``choices.html`` that its analyst had to decide.
    """

    noun: str  # "fit"
    standfirst: str  # one line below the heading
    asked: str  # what was asked for, as the analyst wrote it
    schema: Mapping[str, object]  # as `Schema.to_dict` writes it
    public: str  # what was chosen by the analyst besides the schema: "formula and method"
    decided: tuple[str, ...]
    results: tuple[Section, ...]
    curators: str = "one curator"  # who saw raw rows
    facts: tuple[tuple[str, FactValue | None], ...] = ()  # of its mechanism, by label; None where absent


@runtime_checkable
class ReportedPart(Protocol):
    """A part of a result that has a section of its own."""

    def section(self, record: FitRecord) -> Section:
        """The section."""


def shown(text: object, most: int = LONGEST) -> str:
    """A user's text on one line, cut where it would fill the page."""
    words = one_line(str(text))
    return words if len(words) <= most else words[: most - 1] + "…"


def price(guarantee: Guarantee) -> str:
    """Epsilon and what goes with it: ``"ε = 1, δ = 1e-6"``, ``"μ = 0.5 (ε = 2.314 at δ = 1e-6)"``."""
    pair = f"ε = {budget(guarantee.epsilon)}"
    if guarantee.delta > 0:
        pair += f", δ = {budget(guarantee.delta)}"
    for definition, symbol, value in (("gdp", "μ", guarantee.mu), ("zcdp", "ρ", guarantee.rho)):
        if guarantee.definition == definition and value is not None:
            return f"{symbol} = {budget(value)} ({pair.replace(', ', ' at ')})"
    return pair


def fact_words(value: FactValue) -> str:
    """The value of a public fact as it is read.

    Examples
    --------
    >>> fact_words(("lipids: 2", "history: 1")), fact_words(12000)
    ('lipids: 2, history: 1', '12,000')
    """
    if isinstance(value, tuple):
        return shown(", ".join(map(fact_words, value)) or ABSENT, 600)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return plain_number(value) if isinstance(value, float) else shown(value, LONGEST_FACT)
