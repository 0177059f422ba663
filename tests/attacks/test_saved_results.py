"""Saved results written by other hands: nothing runs or grows without bound, and visible lies are seen."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dpglm
from dpglm.errors import StoreError
from dpglm.postprocessing import store
from dpglm.postprocessing.store import MAX_BYTES, from_json, read, to_json
from dpglm.results.fit_result import FitResult
from tests.attacks.ledgers import ran
from tests.golden.examples import interval_fit, private_fit
from tests.work import counted_work, memory_within

# Some ten times what the most expensive of these takes.
CALLS, MEGABYTES = 1e6, 700.0

DOCUMENT: dict[str, Any] = json.loads(to_json(private_fit()._record))
PROMISE: dict[str, Any] = DOCUMENT["guarantee"]


@pytest.fixture(autouse=True)
def in_bounded_work() -> Any:
    with counted_work(calls=CALLS), memory_within(MEGABYTES):
        yield


@pytest.mark.parametrize(
    "constructor",
    [
        {"py/object": "os.system", "py/reduce": [{"py/function": "os.system"}, ["touch ran"]]},
        {"$type": "System.Diagnostics.Process"},
        {"__class__": "os._wrap_close"},
        {"__reduce__": ["os.system", ["touch ran"]]},
        {"__proto__": {"private": True}},
        {"$ref": "#/guarantee"},
        {"$float": "__import__('os').system('touch ran')"},
        {"$doubles": "gASVIAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAl0b3VjaCByYW6UhZRSlC4="},
    ],
    ids=lambda made: next(iter(made)),
)
@pytest.mark.parametrize("key", ["estimates", "schema", "guarantee", "ledger", "part", "description"])
def test_a_constructor_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, constructor: dict[str, Any], key: str
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        asked = {**DOCUMENT["specification"], key: constructor}
        changed = {"specification": asked} if key == "schema" else {key: constructor}
        kept = json.loads(to_json(from_json(json.dumps({**DOCUMENT, **changed}))))["specification"]["schema"]
    except StoreError:
        pass
    else:
        assert kept == constructor  # plain data of the free tree
        assert key == "schema"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x05cposix\nsystem\n(S'touch ran'\ntR.",
        b"\x93NUMPY\x01\x00",
        b"PK\x03\x04",
        b"\x1f\x8b\x08",
        b"PAR1",
        b"\xff\xfe{\x00",
        b"\xef\xbb\xbf{}",
        b"!!python/object/apply:os.system ['touch ran']",
        b"\x00" * 100,
    ],
    ids=["pickle", "npy", "zip", "gzip", "parquet", "UTF-16", "mark", "YAML", "NUL"],
)
def test_other_formats_are_refused_and_not_unpacked(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fit.json"
    path.write_bytes(content)
    for load in (read, dpglm.load):
        with pytest.raises(StoreError) as caught:
            load(path)
        assert caught.value.remedy
    assert [file.name for file in tmp_path.iterdir()] == ["fit.json"]


BOMBS = {
    "lists": '{"format":"dpglm-fit","format_version":7,"names":[' + "[]," * 6_000_000 + "0]}",
    "mappings": '{"format":"dpglm-fit","format_version":7,"names":[' + "{}," * 6_000_000 + "0]}",
    "depth": '{"a":' * 100_000,
    "digits": json.dumps(DOCUMENT).replace("0.0123456", "9" * 4_000_000),
    "fraction": json.dumps(DOCUMENT).replace("0.0123456", "0." + "9" * 4_000_000),
    "exponent": json.dumps(DOCUMENT).replace("0.0123456", "1e" + "9" * 4_000_000),
    "tiny": json.dumps(DOCUMENT).replace("0.0123456", "1e-" + "9" * 4_000),
    "escapes": '{"' + "\\u0041" * 2_000_000,
    "blanks": " " * 8_000_000 + "{}",
    "length": " " * (MAX_BYTES + 1),
}


@pytest.mark.parametrize("bomb", list(BOMBS))
def test_bombs_are_refused_in_seconds(bomb: str) -> None:
    if bomb in ("fraction", "tiny"):  # long, and an ordinary number: what is read is that number
        assert from_json(BOMBS[bomb]).strength in (1.0, 0.0)
        return
    with pytest.raises(StoreError) as caught:
        from_json(BOMBS[bomb])
    assert len(str(caught.value)) < 1000


MEMORY = """
import resource, sys
from dpglm.errors import StoreError
from dpglm.postprocessing.store import from_json
text = '{"format":"dpglm-fit","format_version":7,"names":[' + "[]," * 20_000_000 + "0]}"
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    from_json(text)
except StoreError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_file_of_brackets_takes_no_memory_beyond_its_own() -> None:
    pytest.importorskip("resource")
    told = ran(MEMORY)
    assert told.returncode == 0, told.stderr
    assert int(told.stdout) < 50_000  # kilobytes; a gigabyte if they were read


