"""One holder's side of a joint fit: it charges its ledger, then answers the questions, each once."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import replace
from pathlib import Path

from dpglm import __version__
from dpglm.curator.curator import Curator
from dpglm.errors import DpglmError, ExchangeError, LedgerError
from dpglm.exchange.arguments import (
    PlanOption,
    joint_plan,
    masks_of,
    plan_at,
    run_of,
    site_of,
    timeout_of,
    transport_of,
)
from dpglm.exchange.journal import Journal, journal_path
from dpglm.exchange.messages import (
    Answer,
    Ask,
    Done,
    Hello,
    Key,
    Keys,
    Message,
    Refusal,
    Start,
    Started,
    message_error,
    packed,
    read_message,
)
from dpglm.exchange.sums import Masks, point_of
from dpglm.exchange.transcript import Transcript
from dpglm.exchange.transport import Box, Transport, emptied
from dpglm.ledger.ledger import Ledger
from dpglm.spec.arguments import ledger_of, noise_of
from dpglm.spec.charging import at_site


def answer(
    plan: PlanOption,
    data: object,
    *,
    site: str,
    run: str,
    transport: Transport | str | os.PathLike[str],
    ledger: Ledger | str | os.PathLike[str] | None,
    journal: str | os.PathLike[str] | None = None,
    rows: int | None = None,
    timeout: float = 600.0,
    seed: int | None = None,
) -> Transcript:
    """Take part in a joint fit with a table that stays here: answer what the coordinator asks.

    The ledger is charged before a row is read. Each answer is in the journal before it is sent. So this call
    may be killed at any moment and started again: it charges once, goes on where it was, and sends the same
    bytes to the same question.

    Parameters
    ----------
    plan : Plan, ModelSpec, or path of a specification
        What was approved here. A coordinator with another plan is refused.
    data : table or path
        As for `dpglm.fit`; the same at each try.
    site : str
        The name of this holder.
    run : str
        The name of the run, which all sides agree on. One run is charged once.
    transport : Transport or path
        How messages come and go; a path is that of a shared folder.
    ledger : Ledger or path
        Charged under a key made of run and site. None only beside ``seed``.
    journal : path, optional
        Where answers are kept; by default beside the ledger. Whoever deletes it ends this site's part.
    rows : int, optional
        What this site declares of its number of rows, where that is private; by default as the schema.
    timeout : float
        Seconds without a message after which the call gives up.
    seed : int, optional
        Repeatable noise for tests; NOT PRIVATE, without ledger and journal.

    Returns
    -------
    Transcript
        What came and what left, with sizes and SHA-256.

    Raises
    ------
    ExchangeError
        A message of another plan, run or site, or one that makes no sense; no message in time; or a run that
        was charged and whose journal is gone.
    SchemaError, MethodError, PrivacyError
        As `dpglm.fit`; nothing was charged.
    BudgetExceeded, LedgerError
        The ledger does not cover the plan or cannot be used; nothing was read.

    Examples
    --------
    A coordinator and two holders, here as threads of one process:

    >>> from threading import Thread
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> dlvp = dpglm.methods.DLVP(steps=2)
    >>> schema = {"affair": ["no", "yes"], "age": (17, 43)}
    >>> plan = dpglm.plan("affair ~ age", schema, method=dlvp, privacy=(1.0, 1e-6))
    >>> shared = {"run": "monday-run", "transport": dpglm.exchange.InProcess()}
    >>> for site, table in {"north": women[:3000], "south": women[3000:]}.items():
    ...     options = {"site": site, "ledger": None, "seed": len(site), **shared}
    ...     Thread(target=dpglm.answer, args=(plan, table), kwargs=options).start()
    >>> dpglm.coordinate(plan, ["north", "south"], **shared).n_rows
    6366
    """
    carrier, seconds = transport_of(transport), timeout_of(timeout)
    holder = Holder(plan, data, site=site, run=run, ledger=ledger, journal=journal, rows=rows, seed=seed)
    asks, answers = Box(run, site, "asks"), Box(run, site, "answers")
    for earlier in emptied(carrier, asks):
        if greeting := holder.greeting(earlier):
            carrier.send(answers, greeting)
    until = time.monotonic() + seconds
    while not holder.finished:
        content = carrier.receive(asks, until - time.monotonic())
        if content is None:
            if holder.all_answered:
                break  # the end was not told, and nothing can be asked any more
            raise message_error(
                site,
                f"no message for {seconds:g} seconds",
                "questions of the coordinator",
                "Start it, then call dpglm.answer again with the same run: what was charged is charged once.",
            )
        try:
            reply = holder.reply(content)
        except DpglmError as error:
            carrier.send(answers, Refusal.of(run, site, error).to_bytes())
            raise
        if reply:
            carrier.send(answers, reply)
        until = time.monotonic() + seconds
    return holder.transcript


class Holder:
    """What one site says to each message of a run; its memory is the journal, and so it may be made anew.

    `dpglm.answer` waits for messages and sends replies. Whoever brings messages otherwise, a task of another
    system say, calls `reply` alone. Parameters and errors are those of `dpglm.answer`.

    Examples
    --------
    >>> import dpglm
    >>> schema = {"y": ["no", "yes"], "x": (0, 9)}
    >>> plan = dpglm.plan("y ~ x", schema, method="dlvp", privacy=(1.0, 1e-6))
    >>> data = dpglm.load_data("simulated").rename(columns={"x1": "x"})
    >>> holder = Holder(plan, data, site="north", run="monday-run", ledger=None, seed=1)
    >>> hello = Hello("monday-run", "north", plan.fingerprint, dpglm.__version__)
    >>> holder.reply(hello.to_bytes())[:42]
    b'{"format":"dpglm-exchange/1","kind":"hello'
    """

    def __init__(
        self,
        plan: PlanOption,
        data: object,
        *,
        site: str,
        run: str,
        ledger: Ledger | str | os.PathLike[str] | None,
        journal: str | os.PathLike[str] | None = None,
        rows: int | None = None,
        seed: int | None = None,
    ) -> None:
        self._approved = joint_plan(plan)
        self.site, self.run = site_of(site), run_of(run)
        self._noise, self._ledger = noise_of(seed), ledger_of(ledger)
        self._plan = plan_at(self._approved, rows)
        self._table = at_site(site, lambda: self._plan._on(data, seeded=not self._noise.private))
        self._key = f"{self.run}, site {self.site}"
        self._releases = self._plan.releases.releases
        self._masks = Masks(self._table, self._noise, self.run, self.site) if masks_of(self._plan) else None
        self._journal = self._opened(journal_path(journal))

    @property
    def finished(self) -> bool:
        """Whether the coordinator has said that nothing more will be asked."""
        return self._journal.get(self.site, Done.kind) is not None

    @property
    def all_answered(self) -> bool:
        """Whether every release of the plan was answered."""
        return self._answered == len(self._releases)

    @property
    def transcript(self) -> Transcript:
        """All messages so far."""
        return Transcript.of(self.run, self._approved, self._journal)

    def reply(self, content: bytes) -> bytes:
        """What is sent back to a message; empty after the last one.

        Raises
        ------
        ExchangeError
            No message to this site in this run, or one that it must not answer.
        BudgetExceeded, LedgerError, PrivacyError
            The charge was refused; nothing was read.
        """
        message = read_message(content, run=self.run, site=self.site)
        kept = self._journal.get(self.site, message.name)
        # `keep` refuses another question than the one that was answered.
        made = self._made(message) if kept is None else kept.answered
        return self._journal.keep(self.site, message.name, content, made)  # proof: kept

    def greeting(self, content: bytes) -> bytes:
        """The reply to a greeting by the approved plan; empty for all else: it may be of an earlier try."""
        try:
            known = isinstance(read_message(content, run=self.run, site=self.site), Hello)
            return self.reply(content) if known else b""
        except ExchangeError:
            return b""

    def _made(self, message: Message) -> bytes:
        """The answer to a question that was not answered before."""
        if isinstance(message, Hello):
            return self._greeted(message).to_bytes()
        if isinstance(message, Done):
            return b""
        if self._journal.get(self.site, Hello.kind) is None:
            raise message_error(self.site, f"{message.kind!r} before the coordinator's plan", "its plan")
        if isinstance(message, Start):
            self._charge()
            return Started(self.run, self.site, self._public_rows()).to_bytes()
        if isinstance(message, Key | Keys) and self._masks is not None:
            self._started(f"a message {message.kind!r}")
            return self._masks.acquainted(message).to_bytes()
        if isinstance(message, Ask):
            return self._drawn(message).to_bytes()
        raise message_error(self.site, f"a message {message.kind!r} to a holder", "a question")

    def _greeted(self, hello: Hello) -> Hello:
        """Whether the coordinator runs the plan that was approved here; what this site says of itself."""
        if hello.plan != self._approved.fingerprint:
            other = f", by dpglm {hello.version[:20]}" if hello.version != __version__ else ""
            raise message_error(
                self.site,
                f"a coordinator with another plan ({hello.plan[:12]}{other}) than the one approved there",
                f"plan {self._approved.fingerprint[:12]}, made by dpglm {__version__}",
                "Use the same specification and the same version of dpglm on all sides. Nothing was charged.",
            )
        rows, seeded = self._plan.specification.schema.rows, not self._noise.private
        return Hello(self.run, self.site, self._plan.fingerprint, __version__, rows, seeded)

    def _charge(self) -> None:
        """Charge the run, once; on disk when this returns."""
        if self._ledger is not None and not self._charged():
            guarantee, what, plan = self._table.charge
            what = f"{what} at site {self.site!r} in run {self.run!r}"
            self._ledger.charge(guarantee, what=what, plan=plan, key=self._key)  # proof: charged

    def _drawn(self, ask: Ask) -> Answer:
        """The next release of the plan at the point that was asked for, and of no other."""
        started = self._started(f"question {ask.number}")
        if ask.number != self._answered or self.all_answered:  # proof: order
            raise message_error(
                self.site,
                f"question {ask.number}, where {self._answered} of {len(self._releases)} are answered",
                "the questions of the plan in order",
                "If the journal was put back from a copy, this run cannot go on: use another one.",
            )
        release = self._releases[ask.number]
        if ask.release != release.name:
            raise message_error(self.site, f"question {ask.number} for another release", repr(release.name))
        point = point_of(ask, release if self._masks else None, self._table.design.size)
        if Started(self.run, self.site, self._public_rows()).to_bytes() != started:
            raise message_error(self.site, "another number of rows than at the start", "the same table")
        if self._masks is not None:
            return Answer(self.run, self.site, ask.number, self._masks.masked(ask.number, point))
        # A permit for this release alone: which ones are used up is what the journal says.
        permitted = replace(self._plan.releases, releases=(release,))
        values = Curator(self._table.design, permitted, self._noise).ask(release, point)
        return Answer(self.run, self.site, ask.number, packed(values))

    def _started(self, what: str) -> bytes:
        """What was answered to the start; the charge is on disk."""
        started = self._journal.get(self.site, Start.kind)
        if started is None:
            raise message_error(self.site, f"{what} before the charge", "the start of the run")
        return started.answered

    @property
    def _answered(self) -> int:
        return sum(name.startswith("ask ") for _, name, _ in self._journal)

    def _public_rows(self) -> int | None:
        """Number of rows where it is public; reads the table, after the charge."""
        return self._table.design.row_count() if self._plan.specification.rows_are_public else None

    def _charged(self) -> bool:
        """Whether the ledger has a charge for this run, and for this plan."""
        assert self._ledger is not None, "asked where there is one"
        under = [entry for entry in self._ledger.entries if entry.key == self._key]
        if any(entry.plan != self._plan.fingerprint for entry in under):
            raise LedgerError(
                f"run {self.run!r} at site {self.site!r}, under which another plan was charged",
                expected="the same plan at each try",
                remedy="Use another run for another plan; it is then charged. Nothing was read.",
            )
        return bool(under)

    def _opened(self, path: Path | None) -> Journal:
        """The journal, unless it and the ledger contradict each other."""
        if (self._ledger is None) != (not self._noise.private) or (self._ledger is None and path is not None):
            raise LedgerError(
                "no ledger, or one beside a seed",
                expected="a ledger; or a seed, for what is NOT PRIVATE, and no ledger or journal",
                remedy='Use ledger=dpglm.Ledger("north.ledger", budget=(3.0, 1e-5)).',
            )
        opening = {"run": self.run, "site": self.site, "plan": self._plan.fingerprint}
        if self._ledger is None:
            return Journal(None, opening)
        if path is None:
            mark = hashlib.sha256(self._key.encode()).hexdigest()[:16]
            path = self._ledger.path.with_name(f"{self._ledger.path.name}.{mark}.journal")
        charged = self._charged()
        if charged and not os.path.lexists(path):
            # What was answered is not known: drawn again, a release would leave twice.
            raise self._contradiction("was charged, and its journal is gone", "its journal where it was")
        journal = Journal(path, opening)
        if not charged and journal.get(self.site, Start.kind) is not None:
            raise self._contradiction(
                "has a journal, and another ledger", "the ledger that was charged for it"
            )
        return journal

    def _contradiction(self, found: str, expected: str) -> ExchangeError:
        return message_error(
            self.site,
            f"run {self.run!r} {found}",
            expected,
            "Put the file back; or agree on another run, which is charged anew. Nothing was read.",
        )
