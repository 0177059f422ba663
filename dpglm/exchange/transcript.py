"""Transcripts: which messages crossed, how long each was, and its SHA-256; for an auditor."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Final, Literal, Self

from dpglm.curator.secure_site import content_of
from dpglm.errors import ExchangeError, StoreError
from dpglm.exchange.arguments import masks_of
from dpglm.exchange.journal import Journal
from dpglm.exchange.messages import Answer, Ask, Keys, read_message
from dpglm.exchange.sums import masked_bytes, masks_run, size_of
from dpglm.mechanisms.pairwise_masks import BYTES
from dpglm.postprocessing.store import write_atomically
from dpglm.spec.plan import Plan

FORMAT: Final = "dpglm-transcript/1"
MOST_WORDS: Final = 1024  # bytes of a message without a body: names, a version, a fingerprint


@dataclass(frozen=True)
class Crossed:
    """One message: to a site or from it, of which kind, and how long."""

    site: str
    way: Literal["to", "from"]
    kind: str
    number: int | None  # of the release
    values: int  # numbers in its body
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Transcript:
    """All messages of a run, as one side of it has them in its journal.

    That of the coordinator and that of a holder have the same lines for the holder's site.

    Examples
    --------
    >>> Transcript("monday-run", "", ()).left("north")
    0
    """

    run: str
    plan: str  # fingerprint
    lines: tuple[Crossed, ...]

    @classmethod
    def of(cls, run: str, plan: Plan, journal: Journal) -> Self:
        """The transcript of what a journal holds."""
        lines = []
        for site, _, exchanged in journal:
            lines.append(_crossed(exchanged.asked, run, site, "to"))
            if exchanged.answered:
                lines.append(_crossed(exchanged.answered, run, site, "from"))
        return cls(run, plan.fingerprint, tuple(lines))

    def at(self, site: str) -> Transcript:
        """The lines of one site."""
        return Transcript(self.run, self.plan, tuple(line for line in self.lines if line.site == site))

    def left(self, site: str) -> int:
        """How many bytes left a site in all."""
        return sum(line.bytes for line in self.lines if line.site == site and line.way == "from")

    def check(self, plan: Plan) -> None:
        """Check that what left is what the plan releases, and nothing beside it.

        Each answer is to a release of the plan, each once and in order, and is as long as that many numbers
        are, whatever they say; other messages have room for a few public words. An ExchangeError otherwise.
        """
        releases = plan.releases.releases
        bodies = _bodies(plan, self.run)
        if self.plan != plan.fingerprint:
            raise _unplanned("a transcript of another plan")
        for site in dict.fromkeys(line.site for line in self.lines):
            own = self.at(site).lines
            for kind in (Ask.kind, Answer.kind):
                numbers = [line.number for line in own if line.kind == kind]
                if numbers != list(range(len(numbers))) or len(numbers) > len(releases):
                    raise _unplanned(f"at site {site!r}, a release twice, out of order, or beyond the plan")
            for line in own:
                if line.kind in (Ask.kind, Answer.kind):
                    assert line.number is not None, "just compared"
                    point, numbers_of = bodies(site, line.number)
                    ask = Ask(self.run, site, line.number, releases[line.number].name, point)
                    answer = Answer(self.run, site, line.number, numbers_of)
                    planned = ask if line.kind == Ask.kind else answer
                    fits = (line.bytes, line.values) == (len(planned.to_bytes()), _values(planned))
                elif line.kind == Keys.kind and line.way == "to":  # public keys of all
                    fits = line.values == 0
                else:
                    fits = line.bytes <= MOST_WORDS + 20 * len(self.run + site) and line.values == 0
                if not fits:
                    raise _unplanned(f"at site {site!r}, a message {line.kind!r} of {line.bytes} bytes")

    def to_json(self) -> str:
        """JSON text, a line per message."""
        head = json.dumps({"format": FORMAT, "run": self.run, "plan": self.plan})[:-1]
        lines = ",\n".join(json.dumps(asdict(line)) for line in self.lines)
        return f'{head}, "lines": [\n{lines}\n]}}\n'

    def save(self, path: str | PathLike[str]) -> Path:
        """Write it to a file."""
        return write_atomically(path, self.to_json())

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read what `save` wrote; a StoreError for any other file."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise ValueError
            lines = tuple(Crossed(**line) for line in content["lines"])
            return cls(content["run"], content["plan"], lines)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            raise StoreError(
                "a file that is no transcript",
                expected=f"a file of format {FORMAT}, as Transcript.save writes it",
                remedy="Give the path of a transcript.",
            ) from None


def _crossed(content: bytes, run: str, site: str, way: Literal["to", "from"]) -> Crossed:
    message = read_message(content, run=run, site=site)
    digest = hashlib.sha256(content).hexdigest()
    if isinstance(message, Ask | Answer):
        return Crossed(site, way, message.kind, message.number, _values(message), len(content), digest)
    return Crossed(site, way, message.kind, None, 0, len(content), digest)


def _values(message: Ask | Answer) -> int:
    """How many numbers a message has: doubles, or those of a masked sum."""
    if message.body[:1] == b"{" and isinstance(message, Answer):
        try:
            return len(content_of(message.body)) // BYTES
        except ExchangeError:
            pass
    return len(message.body) // 8


def _bodies(plan: Plan, run: str) -> Callable[[str, int], tuple[bytes, bytes]]:
    """Bodies as long as those of a site's question and answer are, by the plan."""
    size = plan.specification.coded_model.coding.size
    if not masks_of(plan):
        return lambda site, number: (bytes(8 * size), bytes(8 * size))
    sizes = [size_of(release, size) for release in plan.releases.releases]
    name = masks_run(plan, run)
    return lambda site, number: (
        bytes(8 * (sizes[number].at or 0)),
        masked_bytes(name, site, number, sizes[number]),
    )


def _unplanned(found: str) -> ExchangeError:
    return ExchangeError(
        found,
        expected="messages of the plan, each as long as its numbers are",
        remedy="Ask who ran the fit what else was sent, and compare with the plan that was approved.",
    )
