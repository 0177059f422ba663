"""Privacy ledger of one data set: what may be spent, what was spent, and on what."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpglm.errors import BudgetExceeded, LedgerError
from dpglm.ledger.log import Line, Log, behind
from dpglm.ledger.odometer import Balance, PrivacyFilter
from dpglm.ledger.records import (
    Entry,
    LedgerRecords,
    Status,
    amounts,
    entry,
    entry_line,
    opening_line,
)
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    import pandas as pd

WHAT_MAX = 10_000  # characters: a formula over hundreds of columns fits
PLAN_MAX = 200 * 64  # one for each of many sites that share a line
HEX = frozenset("0123456789abcdef")


class Ledger:
    """A privacy budget on disk, from which every fit on one data set is paid before data are read.

    Charges may be chosen one after the other in the light of earlier results, so they add up plainly:
    epsilons and deltas under an (epsilon, delta) budget, squares of mu under a Gaussian-DP budget. Sums are
    exact in decimals: ten charges of 0.1 fill a budget of 1.0 and no eleventh fits.

    The file is append-only and chained by hashes: a line edited, deleted, moved, or cut off the end is found
    when the ledger is opened and whenever it is read. A charge checks the lines since the last one that this
    object has seen, and counts on from what it knows. What *cannot* be seen from inside the file is that it
    was deleted, that an older copy of the whole file was put back, or that somebody wrote all of it anew.
    Against that, note ``ledger.head`` outside (a lab book, a mail to the data owner) and give it back later:
    ``Ledger(path, head=...)``. An open ledger checks by itself that the file still holds what it saw before.

    Parameters
    ----------
    path : str or Path
        The file. There is no default: a ledger belongs to a data set, not to a user or a machine.
    budget : float, (float, float) or Privacy, optional
        Makes the file where there is none. Where there is one it must state the same budget; leave it out to
        open what is there. Relation and unit belong to the budget; one that names no unit ("one row") takes
        charges for any unit, since whoever a row stands for, one row of theirs is protected.
    dataset : str, optional
        Name of the data set, shown in messages and reports; the file's name without ending unless given.
    head : str, optional
        A hash noted earlier, which the file must still hold.

    Raises
    ------
    LedgerError
        No file and no budget, another budget or data set than the file's, a file that was tampered with, is
        no ledger or cannot be opened.
    PrivacyError
        A budget that means nothing.

    Examples
    --------
    >>> import tempfile
    >>> from dpglm.privacy.guarantee import Guarantee
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/ward-7.ledger", budget=(3.0, 1e-5), dataset="ward-7")
    >>> fit = Guarantee(1.0, 1e-6, "approximate", "replace-one", "one row")
    >>> ledger.charge(fit, what="affair ~ age, objective perturbation").status
    'charged'
    >>> ledger.remaining
    Balance(epsilon=2.0, delta=9e-06, mu=None)
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        budget: float | tuple[float, float] | Privacy | None = None,
        *,
        dataset: str | None = None,
        head: str | None = None,
    ) -> None:
        self._log = Log(_absolute(path))
        self._seen: tuple[Line, LedgerRecords] | None = None
        asked = None if budget is None else Privacy.of(budget)
        name = None if dataset is None else _public("dataset", dataset)
        if asked is not None:
            _public("unit", asked.unit, exactly=True)
        if asked is not None and not os.path.lexists(self.path):
            self._log.create(opening_line(asked, name or _public("dataset", self.path.stem)))
        elif not os.path.lexists(self.path):
            raise LedgerError(
                f"no file {self.path.name!r}, and no budget",
                expected="the path of a ledger, or the budget of a new one",
                remedy='Use dpglm.Ledger(path, budget=(3.0, 1e-5), dataset="...") as the data owner allows.',
            )
        # Read back even what was just made: another process may have been first.
        records = self._records(head=head)
        self._budget, self._dataset = records.budget, records.dataset
        if asked is not None and _terms(asked) != _terms(records.budget):
            raise LedgerError(
                f"budget {_worded(asked)}",
                expected=f"budget {_worded(self.budget)}, which ledger {self.dataset!r} was opened with",
                remedy="Leave budget out to open the ledger as it is. A budget cannot be changed afterwards.",
            )
        if name is not None and name != records.dataset:
            raise LedgerError(
                f"dataset {name!r}",
                expected=f"dataset {records.dataset!r}, which this ledger was opened for",
                remedy="Leave dataset out, or give the path of the ledger that belongs to these data.",
            )

    @property
    def path(self) -> Path:
        """The file, absolute."""
        return self._log.path

    @property
    def budget(self) -> Privacy:
        """What may be spent in all."""
        return self._budget

    @property
    def dataset(self) -> str:
        """Whose ledger this is."""
        return self._dataset

    @property
    def head(self) -> str:
        """The hash of all there is; noted elsewhere, it shows later whether an older file was put back."""
        return self._records().hashes[-1]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every charge and every refusal, in order, counted from 1."""
        return self._records().entries

    @property
    def spent(self) -> Balance:
        """What was charged so far."""
        return self._records().filter.spent

    @property
    def remaining(self) -> Balance:
        """What is left; a fit that costs this much still fits."""
        return self._records().filter.remaining

    def charge(self, guarantee: Guarantee, *, what: str, plan: str = "") -> Entry:
        """Take the cost of a guarantee from the budget; on disk when this returns.

        Call it before data are read: whatever happens afterwards, an interrupt, a kill or a power cut, costs
        budget and never privacy. Charges of several threads and processes are taken one after the other.

        ``what`` it is for is said in public words: the formula and the method. ``plan`` is the fingerprint of
        the plan that is charged, as hexadecimal text; empty where there is none.

        Raises
        ------
        BudgetExceeded
            The cost is more than what is left. The refusal is written down and costs nothing.
        PrivacyError
            The guarantee is not private, or speaks of another relation or unit than the budget, or has no
            mu under a Gaussian-DP budget. Nothing is written.
        LedgerError
            The file was tampered with or cannot be written, or ``what`` or the unit is empty, too long or
            unprintable, or ``plan`` is not hexadecimal.
        """
        (line,) = self.charge_all([(guarantee, what, plan)])
        return line

    def charge_all(self, charges: Sequence[tuple[Guarantee, str, str]]) -> tuple[Entry, ...]:
        """Take several charges, each with the arguments and the errors of :meth:`charge`: all or none.

        The lines are written in order, with no other between them; so are the refusals, where together they
        cost more than what is left.
        """
        assert charges, "something to charge"
        empty, planned = PrivacyFilter(self.budget), list[tuple[Balance, Guarantee, str, str]]()
        for guarantee, what, plan in charges:
            if not set(plan) <= HEX or len(plan) > PLAN_MAX:
                raise LedgerError(
                    "a plan that is not the fingerprint of one",
                    expected="hexadecimal text, or none",
                    remedy="Use plan=plan.fingerprint, or leave plan out.",
                )
            text = _public("what", what)
            cost = empty.cost(guarantee, owner=self.dataset)
            _public("unit", guarantee.unit, exactly=True)
            planned.append((cost, guarantee, text, plan))
        costs = [cost for cost, *_ in planned]
        assert self._seen is not None, "read when the ledger was opened"
        last, known = self._seen
        refusals = list[BudgetExceeded]()

        def compose(lines: tuple[Line, ...]) -> list[str]:
            records = known.followed_by(lines, self.path.name)
            status: Status = "charged"
            if not records.filter.admits(*costs):
                status = "refused"
                whole = costs[0] if len(costs) == 1 else empty.after(costs).spent
                refusals.append(records.refusal(whole, charges=len(costs)))
            return [
                entry_line(cost, guarantee, what=text, plan=plan, status=status)
                for cost, guarantee, text, plan in planned
            ]

        lines = self._log.extend(compose, after=last)
        self._saw(lines[-1], known.followed_by(lines, self.path.name))
        if refusals:
            raise refusals[0]
        return tuple(entry(line) for line in lines[-len(charges) :])

    def verify(self, *, head: str | None = None) -> None:
        """Check every line, and that the file still holds the ``head`` noted earlier.

        A LedgerError where the chain is broken, or where ``head`` is not on it: lines are gone.
        """
        self._records(head=head)

    def to_frame(self) -> pd.DataFrame:
        """The entries as a table, a row each."""
        import pandas as pd

        names = [field.name for field in fields(Entry)]
        return pd.DataFrame([asdict(entry) for entry in self.entries], columns=names).set_index("index")

    def state(self, *, at: Entry | None = None) -> dict[str, Any]:
        """Plain values for a saved result: the balance and the entries, now or right after entry ``at``."""
        records = self._records()
        if at is not None:
            records = records.until(at)
        spent, remaining = records.filter.spent, records.filter.remaining
        shown = ("when", "what", "status", "epsilon", "delta", "mu", "plan")
        return {
            "dataset": records.dataset,
            "budget_epsilon": records.budget.epsilon,
            "budget_delta": records.budget.delta,
            "spent_epsilon": spent.epsilon,
            "spent_delta": spent.delta,
            "remaining_epsilon": remaining.epsilon,
            "remaining_delta": remaining.delta,
            "entries": [{name: getattr(entry, name) for name in shown} for entry in records.entries],
        }

    def __repr__(self) -> str:
        return f"Ledger({self.dataset!r}, budget {_worded(self.budget)})"

    def __str__(self) -> str:
        records = self._records()
        rows = [("", "when", "what", "status", "epsilon", "delta", "mu")]
        for e in records.entries:
            mu = "-" if e.mu is None else repr(e.mu)
            rows.append((str(e.index), e.when, e.what, e.status, repr(e.epsilon), repr(e.delta), mu))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        first = f"Ledger {records.dataset!r}: budget {_worded(records.budget)}"
        last = f"spent {amounts(records.filter.spent)}; left {amounts(records.filter.remaining)}"
        return "\n".join([first, *(table if records.entries else ["no charges yet"]), last])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _records(self, *, head: str | None = None) -> LedgerRecords:
        """The file, read and checked, and not behind what this object saw before."""
        seen = self._seen  # before reading: another thread may move it on meanwhile
        lines = self._log.read()
        if seen is not None and seen[0] not in lines[seen[0].position : seen[0].position + 1]:
            raise behind(self.path.name, "what this object read from it before")
        records = LedgerRecords.of(lines, self.path.name)
        if head is not None and head not in records.hashes:
            raise behind(self.path.name, "the hash that was given")
        self._saw(lines[-1], records)
        return records

    def _saw(self, last: Line, records: LedgerRecords) -> None:
        """Remember the farthest line: another thread may have come farther meanwhile."""
        if self._seen is None or last.position >= self._seen[0].position:
            self._seen = last, records


def _absolute(path: object) -> Path:
    if isinstance(path, str | os.PathLike) and str(path) and "\0" not in str(path):
        return Path(path).absolute()
    raise LedgerError(
        f"path of type {type(path).__name__}, or empty",
        expected="the path of a file",
        remedy='Use dpglm.Ledger("ward-7.ledger", budget=(3.0, 1e-5)).',
    )


def _public(name: str, text: object, *, exactly: bool = False) -> str:
    """Public words on one line, or a LedgerError that does not repeat them; ``exactly``: as they are."""
    words = " ".join(text.split()) if isinstance(text, str) else ""
    if words and len(words) <= WHAT_MAX and words.isprintable() and (words == text or not exactly):
        return words
    raise LedgerError(
        f"{name} that is no text, empty, unprintable or too long",
        expected=f"1 to {WHAT_MAX} printable characters",
        remedy=f"Say {name} in public words: the formula and the method, or the name of the data set.",
    )


def _terms(budget: Privacy) -> tuple[object, ...]:
    """What makes two budgets the same; under Gaussian DP epsilon only follows from mu and delta."""
    epsilon = budget.epsilon if budget.mu is None else None
    return budget.definition, epsilon, budget.delta, budget.mu, budget.relation, budget.unit


def _worded(budget: Privacy) -> str:
    return f"{amounts(budget)} ({budget.relation}, {budget.unit})"
