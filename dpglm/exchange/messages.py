"""Messages of a joint fit: ASCII JSON in one form only, so that the size of each is a formula.

The body of a message, numbers as little-endian doubles or whatever else a method sends, is base64: its bits
are exact, and ``n`` bytes take ``4 * ceil(n / 3)``. All else is public and of a known length.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, NoReturn, TypeVar

import numpy as np

from dpglm.errors import DpglmError, ExchangeError
from dpglm.typing import FloatVector

FORMAT: Final = "dpglm-exchange/1"
MOST_BYTES: Final = 2**19  # of a message: more than the numbers of the widest model that is saved
LONGEST_WORDS: Final = 2000  # characters of each part of an error that is sent
LARGEST: Final = 1e100  # what no sum of bounded rows, and no point of a fit, comes near
Kind = TypeVar("Kind", bound="Message")


@dataclass(frozen=True)
class Message:
    """What crosses between the coordinator and one holder: in which run, and which holder's."""

    run: str
    site: str

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """What the message is about: a question and its answer have the same."""
        return self.kind

    def to_bytes(self) -> bytes:
        """The message as it is sent."""
        content: dict[str, object] = {"format": FORMAT, "kind": self.kind}
        for field in fields(self):
            value = getattr(self, field.name)
            content[field.name] = (
                base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
            )
        return json.dumps(content, separators=(",", ":")).encode("ascii")


@dataclass(frozen=True)
class Hello(Message):
    """Who takes part, and by which plan; sent both ways, before anything is charged.

    ``rows`` is the number of rows that a holder declares, ``seeded`` whether its noise can be repeated.
    """

    plan: str  # fingerprint: of the coordinator's plan; in the answer of the holder's own
    version: str
    rows: int | None = None
    seeded: bool = False

    kind: ClassVar[str] = "hello"


@dataclass(frozen=True)
class Start(Message):
    """All holders are there: charge."""

    kind: ClassVar[str] = "start"


@dataclass(frozen=True)
class Started(Message):
    """The ledger was charged; ``rows`` is the number of rows where that is public."""

    rows: int | None

    kind: ClassVar[str] = "started"

    @property
    def name(self) -> str:
        return Start.kind


@dataclass(frozen=True)
class Key(Message):
    """The public key of a holder of masked sums, asked for by an empty body."""

    body: bytes

    kind: ClassVar[str] = "key"


@dataclass(frozen=True)
class Keys(Message):
    """The public keys of all holders, a line for each; an empty body says that they were taken."""

    body: bytes

    kind: ClassVar[str] = "keys"


@dataclass(frozen=True)
class _OfRelease(Message):
    number: int  # 0, 1, ... of a release of the plan

    @property
    def name(self) -> str:
        return f"ask {self.number}"


@dataclass(frozen=True)
class Ask(_OfRelease):
    """Run a release, at the point in ``body``, empty for none."""

    release: str
    body: bytes

    kind: ClassVar[str] = "ask"


@dataclass(frozen=True)
class Answer(_OfRelease):
    """What a release gave."""

    body: bytes

    kind: ClassVar[str] = "answer"


@dataclass(frozen=True)
class Refusal(Message):
    """A holder's error, in the three parts of all of ours: public words only."""

    error: str
    found: str
    expected: str
    remedy: str

    kind: ClassVar[str] = "refusal"

    @classmethod
    def of(cls, run: str, site: str, error: DpglmError) -> Refusal:
        """The error as it is sent; of a long part the beginning."""
        words = (part[:LONGEST_WORDS] for part in (error.found, error.expected, error.remedy))
        return cls(run, site, type(error).__name__, *words)


@dataclass(frozen=True)
class Done(Message):
    """Nothing more will be asked."""

    kind: ClassVar[str] = "done"


KINDS: Final[dict[str, type[Message]]] = {
    kind.kind: kind for kind in (Hello, Start, Started, Key, Keys, Ask, Answer, Refusal, Done)
}


