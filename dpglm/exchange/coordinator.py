"""The coordinator of a joint fit: it has no rows, asks the holders, and runs the method on their answers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpglm import __version__
from dpglm.errors import PermitError
from dpglm.exchange import arguments
from dpglm.exchange.asked import Asked, ask_all
from dpglm.exchange.journal import Journal, journal_path
from dpglm.exchange.messages import Answer, Ask, Hello, Start, Started, message_error, packed, unpacked
from dpglm.exchange.sums import Sums
from dpglm.exchange.transcript import Transcript
from dpglm.exchange.transport import Transport
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import OsNoise, SeededNoise
from dpglm.methods.base import Ask as How
from dpglm.methods.joint import JointMethod
from dpglm.postprocessing.joint_sites import together
from dpglm.postprocessing.store import writable
from dpglm.results.fit_result import FitResult
from dpglm.rows import RowChunk
from dpglm.spec.joint import joined
from dpglm.spec.plan import Plan, Run
from dpglm.spec.sites import OpenedSites
from dpglm.typing import FloatVector


def coordinate(
    plan: arguments.PlanOption,
    sites: Sequence[str],
    *,
    run: str,
    transport: Transport | str | os.PathLike[str],
    journal: str | os.PathLike[str] | None = None,
    transcript: str | os.PathLike[str] | None = None,
    timeout: float = 600.0,
) -> FitResult:
    """Fit one model of several holders, each of which runs `dpglm.answer` with its own table and ledger.

    Nothing is charged before all are there with the approved plan. What comes back is what
    ``plan.fit({site: table})`` gives, but for the state of the ledgers, which no site sends.

    Parameters
    ----------
    plan : Plan, ModelSpec, or path of a specification
        Of a joint method whose messages are noisy, ``"dlvp"`` or ``"dp-admm"``, or masked,
        ``"secure-sum"``; the same at each holder.
    sites : list of str
        The holders, in their order.
    run : str
        The name of the run, which all agree on. Under one name each site is charged once.
    transport : Transport or path
        How messages come and go; a path is that of a shared folder.
    journal : path, optional
        Where answers are kept: killed and started again, this call goes on from it. Without one it asks
        everything again, and gets the same bytes as long as the holders are there.
    transcript : path, optional
        Where the list of all messages is written, with sizes and SHA-256: `dpglm.exchange.Transcript.read`.
    timeout : float
        Seconds to wait for an answer of a site; the error then names it.

    Returns
    -------
    FitResult
        One model of all sites.

    Raises
    ------
    ExchangeError
        A site that does not answer, answers twice, has another plan or version, refuses, or sends what makes
        no sense. Charges are kept. Start again with the same ``run`` to go on; to go on without a site, agree
        on another run of the remaining ones, each of which is charged anew.
    MethodError, SchemaError
        Another method, or names of sites that it does not fit.

    Examples
    --------
    See `dpglm.answer` for a whole run. A site that does not answer:

    >>> import dpglm
    >>> schema = {"y": ["no", "yes"], "x": (0, 9)}
    >>> plan = dpglm.plan("y ~ x", schema, method="dlvp", privacy=(1.0, 1e-6))
    >>> shared = {"run": "monday-run", "transport": dpglm.exchange.InProcess()}
    >>> try:
    ...     dpglm.coordinate(plan, ["north"], timeout=0.1, **shared)
    ... except dpglm.errors.ExchangeError as error:
    ...     print(error.found)
    at site 'north', no answer to 'hello' for 0.1 seconds
    """
    asked = arguments.joint_plan(plan)
    method = asked.specification.method
    assert isinstance(method, JointMethod), "checked by `joint_plan`"
    names, run, carrier, seconds = (
        arguments.sites_of(sites, asked),
        arguments.run_of(run),
        arguments.transport_of(transport),
        arguments.timeout_of(timeout),
    )
    if transcript is not None:
        writable(transcript)
    size = asked.specification.coded_model.coding.size
    opening = {"run": run, "sites": list(names), "plan": asked.fingerprint}
    kept = Journal(journal_path(journal), opening)
    holders = {site: Asked(site, run, size, carrier, kept, seconds) for site in names}
    at = _opened(asked, holders)
    asks: dict[str, How] = (
        {"": Sums(holders, asked)}
        if method.masks
        else {site: _Releases(holders[site], own) for site, own in at.runs.items()}
    )
    record = joined(method, at, asks)
    for holder in holders.values():
        holder.end()
    if transcript is not None:
        Transcript.of(run, asked, kept).save(transcript)
    return at.runs[names[0]].result(record)


def _opened(plan: Plan, holders: dict[str, Asked]) -> OpenedSites:
    """All sites, greeted first and started then: one that is not there costs the others nothing."""
    hello = {site: Hello(holder.run, site, plan.fingerprint, __version__) for site, holder in holders.items()}
    greeted = ask_all(holders, hello, Hello)
    plans = {site: _plan_of(plan, answer) for site, answer in greeted.items()}
    start = {site: Start(holder.run, site) for site, holder in holders.items()}
    started = ask_all(holders, start, Started)
    runs = {site: _run_of(plans[site], started[site], seeded=greeted[site].seeded) for site in holders}
    seeded = any(answer.seeded for answer in greeted.values())
    once = plan.specification.schema.sites == "disjoint"
    total = together([run.guarantee for run in runs.values()], once=once)
    # Drawn elsewhere: what stands here is whether it was noise that nobody can repeat.
    return OpenedSites(runs, dict.fromkeys(runs, SeededNoise(0) if seeded else OsNoise()), once, total)


def _plan_of(plan: Plan, hello: Hello) -> Plan:
    """The plan of a site, made here from what it declares."""
    own = plan if arguments.masks_of(plan) else arguments.plan_at(plan, hello.rows)
    if own.fingerprint != hello.plan:
        raise message_error(
            hello.site,
            f"plan {hello.plan[:12]}, made by dpglm {hello.version[:20]}",
            f"plan {own.fingerprint[:12]}, made by dpglm {__version__}",
            "Use the same specification and the same version of dpglm on all sides. Nothing was charged.",
        )
    return own


def _run_of(plan: Plan, started: Started, *, seeded: bool) -> Run:
    public = plan.specification.rows_are_public
    if (started.rows is None) == public:
        found = "no number of rows" if public else "a number of rows, which is private"
        raise message_error(started.site, found, "the number of rows where it is public")
    rows = RowsElsewhere(plan.specification.coded_model.coding.size, started.rows)
    guarantee = plan.guarantee.seeded() if seeded else plan.guarantee
    return Run(plan, rows, plan.specification.problem(rows), guarantee)


@dataclass(frozen=True)
class RowsElsewhere:
    """Rows that another process has: how many columns they are coded in and, where it is public, how many."""

    size: int
    known: int | None

    def chunks(self) -> Iterator[RowChunk]:
        """There are none here."""
        raise self._refusal()

    def row_count(self) -> int:
        """Number of rows, as their holder told it."""
        if self.known is None:
            raise self._refusal()
        return self.known

    def _refusal(self) -> PermitError:
        return PermitError(
            "rows that another process holds",
            expected="the answers of its curator only",
            remedy="Ask for a planned release.",
        )


class _Releases:
    """How a method asks for the releases of one site, in the order of its plan."""

    def __init__(self, holder: Asked, run: Run) -> None:
        self._holder, self._releases = holder, run.plan.releases.releases
        self._next = 0

    def begin(self, release: Release, at: FloatVector) -> None:
        """Send the question without waiting."""
        self._holder.send(self._question(release, at))

    def __call__(self, release: Release, at: FloatVector | None = None) -> FloatVector:
        """Send the question and wait for the answer."""
        question = self._question(release, at)
        self._holder.send(question)
        answer = self._holder.wait(question, Answer, self._numbers)
        self._next += 1
        return self._numbers(answer)

    def _numbers(self, answer: Answer) -> FloatVector:
        what = f"the answer to {answer.name!r}"
        return unpacked(answer.body, size=self._holder.size, site=self._holder.site, what=what)

    def _question(self, release: Release, at: FloatVector | None) -> Ask:
        planned = self._releases[self._next] if self._next < len(self._releases) else None
        if planned is not release or at is None:
            raise PermitError(
                f"a release of {release.name!r} that is not the next one of the plan, or at no point",
                expected="the planned releases in order, each at a point",
                remedy="Plan every release before the fit.",
            )
        body = packed(at)
        # What a lying site has blown up ends here, and not at the next one.
        what = f"question {self._next}, made of answers,"
        unpacked(body, size=self._holder.size, site=self._holder.site, what=what)
        return Ask(self._holder.run, self._holder.site, self._next, release.name, body)
