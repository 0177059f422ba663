"""Privacy ledger of one data set: what may be spent, what was spent, and on what."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dpglm.errors import BudgetExceeded, LedgerError
from dpglm.ledger import arguments
from dpglm.ledger.answers import digest_of
from dpglm.ledger.keys import Planned, charged_before, require_same
from dpglm.ledger.lines import Entry, Status, answer_line, entry_line, opening_line
from dpglm.ledger.log import Line, Log, behind
from dpglm.ledger.odometer import Balance, PrivacyFilter
from dpglm.ledger.records import LedgerRecords, worded
from dpglm.ledger.signing import signed, verified
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    import pandas as pd

Charge: TypeAlias = tuple[Guarantee, str, str]  # the guarantee, what it is for, the plan's fingerprint


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
    head, public_key : str and path, optional
        A hash noted earlier, which the file must still hold; or the text of a signed head and the PEM file of
        the key under which it was signed.
    table : str, optional
        What `dpglm.table_fingerprint` gave: a new ledger notes it, and another one must note the same.

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
        public_key: str | os.PathLike[str] | None = None,
        table: str | None = None,
    ) -> None:
        self._log = Log(arguments.path_of(path))
        self._seen: tuple[Line, LedgerRecords] | None = None
        noted = None if table is None else arguments.hash_of("table", table)
        asked = None if budget is None else Privacy.of(budget)
        name = None if dataset is None else arguments.public_words("dataset", dataset)
        if asked is not None:
            arguments.public_words("unit", asked.unit, exactly=True)
        if asked is not None and not os.path.lexists(self.path):
            self._log.create(
                opening_line(asked, name or arguments.public_words("dataset", self.path.stem), noted)
            )
        elif not os.path.lexists(self.path):
            raise LedgerError(
                f"no file {self.path.name!r}, and no budget",
                expected="the path of a ledger, or the budget of a new one",
                remedy='Use dpglm.Ledger(path, budget=(3.0, 1e-5), dataset="...") as the data owner allows.',
            )
        # Read back even what was just made: another process may have been first.
        records = self._records(head=head, public_key=public_key)
        self._budget, self._dataset, self._table = records.budget, records.dataset, records.table
        records.require(asked, name, noted)

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
    def table(self) -> str | None:
        """The keyed fingerprint of its table, where one was noted; no result or report holds it."""
        return self._table

    @property
    def head(self) -> str:
        """The hash of all there is; noted elsewhere, it shows later whether an older file was put back."""
        return self._records().hashes[-1]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every charge and every refusal, in order, counted from 1."""
        return tuple(self._records().entries)

    @property
    def spent(self) -> Balance:
        """What was charged so far."""
        return self._records().filter.spent

    @property
    def remaining(self) -> Balance:
        """What is left; a fit that costs this much still fits."""
        return self._records().filter.remaining

    def charge(self, guarantee: Guarantee, *, what: str, plan: str = "", key: str | None = None) -> Entry:
        """Take the cost of a guarantee from the budget; on disk when this returns.

        Call it before data are read: an interrupt, a kill or a power cut then costs budget, never privacy.
        Charges of several threads and processes are taken one after the other. ``what`` it is for is said in
        public words; ``plan`` is the fingerprint of the plan, as hexadecimal text, or empty. A ``key`` is
        charged once: :meth:`keep` then keeps the answer under it.

        Raises
        ------
        BudgetExceeded
            The cost is more than what is left. The refusal is written down and costs nothing.
        PrivacyError
            The guarantee is not private, or speaks of another relation or unit than the budget, or has no
            mu under a Gaussian-DP budget. Nothing is written.
        LedgerError
            The file was tampered with or cannot be written; ``what``, ``key`` or the unit is empty, too long
            or unprintable; ``plan`` is not hexadecimal; or ``key`` was charged before.
        """
        return self.charge_all([(guarantee, what, plan)], key=key)[0]

    def charge_all(self, charges: Sequence[Charge], *, key: str | None = None) -> tuple[Entry, ...]:
        """Take several charges, each with the arguments and the errors of :meth:`charge`: all or none.

        The lines are written in order, with no other between them; so are the refusals, where together they
        cost more than what is left.
        """
        if key is not None:
            key = arguments.key_of(key)
        planned = self._planned(charges)
        costs = [cost for cost, *_ in planned]
        assert self._seen is not None, "read when the ledger was opened"
        last, known = self._seen
        refusals = list[BudgetExceeded]()

        def compose(lines: tuple[Line, ...]) -> list[str]:
            records = known.followed_by(lines, self.path.name)
            if key in records.keyed:
                require_same(key, records.keyed[key], planned)
                raise charged_before(key, records.keyed[key])
            status: Status = "charged"
            if not records.filter.admits(*costs):
                status = "refused"
                whole = costs[0] if len(costs) == 1 else PrivacyFilter(self.budget).after(costs).spent
                refusals.append(records.refusal(whole, charges=len(costs)))
            return [
                entry_line(
                    cost,
                    guarantee,
                    what=text,
                    plan=plan,
                    status=status,
                    key=key if status == "charged" else None,
                )
                for cost, guarantee, text, plan in planned
            ]

        lines = self._log.extend(compose, after=last)
        self._saw(lines[-1], records := known.followed_by(lines, self.path.name))
        if refusals:
            raise refusals[0]
        return records.entries[-len(planned) :]

    def admits(self, charges: Sequence[Charge]) -> bool:
        """Whether what is left covers all of these now; writes nothing. Errors as of :meth:`charge`."""
        return self._records().filter.admits(*(cost for cost, *_ in self._planned(charges)))

    def keep(self, key: str, answers: Mapping[str, str]) -> None:
        """Keep what was released after a charge under ``key``: a text for each site, or one by ``""``.

        Lines that name the texts by their SHA-256 and the texts themselves are on disk when this returns, or
        none of them. A LedgerError where nothing was charged under ``key``, or answers are kept already.
        """
        key, answers = arguments.key_of(key), arguments.answers_of(answers)
        assert self._seen is not None, "read when the ledger was opened"
        last, known = self._seen

        def compose(lines: tuple[Line, ...]) -> list[str]:
            under = known.followed_by(lines, self.path.name).keyed.get(key)
            if under is None or under.answers:
                raise LedgerError(
                    f"answers for key {key!r}, under which "
                    + ("nothing was charged" if under is None else "answers are kept already"),
                    expected="the answers of a charge, kept once",
                    remedy="Use ledger.charge(..., key=...) first.",
                )
            return [answer_line(key, site, digest_of(text)) for site, text in answers.items()]

        lines = self._log.extend(compose, after=last, answers=tuple(answers.values()))
        self._saw(lines[-1], known.followed_by(lines, self.path.name))

    def kept(self, key: str, charges: Sequence[Charge]) -> tuple[Entry, dict[str, str]] | None:
        """The last charge under ``key`` and the texts that were kept for it; None for a key never charged.

        Raises
        ------
        LedgerError
            Other charges than these stand under ``key``; no answer was kept, since the process that charged
            still runs or was interrupted; or an answer is gone or was changed.
        """
        planned = self._planned(charges)
        under = self._records().keyed.get(arguments.key_of(key))
        if under is None:
            return None
        require_same(key, under, planned)
        if not under.answers:
            raise charged_before(key, under)
        return under.charges[-1], {site: self._log.answer(hashed) for site, hashed in under.answers.items()}

    def answers(self) -> dict[str, dict[str, str]]:
        """All texts that are kept, by key and site; a LedgerError where one is gone or was changed."""
        keyed, answer = self._records().keyed, self._log.answer
        return {key: {site: answer(of) for site, of in under.answers.items()} for key, under in keyed.items()}

    def sign_head(self, private_key: str | os.PathLike[str]) -> str:
        """The head with the name of the data set, the number of lines and the time, signed, as JSON text.

        ``private_key`` is the PEM file of an Ed25519 key, as ``dpglm ledger keys`` makes it. Keep the text:
        ``Ledger(path, head=text, public_key="owner.pub")`` refuses a file without its lines, whoever wrote
        it. A LedgerError where the key cannot be used.
        """
        return signed(self._records().statement(), private_key)

    def verify(self, *, head: str | None = None, public_key: str | os.PathLike[str] | None = None) -> None:
        """Check every line, and that the file still holds the ``head`` noted or signed earlier.

        A LedgerError where the chain is broken, where ``head`` is not on it (lines are gone), or where a kept
        answer is gone or was changed.
        """
        self._records(head=head, public_key=public_key)
        self.answers()

    def to_frame(self) -> pd.DataFrame:
        """The entries as a table, a row each."""
        import pandas as pd

        names = [field.name for field in fields(Entry)]
        return pd.DataFrame([asdict(entry) for entry in self.entries], columns=names).set_index("index")

    def state(self, *, at: Entry | None = None) -> dict[str, Any]:
        """Plain values for a saved result: the balance and the entries, now or right after entry ``at``."""
        records = self._records()
        if at is not None and (not isinstance(at, Entry) or at not in records.entries):
            raise LedgerError(
                f"an entry of type {type(at).__name__} that is not in the ledger",
                expected="one of ledger.entries",
                remedy="Leave at out for the state as it is now.",
            )
        return (records if at is None else records.until(at)).state()

    def __repr__(self) -> str:
        return f"Ledger({self.dataset!r}, budget {worded(self.budget)})"

    def __str__(self) -> str:
        return str(self._records())

    def _repr_html_(self) -> str:
        return self._records().summary().to_html()

    def _planned(self, charges: Sequence[Charge]) -> list[Planned]:
        """Charges with their cost under the budget; the documented errors of :meth:`charge`."""
        empty, planned = PrivacyFilter(self.budget), list[Planned]()
        for guarantee, what, plan in arguments.charges_of(charges):
            text, plan = arguments.public_words("what", what), arguments.plan_of(plan)
            cost = empty.cost(arguments.guarantee_of(guarantee), owner=self.dataset)
            arguments.public_words("unit", guarantee.unit, exactly=True)
            planned.append((cost, guarantee, text, plan))
        return planned

    def _records(
        self, *, head: str | None = None, public_key: str | os.PathLike[str] | None = None
    ) -> LedgerRecords:
        """The file, read and checked, and not behind what this object saw before."""
        seen = self._seen  # before reading: another thread may move it on meanwhile
        lines = self._log.read()
        if seen is not None and seen[0] not in lines[seen[0].position : seen[0].position + 1]:
            raise behind(self.path.name, "what this object read from it before")
        records = LedgerRecords.of(lines, self.path.name)
        if public_key is not None:
            statement = verified(head, public_key)
            if not records.holds(statement):
                raise behind(self.path.name, "the lines that were signed")
        elif head is not None and arguments.hash_of("head", head) not in records.hashes:
            raise behind(self.path.name, "the hash that was given")
        self._saw(lines[-1], records)
        return records

    def _saw(self, last: Line, records: LedgerRecords) -> None:
        """Remember the farthest line: another thread may have come farther meanwhile."""
        if self._seen is None or last.position >= self._seen[0].position:
            self._seen = last, records
