"""Signed heads: who holds the public key sees whether a ledger holds all that its owner signed."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpglm.cli import main
from dpglm.errors import LedgerError
from dpglm.ledger import signing
from dpglm.ledger.ledger import Ledger
from dpglm.ledger.signing import new_keys
from tests.attacks.ledgers import pure

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


def test_a_signed_head_is_found_on_a_ledger_that_grew(ledger: Ledger, keys: tuple[Path, Path]) -> None:
    text = ledger.sign_head(keys[0])
    said = json.loads(text)
    assert (said["dataset"], said["lines"], said["head"]) == ("ward-7", "2", ledger.head)
    assert text.isprintable()
    ledger.charge(pure(1.0), what="y ~ z")
    Ledger(ledger.path, head=text, public_key=keys[1]).verify(head=text, public_key=keys[1])
    spaced = json.dumps(said, indent=2)  # as a mail may lay it out
    Ledger(ledger.path, head=spaced, public_key=str(keys[1]))


def test_private_keys_are_for_their_owner_and_never_written_over(keys: tuple[Path, Path]) -> None:
    private, public = keys
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    before = private.read_bytes(), public.read_bytes()
    for other in (public.with_name("more.pem"), private):
        with pytest.raises(LedgerError, match="no key can be written"):
            new_keys(other, public)
    with pytest.raises(LedgerError, match="no key can be written"):
        new_keys(private, public.with_name("more.pub"))
    assert (private.read_bytes(), public.read_bytes()) == before


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_keys_of_openssl_sign_too(ledger: Ledger, tmp_path: Path) -> None:
    private, public = tmp_path / "ssl.pem", tmp_path / "ssl.pub"
    for command in (
        ["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(private)],
        ["openssl", "pkey", "-in", str(private), "-pubout", "-out", str(public)],
    ):
        subprocess.run(command, check=True, capture_output=True)
    Ledger(ledger.path, head=ledger.sign_head(private), public_key=public)


@pytest.mark.parametrize(
    "content", [b"", b"words", b"-----BEGIN PRIVATE KEY-----\nMC4CAQAw\n-----END PRIVATE KEY-----\n"]
)
def test_what_is_no_key_is_refused_and_not_repeated(ledger: Ledger, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "wrong.pem"
    path.write_bytes(content)
    head = json.dumps({"signature": ""})
    for use in (lambda: ledger.sign_head(path), lambda: ledger.verify(head=head, public_key=path)):
        with pytest.raises(LedgerError, match="holds no") as error:
            use()
        assert not content or content.decode() not in str(error.value)
        assert error.value.__cause__ is None


def test_a_key_in_place_of_its_path_is_not_repeated(ledger: Ledger, keys: tuple[Path, Path]) -> None:
    secret = keys[0].read_text()
    with pytest.raises(LedgerError, match="cannot be read") as error:
        ledger.sign_head(secret)
    assert secret.splitlines()[1] not in str(error.value)
    with pytest.raises(LedgerError, match="no key can be written") as error:
        new_keys(secret, keys[1])
    assert secret.splitlines()[1][:16] not in str(error.value)


def test_keys_of_other_kinds_and_under_a_password_are_refused(
    ledger: Ledger, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    def pem(key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey, lock: bytes | None) -> Path:
        form: forms.KeySerializationEncryption = forms.NoEncryption()
        if lock is not None:
            form = forms.BestAvailableEncryption(lock)
        path = tmp_path / f"{type(key).__name__}{lock!r}.pem"
        path.write_bytes(key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, form))
        return path

    curve = pem(ec.generate_private_key(ec.SECP256R1()), None)
    locked = pem(ed25519.Ed25519PrivateKey.generate(), b"password")
    for path in (curve, locked, keys[1], tmp_path / "missing.pem", tmp_path):
        with pytest.raises(LedgerError, match="key"):
            ledger.sign_head(path)
    for path in (keys[0], tmp_path / "missing.pub", tmp_path):
        with pytest.raises(LedgerError, match="key"):
            ledger.verify(head=ledger.sign_head(keys[0]), public_key=path)


def test_without_the_package_the_remedy_is_to_install_it(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    for use in (lambda: ledger.sign_head("k"), lambda: ledger.verify(head="{}", public_key="k")):
        with pytest.raises(LedgerError) as error:
            use()
        assert "dpglm[sign]" in error.value.remedy
    Ledger(ledger.path, head=ledger.head).verify()


def test_the_command_line_makes_keys_signs_and_verifies(ledger: Ledger, tmp_path: Path) -> None:
    def run(*arguments: object, status: int = 0) -> str:
        done = CliRunner().invoke(main, ["ledger", *map(str, arguments)])
        assert done.exit_code == status, done.output
        return done.output

    private, public, head = tmp_path / "a.pem", tmp_path / "a.pub", tmp_path / "head.json"
    assert "PRIVATE KEY" not in run("keys", private, public)
    run("sign", ledger.path, "--key", private, "--save", head)
    assert json.loads(run("sign", ledger.path, "--key", private))["head"] == ledger.head
    older = ledger.path.read_bytes()
    ledger.charge(pure(1.0), what="y ~ z")
    run("verify", ledger.path, "--head", head, "--public-key", public)
    run("sign", ledger.path, "--key", private, "--save", head)
    ledger.path.write_bytes(older)
    told = run("verify", ledger.path, "--head", head, "--public-key", public, status=1)
    assert "does not hold the lines that were signed" in told
    assert "never overwritten" in run("keys", private, public, status=1)
    assert os.listdir(tmp_path).count("a.pem") == 1


def test_nothing_but_a_signed_head_is_read_with_a_public_key(ledger: Ledger, keys: tuple[Path, Path]) -> None:
    text = ledger.sign_head(keys[0])
    for head in (None, ledger.head, "", 7, "[]", "{}", "{" * 99_999, text[:-1], text.replace('"2"', '"-1"')):
        with pytest.raises(LedgerError, match="a head that is not the text"):
            Ledger(ledger.path, head=head, public_key=keys[1])  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="no hash"):
        Ledger(ledger.path, head=text)
    assert signing.FORMAT in text
