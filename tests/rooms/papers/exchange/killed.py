"""A joint fit of three holders and a coordinator, each a process, one of which is killed at a given step.

Run as ``python -m tests.rooms.papers.exchange.killed FOLDER WHO FIRST STRIDE MOST``. It kills WHO,
``coordinator`` or ``north``, at its step FIRST, FIRST + STRIDE, and so on below MOST, in a fit of its own
each time, and prints a line of JSON with what was found. ``all`` is everybody, killed again after every
start. A step is a message that comes or goes, a line of a journal, or a charge; there is one before and one
after each.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import dpglm
from dpglm.curator.curator import Curator, PricedReleases
from dpglm.exchange import asked as asking
from dpglm.exchange.folder import Folder
from dpglm.exchange.holder import Holder
from dpglm.exchange.journal import Journal
from dpglm.exchange.messages import Answer, Ask, Started, read_message
from dpglm.exchange.transcript import Transcript
from dpglm.exchange.transport import Box
from dpglm.mechanisms.noise import SeededNoise
from dpglm.papers.dlr.dlvp import DLVP
from dpglm.spec.plan import Run
from tests.rooms.papers.test_dlr import FORMULA, SCHEMA, table

SITES = ("north", "south", "west")
TABLES = {site: table(place, 40 + 10 * place) for place, site in enumerate(SITES)}
ROUNDS = 2


class Repeated(SeededNoise):
    """Noise that follows from the site and the number of the release: the same after a restart."""

    private = True

    def __init__(self, rows: int, number: int) -> None:
        super().__init__(1000 * rows + number)


def plan() -> dpglm.Plan:
    return dpglm.plan(FORMULA, SCHEMA, method=DLVP(steps=ROUNDS), privacy=(1.0, 1e-6))


def reference() -> str:
    """The same fit in one process, with the same noise."""

    def ask(self: Run, noise: Any) -> Callable[..., Any]:
        left = list(self.plan.releases.releases)

        def asked(release: Any, at: Any = None) -> Any:
            number = len(self.plan.releases.releases) - len(left)
            left.pop(0)
            permitted = PricedReleases((release,), self.plan.releases.guarantee, self.plan.releases.privacy)
            return Curator(self.design, permitted, Repeated(self.design.row_count(), number)).ask(release, at)

        return asked

    kept = Run.ask
    Run.ask = ask  # type: ignore[method-assign, assignment]
    try:
        return saved(plan().fit(TABLES, progress=False))
    finally:
        Run.ask = kept  # type: ignore[method-assign]


def saved(fit: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        text: str = fit.save(Path(folder) / "fit.json").read_text()
        return text


class Steps:
    """Counts the steps of this process, and ends it at one of them."""

    def __init__(self, last: int | None) -> None:
        self.count, self.last = 0, last

    def __call__(self) -> None:
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1


class Watched:
    """A folder that notes what is sent, and steps before and after each message."""

    def __init__(self, folder: Path, own: Path, step: Callable[[], None]) -> None:
        self._inner, self._own, self._step = Folder(folder / "shared", every=0.01), own, step

    def send(self, box: Box, message: bytes) -> None:
        self._step()
        kind = read_message(message, run=box.run, site=box.site)
        if isinstance(kind, Started | Answer):
            charged = [entry.status for entry in dpglm.Ledger(self._own / "ledger").entries]
            with open(self._own / "sent.log", "a") as log:
                log.write(json.dumps([kind.name, message.decode(), charged]) + "\n")
                log.flush()
                os.fsync(log.fileno())
        self._inner.send(box, message)
        self._step()

    def receive(self, box: Box, timeout: float) -> bytes | None:
        message = self._inner.receive(box, timeout)
        if message is not None:
            self._step()
        return message


def sent_names(own: Path) -> list[str]:
    """What left a site so far."""
    log = own / "sent.log"
    return [json.loads(line)[0] for line in log.read_text().splitlines()] if log.exists() else []


def stepping(method: Any, step: Callable[[], None]) -> Any:
    def stepped(*args: Any, **options: Any) -> Any:
        step()
        found = method(*args, **options)
        step()
        return found

    return stepped


def holder(folder: Path, site: str, step: Callable[[], None]) -> None:
    own = folder / site
    drawn = Holder._drawn

    def repeated(self: Holder, ask: Ask) -> Answer:
        # The noise is the same at each try, so that bytes alone would not show a second draw.
        if ask.name in sent_names(own):
            (own / "drawn_again").touch()
        self._noise = Repeated(len(TABLES[site]), ask.number)
        return drawn(self, ask)

    Holder._drawn = repeated  # type: ignore[method-assign]
    Journal.keep = stepping(Journal.keep, step)  # type: ignore[method-assign]
    dpglm.Ledger.charge = stepping(dpglm.Ledger.charge, step)  # type: ignore[method-assign]
    dpglm.answer(
        plan(),
        TABLES[site],
        site=site,
        run="monday-run",
        transport=Watched(folder, own, step),
        ledger=own / "ledger",
        timeout=20.0,
    )


def coordinator(folder: Path, step: Callable[[], None]) -> None:
    asking.SOON, asking.LATER = 0.1, 0.5  # type: ignore[misc]  # holders are killed often
    Journal.keep = stepping(Journal.keep, step)  # type: ignore[method-assign]
    fit = dpglm.coordinate(
        plan(),
        SITES,
        run="monday-run",
        transport=Watched(folder, folder, step),
        journal=folder / "coordinator.journal",
        transcript=folder / "transcript.json",
        timeout=20.0,
    )
    (folder / "fit.json").write_text(saved(fit))


def started(folder: Path, who: str, last: int | None) -> int:
    """Another process: a holder or the coordinator."""
    child = os.fork()
    if child == 0:
        run_and_end(folder, who, last)
    return child


def run_and_end(folder: Path, who: str, last: int | None) -> NoReturn:
    status = 1
    try:
        step = Steps(last)
        coordinator(folder, step) if who == "coordinator" else holder(folder, who, step)
        status = 0
    except BaseException as error:
        (folder / f"{who}.error").write_text(repr(error))
    os._exit(status)


def scenario(folder: Path, last: dict[str, int], again: random.Random | None) -> dict[str, Any]:
    """A whole fit in which a process is killed at the step that ``last`` names; what was found afterwards.

    With ``again`` every process is killed after every start, at a step that this chooses.
    """

    def step_of(who: str) -> int | None:
        if again is None:
            return last.get(who) if kills[who] == 0 else None
        # Enough steps for some starts to come farther than the one before.
        return again.randint(4, 30 if who == "coordinator" else 14)

    (folder / "shared").mkdir(parents=True)
    for site in SITES:
        (folder / site).mkdir()
        dpglm.Ledger(folder / site / "ledger", budget=(3.0, 1e-3), dataset=site)
    kills, deadline = dict.fromkeys(("coordinator", *SITES), 0), time.monotonic() + 300.0
    running = {started(folder, who, step_of(who)): who for who in kills}
    while running and time.monotonic() < deadline:
        child, status = os.wait()
        who = running.pop(child)
        if os.WIFSIGNALED(status):
            kills[who] += 1
            running[started(folder, who, step_of(who))] = who
    for child in running:
        os.kill(child, signal.SIGKILL)
    errors = [path.read_text() for path in sorted(folder.glob("*.error"))]
    return {"kills": kills, "errors": errors, **(found(folder) if not errors and not running else {})}


def found(folder: Path) -> dict[str, Any]:
    text = (folder / "fit.json").read_text()
    whole = Transcript.read(folder / "transcript.json")
    whole.check(plan())
    sites: dict[str, Any] = {}
    for site in SITES:
        own = folder / site
        sent = [json.loads(line) for line in (own / "sent.log").read_text().splitlines()]
        by_name: dict[str, set[str]] = {}
        for name, message, _ in sent:
            by_name.setdefault(name, set()).add(message)
        (journal,) = own.glob("ledger.*.journal")
        entries = dpglm.Ledger(own / "ledger").entries
        again = Holder(
            plan(), TABLES[site], site=site, run="monday-run", ledger=own / "ledger", journal=journal
        )
        sites[site] = {
            "charges": [entry.status for entry in entries],
            "names": sorted(by_name),
            "same_bytes": all(len(messages) == 1 for messages in by_name.values()),
            "drawn_again": (own / "drawn_again").exists(),
            "charged_first": all(charged == ["charged"] for _, _, charged in sent),
            "same_transcript": crossed(again.transcript.at(site)) == crossed(whole.at(site)),
        }
    return {"same_fit": text == reference(), "sites": sites}


def crossed(transcript: Transcript) -> list[Any]:
    """All messages but the last word, which is said once and may be lost."""
    return [line for line in transcript.lines if line.kind != "done"]


def main(folder: str, who: str, first: str, stride: str, most: str = "10000") -> None:
    reference()  # read once: processes that begin here have all of it in memory
    for step in range(int(first), int(most), int(stride)):
        chosen = random.Random(step) if who == "all" else None
        outcome = scenario(Path(folder) / f"{who}-{step}", {} if chosen else {who: step}, again=chosen)
        print(json.dumps({"step": step, **outcome}), flush=True)
        if not any(outcome["kills"].values()):
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
