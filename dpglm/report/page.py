"""The HTML privacy report: one file without scripts, made of released numbers and public facts only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Final

from dpglm.errors import MethodError
from dpglm.postprocessing.record import Record
from dpglm.postprocessing.store import fingerprint, to_json
from dpglm.report.crosswalk import crosswalk
from dpglm.report.facts import LABELS, LONGEST, ReportFacts
from dpglm.report.figure import PALETTES, ROLES
from dpglm.report.guarantee_figures import ledger_figure, profile_figure, trade_off_figure
from dpglm.report.guarantee_sections import budget_ledger, full_guarantee, plain_words
from dpglm.report.section import Section, Subject, fact_words, price, shown
from dpglm.report.svg import drawn
from dpglm.tables.markup import environment
from dpglm.tables.table import balance, budget, chance, computed, count, one_line, percent, plain_number

if TYPE_CHECKING:
    from jinja2 import Template

MOST_BYTES: Final = 300_000
MOST_CHARACTERS: Final = 60_000  # of JSON with all digits; a longer one is packed
MOST_ANSWERS: Final = 20  # to questions of the analyst's own
WORDS: Final = (shown, price, fact_words)
FIGURES: Final = (trade_off_figure, profile_figure, ledger_figure, drawn)
NUMBERS: Final = (balance, budget, chance, computed, count, percent, plain_number)


def render(
    record: Record, subject: Subject, *, choices: Mapping[str, str] | None = None, facts: object = None
) -> str:
    """The page of :meth:`dpglm.FitResult.to_html`; the same record gives the same bytes."""
    answers, stated = _answers(choices, subject), ReportFacts.of(facts)
    drafts = (
        plain_words(record),
        full_guarantee(record),
        *subject.results,
        Section("declared", "Declared data"),
        budget_ledger(record, subject.noun),
        Section("choices", "Choices outside the software", {"choices": answers}),
        Section("mechanism", "Mechanism"),
        Section("limits", "Trust model and limits"),
        _responsible(record, stated),
    )
    sections = [section for section in drafts if section is not None]
    points = crosswalk(record, subject, sections, answers, stated)
    sections += [*([] if points is None else [points]), _saved_result(record, answers, stated)]
    template = _template()
    page = template.render(record=record, subject=subject, sections=sections)
    if len(page.encode()) > MOST_BYTES:
        annex = sections.pop()
        short = replace(annex, content={**annex.content, "json": None})
        page = template.render(record=record, subject=subject, sections=[*sections, short])
    return page


@dataclass(frozen=True)
class Verbatim:
    """Text that keeps its line breaks on the page."""

    text: str

    def __html__(self) -> str:
        return escape(self.text, quote=False)


def _responsible(record: Record, facts: ReportFacts) -> Section | None:
    """What people stated, with lines to sign; without privacy only where they stated something."""
    if not (record.guarantee.private or facts.given()):
        return None
    stated = {name: (label, facts.stated(name)) for name, label in LABELS.items()}
    signed = [stated.pop(name) for name in ("name", "role", "date")]
    return Section(
        "responsible", "Who answers for this report", {"stated": list(stated.values()), "signed": signed}
    )


def _saved_result(record: Record, answers: Mapping[str, str], facts: ReportFacts) -> Section:
    """Fingerprint, and the JSON itself where it may be published; the page drops it where it is too long.

    What people stated is kept with it, so that the page can be made again and compared.
    """
    packed = len(to_json(record)) > MOST_CHARACTERS
    stated = {"choices": dict(answers), "facts": facts.given()}
    content = {
        "stated": Verbatim(json.dumps(stated, indent=1)) if answers or facts.given() else None,
        "fingerprint": fingerprint(record),
        "packed": packed,
        "json": Verbatim(to_json(record, packed=packed)),  # its template prints it where privacy is promised
    }
    return Section("annex", "The saved result", content)


def _answers(choices: object, subject: Subject) -> Mapping[str, str]:
    """The answers as the page shows them, none by default; anything but text to text is refused."""
    answers = {} if choices is None else choices
    if isinstance(answers, Mapping) and all(
        isinstance(word, str) for answer in answers.items() for word in answer
    ):
        others = [key for key in answers if key not in subject.decided][:MOST_ANSWERS]
        return {
            shown(key): shown(" ".join(words.split()), LONGEST)
            for key, words in answers.items()
            if key in subject.decided or key in others
        }
    raise MethodError(
        f"choices of type {type(choices).__name__}",
        expected="a mapping of text to text",
        remedy='Use choices={"tuning": "fixed before the data were seen"}.',
    )


@cache
def _template() -> Template:
    templates = environment("dpglm.report", _one_line)
    templates.filters.update({function.__name__: function for function in (*WORDS, *FIGURES, *NUMBERS)})
    templates.globals.update(palettes=PALETTES, roles=ROLES)
    return templates.get_template("page.html")


def _one_line(value: object) -> object:
    """Text with control and direction characters as visible escapes; markup of our own as it is."""
    return one_line(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
