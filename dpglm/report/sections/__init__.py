"""The sections of the report, one file each, in the order in which the page shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from dpglm.postprocessing.record import FitRecord
from dpglm.report.section import ReportedPart, Section
from dpglm.report.sections.annex import saved_result
from dpglm.report.sections.choices import choices_outside
from dpglm.report.sections.declared import declared_data
from dpglm.report.sections.full_guarantee import full_guarantee
from dpglm.report.sections.limits import trust_and_limits
from dpglm.report.sections.mechanism import mechanism_card
from dpglm.report.sections.model import model_and_results
from dpglm.report.sections.plain_words import plain_words
from dpglm.report.sections.spend import budget_ledger
from dpglm.report.sections.usefulness import usefulness
from dpglm.report.sections.verdict import verdict

Maker: TypeAlias = Callable[[FitRecord, Mapping[str, str]], Section | None]


def part_of_paper(result: FitRecord, choices: Mapping[str, str]) -> Section | None:
    """What the method's paper adds."""
    return result.part.section(result) if isinstance(result.part, ReportedPart) else None


SECTIONS: tuple[Maker, ...] = (
    plain_words,
    full_guarantee,
    model_and_results,
    part_of_paper,
    usefulness,
    declared_data,
    budget_ledger,
    choices_outside,
    mechanism_card,
    trust_and_limits,
    saved_result,
)

__all__ = ["SECTIONS", "Maker", "verdict"]
