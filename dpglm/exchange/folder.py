"""A folder as carrier of messages: a shared disk, or one that any program keeps in step file by file."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import time
from pathlib import Path
from urllib.parse import quote

from dpglm.errors import ExchangeError
from dpglm.exchange.messages import MOST_BYTES, message_error
from dpglm.exchange.transport import Box


class Folder:
    """Messages as files ``run/site/asks/*.json`` and ``run/site/answers/*.json`` below a folder.

    A file appears whole or not at all, under the SHA-256 of its bytes, and is deleted by who has read it: the
    same message sent twice is one file. A site needs its own folder ``run/site`` only.

    Parameters
    ----------
    path : str or Path
        An existing folder.
    every : float
        Seconds between two looks into a box.

    Examples
    --------
    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> box = Box("monday-run", "north", "asks")
    >>> Folder(place.name).send(box, b"hello")
    >>> Folder(place.name).receive(box, timeout=1.0)
    b'hello'
    >>> place.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, every: float = 0.2) -> None:
        self._path, self._every = Path(path).absolute(), every
        if not self._path.is_dir():
            raise ExchangeError(
                f"no folder {str(path)!r} for messages",
                expected="a folder that the coordinator and the holders share",
                remedy="Make it, or correct the path.",
            )

    def send(self, box: Box, message: bytes) -> None:
        folder = self._folder(box)
        # Beside the target: a rename is atomic within one file system only.
        draft = folder / f".{secrets.token_hex(8)}.draft"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            try:
                with open(draft, "xb") as file:
                    file.write(message)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, folder / f"{hashlib.sha256(message).hexdigest()}.json")
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise _failed(box, f"a message cannot be written: {error.strerror}") from None

    def receive(self, box: Box, timeout: float) -> bytes | None:
        folder, until = self._folder(box), time.monotonic() + timeout
        while True:
            try:
                for path in sorted(folder.glob("*.json")):
                    message = _read(path, box)
                    path.unlink(missing_ok=True)
                    return message
            except FileNotFoundError:
                continue  # another process of this site was first
            except OSError as error:
                raise _failed(box, f"a message cannot be read: {error.strerror}") from None
            left = until - time.monotonic()
            if left <= 0.0:
                return None
            time.sleep(min(self._every, left))

    def _folder(self, box: Box) -> Path:
        return self._path / _plain(box.run) / _plain(box.site) / box.way


def _plain(name: str) -> str:
    """A name as that of a folder on any system: nothing in it leads to another one."""
    return quote(name, safe=" ").replace(".", "%2E")


def _read(path: Path, box: Box) -> bytes:
    """The bytes of a message; nothing but a plain file of ordinary size is opened."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise message_error(box.site, "something else than a plain file among its messages", "files")
    # Not blocking, and no link followed: the name may stand for something else by now.
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    with open(os.open(path, flags), "rb") as file:
        message = file.read(MOST_BYTES + 1)
    if len(message) > MOST_BYTES:
        raise message_error(box.site, "a message that is too long", f"at most {MOST_BYTES} bytes")
    return message


def _failed(box: Box, found: str) -> ExchangeError:
    return message_error(
        box.site,
        found,
        "a folder that may be written to by all who take part",
        "Repair the folder, then start again with the same run: what was answered is not drawn again.",
    )
