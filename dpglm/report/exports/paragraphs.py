"""Paragraphs about a fit: for an assessment of data protection, and for the methods section of a journal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpglm.postprocessing.record import FitRecord
from dpglm.report.crosswalk import DEFINITIONS, accuracy, looked_at, neighbours, spent, unprotected
from dpglm.report.exports import words
from dpglm.report.exports.references import DEFINITIONS as DEFINED_BY
from dpglm.report.exports.references import DISCOVERIES, mechanisms
from dpglm.report.facts import LABELS, ReportFacts
from dpglm.report.section import Subject, shown
from dpglm.tables.table import percent


def dpia(records: Sequence[FitRecord], subject: Subject, facts: ReportFacts) -> str:
    """Paragraphs on purposes, risks and measures, as Article 35(7) of the GDPR asks for them."""
    record = records[0]
    (plan, guarantee), name = words.charge(record), words.data_name(record)
    stated = "; ".join(f"{LABELS[fact]}: {facts.stated(fact)}" for fact in LABELS)
    guess = percent(math.ceil(1000.0 * guarantee.guess()) / 1000.0)
    paragraphs = (
        (
            f"Processing: a {words.model(*records)} was fitted{f' to {name}' if name else ''}, "
            f"{shown(record.specification.formula, 600)}",
            stated,
        ),
        (
            f"What left the data: {words.releases(*records)}",
            "all numbers of the fit follow from these releases",
            *words.told(records, words.penalties),
            accuracy(*records),
        ),
        (
            f"Risk to {guarantee.unit}: {words.cost(*records)}",
            guarantee.statement(),
            "who guesses from the results which of two neighbouring tables was read, each as likely before, "
            f"is right with a probability of at most {guess}",
            f"neighbouring tables: {neighbours(guarantee)}",
        ),
        (f"Without protection: {unprotected(record, subject)}", looked_at(record)),
        (
            f"Measures: noise from the {record.random_source}",
            f"plan: {plan}" if plan else "",
            spent(record),
            words.trust(record, subject),
            f"software: dpglm {record.version}",
        ),
        (
            f"Not covered: {words.NOT_COVERED[0].lower()}{words.NOT_COVERED[1:]}",
            "whether the purpose is lawful, necessary and proportionate is for people to judge",
            "this text was written by software from a saved fit, and approves nothing",
        ),
    )
    return "\n\n".join(words.sentences(*texts) for texts in paragraphs) + "\n"


def methods(records: Sequence[FitRecord], subject: Subject, facts: ReportFacts) -> str:
    """One paragraph with numbered citations, and the references below it."""
    record, references = records[0], list[str]()

    def cited(reference: str) -> str:
        if reference not in references:
            references.append(reference)
        return f"[{references.index(reference) + 1}]"

    guarantee, name, rows = words.charge(record)[1], words.data_name(record), words.public_rows(record)
    where = (f" to {name or 'a table'}" if name or rows else "") + (f" ({rows})" if rows else "")
    definition = f"{DEFINITIONS[guarantee.definition]} {cited(DEFINED_BY[guarantee.definition])}"
    by = " and ".join(f"{word} {cited(reference)}" for word, reference in mechanisms(record).items())
    software = f"dpglm, version {record.version}. Statistics under differential privacy in Python."
    listed = any("FDR" in one.penalty for one in records)
    intervals = record.description.interval_method if any(one.contrasts for one in records) else ""
    paragraph = words.sentences(
        f"a {words.model(*records)} ({shown(record.specification.formula, 600)}) was fitted{where} under "
        f"{definition} with {words.cost(*records)}",
        f"the unit of protection is {guarantee.unit}; neighbouring tables: {neighbours(guarantee)}",
        f"algorithm: {record.description.algorithm}",
        words.trust(record, subject),
        f"what was released: {words.releases(*records)}",
        f"mechanisms: {by}, as implemented in dpglm {cited(software)}, with proofs beside its code",
        *words.told(records, words.penalties),
        *words.told(records, words.meant),
        f"coefficients were listed by the procedure of Benjamini and Hochberg {cited(DISCOVERIES)}"
        if listed
        else "",
        f"standard errors and intervals: {intervals}" if intervals else "",
        accuracy(*records),
        f"bounds and levels were declared: {looked_at(record)}",
        f"budget: {spent(record)}",
    )
    numbered = [f"[{place}] {reference}" for place, reference in enumerate(references, start=1)]
    return "\n\n".join([paragraph, "\n".join(numbered)]) + "\n"
