"""Ledgers of other hands: what a signed head shows that a hash chain cannot."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dpglm.errors import LedgerError
from dpglm.ledger.ledger import Ledger
from dpglm.ledger.signing import new_keys
from tests.attacks.ledgers import CHARGE, OPENING, forged, pure

pytest.importorskip("cryptography")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "ward-7.ledger", 3.0, dataset="ward-7")
    ledger.charge(pure(1.0), what="y ~ x")
    return ledger


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    new_keys(tmp_path / "owner.pem", tmp_path / "owner.pub")
    return tmp_path / "owner.pem", tmp_path / "owner.pub"


def test_a_rollback_a_fork_and_a_new_file_are_seen_by_a_signed_head(
    ledger: Ledger, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    older = tmp_path / "older"
    shutil.copy(ledger.path, older)
    ledger.charge(pure(1.0), what="y ~ z")
    text = ledger.sign_head(keys[0])
    forked = tmp_path / "forked"
    shutil.copy(older, forked)
    Ledger(forked).charge(pure(0.1), what="y ~ less")
    anew = forged(tmp_path / "anew", OPENING, CHARGE)
    Ledger(ledger.path, head=text, public_key=keys[1])
    for path in (older, forked, anew):
        Ledger(path)  # each is whole in itself
        with pytest.raises(LedgerError, match="does not hold the lines that were signed"):
            Ledger(path, head=text, public_key=keys[1])


def test_a_signed_head_changed_anywhere_is_refused(ledger: Ledger, keys: tuple[Path, Path]) -> None:
    text = ledger.sign_head(keys[0])
    for place in range(len(text)):
        changed = text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
        with pytest.raises(LedgerError):
            Ledger(ledger.path, head=changed, public_key=keys[1])
    said = json.loads(text)
    twice = text[:-1] + ',"lines":"1"}'
    more = json.dumps({**said, "note": "more"})
    unsigned = json.dumps({**said, "signature": ""})
    for other in (twice, more, unsigned, json.dumps({**said, "lines": 2})):
        with pytest.raises(LedgerError):
            Ledger(ledger.path, head=other, public_key=keys[1])


def test_a_head_signed_by_another_key_or_for_another_ledger_is_refused(
    ledger: Ledger, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    new_keys(tmp_path / "other.pem", tmp_path / "other.pub")
    with pytest.raises(LedgerError, match="signature does not hold"):
        Ledger(ledger.path, head=ledger.sign_head(tmp_path / "other.pem"), public_key=keys[1])
    other = Ledger(tmp_path / "ward-8.ledger", 3.0, dataset="ward-8")
    with pytest.raises(LedgerError, match="does not hold the lines that were signed"):
        Ledger(ledger.path, head=other.sign_head(keys[0]), public_key=keys[1])
