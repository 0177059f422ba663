"""Choices outside the software: what only the analyst can say."""

from __future__ import annotations

from collections.abc import Mapping

from dpglm.postprocessing.record import FitRecord
from dpglm.report.section import Section
from dpglm.report.wording import shown

QUESTIONS = {
    "bounds": "Bounds and levels: where do they come from?",
    "exploration": "Exploration: was the private table looked at, plotted or summarised before this fit?",
    "formula": "Formula: how were variables and their coding chosen?",
    "tuning": "Tuning: how were penalty, strength and other options chosen?",
    "search": "Model search: how many models were tried on these data, and were all of them paid for?",
    "repeats": "Other releases: what else has been or will be published from the same people?",
    "unit": "Unit: can one person own more than one row?",
}
MOST_EXTRA = 20


def choices_outside(result: FitRecord, choices: Mapping[str, str]) -> Section:
    """A checklist: the analyst's answers, open boxes elsewhere; unknown keys are further questions."""
    asked = [(question, choices.get(key, "").strip()) for key, question in QUESTIONS.items()]
    extra = [(key, text.strip()) for key, text in choices.items() if key not in QUESTIONS][:MOST_EXTRA]
    items = [(shown(question), shown(" ".join(answer.split()), 1200)) for question, answer in asked + extra]
    return Section(
        "choices", "Choices outside the software", {"private": result.guarantee.private, "answers": items}
    )
