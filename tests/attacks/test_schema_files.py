"""Schemas written by other hands: no tag makes an object, no file grows, no name drives a screen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import dpglm
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.text import SIZE_LIMIT, parse_yaml
from dpglm.errors import DpglmError, SchemaError
from tests.work import memory_within

# Some ten times what the most expensive of these takes; a hang does not end.
MEGABYTES = 700.0


@pytest.fixture(autouse=True)
def nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with memory_within(MEGABYTES):
        yield
    assert not (tmp_path / "ran").exists()


def read(text: str | bytes) -> Schema:
    path = Path("attack.yaml")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Schema.from_yaml(path)


TAGS = [
    "!!python/object/apply:os.system ['touch ran']",
    "!!python/object/new:os.system ['touch ran']",
    "!!python/object:os._wrap_close {}",
    "!!python/name:os.system",
    "!!python/module:os",
    "!!python/tuple [0, 1]",
    "!<tag:yaml.org,2002:python/object/apply:os.system> ['touch ran']",
    "!local {bounds: [0, 1]}",
    "! {bounds: [0, 1]}",
    "!!binary dG91Y2ggcmFu",
    "!!omap [bounds: [0, 1]]",
    "!!pairs [bounds: [0, 1]]",
    "!!set {a, b}",
    "!!timestamp 2020-01-01",
    "!!map {bounds: [0, 1]}",
    "{bounds: [0, !!int '1:1']}",
    "{bounds: [0, !!float '" + "1:" * 300 + "1']}",
    "{bounds: [0, !!int '" + "59:" * 100_000 + "1']}",
    "{bounds: [0, !!int '0x" + "f" * 500_000 + "']}",
    "{bounds: [0, !!float '1']}",
    "{levels: [a, !!null '']}",
]


@pytest.mark.parametrize("tagged", TAGS, ids=lambda text: text[:40])
def test_a_tag_makes_no_object_and_no_number(tagged: str) -> None:
    texts = [
        f"a: {tagged}",
        f"{tagged}\n",
        f"? {tagged}\n: {{bounds: [0, 1]}}",
        f"title: {tagged}\nvariables: {{}}",
    ]
    texts.append("%TAG ! tag:yaml.org,2002:python/\n---\na: !object/apply:os.system ['touch ran']")
    for text in texts:
        with pytest.raises(SchemaError) as caught:
            read(text)
        assert caught.value.expected
        assert caught.value.remedy
        assert len(str(caught.value)) < 2000


def test_a_tag_that_says_text_is_text() -> None:
    assert parse_yaml("a: !!str 010") == {"a": "010"}


BOMBS = {
    "laughs": "a: &a [x, x]\n" + "".join(f"k{i}: &k{i} [*a, *a]\n" for i in range(40)),
    "loop": "a: &a [*a]",
    "merge": "a: &a {bounds: [0, 1]}\nb: {<<: *a}",
    "lists": "a: " + "[" * 200_000,
    "mappings": "{a: " * 100_000,
    "sequences": "- " * 200_000,
    "keys": "? " * 200_000,
    "commas": "a: [" + "," * 200_000 + "]",
    "nan": "a: {bounds: [.nan, 1]}",
    "infinite": "a: {bounds: [0, .inf]}",
    "overflow": "a: {bounds: [0, 1" + "0" * 400 + ".0]}",
    "digits": "a: {bounds: [0, " + "9" * 100_000 + "]}",
    "level digits": "a: {levels: [0, " + "9" * 4000 + "]}",
    "twice": "a: {bounds: [0, 1]}\na: {bounds: [0, 9]}",
    "twice inside": "a: {bounds: [0, 1], bounds: [0, 9]}",
    "documents": "a: {bounds: [0, 1]}\n---\na: {bounds: [0, 9]}",
    "half a character": b"a: {levels: [x, \xed\xa0\x80]}",
    "control": "a: {levels: [x, \x07]}",
    "length": "#" * (SIZE_LIMIT + 1),
    "rows": "variables: {a: {bounds: [0, 1]}}\nrows: " + "9" * 400,
    "negative rows": "variables: {a: {bounds: [0, 1]}}\nrows: -1",
}


@pytest.mark.parametrize("bomb", list(BOMBS))
def test_bombs_and_double_meanings_are_refused_in_seconds(bomb: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read(BOMBS[bomb])
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("rows", [10**15 + 1, 2**63, 10**300, 10**400, 1e9, float("inf"), True, "5"])
def test_a_number_of_rows_beyond_doubles_is_refused_before_a_fit(rows: object) -> None:
    with pytest.raises(SchemaError, match="rows"):
        Schema.of({"y": ["a", "b"], "x": (0, 1)}, rows=rows)  # type: ignore[arg-type]


def test_the_largest_number_of_rows_fits() -> None:
    frame = pd.DataFrame({"y": ["no", "yes"] * 20, "x": [0.2, 0.8] * 20})
    for relation in ("replace-one", "add-remove"):
        for penalty in ("l1", "l2", "none"):
            budget = dpglm.Privacy(1.0, 1e-6, relation=relation)  # type: ignore[arg-type]
            schema = Schema.of({"y": ["no", "yes"], "x": (0, 1)}, rows=10**15)
            fit = dpglm.fit("y ~ x", frame, schema=schema, penalty=penalty, privacy=budget, progress=False)
            assert fit.to_html()


NAMES = [
    "a\x1b[31m",
    "a\x1b]0;title\x07",
    "a\u202eb",
    "a\u2066b",
    "a\u200bb",
    "a\ufeffb",
    "a\x00b",
    "a\x9b2J",
    "a\ud800",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_no_message_about_a_name_drives_the_terminal(name: str) -> None:
    frame = pd.DataFrame({"y": ["no", "yes"], "x": [0.2, 0.8]})
    renamed = frame.set_axis(pd.Index(["y", name], dtype=object), axis=1)
    declared = {"y": ["no", "yes"], "x": (0, 1)}
    more, quoted = {**declared, name: (0, 1)}, f"y ~ Q({name!r})"
    fit = partial(dpglm.fit, privacy=1.0, progress=False)
    attempts: list[Callable[[], object]] = [
        lambda: Schema.of({name: (1, 0)}),
        lambda: Schema.of({name: 5}),
        lambda: Schema.of({"v": [name, name]}),
        lambda: Schema.of({"v": {"levels": ["a", "b"], "missing": name}}),
        lambda: Schema.of({"v": (0, 1)}, unit=name, rows=-1),
        lambda: fit(quoted, frame, schema=declared),
        lambda: fit(quoted, frame, schema=more),
        lambda: fit("y ~ x", renamed, schema=declared),
        lambda: fit("y ~ x", renamed),
        lambda: fit("y ~ x", frame, schema=declared, penalty=name),
        lambda: fit("y ~ x", name, schema=declared),
        lambda: dpglm.load(name),
    ]
    for attempt in attempts:
        with pytest.raises(DpglmError) as caught:
            attempt()
        for part in (str(caught.value), caught.value.found, caught.value.expected, caught.value.remedy):
            assert part.replace("\n", "").isprintable()


def test_a_schema_in_a_saved_result_is_read_as_strictly(tmp_path: Path) -> None:
    fit = dpglm.fit("y ~ x1", dpglm.load_data("simulated"), privacy=1.0, progress=False)
    path = fit.save(tmp_path / "fit.json")
    document = json.loads(path.read_text())
    specification = document["specification"]
    for schema in (
        {},
        {"variables": {"x1": {"bounds": [3.0, -3.0]}}},
        {**specification["schema"], "rows": 10**18},
    ):
        path.write_text(json.dumps({**document, "specification": {**specification, "schema": schema}}))
        with pytest.raises(DpglmError):
            dpglm.load(path)
    for formula in ("y ~ __import__('os').system('touch ran')", "y ~ x1 + x2", "~"):
        path.write_text(json.dumps({**document, "specification": {**specification, "formula": formula}}))
        with pytest.raises(DpglmError):
            dpglm.load(path)
