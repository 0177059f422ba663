"""Pairwise masks: numbers that two holders alone know, which one adds and the other takes off.

Two holders agree on a secret by X25519 (RFC 7748). HKDF (RFC 5869) makes a key of it for one run and one
release, and ChaCha20 (RFC 8439) a stream of whole numbers, uniform modulo 2^128 to whoever has not the key.
Proof of what masks hide: ``secure_sum.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from dpglm.errors import ExchangeError, MethodError
from dpglm.mechanisms.whole_sums import Whole

# Whole numbers are added modulo 2^128, and are 16 bytes long.
BYTES: Final = 16
MODULUS: Final = 1 << (8 * BYTES)
KEY_BYTES: Final = 32
_USE: Final = b"dpglm pairwise mask 1"


class MaskKeys:
    """The pair of keys of one holder, for one run: the private one is in memory only.

    ``secret``, 32 bytes, is for tests; by default the operating system draws it.
    """

    def __init__(self, secret: bytes | None = None) -> None:
        x25519 = _cryptography()[0]
        private = x25519.X25519PrivateKey
        self._private = private.generate() if secret is None else private.from_private_bytes(secret)
        self.public: bytes = self._private.public_key().public_bytes_raw()

    def secret_with(self, name: str, public: bytes) -> bytes:
        """What this holder has in common with another one; an ExchangeError names a key that is none."""
        x25519 = _cryptography()[0]
        try:
            shared: bytes = self._private.exchange(x25519.X25519PublicKey.from_public_bytes(public))
        except ValueError:  # of another length, or one of the few with which every secret is zero
            raise ExchangeError(
                f"a public key of {name!r} that is no X25519 key",
                expected="the 32 bytes that the site made for this run",
                remedy="Ask the site for its key again, and check that it is its own.",
            ) from None
        return shared


def mask(name: str, secrets: Mapping[str, bytes], context: bytes, count: int) -> Whole:
    """What holder ``name`` adds, shape (count,), modulo 2^128; those of all holders add up to 0.

    Parameters
    ----------
    name : str
        Of this holder. Of two, the one whose name comes first adds, and the other takes off.
    secrets : mapping of str to bytes
        What it has in common with each of the other holders.
    context : bytes
        Of the run and the release: used once. Masks of two contexts are independent to who has no key.
    count : int
    """
    found: Whole = np.zeros(count, dtype=object)
    for other, secret in secrets.items():
        stream = _stream(secret, context, count)
        found = found + stream if name < other else found - stream
    return np.asarray(found % MODULUS)


def _stream(secret: bytes, context: bytes, count: int) -> Whole:
    """Whole numbers below 2^128, shape (count,): of a key that serves once, from the first byte on."""
    _, hashes, HKDF, Cipher, algorithms = _cryptography()
    key = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=_USE + context).derive(secret)
    cipher = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    return numbers(cipher.update(bytes(BYTES * count)))


def numbers(content: bytes) -> Whole:
    """Whole numbers from 16 bytes each, the least first, shape (k,).

    Examples
    --------
    >>> numbers(packed(np.array([3, 2**127], dtype=object))) == np.array([3, 2**127])
    array([ True,  True])
    """
    words = np.frombuffer(content, dtype="<u8").reshape(-1, 2).astype(object)
    return np.asarray(words[:, 0] + (words[:, 1] << 64))


def packed(whole: Whole) -> bytes:
    """Whole numbers from 0 to 2^128 - 1 as 16 bytes each."""
    return b"".join(number.to_bytes(BYTES, "little") for number in whole.tolist())


def require_cryptography() -> None:
    """Refuse to go on without the package that makes masks, by a MethodError."""
    _cryptography()


def _cryptography() -> tuple[Any, ...]:
    """The parts of the package that are used."""
    try:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import x25519
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError:
        raise MethodError(
            "secure sums without the package cryptography",
            expected="the extra of dpglm that installs it",
            remedy="Run pip install 'dpglm[secure]'.",
        ) from None
    return x25519, hashes, HKDF, Cipher, algorithms
