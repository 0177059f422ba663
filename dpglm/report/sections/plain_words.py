"""In plain words: what taking part can change for one person, as odds."""

from __future__ import annotations

from collections.abc import Mapping

from dpglm.postprocessing.record import FitRecord
from dpglm.privacy.guarantee import Guarantee
from dpglm.report.figures import icon_array
from dpglm.report.section import Rows, Section
from dpglm.report.wording import chance, percent, shown

PRIORS = (0.01, 0.1, 0.5)
WEAK = 0.95  # from even odds beyond this, the promise is called weak


def plain_words(result: FitRecord, choices: Mapping[str, str]) -> Section:
    """Odds text, icon array and the table of priors; without privacy only a warning."""
    guarantee = result.guarantee
    title = "In plain words"
    if not guarantee.private:
        return Section("plain-words", title, {"private": False})
    largest = guarantee.posterior(0.5)
    sure = min(100, round(100 * largest))
    content = {
        "private": True,
        "unit": None if guarantee.unit == "one row" else shown(guarantee.unit),
        "membership": guarantee.relation == "add-remove",
        "sure": sure,
        "sure_percent": percent(largest),
        "average_percent": percent(guarantee.guess(0.5)) if guarantee.guess(0.5) < largest - 5e-4 else None,
        "weak": largest > WEAK,
        "figure": icon_array(0.5, largest),
        "priors": _priors(guarantee),
        "delta": None if guarantee.delta == 0 else _delta(guarantee),
        "value_percent": percent(_both_ways(guarantee)),
    }
    return Section("plain-words", title, content)


def _priors(guarantee: Guarantee) -> Rows:
    rows = [
        (
            f"{prior:.0%}".replace("%", " %"),
            percent(guarantee.posterior(prior)),
            percent(1.0 - guarantee.posterior(1.0 - prior)),
        )
        for prior in PRIORS
    ]
    return Rows(
        "Belief in a guess about Ana’s row",
        ("before reading", "after reading, at most", "after reading, at least"),
        tuple(rows),
        numeric=(0, 1, 2),
    )


def _delta(guarantee: Guarantee) -> dict[str, str]:
    """What delta does, in chances.

    With loss L = log p/q, delta >= E_p (1 - e^(epsilon - L))_+ >= P(L > epsilon + log 2) / 2: the odds
    grow by more than twice e^epsilon with chance at most 2 delta.
    """
    return {"delta": chance(guarantee.delta), "twice": chance(min(1.0, 2.0 * guarantee.delta))}


def _both_ways(guarantee: Guarantee) -> float:
    """Largest posterior from even odds between two contents of one row that is in the data for certain.

    Under add-remove an exchange is a removal and an addition: the factor on the odds is squared.
    """
    odds = guarantee.posterior(0.5) / max(1e-300, 1.0 - guarantee.posterior(0.5))
    return 1.0 - 1.0 / (1.0 + odds * odds)
