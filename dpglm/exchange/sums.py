"""Sums under masks over processes: what a holder says of them, and a coordinator that adds up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpglm.curator.secure_site import SecureSite, aggregate, content_of, key_message, keys_of, sum_message
from dpglm.curator.secure_site import point_of as named
from dpglm.errors import ExchangeError, MethodError, PermitError
from dpglm.exchange.asked import Asked, ask_all
from dpglm.exchange.messages import (
    MOST_BYTES,
    Answer,
    Ask,
    Key,
    Keys,
    finite,
    message_error,
    packed,
    unpacked,
)
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import NoiseSource, SeededNoise
from dpglm.mechanisms.pairwise_masks import BYTES
from dpglm.rows import RowChunk
from dpglm.spec.plan import Plan, Run
from dpglm.typing import FloatVector


@dataclass(frozen=True)
class Size:
    """How many numbers a site's message of a release has, and its point, where there is one."""

    sums: int
    at: int | None


def size_of(release: Release, size: int) -> Size:
    """From public facts alone, for ``size`` coded columns: the sum over one row that an audit makes up."""
    assert release.summed is not None, "planned as a sum"
    worst = release.worst_case("replace-one", size)
    with np.errstate(all="ignore"):
        sums = release.summed.whole(_OneRow(size, worst.first), worst.at, SeededNoise(0))
    return Size(len(sums), None if worst.at is None else len(worst.at))


def masked_bytes(run: str, site: str, place: int, size: Size) -> bytes:
    """A message as long as that of the release at this place, with zeros in it; ``run`` is a `masks_run`."""
    point = None if size.at is None else named(np.zeros(size.at))
    return sum_message(run, site, place, point, bytes(BYTES * size.sums))


def masks_run(plan: Plan, run: str) -> str:
    """What keys and masks are made for: keys are new in each process, and the name is charged once."""
    return f"{plan.fingerprint}/{run}"


def require_short(plan: Plan) -> None:
    """Refuse a plan with a message that no carrier takes, by a MethodError; nothing was charged."""
    size = plan.specification.coded_model.coding.size
    for place, release in enumerate(plan.releases.releases):
        own = size_of(release, size)
        # Base64, once more in the envelope, and twice 2000 for names.
        longest = max(len(masked_bytes("", "", place, own)), 8 * (own.at or 0)) * 4 // 3 + 4000
        if longest > MOST_BYTES:
            raise MethodError(
                f"a {release.name!r} of {own.sums} sums, in messages of {longest} bytes",
                expected=f"at most {MOST_BYTES} bytes a message between processes",
                remedy="Use a formula with fewer terms, or SecureSum('dpsgd').",
            )


def point_of(ask: Ask, release: Release | None, size: int) -> FloatVector | None:
    """The point of a question, one number for each of ``size`` columns; of a masked release as planned."""
    length = size if release is None else size_of(release, size).at
    if length is None and not ask.body:
        return None
    return unpacked(ask.body, size=length or 0, site=ask.site, what=f"question {ask.number}")


class Masks:
    """What a holder says of its keys, and its sums under masks. The private key is in memory only.

    A process that did not make the key, or was not told the others', never draws.
    """

    def __init__(self, table: Run, noise: NoiseSource, run: str, site: str) -> None:
        self._make = partial(table.secure_site, site, noise, run=masks_run(table.plan, run))
        self._run, self._name = run, site
        self._site: SecureSite | None = None
        self._met = False

    def acquainted(self, message: Key | Keys) -> Key | Keys:
        """The public key of this holder; or that it took those of all."""
        if isinstance(message, Key):
            if message.body:
                raise message_error(self._name, "a key in the question for its own", "an empty body")
            self._site = self._site or self._make()
            return Key(self._run, self._name, self._site.public_key())
        if self._site is None:
            raise self._gone()
        self._site.meet(message.body.split(b"\n"))
        self._met = True
        return Keys(self._run, self._name, b"")

    def masked(self, place: int, at: FloatVector | None) -> bytes:
        """This holder's message for the release at this place."""
        if self._site is None or not self._met:
            raise self._gone()
        return self._site.masked(place, at)

    def _gone(self) -> ExchangeError:
        return message_error(
            self._name,
            "a process without the mask key of this run: the site was started again since it made the key",
            "one process from the keys to the last release, since the key is in memory only",
            "Begin another run, which is charged anew. What this run sent is sent again, and stays masked.",
        )


