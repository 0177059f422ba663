"""Mechanism card: the algorithm, its releases with their noise and theorems, and why these hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dpglm.postprocessing.record import FitRecord
from dpglm.privacy.description import Fact, ReleaseDescription
from dpglm.report.section import Section
from dpglm.report.wording import LONGEST_FACT, fact_words, number, shown

MOST_FACTS = 60


def mechanism_card(result: FitRecord, choices: Mapping[str, str]) -> Section:
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


def _beside(result: FitRecord) -> Iterator[Fact]:
    """Facts of the coding and the response, which stand beside the method's description."""
    asked = result.specification
    yield Fact("Factor of the rows, released", result.norm_factor)
    yield Fact("Residual of the solver", result.residual)
    yield Fact("Penalty strength, sum units", result.strength_sum)
    yield Fact("Norm bound of a coded row, divided out", result.row_norm)
    yield Fact("Rows clipped", result.rows_clipped)
    yield Fact("Response", result.response.name)
    yield Fact("Levels of the response", result.response.levels)
    yield Fact("Bounds of the response, beyond which it is clipped", result.response.bounds)
    yield Fact("Source of randomness", result.random_source)
    for what, choice in (("family", asked.family), ("method", asked.method), ("penalty", asked.penalty)):
        options = tuple(f"{name} = {value}" for name, value in choice.options.items())
        yield Fact(f"Options of the {what}", options or None)
