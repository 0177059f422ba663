"""The saved result: what `dpglm.load` reads, and the fingerprint by which a copy is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.store import fingerprint, to_json
from dpglm.report.section import Section

MOST_CHARACTERS = 60_000  # with all digits; a longer one is packed


@dataclass(frozen=True)
class Verbatim:
    """Text that keeps its line breaks on the page."""

    text: str

    def __html__(self) -> str:
        return escape(self.text, quote=False)


def saved_result(result: FitRecord, choices: Mapping[str, str]) -> Section:
    """Fingerprint, and the JSON itself where it may be published; the page drops it where it is too long."""
    text = to_json(result)
    packed = len(text) > MOST_CHARACTERS
    if packed:
        text = to_json(result, packed=True)
    content = {
        "private": result.guarantee.private,
        "fingerprint": fingerprint(result),
        "packed": packed,
        "json": Verbatim(text) if result.guarantee.private else None,
    }
    return Section("annex", "The saved result", content)
