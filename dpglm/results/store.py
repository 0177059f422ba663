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
from dpglm.results.document import FORMAT, FORMAT_VERSION, MAX_BYTES, fingerprint, to_json
from dpglm.results.fit_result import FitResult
from dpglm.results.parsing import fault, result_fields
from dpglm.results.record import FitRecord

__all__ = ["fingerprint", "from_json", "read", "save", "to_json"]


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
    target = Path(path)
    # Beside the target: os.replace is atomic within one file system only.
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        try:
            with open(draft, "x", encoding="ascii", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"{os.fspath(path)!r} cannot be written: {error.strerror}",
            expected="a path in a folder that exists and may be written to",
            remedy="Choose another path.",
        ) from None


def read(path: str | PathLike[str]) -> FitResult:
    """Read a result written by :func:`save`; its row map stays behind.

    Raises
    ------
    StoreError
        No such file, too large, or not a saved result.
    """
    try:
        with open(path, "rb") as file:
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
    if isinstance(version, bool) or version != FORMAT_VERSION:
        raise StoreError(
            f"format_version {version}" if isinstance(version, int) else "no format_version",
            expected=f"format_version {FORMAT_VERSION}",
            remedy="Read the file with the version of dpglm that wrote it, or a later one.",
        )
    values = result_fields(document)
    notice = values.pop("notice")
    result = FitResult(**values)
    if notice != (result.alarm or "private"):
        fault("a notice that does not fit the guarantee", 'the notice "private" or "NOT PRIVATE: ..."')
    return result


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
