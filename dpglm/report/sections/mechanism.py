"""Mechanism card: the algorithm, its noise, its certificate, and why the theorem holds."""

from __future__ import annotations

from collections.abc import Mapping

from dpglm.postprocessing.record import FitRecord
from dpglm.report.section import Section
from dpglm.report.wording import fact_text, number, shown

MOST_FACTS = 60


def mechanism_card(result: FitRecord, choices: Mapping[str, str]) -> Section:
    """Public facts of the release in their order, with labels for known ones, and a proof sketch."""
    private, described = result.guarantee.private, result.description
    facts = [("Algorithm", shown(described.algorithm, 600))]
    for release in described.releases if private else ():
        facts += [
            ("What was released", shown(release.released, 600)),
            ("Sensitivity, Euclidean", number(release.sensitivity)),
            ("Noise", shown(release.noise)),
            ("Noise scale", number(release.scale)),
            ("Theorem", shown(release.theorem, 600)),
            *((shown(fact.label, 80), fact_text(fact.value)) for fact in release.facts),
        ]
    facts += [(shown(fact.label, 80), fact_text(fact.value)) for fact in described.facts[:MOST_FACTS]]
    facts.append(("Source of randomness", result.random_source))
    content = {"private": private, "facts": facts, "steps": _proof(result) if private else []}
    return Section("mechanism", "Mechanism card", content)


def _proof(result: FitRecord) -> list[str]:
    """Why the guarantee holds, as the method says it."""
    why = result.description.why
    return [shown(text, 3000) for text in ((why,) if isinstance(why, str) else why) if text]
