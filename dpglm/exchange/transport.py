"""Carriers of messages: what one must do, and the carrier between threads of one process."""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable


@dataclass(frozen=True)
class Box:
    """Where messages of one run wait: those to a site (``"asks"``), or from it (``"answers"``).

    >>> Box("monday", "north", "asks").site
    'north'
    """

    run: str
    site: str
    way: Literal["asks", "answers"]


@runtime_checkable
class Transport(Protocol):
    """Carries messages of bytes to boxes.

    It may lose a message, bring it twice, or out of order: whoever waits asks again, and asked again a holder
    sends the same bytes. It must not change one. What it carries may be read by others, and needs no secrecy
    for the guarantee; whoever can write to a box can spoil a fit, and gets no more than what was charged.

    Examples
    --------
    >>> carrier = InProcess()
    >>> carrier.send(Box("monday-run", "north", "asks"), b"hello")
    >>> carrier.receive(Box("monday-run", "north", "asks"), timeout=0.0)
    b'hello'
    >>> carrier.receive(Box("monday-run", "north", "asks"), timeout=0.0) is None
    True
    """

    def send(self, box: Box, message: bytes) -> None:
        """Bring a message to a box."""

    def receive(self, box: Box, timeout: float) -> bytes | None:
        """Take a message from a box, each once; None where none came within so many seconds."""


class InProcess:
    """A carrier between threads of one process, for tests and for trying things out.

    >>> carrier, box = InProcess(), Box("monday", "north", "asks")
    >>> carrier.send(box, b"hello")
    >>> carrier.receive(box, timeout=1.0)
    b'hello'
    """

    def __init__(self) -> None:
        self._boxes: dict[Box, queue.Queue[bytes]] = defaultdict(queue.Queue)
        self._lock = threading.Lock()

    def send(self, box: Box, message: bytes) -> None:
        self._box(box).put(message)

    def receive(self, box: Box, timeout: float) -> bytes | None:
        try:
            return self._box(box).get(timeout=max(timeout, 1e-9))
        except queue.Empty:
            return None

    def _box(self, box: Box) -> queue.Queue[bytes]:
        with self._lock:
            return self._boxes[box]


def emptied(transport: Transport, box: Box) -> list[bytes]:
    """What an earlier try left in a box, taken out: what is still wanted is asked again."""
    left: list[bytes] = []
    while (message := transport.receive(box, 0.0)) is not None:
        left.append(message)
    return left
