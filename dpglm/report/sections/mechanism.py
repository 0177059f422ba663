"""Mechanism card: the algorithm, its releases with their noise and theorems, and why these hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dpglm.privacy.description import Fact, ReleaseDescription
from dpglm.report.section import Section
from dpglm.report.wording import LONGEST_FACT, fact_words, number, shown
from dpglm.results.fit_result import FitResult

# Facts of the coding and the response, which stand beside the method's description.
BESIDE = {
    "norm_factor": "Factor of the rows, released",
    "residual": "Residual of the solver",
    "strength_sum": "Penalty strength, sum units",
    "post_processing": "Computed afterwards",
    "row_norm": "Norm bound of a coded row, divided out",
    "rows_clipped": "Rows clipped",
    "response": "Response",
    "response_levels": "Levels of the response",
    "response_bounds": "Bounds of the response, beyond which it is clipped",
    "loss_width": "Width of the smooth corner of the hinge, in units of the margin",
    "random_source": "Source of randomness",
    "coding": "Coding of categories",
    "method_options": "Options of the method",
    "penalty_options": "Options of the penalty",
}
MOST_FACTS = 60


def mechanism_card(result: FitResult, choices: Mapping[str, str]) -> Section:
    """What the method and its releases say of themselves, in their order."""
    private, description = result.guarantee.private, result.description
    lines = [("Algorithm", description.algorithm)]
    for release in description.releases:
        lines += _release(release, private)
    lines += [("Penalty", description.penalty_applied), ("Intervals by", description.interval_method)]
    facts = [*description.facts, *_beside(result)]
    lines += [(fact.label, fact_words(fact)) for fact in facts if fact.value is not None]
    shown_lines = [(shown(label, 80), shown(words, LONGEST_FACT)) for label, words in lines if words]
    steps = [shown(step, LONGEST_FACT) for step in description.why.splitlines()] if private else []
    content = {"private": private, "facts": shown_lines[:MOST_FACTS], "steps": steps}
    return Section("mechanism", "Mechanism card", content)


def _release(release: ReleaseDescription, private: bool) -> Iterator[tuple[str, str]]:
    """Claims are not shown where nothing is promised."""
    times = f", {release.times} times" if release.times > 1 else ""
    yield "What was released", release.released + times
    if private:
        yield "Sensitivity, Euclidean norm", number(release.sensitivity)
    yield "Law of the noise", release.noise
    if release.scale > 0.0:
        yield "Noise scale", number(release.scale)
    if private:
        yield "Theorem", release.theorem
    yield from ((fact.label, fact_words(fact)) for fact in release.facts if fact.value is not None)


def _beside(result: FitResult) -> Iterator[Fact]:
    for name, label in BESIDE.items():
        value = result.mechanism.get(name)
        yield Fact(label, tuple(value) if isinstance(value, list) else value)
