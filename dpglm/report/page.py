"""The HTML privacy report: one file without scripts, made of released numbers and public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from dpglm.errors import MethodError
from dpglm.postprocessing.record import FitRecord
from dpglm.report.section import Section
from dpglm.report.sections import SECTIONS, verdict
from dpglm.report.wording import no_promise, shown
from dpglm.tables.content import one_line

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_BYTES = 300_000


def render(result: FitRecord, *, choices: Mapping[str, str] | None = None) -> str:
    """The privacy report of a fit, as a page that needs nothing but a browser.

    No script, no network, no date: the same result gives the same bytes. A result without privacy gives a
    page that says so on top, at the bottom and in every section, and claims nothing.

    Parameters
    ----------
    result : FitRecord
        What a fit gave back.
    choices : mapping of str to str, optional
        The analyst's answers for "Choices outside the software": keys ``bounds``, ``exploration``,
        ``formula``, ``tuning``, ``search``, ``repeats``, ``unit``; any other key is shown
        as a further question. What is not answered is shown as open.

    Returns
    -------
    str
        An HTML document for UTF-8, below 300 kB however large the model, the schema and the ledger are.

    Raises
    ------
    MethodError
        ``choices`` is not a mapping of text to text.

    Examples
    --------
    >>> import dpglm
    >>> fit = dpglm.fit("affair ~ age", dpglm.load_data("fair"), privacy=1.0)
    >>> page = render(fit, choices={"tuning": "fixed before the data were seen"})
    """
    answers = _answers(choices)
    made = [make(result, answers) for make in SECTIONS]
    sections = [section for section in made if section is not None]
    page = _drawn(result, answers, sections)
    if len(page.encode()) > MOST_BYTES:
        short = [
            replace(one, content={**one.content, "json": None}) for one in sections if one.slug == "annex"
        ]
        page = _drawn(result, answers, [one for one in sections if one.slug != "annex"] + short)
    return page


def _drawn(result: FitRecord, answers: Mapping[str, str], sections: list[Section]) -> str:
    template = _environment().get_template("page.html")
    return template.render(
        heading="Privacy report" if result.guarantee.private else "Report without privacy",
        formula=shown(result.specification.formula, 1000),
        family=shown(result.specification.family.name),
        link=shown(result.link),
        version=shown(result.version, 40),
        private=result.guarantee.private,
        reason=no_promise(result.guarantee),
        verdict=verdict(result, answers),
        sections=sections,
    )


def _answers(choices: object) -> dict[str, str]:
    if choices is None:
        return {}
    if isinstance(choices, Mapping) and all(
        isinstance(word, str) for pair in choices.items() for word in pair
    ):
        return dict(choices)
    raise MethodError(
        f"choices of type {type(choices).__name__}",
        expected="a mapping of text to text",
        remedy='Use choices={"tuning": "fixed before the data were seen"}.',
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # Autoescape is set for every template, not by file ending: an unescaped name would be a hole.
    return Environment(
        loader=PackageLoader("dpglm.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_one_line,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _one_line(value: object) -> object:
    """Text with control and direction characters as visible escapes; markup of our own as it is."""
    return one_line(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
