"""Schemas of any kind, as dicts, YAML and JSON, are read or refused; what is read can be written and used."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import dpglm
from dpglm.data.schema.schema import Schema
from tests.fuzz.documented import CANARY, CANARY_NUMBER, within_bounds
from tests.fuzz.mutations import mutated_bytes
from tests.fuzz.strategies import DECLARATIONS, YAML_TEXTS
from tests.replay.neighbours import SCHEMA

PRIVATE = [CANARY, CANARY_NUMBER, None, "", 1.5, b"\xff", [CANARY], float("inf"), 10**400]
SOUND = Schema.of(SCHEMA, rows=100, unit="one woman").to_yaml().encode()


def used(declarations: Any) -> Any:
    """A schema from it, that writes itself, reads itself again and cleans a column in silence."""
    schema = Schema.of(declarations)
    again = Schema.from_dict(schema.to_dict())
    assert again == schema
    if json.dumps(schema.to_dict(), ensure_ascii=True).isascii():
        schema.to_yaml()
    repr(schema)
    for variable in schema.variables.values():
        found = variable.clean(np.array(PRIVATE, dtype=object))
        assert found.shape == (len(PRIVATE),)
    return schema


def test_dicts(drawn: Any) -> None:
    @drawn(350)
    @given(DECLARATIONS)
    def law(declarations: Any) -> None:
        within_bounds(lambda: used(declarations))

    law()


def test_yaml(drawn: Any) -> None:
    texts = [text.encode("utf-8", "surrogatepass") for text in YAML_TEXTS]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.schema.yaml"

        @drawn(200)
        @given(
            st.one_of(
                mutated_bytes([SOUND]), mutated_bytes(texts), st.sampled_from(texts), st.binary(max_size=60)
            )
        )
        def law(content: bytes) -> None:
            path.write_bytes(content)
            within_bounds(lambda: used(path))

        law()


def test_json_is_yaml(drawn: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.schema.yaml"

        @drawn(60)
        @given(DECLARATIONS.map(lambda tree: json.dumps(_plain(tree))))
        def law(text: str) -> None:
            path.write_text(text, encoding="utf-8")
            within_bounds(lambda: used(path))

        law()


def test_metadata_of_smartnoise(drawn: Any) -> None:
    @drawn(60)
    @given(DECLARATIONS)
    def law(tree: Any) -> None:
        within_bounds(lambda: Schema.from_smartnoise({"": {"schema": {"table": tree}}}))
        within_bounds(lambda: Schema.from_smartnoise(tree))

    law()


def test_aliases_do_not_multiply(tmp_path: Path) -> None:
    """A bomb of aliases is refused before it unfolds."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 12)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert isinstance(within_bounds(lambda: Schema.of(path)), dpglm.errors.SchemaError)


def test_a_unit_without_a_name_is_none() -> None:
    """It was kept as an empty text, which a copy of the schema did not have."""
    used({"variables": {"x": (0.0, 1.0)}, "unit": ""})
    assert Schema.of({"variables": {"x": (0.0, 1.0)}, "unit": ""}).unit is None


def _plain(tree: Any) -> Any:
    """The tree with keys that JSON can hold."""
    if isinstance(tree, dict):
        return {str(key): _plain(value) for key, value in tree.items()}
    return [_plain(value) for value in tree] if isinstance(tree, list | tuple) else tree
