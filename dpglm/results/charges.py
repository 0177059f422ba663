"""Fits beside the ledger that paid for them: their lines, other charges, and what all cost together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol, runtime_checkable

from dpglm.errors import MethodError
from dpglm.postprocessing.codec import decode
from dpglm.postprocessing.record import FitRecord, LedgerLine, LedgerState
from dpglm.postprocessing.store import any_from_json
from dpglm.tables.table import balance, budget, computed, count

MOST_LISTED: Final = 20


@runtime_checkable
class KeepsCharges(Protocol):
    """A :class:`dpglm.Ledger`, as far as a comparison looks at it."""

    @property
    def entries(self) -> Sequence[Any]:
        """Charges and refusals, in order."""

    @property
    def remaining(self) -> Any:
        """What is left."""

    @property
    def spent(self) -> Any:
        """What was charged."""

    @property
    def budget(self) -> Any:
        """What may be spent in all."""

    def state(self, *, at: Any = None) -> dict[str, Any]:
        """All of it as plain values, now or right after an entry."""

    def answers(self) -> dict[str, dict[str, str]]:
        """Saved results by key and site."""


def kept_fits(ledger: KeepsCharges) -> dict[str, FitRecord]:
    """The fits whose answers a ledger keeps, by key, and by site where there are several.

    A MethodError where it keeps none.
    """
    last = {entry.key: entry for entry in ledger.entries if entry.key}
    found = {}
    for key, texts in ledger.answers().items():
        for site, text in texts.items():
            record = any_from_json(text)
            if isinstance(record, FitRecord):
                state = decode(LedgerState, ledger.state(at=last[key]))
                found[f"{key}, {site}" if site else key] = replace(record, ledger=state)
    if not found:
        raise MethodError(
            "compare of a ledger that keeps no fit",
            expected="fits that were charged under a key, whose answers the ledger keeps",
            remedy="Use dpglm.compare([fit1, fit2], ledger=ledger), or fit with key='monday-run'.",
        )
    return found


def charge_notes(named: Mapping[str, FitRecord], ledger: KeepsCharges) -> tuple[str, ...]:
    """Sentences on the lines of fits, on other lines, and on what all cost together.

    A MethodError where ``ledger`` is none.
    """
    paid_by = paid_lines(named, ledger)
    state = decode(LedgerState, ledger.state())
    paid = {line for lines in paid_by.values() for line in lines}
    charged = [one for one in ledger.entries if one.status == "charged"]
    others = [one for one in charged if one.index not in paid]
    each = "; ".join(f"{label} on {_worded(lines)}" for label, lines in paid_by.items())
    return (
        f"Lines of ledger {state.dataset} that paid: {each}. Refits and submodels cost nothing.",
        *([f"Charged for other releases: {_listed(others)}."] if others else []),
        _together(len(charged), ledger),
    )


def paid_lines(named: Mapping[str, FitRecord], ledger: KeepsCharges) -> dict[str, tuple[int, ...]]:
    """The lines of a ledger, in its own numbers, that paid for each fit; a MethodError where it is none."""
    if not isinstance(ledger, KeepsCharges):
        raise MethodError(
            f"ledger of type {type(ledger).__name__}",
            expected="a ledger that is open",
            remedy="Use dpglm.compare([fit1, fit2], ledger=dpglm.Ledger(path)).",
        )
    state = decode(LedgerState, ledger.state())
    return {label: _lines(record, state) for label, record in named.items()}


def _lines(record: FitRecord, state: LedgerState) -> tuple[int, ...]:
    """The entries, from 1 on, that paid for a fit; none where its ledger was another one, or had others.

    A fit keeps the ledger as it was right after its charge, which is the last entry there. Sites that were
    charged in one go have an entry each, with one plan, and the same state.
    """
    own = record.ledger
    if own is None or not own.entries or own.dataset != state.dataset:
        return ()
    last = len(own.entries)
    if state.entries[:last] != own.entries or own.budget_epsilon != state.budget_epsilon:
        return ()
    first, seen = last - 1, {own.entries[-1].what}
    while first > 0 and _one_run(own.entries[first - 1], own.entries[-1], seen):
        first -= 1
        seen.add(own.entries[first].what)
    return tuple(range(first + 1, last + 1))


def _one_run(before: LedgerLine, last: LedgerLine, seen: set[str]) -> bool:
    """Whether a line was charged together with the last one, for another site of the same plan."""
    at_sites = " at site " in before.what and " at site " in last.what
    together = (before.plan, before.status) == (last.plan, last.status)
    return at_sites and together and before.what not in seen


def _worded(lines: Sequence[int]) -> str:
    """``"line 3"``, ``"lines 3 to 5"`` or ``"none"``."""
    if not lines:
        return "none"
    return f"line {lines[0]}" if len(lines) == 1 else f"lines {lines[0]} to {lines[-1]}"


def _listed(entries: Sequence[Any]) -> str:
    """Lines with what they were for and their price."""
    words = [
        f"line {one.index} ({one.what}; epsilon {budget(one.epsilon)}, delta {budget(one.delta)})"
        for one in entries[:MOST_LISTED]
    ]
    more = len(entries) - MOST_LISTED
    return ", ".join(words) + (f" and {count(more)} more" if more > 0 else "")


def _together(charges: int, ledger: KeepsCharges) -> str:
    """What all charges cost, and what is left."""
    spent, whole, left = ledger.spent, ledger.budget, ledger.remaining
    all_of_them = "One charge" if charges == 1 else f"All {count(charges)} charges together"
    if whole.mu is not None:
        return (
            f"{all_of_them}: mu {budget(computed(spent.mu))} of {budget(whole.mu)} (squares add); left: mu "
            f"{balance(left.mu)}."
        )
    return (
        f"{all_of_them}: epsilon {budget(computed(spent.epsilon))}, delta {budget(computed(spent.delta))} of "
        f"{budget(whole.epsilon)} and {budget(whole.delta)}; left: epsilon {balance(left.epsilon)}, delta "
        f"{balance(left.delta)}."
    )
