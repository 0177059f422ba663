"""The coordinator's line to one holder: a question is sent until there is an answer, which is then kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeVar

from dpglm.exchange.journal import Journal
from dpglm.exchange.messages import Done, Message, Refusal, message_error, read_message
from dpglm.exchange.transport import Box, Transport, emptied

# Seconds after which a question is sent again, at first and at most; each time after twice as many.
SOON: Final = 1.0
LATER: Final = 30.0
Reply = TypeVar("Reply", bound=Message)


class Asked:
    """The coordinator's line to one holder: it asks until there is an answer, and keeps that."""

    def __init__(
        self, site: str, run: str, size: int, transport: Transport, journal: Journal, timeout: float
    ) -> None:
        self.site, self.run, self.size = site, run, size
        self._transport, self._journal, self._timeout = transport, journal, timeout
        self._asks, self._answers = Box(run, site, "asks"), Box(run, site, "answers")
        self._sent: str | None = None
        emptied(transport, self._answers)

    def send(self, message: Message) -> None:
        """Send a question, unless its answer is here or it was just sent."""
        if self._sent != message.name and self._journal.get(self.site, message.name) is None:
            self._transport.send(self._asks, message.to_bytes())
        self._sent = message.name

    def end(self) -> None:
        """Say that nothing more will be asked; there is no answer to that."""
        message = Done(self.run, self.site)
        if self._journal.get(self.site, message.name) is None:
            self._transport.send(self._asks, message.to_bytes())
            self._journal.keep(self.site, message.name, message.to_bytes(), b"")

    def wait(
        self, message: Message, kind: type[Reply], check: Callable[[Reply], object] | None = None
    ) -> Reply:
        """The answer to a question that was sent, of this kind; ``check`` refuses one that makes no sense."""
        question = message.to_bytes()
        kept = self._journal.get(self.site, message.name)
        content = self._received(message) if kept is None else kept.answered
        answer = read_message(content, run=self.run, site=self.site)
        if not isinstance(answer, kind):
            raise message_error(
                self.site, f"a message {answer.kind!r} as answer to {message.name!r}", kind.kind
            )
        if check is not None:
            check(answer)
        # Kept once it is known to make sense; another one cannot take its place.
        self._journal.keep(self.site, message.name, question, content)
        return answer

    def _received(self, message: Message) -> bytes:
        """Wait, and ask again from time to time: either message may be lost, or the holder started later."""
        until, pause = time.monotonic() + self._timeout, SOON
        while (left := until - time.monotonic()) > 0.0:
            content = self._transport.receive(self._answers, min(pause, left))
            if content is None:
                self._transport.send(self._asks, message.to_bytes())
                pause = min(2.0 * pause, LATER)
                continue
            answer = read_message(content, run=self.run, site=self.site)
            if isinstance(answer, Refusal):
                self._refused(answer)
            if answer.name == message.name:
                return content
            before = self._journal.get(self.site, answer.name)
            if before is not None and before.answered != content:
                raise message_error(
                    self.site, f"another answer to {answer.name!r} than before", "the same bytes, at each try"
                )
        raise message_error(
            self.site,
            f"no answer to {message.name!r} for {self._timeout:g} seconds",
            "its dpglm.answer at work, with the same run and plan",
            "Start it again, then this call, both as before: nothing is charged or drawn twice. To go on "
            "without this site, agree on another run of the remaining ones; each of them is charged anew.",
        )

    def _refused(self, refusal: Refusal) -> NoReturn:
        found = refusal.found.removeprefix(f"at site {self.site!r}, ")
        found = f"{refusal.error[:40]}: {found[:2000]}"
        raise message_error(self.site, found, refusal.expected[:2000], refusal.remedy[:2000])


def ask_all(
    holders: Mapping[str, Asked],
    questions: Mapping[str, Message],
    kind: type[Reply],
    check: Callable[[Reply], object] | None = None,
) -> dict[str, Reply]:
    """The answers of all sites: each is asked before the first is waited for."""
    for site, question in questions.items():
        holders[site].send(question)
    return {site: holders[site].wait(question, kind, check) for site, question in questions.items()}
