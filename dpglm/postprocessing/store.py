"""Saved results: JSON text, written whole or not at all, read with suspicion.

Exact floats, no code, a line per field, the same bytes for the same result. The format is that of the typed
fields of :class:`~dpglm.postprocessing.record.FitRecord`, or of a profile; a change of these is another
format version.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from dpglm.errors import StoreError
from dpglm.postprocessing.codec import decode, encode, store_error
from dpglm.postprocessing.consistency import check_consistency
from dpglm.postprocessing.declared import check_unit
from dpglm.postprocessing.equation import Equation as Equation  # registers how it is read
from dpglm.postprocessing.profile import ProfileRecord
from dpglm.postprocessing.ranking import RankingRecord
from dpglm.postprocessing.record import FitRecord, Record
from dpglm.postprocessing.site_pool import own_guarantees

FORMAT, FORMAT_VERSION = "dpglm-fit", 7
Saved = TypeVar("Saved", bound=Record)
_FORMATS: Final[Mapping[type[Record], tuple[str, int]]] = {
    FitRecord: (FORMAT, FORMAT_VERSION),
    ProfileRecord: ("dpglm-profile", 2),
    RankingRecord: ("dpglm-ranking", 1),
}
DIGEST: Final = "sha256"  # of the rest of a saved file, see `fingerprint`
MAX_BYTES = 64 * 2**20
MOST_BRACKETS = 2**20  # names of coefficients hold some too


def to_json(record: Record, *, packed: bool = False) -> str:
    """``record`` as ASCII text, a line per field, without its row map; exact, and packed half as long."""
    gaps = (",", ":") if packed else (", ", ": ")
    dumps = partial(json.dumps, separators=gaps, allow_nan=False)
    lines = (
        f"{dumps(key)}{gaps[1]}{dumps(value)}" for key, value in _document(record, packed=packed).items()
    )
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if len(text) > MAX_BYTES or len(record.names) > record.most_names:
        raise StoreError(
            f"a result of {len(record.names)} names, {len(text)} bytes as JSON",
            expected=f"at most {record.most_names} names and {MAX_BYTES} bytes",
            remedy="Save fit.tidy() instead.",
        )
    return text


def fingerprint(record: Record) -> str:
    """SHA-256 of the record as JSON with sorted keys and no spaces: equal for a copy read from a file."""
    canonical = json.dumps(_document(record), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _document(record: Record, *, packed: bool = False) -> dict[str, Any]:
    name, version = _FORMATS[type(record)]
    mark = {"format": name, "format_version": version, "notice": record.alarm or "private"}
    return {**mark, **encode(record, packed=packed)}


def save(record: Record, path: str | PathLike[str]) -> Path:
    """Write :func:`saved_text`, unless :func:`from_json` would refuse it."""
    text = saved_text(record)
    from_json(text, type(record))
    return write_atomically(path, text)


def saved_text(record: Record) -> str:
    """``record`` with its SHA-256 as JSON."""
    head, brace, rest = to_json(record).partition("{\n")
    return f'{head}{brace}"{DIGEST}": "{fingerprint(record)}",\n{rest}'


def write_atomically(path: str | PathLike[str], content: str | bytes) -> Path:
    """Write bytes, or text as UTF-8, and return the path; the file appears whole or not at all."""
    target = writable(path)
    # Beside the target: os.replace is atomic within one file system only.
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        try:
            with open(draft, "xb") as file:
                file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable_error(path, error.strerror) from None
    except UnicodeEncodeError:
        raise _unwritable_error(path, "the text holds half a character (a lone surrogate)") from None
    return target


def writable(path: str | PathLike[str]) -> Path:
    """``path``, after a look at whether a file could be written there; nothing is written."""
    target = _as_path(path)
    try:
        if target.is_dir():
            raise _unwritable_error(path, "it is a folder")
        if not target.parent.is_dir():
            raise _unwritable_error(path, "its folder does not exist")
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise _unwritable_error(path, "its folder may not be written to")
    except OSError as error:
        raise _unwritable_error(path, error.strerror) from None
    return target


def free_folder(path: str | PathLike[str]) -> Path:
    """``path``, where a folder of results can be made, or one is that holds nothing; nothing is written."""
    target = _as_path(path)
    try:
        if not target.is_dir():
            if target.exists() or target.suffix.lower() in (".json", ".html"):
                return _not_free(path, "it is a file" if target.exists() else "it is the name of a file")
            return writable(target)
        if any(target.iterdir()):
            return _not_free(path, "it is not empty")
        if not os.access(target, os.W_OK | os.X_OK):
            return _not_free(path, "it may not be written to")
    except OSError as error:
        return _not_free(path, error.strerror)
    return target


def is_folder(path: object) -> bool:
    """Whether it is the path of a folder."""
    return isinstance(path, str | PathLike) and os.path.isdir(path)


def read(path: str | PathLike[str], kind: type[Saved] = FitRecord) -> Saved:  # type: ignore[assignment]
    """Read a record of this kind written by :func:`save`; a row map stays behind."""
    return from_json(read_text(path), kind)


def read_text(path: str | PathLike[str]) -> str:
    """The text of a file that is no longer than a saved result may be; a StoreError says why not."""
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
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise store_error("bytes that are not text", "UTF-8 text") from None


def any_from_json(text: str) -> Record:
    """The record of any kind whose text :func:`save` wrote, by its format mark."""
    mark = mark_in(text)
    kinds = [kind for kind, (name, _) in _FORMATS.items() if name == mark]
    return from_json(text, kinds[0] if kinds else FitRecord)


def mark_in(text: str) -> str:
    """What a saved file says it is, ``"dpglm-fit"`` or another format; empty where it says nothing."""
    mark = _parsed(text).get("format")
    return mark if isinstance(mark, str) else ""


def digest_in(text: str) -> str | None:
    """The SHA-256 that a saved file notes of itself; None where it notes none."""
    noted = _parsed(text).get(DIGEST)
    return noted if isinstance(noted, str) else None


def version_in(text: str) -> str:
    """The version of dpglm that a saved file names; empty where it names none."""
    try:
        named = _parsed(text).get("version")
    except StoreError:
        return ""
    return named if isinstance(named, str) else ""


def from_json(text: str, kind: type[Saved] = FitRecord) -> Saved:  # type: ignore[assignment]
    """The record whose text :func:`to_json` wrote, without its row map.

    Nothing of the text is run or imported; sizes, types and lengths are checked before they are used.
    """
    document = _parsed(text)
    name, expected = _FORMATS[kind]
    if document.pop("format", None) != name:
        raise store_error("no format mark, or another one", f'"format": "{name}"')
    version = document.pop("format_version", None)
    if type(version) is not int or version != expected:
        raise _version_error(version, expected)
    notice = document.pop("notice", None)
    document.pop(DIGEST, None)  # `dpglm.verify` compares it
    record = decode(kind, document)
    if isinstance(record, FitRecord):
        check_consistency(record)
        for guarantee in own_guarantees(record):
            check_unit(record.specification.schema, guarantee)
    elif isinstance(record, ProfileRecord):
        check_unit(record.schema, record.guarantee)
    if notice != (record.alarm or "private"):
        raise store_error(
            "a notice that does not fit the guarantee", 'the notice "private" or "NOT PRIVATE: ..."'
        )
    return record


def _parsed(text: object) -> dict[str, Any]:
    """The mapping in a JSON text; what `json` takes and JSON does not mean is refused."""
    if not isinstance(text, str):
        raise store_error(f"{type(text).__name__} instead of text", "JSON text")
    if len(text) > MAX_BYTES:
        raise store_error("text that is too long", f"at most {MAX_BYTES} bytes")
    if text.count("[") + text.count("{") > MOST_BRACKETS:
        # Each list or mapping takes a hundred bytes of memory for two of text.
        raise store_error("text with too many lists", f"at most {MOST_BRACKETS} brackets")
    try:
        document = json.loads(
            text, object_pairs_hook=_no_twins, parse_float=_no_overflow, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        if isinstance(error, StoreError):
            raise
        raise store_error("text that is not JSON", "JSON text") from None
    if not isinstance(document, dict):
        raise store_error(f"a {type(document).__name__} at the top", "a mapping")
    return document


def _version_error(version: object, expected: int) -> StoreError:
    """Formats of development versions lack a specification (1, 2), scales (3, 4), a cut (5) or a rule (6)."""
    number = version if type(version) is int else None
    remedy = "Read the file with the version of dpglm that wrote it, or a later one."
    if number in (1, 2, 3, 4, 5, 6) and expected == FORMAT_VERSION:
        remedy = (
            "Only development versions before dpglm 0.1.0 read it: use the one that wrote it, or fit again."
        )
    return StoreError(
        "no format_version" if number is None else f"format_version {number}",
        expected=f"format_version {expected}",
        remedy=remedy,
    )


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


def _unwritable_error(path: str | PathLike[str], why: str | None) -> StoreError:
    return StoreError(
        f"{os.fspath(path)!r} cannot be written: {why}",
        expected="the path of a file in a folder that exists and may be written to",
        remedy="Choose another path.",
    )


def _not_free(path: str | PathLike[str], why: str | None) -> NoReturn:
    raise StoreError(
        f"{os.fspath(path)!r} as a folder of results: {why}",
        expected="the path of an empty folder, or of one that is not there yet: each equation has a file",
        remedy=f"Choose another path, such as {Path(path).stem + '-equations'!r}.",
    )


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise store_error("a key that appears twice", "each key once")
    return mapping


def _no_overflow(digits: str) -> float:
    # 1e400 would become infinite without a word.
    number = float(digits)
    if not math.isfinite(number):
        raise store_error("a number that is too large", "finite numbers")
    return number


def _no_constant(name: str) -> NoReturn:
    raise store_error(f"the number {name}", "finite numbers")
