"""Ledger records: what the lines of a ledger file say.

The first opens the budget, every other is a charge or a refusal.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal, Self

from dpglm.errors import BudgetExceeded, LedgerError
from dpglm.ledger.log import FORMAT, RESTORE, Line
from dpglm.ledger.odometer import Balance, PrivacyFilter
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee

Status = Literal["charged", "refused"]


@dataclass(frozen=True)
class Entry:
    """One line of a ledger: a charge, or a refusal, which costs nothing and lets nothing out."""

    index: int  # counted from 1
    when: str  # UTC, ISO 8601, to the second
    what: str  # what it was for, in public words
    status: Status
    epsilon: float
    delta: float
    mu: float | None  # Gaussian-DP parameter, where there is one
    relation: str
    unit: str
    plan: str  # fingerprint of the plan that was charged; empty where none was told
    hash: str  # SHA-256 of this line and, through the chain, of all before it


@dataclass(frozen=True)
class LedgerRecords:
    """One reading of a ledger file whose chain was found whole."""

    budget: Privacy
    dataset: str
    entries: tuple[Entry, ...]
    hashes: tuple[str, ...]

    @classmethod
    def of(cls, lines: Sequence[Line], name: str) -> Self:
        """The meaning of all lines of file ``name``.

        A LedgerError where they mean nothing, or hold charges that the budget never covered.
        """
        with _understood(name):
            return cls(*_opening(lines[0]), (), (lines[0].hash,))._with(lines[1:])

    def followed_by(self, lines: Sequence[Line], name: str) -> Self:
        """These records and the meaning of the lines after them; errors as in `of`."""
        with _understood(name):
            return self._with(lines)

    def _with(self, lines: Sequence[Line]) -> Self:
        """ValueError for charges that no ledger would have taken: a file written by other hands."""
        added = tuple(map(entry, lines))
        charged = [one for one in added if one.status == "charged"]
        for one in charged:
            known = self.budget.unit in ("one row", one.unit) and one.relation == self.budget.relation
            if not known or (self.budget.mu is not None and one.mu is None):
                raise ValueError
        hashes = (*self.hashes, *(line.hash for line in lines))
        records = replace(self, entries=(*self.entries, *added), hashes=hashes)
        state = self.filter.after([Balance(one.epsilon, one.delta, one.mu) for one in charged])
        if not state.covered:
            raise ValueError
        records.__dict__["filter"] = state
        return records

    @cached_property
    def filter(self) -> PrivacyFilter:
        """The budget and what was charged to it."""
        charged = [entry for entry in self.entries if entry.status == "charged"]
        return PrivacyFilter(self.budget, [Balance(e.epsilon, e.delta, e.mu) for e in charged])

    def refusal(self, cost: Balance, *, charges: int = 1) -> BudgetExceeded:
        """Why ``cost`` is refused, in words; delta is named where the cost or the budget has some.

        It may be the cost of several ``charges``, which are refused together.
        """
        left, budget = self.filter.remaining, self.budget
        if budget.mu is not None:
            needs, has = f"mu = {cost.mu!r}", f"mu = {left.mu!r} of {budget.mu!r} (squares of mu add) is"
            amount = f"dpglm.Privacy.gdp({left.mu!r})" if left.mu else None
        else:
            needs, has = f"epsilon = {cost.epsilon!r}", f"epsilon = {left.epsilon!r} of {budget.epsilon!r}"
            pair = f"({left.epsilon!r}, {left.delta!r})" if left.delta and cost.delta else repr(left.epsilon)
            amount = pair if left.epsilon else None
            if cost.delta > 0 or budget.delta > 0:
                needs += f" and delta = {cost.delta!r}"
                has += f" and delta = {left.delta!r} of {budget.delta!r} are"
            else:
                has += " is"
        if charges == 1:
            cause, advice = "this charge costs", f"Use privacy={amount}"
        else:
            cause = f"these {charges} charges together cost"
            advice = f"Use a budget for each that adds up to {amount}"
        ask = "sk the data owner for a larger budget."
        return BudgetExceeded(
            f"{cause} {needs}, but {has} left in ledger {self.dataset!r}",
            expected="a cost that what is left covers; nothing was read and nothing was released",
            remedy=f"{advice} or less, or a{ask}" if amount else f"A{ask}",
        )

    def until(self, entry: Entry) -> LedgerRecords:
        """The records as they stood right after ``entry``."""
        return LedgerRecords(
            self.budget, self.dataset, self.entries[: entry.index], self.hashes[: entry.index + 1]
        )


@contextmanager
def _understood(name: str) -> Iterator[None]:
    """A LedgerError where lines of file ``name`` say nothing about a budget."""
    try:
        yield
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise LedgerError(
            f"ledger file {name!r} has lines that say nothing about a budget",
            expected=f"lines of format {FORMAT}",
            remedy=RESTORE,
        ) from None


def opening_line(budget: Privacy, dataset: str) -> str:
    """The first line of a new ledger."""
    return _canonical(
        format=FORMAT,
        ledger=os.urandom(16).hex(),  # two ledgers never share a hash, so a noted head names one file
        when=_now(),
        dataset=dataset,
        definition=budget.definition,
        epsilon=repr(budget.epsilon),
        delta=repr(budget.delta),
        mu=None if budget.mu is None else repr(budget.mu),
        relation=budget.relation,
        unit=budget.unit,
    )


def entry_line(cost: Balance, guarantee: Guarantee, *, what: str, plan: str, status: Status) -> str:
    """The line of a charge or a refusal; one without a plan is written as it was before lines had plans."""
    fingerprint = {"plan": plan} if plan else {}
    return _canonical(
        **fingerprint,
        when=_now(),
        what=what,
        status=status,
        epsilon=repr(cost.epsilon),
        delta=repr(cost.delta),
        mu=None if cost.mu is None else repr(cost.mu),
        relation=guarantee.relation,
        unit=guarantee.unit,
    )


def entry(line: Line) -> Entry:
    """The charge or refusal in a line; an error that `_understood` knows where there is none."""
    fields = _fields(line)
    epsilon, delta = float(fields["epsilon"]), float(fields["delta"])
    mu = None if fields["mu"] is None else float(fields["mu"])
    if fields["status"] not in ("charged", "refused") or not all(
        0 <= amount < math.inf for amount in (epsilon, delta, 0.0 if mu is None else mu)
    ):
        raise ValueError
    return Entry(
        index=line.position,
        when=_words(fields["when"]),
        what=_words(fields["what"]),
        status=fields["status"],
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        relation=_words(fields["relation"]),
        unit=_words(fields["unit"]),
        plan=_words(fields.get("plan", "")),
        hash=line.hash,
    )


def amounts(amount: Privacy | Balance) -> str:
    """A budget or a balance in words."""
    if amount.mu is not None:
        return f"mu = {amount.mu!r}"
    return f"epsilon = {amount.epsilon!r}" + (f", delta = {amount.delta!r}" if amount.delta > 0 else "")


def _opening(line: Line) -> tuple[Privacy, str]:
    fields = _fields(line)
    mu = None if fields["mu"] is None else float(fields["mu"])
    relation, unit, definition = (_words(fields[name]) for name in ("relation", "unit", "definition"))
    # Privacy checks relation and definition.
    budget = Privacy(float(fields["epsilon"]), float(fields["delta"]), relation, unit, definition, mu)  # type: ignore[arg-type]
    return budget, _words(fields["dataset"])


def _fields(line: Line) -> dict[str, Any]:
    """The fields of a line, all of them texts or null, none of them twice."""
    pairs = json.loads(line.content, object_pairs_hook=list)
    fields = dict(pairs)
    if len(fields) < len(pairs) or not all(isinstance(value, str | None) for value in fields.values()):
        raise ValueError
    return fields


def _words(text: object) -> str:
    """Text as a ledger writes it: on one line, and nothing in it that a screen would obey."""
    if isinstance(text, str) and text.isprintable():
        return text
    raise ValueError


def _canonical(**fields: str | None) -> str:
    """One spelling for one meaning, since the text is what is hashed."""
    return json.dumps(fields, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
