"""Signed heads: what the owner of the data says of a ledger, under an Ed25519 key that is kept elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

from dpglm.errors import LedgerError
from dpglm.ledger.arguments import path_of
from dpglm.ledger.lines import canonical

FORMAT: Final = "dpglm-head/1"
_FIELDS: Final = ("dataset", "format", "head", "ledger", "lines", "when")
_LONGEST: Final = 100_000  # characters of a signed head, bytes of a key
_MAKE: Final = "Make a pair of keys by `dpglm ledger keys owner.pem owner.pub`, or by openssl genpkey."


def new_keys(private: str | os.PathLike[str], public: str | os.PathLike[str]) -> None:
    """Make a pair of keys, each in a PEM file of its own.

    Only the owner of the private file may read it; it is not encrypted. A file that is there stays as it is.
    """
    serialization, ed25519 = _cryptography()
    key = ed25519.Ed25519PrivateKey.generate()
    encoding, secret, plain = (
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.PublicFormat.SubjectPublicKeyInfo,
    )
    # The public key first: a private key without it says what it is, and the public one follows from it.
    write_once(public, key.public_key().public_bytes(encoding, plain), mode=0o644)
    write_once(private, key.private_bytes(encoding, secret, serialization.NoEncryption()), mode=0o600)


def write_once(path: str | os.PathLike[str], content: bytes, *, mode: int) -> None:
    """Write a new file of a key; a LedgerError where there is a file, or none may be written."""
    target = path_of(path)
    try:
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise LedgerError(
            f"no key can be written there ({error.strerror})",
            expected="a path where no file is, in a folder that may be written to",
            remedy="Choose another path: a key is never overwritten.",
        ) from None


def signed(statement: Mapping[str, str], private_key: str | os.PathLike[str]) -> str:
    """A statement on a head with its signature, as JSON text."""
    serialization, ed25519 = _cryptography()
    statement = {"format": FORMAT, **statement}
    key = _loaded(private_key, "private", lambda content: serialization.load_pem_private_key(content, None))
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise _no_key("private")
    return canonical(**statement, signature=key.sign(canonical(**statement).encode()).hex())


def verified(text: object, public_key: str | os.PathLike[str]) -> dict[str, str]:
    """The statement in a signed head, its signature checked; a LedgerError where it does not hold."""
    from cryptography.exceptions import InvalidSignature

    serialization, ed25519 = _cryptography()
    key = _loaded(public_key, "public", serialization.load_pem_public_key)
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise _no_key("public")
    try:
        if not isinstance(text, str) or len(text) > _LONGEST:
            raise ValueError
        pairs = json.loads(text, object_pairs_hook=list)
        statement = dict(pairs)
        signature = bytes.fromhex(statement.pop("signature"))
        said = all(isinstance(value, str) for value in statement.values())
        if len(statement) != len(pairs) - 1 or tuple(sorted(statement)) != _FIELDS or not said:
            raise ValueError
        lines = statement["lines"]
        if statement["format"] != FORMAT or not (lines.isascii() and lines.isdigit() and len(lines) < 16):
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise LedgerError(
            "a head that is not the text of a signed one",
            expected="what Ledger.sign_head or `dpglm ledger sign` gave",
            remedy="Ask the data owner for the signed head again.",
        ) from None
    try:
        key.verify(signature, canonical(**statement).encode())
    except InvalidSignature:
        raise LedgerError(
            "a signed head whose signature does not hold under this public key",
            expected="a head signed by the private key that belongs to it, and not changed since",
            remedy="Compare the public key with the data owner's, and ask for the signed head again.",
        ) from None
    return statement


def _loaded(path: str | os.PathLike[str], kind: str, load: Any) -> Any:
    """The key in a PEM file; a LedgerError quotes nothing, since a key may be given in place of its path."""
    file = path_of(path)
    try:
        with open(file, "rb") as opened:
            return load(opened.read(_LONGEST))
    except OSError as error:
        raise LedgerError(
            f"the file of the {kind} key, which cannot be read ({error.strerror})",
            expected="a PEM file with an Ed25519 key",
            remedy=f"Check the path. {_MAKE}",
        ) from None
    except Exception:  # of many kinds, and their text may quote the key
        raise _no_key(kind) from None


def _no_key(kind: str) -> LedgerError:
    return LedgerError(
        f"a file that holds no {kind} Ed25519 key, or one under a password",
        expected=f"a PEM file with the {kind} key, not encrypted",
        remedy=_MAKE,
    )


def _cryptography() -> tuple[Any, Any]:
    """The parts of the package that are used, or a LedgerError that says how to install it."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise LedgerError(
            "signed heads without the package cryptography",
            expected="the extra of dpglm that installs it",
            remedy="Run pip install 'dpglm[sign]'. An unsigned head is ledger.head.",
        ) from None
    return serialization, ed25519
