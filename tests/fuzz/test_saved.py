"""Saved results that were changed anywhere are refused, or mean something that can be shown in full."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import dpglm
from dpglm.errors import DpglmError
from dpglm.postprocessing.store import from_json, to_json
from dpglm.results.fit_result import FitResult
from tests.fuzz.documented import within_bounds
from tests.fuzz.mutations import mutated_bytes, mutated_json
from tests.fuzz.strategies import TREES
from tests.golden.examples import RESULTS
from tests.replay.neighbours import DRESSES
from tests.replay.studies import PUBLIC_ROWS, Study

GOLDEN = [to_json(make()._record) for make in RESULTS.values()]
ROWS = [{"y": "no", "z": 1.0, "k": 2, "x": 0.5, "w": None, "g": "a"}] * 4


def fitted() -> list[str]:
    """Results of real fits, whose formula and schema can be read again."""
    studies = (
        Study(budget="approximate", side="x + g"),
        Study("gaussian", side="x + w"),
        Study("poisson", side="x"),
    )
    return [to_json(study.fit(DRESSES["objects"](ROWS), seed=1)._record) for study in studies]


REAL = fitted()


def shown(text: str) -> Any:
    """Everything that a result prints."""
    record = from_json(text)
    result = FitResult(record)
    str(result.summary())
    result.summary()._repr_html_()
    repr(result)
    result.tidy()
    result.glance()
    _ = result.conf_int(), result.spend
    again = from_json(to_json(record))
    assert to_json(again) == to_json(record)
    return result


def loaded(path: Path) -> Any:
    """Everything that a result does which knows how to read rows."""
    result = dpglm.load(path)
    str(result.summary())
    result.to_html()
    try:
        result.predict(PUBLIC_ROWS)
        result.refit(penalty="l2")
    except DpglmError:
        pass
    return result


def test_changed_documents(drawn: Any) -> None:
    @drawn(450)
    @given(mutated_json(GOLDEN))
    def law(text: str) -> None:
        within_bounds(lambda: shown(text))

    law()


def test_changed_files(drawn: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.json"

        @drawn(150)
        @given(
            st.one_of(
                mutated_json(REAL).map(lambda text: text.encode("utf-8", "surrogateescape")),
                mutated_bytes([text.encode() for text in REAL]),
                st.binary(max_size=40),
            )
        )
        def law(content: bytes) -> None:
            path.write_bytes(content)
            within_bounds(lambda: loaded(path))

        law()


def test_other_documents(drawn: Any) -> None:
    @drawn(60)
    @given(TREES.map(lambda tree: json.dumps(tree, default=str)) | st.text(max_size=40))
    def law(text: str) -> None:
        assert isinstance(within_bounds(lambda: from_json(text)), dpglm.errors.StoreError)

    law()


def test_bombs_are_refused() -> None:
    """Depth, width and length that a parser or a matrix would choke on."""
    size = 10**9
    for text in (
        "[" * 100_000,
        '{"a":' * 100_000,
        "1" * 100_000,
        "1e" + "9" * 1000,
        '"' + "\\ud800" * 10_000 + '"',
        GOLDEN[0].replace('"n_rows": ', '"n_rows": 1' + "0" * 5000),
        GOLDEN[0].replace('"row": [', f'"row": [{size}, '),
    ):
        assert isinstance(within_bounds(lambda text=text: from_json(text)), dpglm.errors.StoreError)
