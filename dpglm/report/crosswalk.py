"""Crosswalk to NIST SP 800-226: where a report answers each point of that guideline, with its own facts.

Near, Darais, Lefkovitz and Howarth (2025), "Guidelines for Evaluating Differential Privacy Guarantees",
NIST Special Publication 800-226, https://doi.org/10.6028/NIST.SP.800-226. Points are named in our words,
in the order of its chapters: the guarantee, algorithms, deployment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from dpglm.postprocessing.record import FitRecord, Record
from dpglm.privacy.guarantee import Guarantee
from dpglm.report.facts import ReportFacts
from dpglm.report.figure import Rows
from dpglm.report.section import Section, Subject, price, shown
from dpglm.tables.table import budget, computed, count, percent

DEFINITIONS: Final = {
    "pure": "pure ε-differential privacy",
    "approximate": "(ε, δ)-differential privacy",
    "gdp": "Gaussian differential privacy",
    "zcdp": "zero-concentrated differential privacy",
}


def neighbours(guarantee: Guarantee) -> str:
    """What neighbouring tables are."""
    words = "a row exchanged for another" if guarantee.relation == "replace-one" else "a row more or less"
    if guarantee.persons:
        words = words.replace("a row", "all rows of a person")
    return f"{words} ({guarantee.relation})"


def unprotected(record: Record, subject: Subject) -> str:
    """What is public, and so has no protection."""
    public = ["the schema", subject.public]
    if record.guarantee.relation == "replace-one":
        public.insert(0, f"the number of {'persons' if record.guarantee.persons else 'rows'}")
    return ", ".join(public)


def composition(record: Record) -> str:
    """What else was spent on these data, as far as a ledger and the fit say."""
    part = record.part if isinstance(record, FitRecord) else None
    return f"{spent(record)}. {part.beside}" if part is not None and part.beside else spent(record)


def spent(record: Record) -> str:
    """What a ledger says of the charge and of others."""
    ledger = record.ledger
    if ledger is None:
        return "no ledger: other releases from these data are not counted"
    return (
        f"ledger {ledger.dataset}: ε = {budget(computed(ledger.spent_epsilon))} of "
        f"{budget(ledger.budget_epsilon)} spent after this charge; charges add up"
    )


def accuracy(*records: Record) -> str:
    """How many numbers have a standard error."""
    fits = [record for record in records if isinstance(record, FitRecord)]
    if not fits:
        return "standard errors hold the noise of the releases"
    given = sum(int(np.count_nonzero(fit.reported)) for fit in fits)
    names = sum(len(fit.names) for fit in fits)
    return f"{given} of {names} coefficients have a standard error, which holds the noise"


def looked_at(record: Record) -> str:
    """Which columns are declared to have been bounded by looking at the data."""
    schema: Mapping[str, Any] = getattr(record, "schema", {})
    if isinstance(record, FitRecord):
        schema = record.specification.schema
    columns = schema.get("variables", {})
    looked = [
        name for name, facts in columns.items() if isinstance(facts, Mapping) and facts.get("looked_at_data")
    ]
    if looked:
        return f"bounds or levels of {', '.join(looked)} were read off the data, which ε does not cover"
    return f"none of {count(len(columns))} columns is declared to have been bounded by looking at the data"


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
