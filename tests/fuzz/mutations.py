"""Sound documents and files with some places changed."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.documented import ATTACK
from tests.fuzz.strategies import TREES


@st.composite
def mutated_json(draw: Callable[..., Any], documents: list[str]) -> str:
    """A document with some places changed, or its text cut, doubled and overwritten."""
    text = draw(st.sampled_from(documents))
    if draw(st.integers(0, 4)) == 0:
        return draw(mutated_bytes([text.encode()])).decode("utf-8", "surrogateescape")
    document = json.loads(text)
    for _ in range(draw(st.integers(1, 3))):
        holder, key = _place(draw, document)
        if holder is None:
            continue
        action = draw(st.sampled_from(["value", "value", "near", "delete", "swap", "blow up", "add"]))
        value = holder[key]
        if action == "value":
            holder[key] = draw(TREES)
        elif action == "near":
            holder[key] = draw(_near(value))
        elif action == "delete":
            del holder[key]
        elif action == "blow up":
            holder[key] = (
                value * draw(st.sampled_from([2, 100])) if isinstance(value, list | str) else [value] * 500
            )
        elif action == "add" and isinstance(holder, dict):
            holder[draw(st.text(max_size=5))] = value
        elif action == "swap":
            other, place = _place(draw, document)
            if other is not None:
                holder[key] = json.loads(json.dumps(other[place]))
    return json.dumps(document)


def _place(draw: Callable[..., Any], document: Any) -> tuple[Any, Any]:
    """A holder and a key in it, at any depth."""
    here, found = document, (None, None)
    for _ in range(6):
        if not isinstance(here, dict | list) or not here:
            break
        key = draw(st.sampled_from(list(here) if isinstance(here, dict) else range(len(here))))
        found, here = (here, key), here[key]
        if draw(st.integers(0, 3)) == 0:
            break
    return found


def _near(value: Any) -> st.SearchStrategy[Any]:
    """Values of the same type, more hostile."""
    if isinstance(value, bool):
        return st.just(not value)
    if isinstance(value, int | float):
        return st.one_of(
            st.sampled_from(
                [0, -1, 1e-320, 1e308, -1e308, 2**63, 10**30, {"$float": "nan"}, {"$float": "inf"}]
            ),
            st.floats(allow_nan=False, allow_infinity=False),
        )
    if isinstance(value, str):
        return st.one_of(
            st.text(max_size=9),
            st.sampled_from([value[:-1], value + " ", ATTACK, "</script>", "y ~ " + ATTACK]),
        )
    return st.just([value])


@st.composite
def mutated_bytes(draw: Callable[..., Any], contents: list[bytes]) -> bytes:
    """Bytes with pieces cut, doubled, overwritten and put in."""
    content = bytearray(draw(st.sampled_from(contents)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        stop = min(len(content), at + draw(st.sampled_from([1, 1, 4, 8, 40, 400])))
        action = draw(st.sampled_from(["overwrite", "flip", "cut", "double", "insert", "number", "tail"]))
        if action == "overwrite":
            content[at:stop] = draw(st.binary(max_size=8))
        elif action == "flip" and at < len(content):
            content[at] ^= 1 << draw(st.integers(0, 7))
        elif action == "cut":
            del content[at:stop]
        elif action == "double":
            content[at:at] = content[at:stop]
        elif action == "insert":
            content[at:at] = draw(
                st.sampled_from([b'"', b"\n", b"\r", b"\0", b",", b"\xff", b"\xef\xbb\xbf", b"'", b"\\"])
            )
        elif action == "number":
            content[at : at + 4] = struct.pack("<i", draw(st.sampled_from([-1, 0, 2**31 - 1, -(2**31)])))
        elif action == "tail":
            del content[at:]
    return bytes(content)
