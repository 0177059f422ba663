"""Sites that form noisy sums together by messages, and who adds these up: plain bytes, whoever carries them.

In a run each site sends its public key once, and then one message for each release, in the order of the plan.
Whoever adds up has no key: it learns the noisy sum over all sites, from all messages, and from fewer nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from dpglm.curator.curator import Curator, PricedReleases
from dpglm.errors import DpglmError, ExchangeError, PermitError
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.pairwise_masks import BYTES, KEY_BYTES, MaskKeys, mask, numbers, packed
from dpglm.mechanisms.secure_sum import opened
from dpglm.typing import FloatVector

KEY_FORMAT: Final = "dpglm-secure-key/1"
SUM_FORMAT: Final = "dpglm-secure-sum/1"
_KEY_FIELDS: Final = {"format", "run", "site", "key"}
_SUM_FIELDS: Final = {"format", "run", "site", "release", "at", "sum"}
# Of a message: 100 million numbers take 2.2 gigabytes.
LONGEST: Final = 2**32


class SecureSite:
    """One site of a run: its curator, whose answers leave under masks only.

    Parameters
    ----------
    name : str
        Of the site; the others have other names.
    curator : Curator
        Of its rows, with noise of its own and the releases of the plan.
    plan : PricedReleases
        The same at all sites; each release is a sum.
    sites : int
        How many take part, as planned.
    run : str
        Words that no other run has, the same at all sites: the plan's fingerprint and a number used once.
    secret : bytes, optional
        The private key, for tests; by default the operating system draws it.

    Notes
    -----
    Public keys must reach the other sites as they were made: who swaps them on the way reads every message.
    """

    def __init__(
        self,
        name: str,
        curator: Curator,
        plan: PricedReleases,
        *,
        sites: int,
        run: str,
        secret: bytes | None = None,
    ) -> None:
        self.name, self._curator, self._releases = name, curator, plan.releases
        self._sites, self._run, self._keys = sites, run, MaskKeys(secret)
        self._secrets: dict[str, bytes] = {}
        self._met: dict[str, bytes] = {}
        self._sent: dict[int, tuple[str | None, bytes]] = {}

    def public_key(self) -> bytes:
        """The message that the other sites need of this one: its public key."""
        return key_message(self._run, self.name, self._keys.public)

    def meet(self, keys: Sequence[bytes]) -> None:
        """Take the messages of `public_key` of all sites of the run, its own among them; once.

        Raises
        ------
        ExchangeError
            Other sites than planned, keys of another run, two of one site, or another one for this site.
        """
        found = keys_of(keys)
        if any(run != self._run for run, _ in found.values()) or len(found) != self._sites:
            raise ExchangeError(
                f"keys of {len(found)} sites at site {self.name!r}, or of another run",
                expected=f"one of each of the {self._sites} sites that the plan is for, made in this run",
                remedy="Exchange the keys of all sites again; a plan for fewer sites has other noise.",
            )
        public = {site: key for site, (_, key) in found.items()}
        if public.get(self.name) != self._keys.public or (self._met and self._met != public):
            raise ExchangeError(
                f"a key for site {self.name!r} that is not its own, or other keys than it took before",
                expected="the keys that all sites made, the same ones each time",
                remedy="Begin another run: sites make new keys for it.",
            )
        if len(set(public.values())) < len(public):
            raise ExchangeError(
                "one key for two sites",
                expected="a key of its own for each site",
                remedy="Begin another run, and look for who changed the keys.",
            )
        self._secrets = {
            site: self._keys.secret_with(site, key) for site, key in public.items() if site != self.name
        }
        self._met = public

    def masked(self, release: int, at: FloatVector | None = None) -> bytes:
        """This site's message for the release at this place of the plan, at a released point or at none.

        Asked again it sends the same bytes; nothing is read or drawn.

        Raises
        ------
        ExchangeError
            Keys are missing.
        PermitError
            Not the next release of the plan, or the same one at another point than before; nothing was read.
        """
        point = point_of(at)
        if release in self._sent:
            before, message = self._sent[release]
            if before != point:
                raise PermitError(
                    f"release {release} of site {self.name!r} again, at another point",
                    expected="the point at which it was asked before: a release is run once",
                    remedy="Ask at the same point for the same bytes, or for the next release of the plan.",
                )
            return message
        if not self._met:
            raise ExchangeError(
                f"a release of site {self.name!r} before it has the keys of the others",
                expected="SecureSite.meet with the keys of all sites",
                remedy="Exchange public keys first.",
            )
        if not 0 <= release < len(self._releases):
            raise PermitError(
                f"release {release} of a plan with {len(self._releases)}",
                expected="a place in the plan, from 0 on",
                remedy="Ask for the releases of the plan in their order.",
            )
        # Of this run, these keys and this release: no mask is used for two messages.
        context = _message({"run": self._run, "keys": _listed(self._met), "release": release})
        own = self._curator.share(
            self._releases[release], at, partial(mask, self.name, self._secrets, context), holders=self._sites
        )
        message = sum_message(self._run, self.name, release, point, packed(own))
        self._sent[release] = point, message
        return message


class SecureAsk:
    """All sites of a run in one process: asks each for its message and adds the messages up."""

    def __init__(self, sites: Sequence[SecureSite]) -> None:
        self._sites, self._keys = sites, [site.public_key() for site in sites]
        for site in sites:
            site.meet(self._keys)
        self._asked = 0

    def __call__(self, release: Release, at: FloatVector | None = None) -> FloatVector:
        """A planned release of all sites together."""
        place, self._asked = self._asked, self._asked + 1
        messages = [site.masked(place, at) for site in self._sites]
        return aggregate(messages, self._keys, release=release, place=place, at=at)


def aggregate(
    messages: Sequence[bytes],
    keys: Sequence[bytes],
    *,
    release: Release,
    place: int,
    at: FloatVector | None = None,
) -> FloatVector:
    """The release of all sites together, from one message of each.

    Parameters
    ----------
    messages : sequence of bytes
        What `SecureSite.masked` gave for the release at ``place`` of the plan, at the point ``at``.
    keys : sequence of bytes
        What `SecureSite.public_key` gave: the sites that take part.

    Raises
    ------
    ExchangeError
        A message is missing, which names the site, or is not of this run, release and point. Without all of
        them nothing can be read: masks that have no counterpart hide what there is.
    """
    sites = keys_of(keys)
    found: dict[str, str] = {}
    for message in messages:
        fields = _fields(message, SUM_FORMAT, _SUM_FIELDS)
        site = fields["site"]
        run = sites.get(site, (None, b""))[0]
        said = (fields["run"], fields["release"], fields["at"])
        same = type(fields["release"]) is int and said == (run, place, point_of(at))
        if not same or found.setdefault(site, fields["sum"]) != fields["sum"]:
            raise ExchangeError(
                f"a message of site {site!r} that is of another run, release or point, or its second one",
                expected=f"one message of each site for release {place}, at the point that all were asked at",
                remedy="Ask the site again: it sends the same bytes.",
            )
    missing = [site for site in sites if site not in found]
    if missing:
        raise ExchangeError(
            f"no message of {', '.join(map(repr, missing))} for release {place}",
            expected="a message of every site whose key was exchanged: fewer say nothing of the sum",
            remedy="Ask it again: it sends the same bytes. Without it begin another run, charged anew.",
        )
    content = {site: _bytes(text, site) for site, text in found.items()}
    if len({len(each) for each in content.values()}) > 1 or any(len(c) % BYTES for c in content.values()):
        raise ExchangeError(
            "messages of different lengths",
            expected=f"{BYTES} bytes for each number of the release, of every site",
            remedy="See that all sites run the same plan and the same version of dpglm.",
        )
    assert release.summed is not None, "planned as a sum"
    return opened(release.summed, [numbers(content[site]) for site in sites])


def key_message(run: str, site: str, key: bytes) -> bytes:
    """The message of a site whose public key this is."""
    return _message({"format": KEY_FORMAT, "run": run, "site": site, "key": base64.b64encode(key).decode()})


def sum_message(run: str, site: str, release: int, point: str | None, content: bytes) -> bytes:
    """The message of a site for a release, of whose numbers these are the bytes."""
    fields = {"format": SUM_FORMAT, "run": run, "site": site, "release": release, "at": point}
    return _message({**fields, "sum": base64.b64encode(content).decode()})


def content_of(message: bytes) -> bytes:
    """The bytes of the numbers of a message of `sum_message`, 16 for each."""
    fields = _fields(message, SUM_FORMAT, _SUM_FIELDS)
    return _bytes(fields["sum"], fields["site"])


def keys_of(keys: Sequence[bytes]) -> dict[str, tuple[str, bytes]]:
    """The run and the public key of every site, from their messages; sites in their order."""
    found: dict[str, tuple[str, bytes]] = {}
    for message in keys:
        fields = _fields(message, KEY_FORMAT, _KEY_FIELDS)
        site, run = fields["site"], fields["run"]
        if site in found:
            raise ExchangeError(
                "two keys of one site",
                expected="one key of each site",
                remedy="Begin another run: sites make new keys for it.",
            )
        found[site] = run, _bytes(fields["key"], site)
        if len(found[site][1]) != KEY_BYTES:
            raise _damaged(f"the key of {site!r}")
    return found


def point_of(at: FloatVector | None) -> str | None:
    """A hash of a released point, which messages name it by."""
    return None if at is None else hashlib.sha256(np.asarray(at, dtype="<f8").tobytes()).hexdigest()


def _listed(keys: Mapping[str, bytes]) -> list[list[str]]:
    return [[site, key.hex()] for site, key in sorted(keys.items())]


def _message(fields: Mapping[str, object]) -> bytes:
    """One spelling for one meaning."""
    return json.dumps(fields, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def _fields(message: bytes, kind: str, names: set[str]) -> dict[str, Any]:
    """The fields of a message; an ExchangeError where it is none of this kind."""
    try:
        if not isinstance(message, bytes) or len(message) > LONGEST:
            raise ValueError
        fields = json.loads(message)
        if not isinstance(fields, dict) or set(fields) != names or fields["format"] != kind:
            raise ValueError
        if not all(isinstance(fields[name], str) for name in names - {"release", "at"}):
            raise ValueError
    except (ValueError, RecursionError):
        raise _damaged("a message") from None
    return fields


def _bytes(text: str, site: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError:
        raise _damaged(f"a message of site {site!r}") from None


def _damaged(what: str) -> DpglmError:
    return ExchangeError(
        f"{what} that is damaged, of another version, or none",
        expected="the bytes that SecureSite made",
        remedy="Ask the site again: it sends the same bytes.",
    )
