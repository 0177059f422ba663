"""Ledger records: what all lines of a ledger file say together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from dpglm.errors import BudgetExceeded, LedgerError
from dpglm.ledger.grown import Grown
from dpglm.ledger.keys import Keyed, keyed_by
from dpglm.ledger.lines import ANSWERED, Entry, entry, fields_of, now, opening
from dpglm.ledger.log import FORMAT, RESTORE, Line
from dpglm.ledger.odometer import Balance, PrivacyFilter
from dpglm.privacy.budget import Privacy
from dpglm.tables.charges import charge_table
from dpglm.tables.table import Table

FINGERPRINTED = "a keyed fingerprint of the table is noted: whoever holds its key can test guesses with it"


@dataclass(frozen=True)
class LedgerRecords:
    """One reading of a ledger file whose chain was found whole."""

    budget: Privacy
    dataset: str
    table: str | None
    entries: Grown[Entry]
    hashes: Grown[str]
    keyed: dict[str, Keyed] = field(default_factory=dict)  # by key

    @classmethod
    def of(cls, lines: Sequence[Line], name: str) -> Self:
        """The meaning of all lines of file ``name``.

        A LedgerError where they mean nothing, or hold charges that the budget never covered.
        """
        with _understood(name):
            return cls(*opening(lines[0]), Grown(), Grown([lines[0].hash]))._with(lines[1:])

    def followed_by(self, lines: Sequence[Line], name: str) -> Self:
        """These records and the meaning of the lines after them; errors as in `of`."""
        if not lines:
            return self
        with _understood(name):
            return self._with(lines)

    def _with(self, lines: Sequence[Line]) -> Self:
        """ValueError for charges that no ledger would have taken: a file written by other hands."""
        fields = [(line, fields_of(line)) for line in lines]
        asked = [line for line, said in fields if said["status"] != ANSWERED]
        added = {line.position: entry(line, at) for at, line in enumerate(asked, len(self.entries) + 1)}
        charged = [one for one in added.values() if one.status == "charged"]
        for one in charged:
            known = self.budget.unit in ("one row", one.unit) and one.relation == self.budget.relation
            if not known or (self.budget.mu is not None and one.mu is None):
                raise ValueError
        hashes = self.hashes.with_more(line.hash for line in lines)
        with_key = [(line, said["key"]) for line, said in fields if {"key", "answer"} & said.keys()]
        keyed = {**self.keyed} if with_key else self.keyed
        for line, key in with_key:
            keyed[key] = keyed_by(keyed.get(key), line, added.get(line.position))
        entries = self.entries.with_more(added.values())
        records = replace(self, entries=entries, hashes=hashes, keyed=keyed)
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

    def require(self, asked: Privacy | None, name: str | None, table: str | None) -> None:
        """Refuse another budget, data set or table than the file was opened for; None asks for none."""
        if asked is not None and _terms(asked) != _terms(self.budget):
            raise LedgerError(
                f"budget {worded(asked)}",
                expected=f"budget {worded(self.budget)}, which ledger {self.dataset!r} was opened with",
                remedy="Leave budget out to open the ledger as it is. A budget cannot be changed afterwards.",
            )
        if name is not None and name != self.dataset:
            raise LedgerError(
                f"dataset {name!r}",
                expected=f"dataset {self.dataset!r}, which this ledger was opened for",
                remedy="Leave dataset out, or give the path of the ledger that belongs to these data.",
            )

        if table is not None and table != self.table:
            raise LedgerError(
                "the fingerprint of another table, or one under another key"
                if self.table
                else "the fingerprint of a table, for a ledger that notes none",
                expected=f"the table that ledger {self.dataset!r} was opened for, and its key",
                remedy="Give the path of the ledger that belongs to the table, or leave table out.",
            )

    def until(self, entry: Entry) -> LedgerRecords:
        """The records as they stood right after ``entry``."""
        lines = Grown(self.hashes[: self.hashes.index(entry.hash) + 1])
        return LedgerRecords(self.budget, self.dataset, self.table, Grown(self.entries[: entry.index]), lines)

    def statement(self) -> dict[str, str]:
        """What a signed head says: whose ledger this is, its first line, its last, and how many there are."""
        first, last = self.hashes[0], self.hashes[-1]
        lines = str(len(self.hashes))
        return {"dataset": self.dataset, "ledger": first, "lines": lines, "head": last, "when": now()}

    def holds(self, statement: Mapping[str, str]) -> bool:
        """Whether all lines that a signed head speaks of are still here."""
        lines = int(statement["lines"])
        same = statement["ledger"] == self.hashes[0] and statement["dataset"] == self.dataset
        return same and self.hashes[lines - 1 : lines] == (statement["head"],)

    def state(self) -> dict[str, Any]:
        """Plain values for a saved result: the balance and the entries."""
        spent, remaining = self.filter.spent, self.filter.remaining
        shown = ("when", "what", "status", "epsilon", "delta", "mu", "plan")
        return {
            "dataset": self.dataset,
            "budget_epsilon": self.budget.epsilon,
            "budget_delta": self.budget.delta,
            "spent_epsilon": spent.epsilon,
            "spent_delta": spent.delta,
            "remaining_epsilon": remaining.epsilon,
            "remaining_delta": remaining.delta,
            "entries": [{name: getattr(entry, name) for name in shown} for entry in self.entries],
        }

    def summary(self) -> Table:
        """Budget, balance and the latest charges as a table."""
        balance = (
            ("Budget", worded(self.budget)),
            ("Spent", amounts(self.filter.spent)),
            ("Left", amounts(self.filter.remaining)),
        )
        return charge_table(self.dataset, balance, self.entries, (FINGERPRINTED,) if self.table else ())

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("", "when", "what", "status", "epsilon", "delta", "mu", "key")]
        for e in self.entries:
            mu = "-" if e.mu is None else repr(e.mu)
            rows.append((str(e.index), e.when, e.what, e.status, repr(e.epsilon), repr(e.delta), mu, e.key))
        if not self.keyed:
            rows = [row[:-1] for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        first = f"Ledger {self.dataset!r}: budget {worded(self.budget)}"
        last = f"spent {amounts(self.filter.spent)}; left {amounts(self.filter.remaining)}"
        if self.table is not None:
            last += f"\n{FINGERPRINTED}"
        return "\n".join([first, *(table if self.entries else ["no charges yet"]), last])


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


def amounts(amount: Privacy | Balance) -> str:
    """A budget or a balance in words."""
    if amount.mu is not None:
        return f"mu = {amount.mu!r}"
    return f"epsilon = {amount.epsilon!r}" + (f", delta = {amount.delta!r}" if amount.delta > 0 else "")


def worded(budget: Privacy) -> str:
    """A budget with its neighbours and its unit."""
    return f"{amounts(budget)} ({budget.relation}, {budget.unit})"


def _terms(budget: Privacy) -> tuple[object, ...]:
    """What makes two budgets the same; under Gaussian DP epsilon only follows from mu and delta."""
    epsilon = budget.epsilon if budget.mu is None else None
    return budget.definition, epsilon, budget.delta, budget.mu, budget.relation, budget.unit
