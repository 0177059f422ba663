"""Report pages as text: what they embed, and where two pages differ, by section, table, row and column."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import Any, Final

from dpglm.postprocessing.codec import store_error

RESULT: Final = re.compile(r'<pre id="result-json" tabindex="0">(.*?)</pre>', re.DOTALL)
STATED: Final = re.compile(r'<pre id="stated-json" tabindex="0">(.*?)</pre>', re.DOTALL)
PRINTED: Final = re.compile(
    r"over the JSON text.*?<code>([0-9a-f]{64})</code>|Its SHA-256:.*?<code>([0-9a-f]{64})</code>", re.DOTALL
)
WRITER: Final = re.compile(r'<meta name="generator" content="dpglm ([^"]*)">')
NUMBER: Final = re.compile(r"\d+(?:[,\u202f]\d{3})*(?:\.\d+)?(?:e-?\d+)?")
DIGEST: Final = re.compile(r"\b[0-9a-f]{64}\b")
MOST_PIECES: Final = 3000  # that are looked at in detail around a difference
LONGEST: Final = 80  # characters of a piece that is shown


@dataclass(frozen=True)
class Difference:
    """One place of a page: what stands there, and what follows from the saved result.

    ``digits`` says that only the last printed digits of numbers differ.
    """

    place: str
    found: str
    expected: str
    digits: bool = False


@dataclass(frozen=True)
class Embedded:
    """What a page holds beside its text: the saved result, what people stated, and who wrote it."""

    result: str | None  # JSON text
    stated: dict[str, Any]
    printed: str | None  # SHA-256 of the saved result, as the page has it
    version: str | None

    @classmethod
    def of(cls, page: str) -> Embedded:
        """What stands in a page; a StoreError where what people stated is no JSON."""
        result, stated, printed, writer = (
            pattern.search(page) for pattern in (RESULT, STATED, PRINTED, WRITER)
        )
        try:
            words = json.loads(unescape(stated.group(1))) if stated else {}
            if not isinstance(words, dict) or not all(isinstance(part, dict) for part in words.values()):
                raise ValueError
        except (ValueError, RecursionError):
            raise store_error(
                "what people stated, in a form that no page has,", "the page as it was"
            ) from None
        return cls(
            unescape(result.group(1)) if result else None,
            words,
            next(filter(None, printed.groups()), None) if printed else None,
            unescape(writer.group(1)) if writer else None,
        )


def differences(page: str, expected: str) -> list[Difference]:
    """Where a page differs from what it should be; none where they are the same but for line ends."""
    if page.replace("\r\n", "\n") == expected:
        return []
    first, second = pieces(page), pieces(expected)
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    end = 0
    while end < min(len(first), len(second)) - start and first[-1 - end] == second[-1 - end]:
        end += 1
    first, second = first[start : len(first) - end], second[start : len(second) - end]
    if not first and not second:
        return [
            Difference("markup of the page", "another form of the same text", "the page as it was written")
        ]
    return list(_apart(first[:MOST_PIECES], second[:MOST_PIECES]))


def _apart(first: list[Piece], second: list[Piece]) -> Iterator[Difference]:
    """The stretches of two lists of pieces that differ, one by one where they are of one length."""
    if len(first) == len(second):
        stretches = [(place, place + 1, place, place + 1) for place in range(len(first))]
    else:
        found = difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
        stretches = [(a, b, c, d) for what, a, b, c, d in found if what != "equal"]
    for a, b, c, d in stretches:
        if first[a:b] == second[c:d]:
            continue
        here, there = _joined(first[a:b]), _joined(second[c:d])
        place = (second[c:d] or first[a:b])[0].place
        yield Difference(place, *_around(here, there), digits=last_digits(here, there))


def _joined(some: list[Piece]) -> str:
    return " ".join(piece.text for piece in some)


def _around(found: str, expected: str) -> tuple[str, str]:
    """Two texts from a little before they part, cut to a length that can be read."""
    start = 0
    while start < min(len(found), len(expected)) and found[start] == expected[start]:
        start += 1
    start = max(0, start - LONGEST // 3) if max(len(found), len(expected)) > LONGEST else 0

    def cut(text: str) -> str:
        part = text[start : start + LONGEST]
        return ("…" if start else "") + part + ("…" if len(text) > start + LONGEST else "") or "nothing"

    return cut(found), cut(expected)


def last_digits(found: str, expected: str) -> bool:
    """Whether two texts have the same words, and numbers that differ by one in their last digit at most.

    Examples
    --------
    >>> last_digits("0.1235 (ε = 1)", "0.1234 (ε = 1)"), last_digits("ε = 1", "ε = 2.0")
    (True, False)
    """
    if NUMBER.sub("#", found) != NUMBER.sub("#", expected):
        return False
    if DIGEST.findall(found) != DIGEST.findall(expected):
        return False
    pairs = zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True)
    return all(one == other or _close(one, other) for one, other in pairs)


def _close(one: str, other: str) -> bool:
    """Whether numbers written with decimals, and with as many, are one apart in the last of them."""
    (first, _, power), (second, _, other_power) = (
        text.replace(",", "").partition("e") for text in (one, other)
    )
    places = len(first.partition(".")[2])
    if not places or places != len(second.partition(".")[2]) or power != other_power:
        return False
    return math.isclose(abs(float(first) - float(second)), 10.0**-places, rel_tol=1e-6)


@dataclass(frozen=True)
class Piece:
    """A tag or a text of a page, and where it stands."""

    place: str = field(compare=False)
    text: str


def pieces(page: str) -> list[Piece]:
    """Tags with their attributes, texts and comments, in order."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.found


class _Reader(HTMLParser):
    """Notes the section, table, row and column in which a piece stands."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Piece] = []
        self.section = self.caption = self.row = self.inside = ""
        self.headings: list[str] = []
        self.column = -1
        self.figure = self.heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag
        if tag == "h2":
            self.heading = True
        elif tag == "table":
            self.caption, self.headings = "", []
        elif tag == "tr":
            self.column, self.row = -1, ""
        elif tag in ("th", "td"):
            self.column += 1
        elif tag == "svg":
            self.figure = True
        self._add(f"<{tag}" + "".join(f" {name}={value!r}" for name, value in attrs) + ">")

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self.caption, self.headings, self.row, self.column = "", [], "", -1
        elif tag == "svg":
            self.figure = False
        elif tag == "h2":
            self.heading = False
        self.inside = ""
        self._add(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        words = " ".join(data.split())
        if not words:
            return
        if self.heading:
            self.section = words
        if self.inside == "caption":
            self.caption = words
        if self.inside == "th":
            if self.column == 0 and self.headings:
                self.row = words
            elif not self.row:
                self.headings.append(words)
        self._add(words)

    def handle_comment(self, data: str) -> None:
        self._add(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._add(f"<!{decl}>")

    def _add(self, text: str) -> None:
        parts = [self.section]
        if self.caption:
            parts.append(f"table {self.caption!r}")
            parts += [f"row {self.row!r}"] if self.row else []
            if self.row and 0 < self.column < len(self.headings):
                parts.append(f"column {self.headings[self.column]!r}")
        elif self.figure:
            parts.append("figure")
        self.found.append(Piece(", ".join(filter(None, parts)) or "head of the page", text))
