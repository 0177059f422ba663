"""Budget ledger: what this fit paid, and everything else that was charged for the same data."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.spending import LedgerState
from dpglm.report.figures import ledger_figure
from dpglm.report.section import Rows, Section
from dpglm.report.wording import percent, shown
from dpglm.tables.number import ABSENT, balance, budget

MOST_ENTRIES = 60
MOST_RELEASES = 100
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|\+00:00)")


def budget_ledger(result: FitRecord, choices: Mapping[str, str]) -> Section | None:
    """The fit's own releases, then the ledger as it stood right after the charge; nothing without privacy."""
    if not result.guarantee.private:
        return None
    ledger = result.ledger
    content: dict[str, object] = {
        "releases": _releases(result),
        "more_releases": max(0, len(result.spend_lines) - MOST_RELEASES),
        "parts": any(line.part for line in result.spend_lines),
        "ledger": ledger,
    }
    if ledger is not None:
        content |= {
            "name": shown(ledger.dataset),
            "balance": _balance(ledger),
            "entries": _entries(ledger),
            "left_out": max(0, len(ledger.entries) - MOST_ENTRIES),
            "figure": ledger_figure(ledger),
            "refused": sum(entry.status != "charged" for entry in ledger.entries),
        }
    return Section("ledger", "Budget ledger", content)


def _releases(result: FitRecord) -> Rows:
    return Rows(
        "What this fit released and paid",
        ("release", "ε", "δ", "μ", "share"),
        tuple(
            (
                shown(line.release),
                budget(line.epsilon),
                budget(line.delta),
                budget(line.mu),
                percent(line.share),
            )
            for line in result.spend_lines[:MOST_RELEASES]
        ),
        numeric=(1, 2, 3, 4),
    )


def _balance(ledger: LedgerState) -> Rows:
    return Rows(
        "Balance right after this fit was charged",
        ("", "ε", "δ"),
        (
            ("budget", budget(ledger.budget_epsilon), budget(ledger.budget_delta)),
            ("spent", budget(_clean(ledger.spent_epsilon)), budget(_clean(ledger.spent_delta))),
            ("left", balance(ledger.remaining_epsilon), balance(ledger.remaining_delta)),
        ),
        numeric=(1, 2),
    )


def _entries(ledger: LedgerState) -> Rows:
    """The last entries of the ledger, each with its number."""
    first = max(0, len(ledger.entries) - MOST_ENTRIES)
    rows = [
        (
            f"{number}",
            _instant(entry.when),
            shown(entry.what),
            shown(entry.status, 40),
            budget(entry.epsilon),
            budget(entry.delta),
            budget(entry.mu),
        )
        for number, entry in enumerate(ledger.entries[first:], first + 1)
    ]
    return Rows(
        "Entries", ("no.", "when (UTC)", "what", "status", "ε", "δ", "μ"), tuple(rows), numeric=(0, 4, 5, 6)
    )


def _instant(when: object) -> str:
    """An ISO 8601 instant in UTC as it is read; anything else as it is.

    Examples
    --------
    >>> _instant("2026-01-12T09:30:00Z")
    '2026-01-12 09:30:00'
    """
    text = shown(when or ABSENT, 40)
    return f"{text[:10]} {text[11:19]}" if INSTANT.fullmatch(text) else text


def _clean(value: float) -> float:
    """A sum without the last two digits, which are its rounding."""
    return float(f"{value:.14g}")
