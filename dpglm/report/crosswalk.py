"""Crosswalk to NIST SP 800-226: where a report answers each point of that guideline, with its own facts.

Near, Darais, Lefkovitz and Howarth (2025), "Guidelines for Evaluating Differential Privacy Guarantees",
NIST Special Publication 800-226, https://doi.org/10.6028/NIST.SP.800-226. Points are named in our words,
in the order of its chapters: the guarantee, algorithms, deployment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dpglm.postprocessing.record import Record
from dpglm.report.claims import DEFINITIONS, accuracy, composition, looked_at, neighbours, unprotected
from dpglm.report.facts import ReportFacts
from dpglm.report.figure import Rows
from dpglm.report.section import Section, Subject, price, shown
from dpglm.tables.table import percent

GUIDELINE: Final = "NIST SP 800-226"
RESULTS: Final = ("model", "sample", "ranking")
UNKNOWN: Final = "not known to software"


def crosswalk(
    record: Record,
    subject: Subject,
    sections: Sequence[Section],
    answers: Mapping[str, str],
    facts: ReportFacts,
) -> Section | None:
    """The table; nothing without privacy. ``sections`` are those before it, in their order."""
    if not record.guarantee.private:
        return None
    numbers = {section.slug: f"{place}. {section.title}" for place, section in enumerate(sections, start=1)}

    def where(*slugs: str) -> str:
        return "; ".join(numbers[slug] for slug in slugs if slug in numbers) or "-"

    lines = [
        (point, where(*slugs), shown(answer, 600))
        for point, slugs, answer in (
            *_guarantee(record, subject, answers),
            *_algorithms(record),
            *_deployment(record, subject, facts),
        )
    ]
    table = Rows(f"Points of {GUIDELINE}", ("point", "section", "this report"), tuple(lines))
    return Section("crosswalk", f"{GUIDELINE}, point by point", {"table": table})


Line = tuple[str, tuple[str, ...], str]


def _guarantee(record: Record, subject: Subject, answers: Mapping[str, str]) -> list[Line]:
    """Chapter 2: what is promised, to whom, and beside what."""
    guarantee = record.guarantee
    return [
        (
            "Privacy parameters",
            ("plain-words", "guarantee"),
            f"{price(guarantee)}; from even odds a belief reaches at most "
            f"{percent(guarantee.posterior(0.5))}",
        ),
        ("Variant of differential privacy", ("guarantee",), DEFINITIONS[guarantee.definition]),
        ("Unit of privacy", ("guarantee", "limits"), guarantee.unit),
        ("Neighbouring tables", ("guarantee",), neighbours(guarantee)),
        ("Composition over releases", ("ledger",), composition(record)),
        ("Post-processing", RESULTS, "all shown numbers follow from the releases; no row was read for them"),
        ("Quantities without protection", ("guarantee", "declared"), unprotected(record, subject)),
        (
            "Mixing with other releases",
            ("choices",),
            answers.get("repeats") or "to be answered by the analyst",
        ),
    ]


def _algorithms(record: Record) -> list[Line]:
    """Chapter 3: mechanisms, accuracy and bias."""
    releases = record.description.releases
    theorems = dict.fromkeys(release.theorem for release in releases if release.theorem)
    return [
        (
            "Mechanisms and sensitivity",
            ("mechanism",),
            f"releases: {sum(release.times for release in releases)}; {'; '.join(theorems)}",
        ),
        ("Accuracy", ("usefulness", *RESULTS), accuracy(record)),
        (
            "Bias, and small groups",
            ("usefulness", *RESULTS),
            "noise hides small groups most, whatever they say",
        ),
        ("Choices that looked at data", ("declared", "choices"), looked_at(record)),
    ]


def _deployment(record: Record, subject: Subject, facts: ReportFacts) -> list[Line]:
    """Chapter 4: who is trusted with what, how it is built, and what surrounds it."""
    return [
        (
            "Trust model",
            ("limits",),
            f"{subject.curators} saw raw rows; nobody can ask further questions of them",
        ),
        (
            "Implementation and randomness",
            ("mechanism",),
            f"source of noise: {record.random_source}; dpglm {record.version}; "
            "on rounding see its SECURITY.md",
        ),
        ("Side channels", ("limits",), "time, memory and power of the computation are outside the guarantee"),
        (
            "Security and access control",
            ("responsible",),
            f"{UNKNOWN}; organisation: {facts.stated('organisation')}, contact: {facts.stated('contact')}",
        ),
        (
            "Collection of the data",
            ("responsible",),
            f"{UNKNOWN}; legal basis: {facts.stated('legal_basis')}, retention: {facts.stated('retention')}",
        ),
    ]