class Sums:
    """How the coordinator asks all holders for a release at once: it hands on their keys, and adds up."""

    def __init__(self, holders: Mapping[str, Asked], plan: Plan) -> None:
        self._holders, self._releases = holders, plan.releases.releases
        self._size = plan.specification.coded_model.coding.size
        self._run = masks_run(plan, next(iter(holders.values())).run)
        self._next = 0
        self._keys = self._exchanged()

    def __call__(self, release: Release, at: FloatVector | None = None) -> FloatVector:
        """The planned release of all holders together."""
        place = self._next
        if place >= len(self._releases) or self._releases[place] is not release:
            raise PermitError(
                f"a release of {release.name!r} that is not the next one of the plan",
                expected="the planned releases in order",
                remedy="Plan every release before the fit.",
            )
        if at is not None and not finite(at):  # what a lying site has blown up ends here
            raise ExchangeError(
                f"question {place}, made of the sums of all sites, with numbers that are not finite",
                expected="sums of bounded rows",
                remedy="Ask the sites about their rows. What was charged stays so.",
            )
        body = b"" if at is None else packed(at)
        asks = {site: Ask(own.run, site, place, release.name, body) for site, own in self._holders.items()}
        sums, point = size_of(release, self._size).sums, named(at)
        check = partial(self._require_masked, sums=sums, point=point)
        messages = [answer.body for answer in ask_all(self._holders, asks, Answer, check).values()]
        self._next += 1
        return aggregate(messages, self._keys, release=release, place=place, at=at)

    def _exchanged(self) -> list[bytes]:
        """Ask for the keys of all, and tell them to all."""
        asks = {site: Key(own.run, site, b"") for site, own in self._holders.items()}
        answers = ask_all(self._holders, asks, Key, self._require_key)
        keys = {site: answer.body for site, answer in answers.items()}
        public: dict[bytes, str] = {}
        for site, message in keys.items():
            other = public.setdefault(keys_of([message])[site][1], site)
            if other != site:
                raise message_error(site, f"the key of site {other!r}", "a key of its own")
        told = {site: Keys(own.run, site, b"\n".join(keys.values())) for site, own in self._holders.items()}
        ask_all(self._holders, told, Keys, _require_taken)
        return list(keys.values())

    def _require_key(self, answer: Key) -> None:
        """Refuse what is not the one spelling of a key of this site, made for this run."""
        try:
            ((site, (run, key)),) = keys_of([answer.body]).items()
        except ExchangeError:
            raise message_error(answer.site, "a key that is damaged", "its public key") from None
        if (site, run) != (answer.site, self._run) or key_message(run, site, key) != answer.body:
            raise message_error(answer.site, "a key of another site or run", "its own, of this run")

    def _require_masked(self, answer: Answer, *, sums: int, point: str | None) -> None:
        """Refuse what is not as many numbers as planned of this site, run, release and point."""
        try:
            content = content_of(answer.body)
        except ExchangeError:
            raise message_error(answer.site, "a masked sum that is damaged", "its message") from None
        if len(content) != BYTES * sums:
            found = f"the answer to {answer.name!r} with {len(content)} bytes of sums"
            raise message_error(answer.site, found, f"{BYTES * sums}: {sums} numbers")
        if sum_message(self._run, answer.site, answer.number, point, content) != answer.body:
            raise message_error(answer.site, "a masked sum of another run, release or point", answer.name)


@dataclass(frozen=True)
class _OneRow:
    """A table of one row."""

    size: int
    row: RowChunk

    def chunks(self) -> Iterator[RowChunk]:
        yield self.row

    def row_count(self) -> int:
        return 1


def _require_taken(answer: Keys) -> None:
    if answer.body:
        raise message_error(answer.site, "keys as the answer to keys", "an empty body")
