"""Saved results: written whole or not at all, read with suspicion."""

from __future__ import annotations

import json
import math
import os
import secrets
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from dpglm.errors import StoreError
from dpglm.postprocessing.checks import fault
from dpglm.postprocessing.consistency import check_agreement
from dpglm.postprocessing.document import FORMAT, MAX_BYTES, READABLE, fingerprint, to_json
from dpglm.postprocessing.parsing import result_fields
from dpglm.postprocessing.record import FitRecord
from dpglm.results.fit_result import FitResult

MOST_BRACKETS = 2**20  # names of coefficients hold some too

__all__ = ["fingerprint", "from_json", "read", "save", "to_json", "writable", "write_atomically"]


def save(result: FitRecord, path: str | PathLike[str]) -> None:
    """Write ``result`` to ``path`` as JSON.

    The file appears whole or not at all, and text that :func:`from_json` would refuse is never written.

    Raises
    ------
    StoreError
        The file cannot be written.
    """
    text = to_json(result)
    from_json(text)
    write_atomically(path, text)


def write_atomically(path: str | PathLike[str], text: str) -> Path:
    """Write ``text`` as UTF-8 to ``path`` and return the path; the file appears whole or not at all.

    Raises
    ------
    StoreError
        The file cannot be written; what was there before is untouched.
    """
    target = writable(path)
    # Beside the target: os.replace is atomic within one file system only.
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        try:
            with open(draft, "x", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        _unwritable(path, error.strerror)
    except UnicodeEncodeError:
        _unwritable(path, "the text holds half a character (a lone surrogate)")
    return target


def writable(path: str | PathLike[str]) -> Path:
    """``path``, after a look at whether a file could be written there; nothing is written.

    Raises
    ------
    StoreError
        Not a path, a folder, or in a folder that is missing or may not be written to.
    """
    target = _as_path(path)
    try:
        if target.is_dir():
            _unwritable(path, "it is a folder")
        if not target.parent.is_dir():
            _unwritable(path, "its folder does not exist")
        if not os.access(target.parent, os.W_OK | os.X_OK):
            _unwritable(path, "its folder may not be written to")
    except OSError as error:
        _unwritable(path, error.strerror)
    return target


def read(path: str | PathLike[str]) -> FitResult:
    """Read a result written by :func:`save`; its row map stays behind.

    Raises
    ------
    StoreError
        No such file, too large, or not a saved result.
    """
    source = _as_path(path)
    try:
        with open(source, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise StoreError(
            f"{os.fspath(path)!r} cannot be read: {error.strerror}",
            expected="a file written by save()",
            remedy="Check the path.",
        ) from None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        fault("bytes that are not text", "UTF-8 text")
    return from_json(text)


def from_json(text: str) -> FitResult:
    """The result whose text :func:`to_json` wrote, without its row map.

    Nothing of the text is run or imported; sizes, types and lengths are checked before they are used.

    Raises
    ------
    StoreError
        The text is not a saved result of this format.
    """
    if not isinstance(text, str):
        fault(f"{type(text).__name__} instead of text", "JSON text")
    if len(text) > MAX_BYTES:
        fault("text that is too long", f"at most {MAX_BYTES} bytes")
    if text.count("[") + text.count("{") > MOST_BRACKETS:
        # Each list or mapping takes a hundred bytes of memory for two of text.
        fault("text with too many lists", f"at most {MOST_BRACKETS} brackets")
    try:
        document = json.loads(
            text, object_pairs_hook=_no_twins, parse_float=_no_overflow, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        if isinstance(error, StoreError):
            raise
        fault("text that is not JSON", "JSON text")
    if not isinstance(document, dict):
        fault(f"a {type(document).__name__} at the top", "a mapping")
    if document.get("format") != FORMAT:
        fault("no format mark, or another one", f'"format": "{FORMAT}"')
    version = document.get("format_version")
    if isinstance(version, bool) or version not in READABLE:
        raise StoreError(
            f"format_version {version}" if isinstance(version, int) else "no format_version",
            expected=f"format_version {' or '.join(map(str, READABLE))}",
            remedy="Read the file with the version of dpglm that wrote it, or a later one.",
        )
    values = result_fields(document)
    notice = values.pop("notice")
    result = FitResult(**values)
    check_agreement(result)
    if notice != (result.alarm or "private"):
        fault("a notice that does not fit the guarantee", 'the notice "private" or "NOT PRIVATE: ..."')
    return result


def _as_path(path: object) -> Path:
    # A number would be taken for an open file by open(), and "" for the current folder.
    name = os.fspath(path) if isinstance(path, str | PathLike) else None
    try:
        if isinstance(name, str) and name and "\0" not in name and os.fsencode(name):
            return Path(name)
    except UnicodeEncodeError:
        pass
    raise StoreError(
        f"a path of type {type(path).__name__}" if name is None else f"{name!r} as a path",
        expected="the path of a file, as text or pathlib.Path",
        remedy="Use a path such as 'fit.json'.",
    )


def _unwritable(path: str | PathLike[str], why: str | None) -> NoReturn:
    raise StoreError(
        f"{os.fspath(path)!r} cannot be written: {why}",
        expected="the path of a file in a folder that exists and may be written to",
        remedy="Choose another path.",
    ) from None


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        fault("a key that appears twice", "each key once")
    return mapping


def _no_overflow(digits: str) -> float:
    # 1e400 would become infinite without a word.
    number = float(digits)
    return number if math.isfinite(number) else fault("a number that is too large", "finite numbers")


def _no_constant(name: str) -> NoReturn:
    fault(f"the number {name}", "finite numbers")