def read_message(content: bytes, *, run: str, site: str) -> Message:
    """The message of this run and site whose bytes these are.

    Raises
    ------
    ExchangeError
        Bytes that `Message.to_bytes` never wrote, or of another version, run or site; the site is named.
    """

    def refuse(found: str, expected: str) -> NoReturn:
        raise message_error(site, found, expected)

    if not isinstance(content, bytes) or len(content) > MOST_BYTES:
        refuse("a message that is too long, or no bytes", f"at most {MOST_BYTES} bytes")
    try:
        document = json.loads(content.decode("ascii"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        refuse("a message that is no ASCII JSON", f"a message of format {FORMAT}")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        other = document.get("format") if isinstance(document, dict) else None
        known = isinstance(other, str) and other.startswith("dpglm-exchange/") and len(other) < 40
        refuse(
            f"a message of format {other if known else 'unknown'}", f"{FORMAT}, of the same version of dpglm"
        )
    kind = KINDS.get(str(document.get("kind")))
    if kind is None:
        refuse("a message of an unknown kind", f"one of {', '.join(KINDS)}")
    try:
        message = kind(**{field.name: _CHECKS[field.type](document[field.name]) for field in fields(kind)})
    except (KeyError, TypeError, ValueError):
        refuse(
            f"a message {kind.kind!r} with a field that is missing or of another type", "all of its fields"
        )
    if message.to_bytes() != content:
        refuse(
            f"a message {kind.kind!r} in another form", "the bytes that dpglm writes, and nothing beside them"
        )
    if (message.run, message.site) != (run, site):
        refuse("a message of another run or site", f"one of run {run!r} and site {site!r}")
    return message


def packed(values: FloatVector) -> bytes:
    """Numbers as little-endian doubles, bit by bit."""
    return np.ascontiguousarray(values, dtype="<f8").tobytes()


def unpacked(body: bytes, *, size: int, site: str, what: str) -> FloatVector:
    """The ``size`` numbers of a body; an ExchangeError for others than finite ones of ordinary size.

    Examples
    --------
    >>> unpacked(packed(np.array([0.1, -0.0])), size=2, site="north", what="ask 3")
    array([ 0.1, -0. ])
    """
    if len(body) != 8 * size:
        raise message_error(site, f"{what} with {len(body)} bytes of numbers", f"{8 * size}: {size} doubles")
    values = np.frombuffer(body, dtype="<f8").astype(np.float64)
    if not finite(values):
        raise message_error(
            site, f"{what} with numbers that are not finite, or beyond {LARGEST:g}", "numbers"
        )
    return values


def finite(values: FloatVector) -> bool:
    """Whether all numbers are finite ones of ordinary size."""
    return bool((np.abs(values) <= LARGEST).all())  # NaN is not


def message_error(site: str, found: str, expected: str, remedy: str | None = None) -> ExchangeError:
    """What is wrong with a message to or from a site."""
    if remedy is None:
        remedy = (
            "Check who else writes there, and that all use one version of dpglm. What was charged stays so."
        )
    return ExchangeError(f"at site {site!r}, {found}", expected=expected, remedy=remedy)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _of_type(kind: type) -> Callable[[object], Any]:
    def check(value: object) -> object:
        if type(value) is not kind or (kind is int and not 0 <= value < 2**53):  # type: ignore[operator]
            raise TypeError
        return value

    return check


def _bytes(value: object) -> bytes:
    if not isinstance(value, str):
        raise TypeError
    return base64.b64decode(value, validate=True)


# By the annotations of the fields.
_CHECKS: Final[dict[Any, Callable[[object], Any]]] = {
    "str": _of_type(str),
    "int": _of_type(int),
    "bool": _of_type(bool),
    "bytes": _bytes,
    "int | None": lambda value: None if value is None else _of_type(int)(value),
}
