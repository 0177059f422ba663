"""Sections on how the result came about: data, choices of the analyst, mechanism, the saved result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.store import fingerprint, to_json
from dpglm.privacy.description import Fact, ReleaseDescription
from dpglm.report.figure import Rows
from dpglm.report.section import LONGEST_FACT, Section, fact_words, shown
from dpglm.tables.number import ABSENT, plain_number

MOST_COLUMNS: Final = 100
MOST_LEVELS: Final = 24
MOST_EXTRA: Final = 20  # questions of the analyst's own
MOST_RELEASES: Final = 20
MOST_FACTS: Final = 60
MOST_CHARACTERS: Final = 60_000  # of JSON with all digits; a longer one is packed
SETTINGS: Final = {"title": "Table", "unit": "What one row is", "rows": "Rows, declared", "sites": "Sites"}
QUESTIONS: Final = {
    "bounds": "Bounds and levels: where do they come from?",
    "exploration": "Exploration: were the private data inspected, plotted or summarised before this fit?",
    "formula": "Formula: how were variables and their coding chosen?",
    "tuning": "Tuning: how were penalty, strength and other options chosen?",
    "search": "Model search: how many models were tried on these data, and were all of them paid for?",
    "repeats": "Other releases: what else has been or will be published from the same people?",
    "unit": "Unit: can one person own more than one row?",
}


def declared_data(record: FitRecord) -> Section:
    """The schema as a table: bounds, levels, rules, provenance, and whether the data were inspected."""
    schema = record.specification.schema
    variables = schema.get("variables")
    columns = {
        name: facts if isinstance(facts, Mapping) else {}
        for name, facts in (variables if isinstance(variables, Mapping) else {}).items()
    }
    content = {
        "table": Rows(
            "Declared columns",
            ("column", "values", "missing", "outside", "declared from", "looked at data"),
            tuple(_column(name, facts) for name, facts in list(columns.items())[:MOST_COLUMNS]),
        ),
        "left_out": max(0, len(columns) - MOST_COLUMNS),
        "facts": [(label, shown(schema[key])) for key, label in SETTINGS.items() if key in schema],
        "inspected": [shown(name) for name, facts in columns.items() if facts.get("looked_at_data")][:100],
    }
    return Section("declared", "Declared data", content)


def _column(name: str, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """A declared column as a row of the table."""
    if facts.get("bounds") is not None:
        low, high = facts["bounds"]
        values, outside = f"{low:g} to {high:g}", "moved to the nearest bound"
    else:
        levels = list(facts.get("levels") or ())
        values = ", ".join(shown(level, 60) for level in levels[:MOST_LEVELS])
        values += f", … ({len(levels)} levels)" if len(levels) > MOST_LEVELS else ""
        outside = "as missing" if facts.get("other") is None else _rule(facts["other"])
    return (
        shown(name, 80),
        shown(values, 300),
        _rule(facts.get("missing", "omit")),
        outside,
        shown(facts.get("source") or ABSENT, 160),
        "yes" if facts.get("looked_at_data") else "no",
    )


def _rule(rule: object) -> str:
    """What a row without a usable value does."""
    if rule == "omit":
        return "contributes nothing"
    return f"counts as {rule:g}" if isinstance(rule, float) else f"counts as {shown(rule)}"


def choices_outside(choices: Mapping[str, str]) -> Section:
    """A checklist: the analyst's answers, open boxes elsewhere; unknown keys are further questions."""
    listed = [(question, choices.get(key, "")) for key, question in QUESTIONS.items()]
    extra = [(key, text) for key, text in choices.items() if key not in QUESTIONS][:MOST_EXTRA]
    answers = [(shown(question), shown(" ".join(text.split()), 1200)) for question, text in listed + extra]
    return Section("choices", "Choices outside the software", {"answers": answers})


def mechanism(record: FitRecord) -> Section:
    """The method and its releases in their own words; claims only where something is promised."""
    description, private = record.description, record.guarantee.private
    lines = [
        ("Algorithm", description.algorithm),
        ("Penalty", description.penalty_applied),
        ("Intervals by", description.interval_method),
        *_lines((*description.facts, *_coding_facts(record))),
    ]
    content = {
        "facts": _shown(lines),
        "releases": [
            (shown(release.name), release.times, _shown(_release(release, private)))
            for release in description.releases[:MOST_RELEASES]
        ],
        "left_out": max(0, len(description.releases) - MOST_RELEASES),
        "steps": [shown(step, LONGEST_FACT) for step in description.why.splitlines()] if private else [],
    }
    return Section("mechanism", "Mechanism", content)


def _release(release: ReleaseDescription, private: bool) -> list[tuple[str, str]]:
    claims = [
        ("Sensitivity, Euclidean norm", plain_number(release.sensitivity)),
        ("Theorem", release.theorem),
    ]
    return [
        ("What was released", release.released),
        ("Law of the noise", release.noise),
        *([("Scale of the noise", plain_number(release.scale))] if release.scale > 0.0 else []),
        *(claims if private else []),
        *_lines(release.facts),
    ]


def _lines(facts: tuple[Fact, ...]) -> list[tuple[str, str]]:
    return [(fact.label, fact_words(fact.value)) for fact in facts if fact.value is not None]


def _shown(lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Labels with their words, without those that say nothing."""
    return [(shown(label, 80), shown(words, LONGEST_FACT)) for label, words in lines if words][:MOST_FACTS]


def _coding_facts(record: FitRecord) -> tuple[Fact, ...]:
    """Facts of the coding and the response, which stand beside the method's description."""
    specification = record.specification
    facts = [
        Fact("Factor of the rows, released", record.norm_factor),
        Fact("Residual of the solver", record.residual),
        Fact("Penalty strength, sum units", record.strength_sum),
        Fact("Norm bound of a coded row, divided out", record.row_norm),
        Fact("Rows clipped", record.rows_clipped),
        Fact("Response", record.response.name),
        Fact("Levels of the response", record.response.levels),
        Fact("Bounds of the response, beyond which it is clipped", record.response.bounds),
        Fact("Source of randomness", record.random_source),
    ]
    for kind, choice in (
        ("family", specification.family),
        ("method", specification.method),
        ("penalty", specification.penalty),
    ):
        options = tuple(f"{name} = {value}" for name, value in choice.options.items())
        facts.append(Fact(f"Options of the {kind}", options or None))
    return tuple(facts)


def trust_and_limits() -> Section:
    """Who saw the raw data, what is declared and not verified, intended and unintended use."""
    return Section("limits", "Trust model and limits")


@dataclass(frozen=True)
class Verbatim:
    """Text that keeps its line breaks on the page."""

    text: str

    def __html__(self) -> str:
        return escape(self.text, quote=False)


def saved_result(record: FitRecord) -> Section:
    """Fingerprint, and the JSON itself where it may be published; the page drops it where it is too long."""
    text = to_json(record)
    packed = len(text) > MOST_CHARACTERS
    if packed:
        text = to_json(record, packed=True)
    content = {
        "fingerprint": fingerprint(record),
        "packed": packed,
        "json": Verbatim(text) if record.guarantee.private else None,
    }
    return Section("annex", "The saved result", content)
