"""Sections on privacy: at a glance, in plain words, the guarantee in full, the budget ledger.

Their words stand in the templates; numbers and tables are made here.
"""

from __future__ import annotations

import re
from typing import Any, Final

from dpglm.postprocessing.record import FitRecord, LedgerState, Record
from dpglm.postprocessing.spending import ranked_before
from dpglm.privacy.guarantee import Guarantee
from dpglm.report.figure import Rows
from dpglm.report.guarantee_figures import icon_array
from dpglm.report.section import Section, shown
from dpglm.tables.table import ABSENT, budget, computed, percent, share

PRIORS: Final = (0.01, 0.1, 0.5)
WEAK: Final = 0.95  # from even odds beyond this, the promise is called weak
GROUPS: Final = (1, 2, 5)
RATES: Final = (0.01, 0.05, 0.1)
MOST_ENTRIES: Final = 60
MOST_RELEASES: Final = 100
PLAN_DIGITS: Final = 13  # of a plan's fingerprint in the ledger's table
INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|\+00:00)")


def plain_words(record: Record) -> Section:
    """What taking part can change for one person, as odds; without privacy only a warning."""
    guarantee = record.guarantee
    title = "In plain words"
    if not guarantee.private:
        return Section("plain-words", title)
    largest, average = guarantee.posterior(0.5), guarantee.guess(0.5)
    odds = largest / max(1e-300, 1.0 - largest)
    belief = {
        "before reading": map(share, PRIORS),
        "after reading, at most": map(percent, map(guarantee.posterior, PRIORS)),
        "after reading, at least": [percent(1.0 - guarantee.posterior(1.0 - prior)) for prior in PRIORS],
    }
    content = {
        "sure": min(100, round(100 * largest)),
        "largest": largest,
        "average": average if average < largest - 5e-4 else None,
        "weak": largest > WEAK,
        "figure": icon_array(0.5, largest),
        "priors": Rows.of_columns(
            f"Belief in a guess about Ana’s {'rows' if guarantee.persons else 'row'}",
            belief,
            numeric=(0, 1, 2),
        ),
        # With loss L = log p/q, delta >= E_p (1 - e^(epsilon - L))_+ >= P(L > epsilon + log 2) / 2: the odds
        # grow by more than twice e^epsilon with chance at most 2 delta.
        "twice": min(1.0, 2.0 * guarantee.delta),
        # Under add-remove an exchange is a removal and an addition: the factor on the odds is squared.
        "exchanged": 1.0 - 1.0 / (1.0 + odds * odds),
    }
    return Section("plain-words", title, content)


def full_guarantee(record: Record) -> Section:
    """Parameters, group privacy, power of tests, curves, assumptions, unprotected quantities."""
    guarantee = record.guarantee
    if not guarantee.private:
        return Section("guarantee", "No guarantee")
    one = "person" if guarantee.persons else "row"
    rates = tuple((share(rate), percent(guarantee.true_positive_rate(rate))) for rate in RATES)
    content = {
        "groups": _groups(guarantee),
        "rates": Rows(f"Power of a test for one {one}", ("false alarms", "power, at most"), rates, (0, 1)),
    }
    return Section("guarantee", "The guarantee in full", content)


def _groups(guarantee: Guarantee) -> Rows:
    """Group privacy: what the guarantee says about several rows, or persons, at once."""
    rows: list[tuple[str, ...]] = []
    for size in GROUPS:
        epsilon, delta = guarantee.group(size)
        mu = () if guarantee.mu is None else (budget(computed(size * guarantee.mu)),)
        rows.append((f"{size}", budget(computed(epsilon)), budget(delta), *mu))
    headings = (f"{'persons' if guarantee.persons else 'rows'} of one group", "ε", "δ", "μ")[: len(rows[0])]
    return Rows("Group privacy", headings, tuple(rows), numeric=(0, 1, 2, 3))


def budget_ledger(record: Record, noun: str) -> Section | None:
    """The own releases, then the ledger as it stood right after the charge; nothing without privacy."""
    if not record.guarantee.private:
        return None
    releases = tuple(
        (shown(line.release), budget(line.epsilon), budget(line.delta), budget(line.mu), percent(line.share))
        for line in record.spend_lines[:MOST_RELEASES]
    )
    headings = ("release", "ε", "δ", "μ", "share")
    content: dict[str, Any] = {
        "releases": Rows(f"What this {noun} released and paid", headings, releases, numeric=(1, 2, 3, 4))
    }
    if record.ledger is not None:
        content["entries"] = _entries(record.ledger)
        if isinstance(record, FitRecord):
            content["ranked"] = ranked_before(record.ledger, record.response.name)
    return Section("ledger", "Budget ledger", content)


def _entries(ledger: LedgerState) -> Rows:
    """The last entries of the ledger, each with its number."""
    first = max(0, len(ledger.entries) - MOST_ENTRIES)
    entries = ledger.entries[first:]
    columns = {
        "no.": [f"{number}" for number, _ in enumerate(entries, first + 1)],
        "when (UTC)": [_instant(entry.when) for entry in entries],
        "what": [shown(entry.what) for entry in entries],
        "status": [shown(entry.status, 40) for entry in entries],
        "ε": [budget(entry.epsilon) for entry in entries],
        "δ": [budget(entry.delta) for entry in entries],
        "μ": [budget(entry.mu) for entry in entries],
        "plan": [shown(entry.plan or ABSENT, PLAN_DIGITS) for entry in entries],
    }
    return Rows.of_columns("Entries", columns, numeric=(0, 4, 5, 6))


def _instant(when: str | None) -> str:
    """An ISO 8601 instant in UTC as ``2026-01-12 09:30:00``; anything else as it is."""
    text = shown(when or ABSENT, 40)
    return f"{text[:10]} {text[11:19]}" if INSTANT.fullmatch(text) else text