def test_the_bound_on_brackets_leaves_room_for_the_widest_result() -> None:
    assert 50 * store.to_json(private_fit()._record).count("[") + 20 * 8192 < store.MOST_BRACKETS


@pytest.mark.parametrize("key", ["estimates", "coded", "selected_mask", "names", "terms"])
@pytest.mark.parametrize("length", [0, 1, 4, 6, 10_000])
def test_arrays_of_another_length_are_refused(key: str, length: int) -> None:
    values = (DOCUMENT[key] * 3000)[:length]
    if key == "terms":  # any number of terms, none of them out of reach
        values = [["t", [len(DOCUMENT["names"]) + length]]]
    with pytest.raises(StoreError):
        from_json(json.dumps({**DOCUMENT, key: values}))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("size", [1e308, -1e308, 5e-324])
@pytest.mark.parametrize("key", ["estimates", "coded"])
def test_numbers_that_overflow_in_arithmetic_are_refused_or_shown(key: str, size: float) -> None:
    for keys in ((key,), ("estimates", "coded")):
        changed = {name: [size] * len(DOCUMENT["names"]) for name in keys}
        try:
            result = from_json(json.dumps({**DOCUMENT, **changed}))
        except StoreError:
            continue
        assert str(FitResult(result).summary())


def asked(**changes: Any) -> dict[str, Any]:
    return {**DOCUMENT, "specification": {**DOCUMENT["specification"], **changes}}


def promised(**changes: Any) -> dict[str, Any]:
    return {**DOCUMENT, "guarantee": {**PROMISE, **changes}}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (promised(epsilon=0.5 * PROMISE["epsilon"]), "guarantee.epsilon"),
        (promised(epsilon=-0.0), "guarantee"),
        (promised(epsilon={"$float": "nan"}), "guarantee"),
        (promised(delta=1.5), "guarantee"),
        (promised(definition="perfect"), "guarantee"),
        (promised(relation="none"), "guarantee"),
        (promised(private=False), "guarantee"),
        (promised(private=False, reason="seeded"), "notice"),
        (promised(reason="seeded"), "without privacy"),
        ({**DOCUMENT, "notice": "NOT PRIVATE: seeded"}, "notice"),
        (asked(method={"name": "nonprivate", "options": {}}), "without privacy"),
        (asked(privacy=None), "without privacy"),
        ({**DOCUMENT, "random_source": "seeded generator: NOT PRIVATE"}, "without privacy"),
    ],
    ids=range(13),
)
def test_a_guarantee_that_contradicts_the_rest_of_the_file_is_seen(
    changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(StoreError, match=told):
        from_json(json.dumps(changed))


def test_a_seeded_fit_cannot_be_made_private_by_one_flag(tmp_path: Path) -> None:
    fit = dpglm.fit("y ~ x1", dpglm.load_data("simulated"), privacy=1.0, seed=1, progress=False)
    fit.save(tmp_path / "fit.json")
    document = json.loads((tmp_path / "fit.json").read_text())
    promise = {**document["guarantee"], "private": True, "reason": ""}
    for changes in ({}, {"notice": "private"}):
        (tmp_path / "fit.json").write_text(json.dumps({**document, "guarantee": promise, **changes}))
        with pytest.raises(StoreError):
            dpglm.load(tmp_path / "fit.json")


def test_what_cannot_be_seen_without_a_signature_is_seen_by_the_fingerprint() -> None:
    """A consistent lie is a valid file: only a fingerprint noted elsewhere tells. SECURITY.md says so."""
    before = store.fingerprint(from_json(json.dumps(DOCUMENT)))
    half = [{**line, "epsilon": 0.5 * line["epsilon"]} for line in DOCUMENT["spend_lines"] if line["epsilon"]]
    lies = [
        {**promised(epsilon=0.5 * PROMISE["epsilon"]), "spend_lines": half},
        promised(theorem="Theorem of nobody"),
        promised(assumptions=[]),
        asked(formula="y ~ other"),
        {**DOCUMENT, "ledger": None},
    ]
    for lie in lies:
        assert store.fingerprint(from_json(json.dumps(lie))) != before


def test_a_logistic_fit_is_not_read_as_one_of_counts(tmp_path: Path) -> None:
    fit = interval_fit()._record
    assert fit.released is not None
    edited = replace(fit, released=replace(fit.released, exponential=True))
    with pytest.raises(StoreError, match="exponential"):
        dpglm.load(FitResult(edited).save(tmp_path / "edited.json"))
