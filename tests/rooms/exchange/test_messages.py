"""Messages: one form only, sizes that follow from public numbers, and errors that name the site."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.errors import ExchangeError, SchemaError
from dpglm.exchange.messages import (
    KINDS,
    MOST_BYTES,
    Answer,
    Ask,
    Done,
    Hello,
    Key,
    Keys,
    Message,
    Refusal,
    Start,
    Started,
    packed,
    read_message,
    unpacked,
)

RUN, SITE = "monday-run", "north"
MESSAGES: list[Message] = [
    Hello(RUN, SITE, "ab" * 32, "0.1.0", 500, seeded=True),
    Hello(RUN, SITE, "ab" * 32, "0.1.0"),
    Start(RUN, SITE),
    Started(RUN, SITE, None),
    Started(RUN, SITE, 12_345),
    Key(RUN, SITE, b""),
    Key(RUN, SITE, b"a public key"),
    Keys(RUN, SITE, b"one\nanother"),
    Ask(RUN, SITE, 7, "gradient", packed(np.array([0.1, -0.0, 1e-310]))),
    Answer(RUN, SITE, 7, packed(np.array([math.pi]))),
    Answer(RUN, SITE, 8, b"masked sums, or whatever else"),
    Refusal(RUN, SITE, "SchemaError", "é", 'a "quoted" word', "\n"),
    Done(RUN, SITE),
]


def read(content: Any, *, run: str = RUN, site: str = SITE) -> Message:
    return read_message(content, run=run, site=site)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_a_message_is_read_back_bit_by_bit(message: Message) -> None:
    assert read(message.to_bytes()) == message


def test_every_kind_is_tried() -> None:
    assert {message.kind for message in MESSAGES} == set(KINDS)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e100, 1e100), max_size=40), st.integers(0, 10**6))
def test_the_size_of_an_answer_is_a_formula_of_the_number_of_its_values(
    values: list[float], number: int
) -> None:
    head = (
        '{"format":"dpglm-exchange/1","kind":"answer","run":"monday-run","site":"north","number":,"body":""}'
    )
    answer = Answer(RUN, SITE, number, packed(np.array(values)))
    assert len(answer.to_bytes()) == len(head) + len(str(number)) + 4 * math.ceil(8 * len(values) / 3)
    again = unpacked(answer.body, size=len(values), site=SITE, what="")
    assert again.tobytes() == np.array(values, dtype=float).tobytes()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "no ASCII JSON"),
        (b"\xff", "no ASCII JSON"),
        (b"[" * 100_000, "no ASCII JSON"),
        (b"NaN", "no ASCII JSON"),
        (b"1" * 5000, "no ASCII JSON"),
        (b"null", "format unknown"),
        (b"{}", "format unknown"),
        (b'{"format":"dpglm-exchange/0"}', "format dpglm-exchange/0"),
        (b'{"format":"dpglm-exchange/1"}', "unknown kind"),
        (b'{"format":"dpglm-exchange/1","kind":["ask"]}', "unknown kind"),
        (b" " * (MOST_BYTES + 1), "too long"),
        ("text", "no bytes"),
        (b" " + Start(RUN, SITE).to_bytes(), "in another form"),
        (Start(RUN, SITE).to_bytes()[:-1] + b',"rows":[[1,2,3]]}', "in another form"),
        (Start(RUN, SITE).to_bytes().replace(b'"run"', b'"run":"x","run"'), "in another form"),
        (Start(RUN, "south").to_bytes(), "another run or site"),
        (Start("tuesday", SITE).to_bytes(), "another run or site"),
        (Started(RUN, SITE, 7).to_bytes().replace(b"7", b"-7"), "missing or of another type"),
        (Started(RUN, SITE, 7).to_bytes().replace(b"7", b"7.0"), "missing or of another type"),
        (Started(RUN, SITE, 7).to_bytes().replace(b"7", b"true"), "missing or of another type"),
        (Started(RUN, SITE, 7).to_bytes().replace(b"7", b"9" * 30), "missing or of another type"),
        (Answer(RUN, SITE, 7, b"abc").to_bytes().replace(b"YWJj", b"YWJ"), "missing or of another type"),
        (Answer(RUN, SITE, 7, b"ab").to_bytes().replace(b"YWI=", b"YWJ="), "in another form"),
        (Done(RUN, SITE).to_bytes().replace(b"done", b"answer"), "missing or of another type"),
    ],
)
def test_what_is_no_message_is_an_error_that_names_the_site(content: Any, found: str) -> None:
    with pytest.raises(ExchangeError, match=f"at site 'north'.*{found}"):
        read(content)


@pytest.mark.parametrize(
    "values", [[math.nan], [math.inf], [-math.inf], [1e101], [1.0, 2.0], []], ids=lambda values: str(values)
)
def test_numbers_that_no_release_gives_are_refused(values: list[float]) -> None:
    body = np.array(values, dtype="<f8").tobytes()
    with pytest.raises(ExchangeError, match="at site 'north', the answer to question 3 with"):
        unpacked(body, size=1, site=SITE, what="the answer to question 3")


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_spoilt_message_is_refused_or_is_another_message_of_ours(data: Any) -> None:
    content = bytearray(data.draw(st.sampled_from(MESSAGES)).to_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    try:
        message = read(bytes(content))
    except ExchangeError:
        return
    assert message.to_bytes() == bytes(content)


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from(sorted(KINDS)),
)
def test_any_json_in_any_field_is_refused_by_our_error(value: Any, kind: str) -> None:
    fields = json.loads(next(message for message in MESSAGES if message.kind == kind).to_bytes())
    for name in fields:
        try:
            read(json.dumps({**fields, name: value}).encode())
        except ExchangeError:
            continue


def test_a_long_error_is_sent_cut() -> None:
    error = SchemaError("x" * 10_000, expected="y", remedy="z")
    assert len(Refusal.of(RUN, SITE, error).found) == 2000
    assert base64.b64encode(b"") == b""
