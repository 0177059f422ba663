"""Arguments of a ledger: each is what it should be, or a documented error that does not repeat it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dpglm.errors import LedgerError
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import encodable

WHAT_MAX: Final = 10_000  # characters: a formula over hundreds of columns fits
KEY_MAX: Final = 200
PLAN_MAX: Final = 200 * 64  # one for each of many sites that share a line
_HEX: Final = frozenset("0123456789abcdef")
_GUARANTEE: Final = ("private", "relation", "unit", "epsilon", "delta", "mu", "persons")


def path_of(path: object) -> Path:
    """An absolute path."""
    if isinstance(path, str | os.PathLike):
        name = os.fspath(path)
        if isinstance(name, str) and name and "\0" not in name and encodable(name):
            return Path(name).absolute()
    raise LedgerError(
        f"path of type {type(path).__name__}, or empty",
        expected="the path of a file",
        remedy='Use dpglm.Ledger("ward-7.ledger", budget=(3.0, 1e-5)).',
    )


def public_words(name: str, text: object, *, exactly: bool = False, most: int = WHAT_MAX) -> str:
    """Public words on one line, or a LedgerError that does not repeat them; ``exactly``: as they are."""
    words = " ".join(text.split()) if isinstance(text, str) else ""
    if words and len(words) <= most and words.isprintable() and (words == text or not exactly):
        return words
    advice = {"key": 'Use a short name such as key="monday-run", the same for each try.'}
    raise LedgerError(
        f"{name} that is no text, empty, unprintable or too long",
        expected=f"1 to {most} printable characters",
        remedy=advice.get(
            name, f"Say {name} in public words: the formula and the method, or the name of the data set."
        ),
    )


def key_of(key: object) -> str:
    """A key under which an answer is kept."""
    return public_words("key", key, exactly=True, most=KEY_MAX)


def plan_of(plan: object) -> str:
    """The fingerprint of a plan, or of several one after the other, or none."""
    if isinstance(plan, str) and set(plan) <= _HEX and len(plan) <= PLAN_MAX:
        return plan
    raise LedgerError(
        "a plan that is not the fingerprint of one",
        expected="hexadecimal text, or none",
        remedy="Use plan=plan.fingerprint, or leave plan out.",
    )


def charges_of(charges: object) -> list[tuple[Any, Any, Any]]:
    """Several charges, each of three parts."""
    if isinstance(charges, list | tuple) and charges:
        parts = [charge for charge in charges if isinstance(charge, list | tuple) and len(charge) == 3]
        if len(parts) == len(charges):
            return [(one, two, three) for one, two, three in parts]
    raise LedgerError(
        f"charges of type {type(charges).__name__}, or none, or not of three parts each",
        expected="a list of (guarantee, what, plan)",
        remedy="Use ledger.charge_all([(plan.guarantee, plan.what, plan.fingerprint)]).",
    )


def guarantee_of(guarantee: object) -> Guarantee:
    """What says of itself what it costs."""
    if (
        all(hasattr(guarantee, name) for name in _GUARANTEE)
        and all(isinstance(getattr(guarantee, name), bool) for name in ("private", "persons"))
        and all(isinstance(getattr(guarantee, name), str) for name in ("relation", "unit"))
    ):
        return guarantee  # type: ignore[return-value]  # as just checked
    raise LedgerError(
        f"a guarantee of type {type(guarantee).__name__}",
        expected="the guarantee of a plan or of a result",
        remedy="Use ledger.charge(plan.guarantee, what=plan.what, plan=plan.fingerprint).",
    )


def hash_of(name: str, value: object) -> str:
    """A hash, 64 hexadecimal digits, that was noted earlier."""
    if isinstance(value, str) and set(value) <= _HEX and len(value) == 64:
        return value
    raise LedgerError(
        f"{name} of type {type(value).__name__} that is no hash",
        expected="64 hexadecimal digits, as text",
        remedy="Use what ledger.head gave, or leave it out.",
    )


def answers_of(answers: object) -> dict[str, str]:
    """Texts by the names of their sites; that of one table has the empty name."""
    if isinstance(answers, Mapping) and answers:
        texts = {site: text for site, text in answers.items() if isinstance(text, str) and encodable(text)}
        if len(texts) == len(answers):
            for site in texts:
                if site != "":
                    public_words("site", site, exactly=True)
            return texts
    raise LedgerError(
        f"answers of type {type(answers).__name__}, or none, or other than texts",
        expected="a text for each site, or one under the empty name",
        remedy='Use ledger.keep("monday-run", {"": text}).',
    )
