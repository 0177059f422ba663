"""Names of sites: public words that can be printed and told apart."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from dpglm.errors import SchemaError

MOST_SITES: Final = 200
LONGEST_NAME: Final = 100


def is_plain(name: object, longest: int) -> bool:
    """Whether it is a text of so many printable characters at most, with single spaces between words."""
    plain = isinstance(name, str) and name.isprintable() and " ".join(name.split()) == name
    return plain and 1 <= len(str(name)) <= longest


def require_site_names(sites: Mapping[Any, object]) -> None:
    """Refuse names of sites that cannot be printed, or that look the same."""
    for site in sites:
        if not is_plain(site, LONGEST_NAME):
            raise SchemaError(
                f"a site's name of type {type(site).__name__}, or one that is empty, too long or unprintable",
                expected=f"1 to {LONGEST_NAME} printable characters, single spaces between words",
                remedy='Name the sites in public words: {"north": frame, "south": "south.csv"}.',
            )
    looks = [unicodedata.normalize("NFKC", site).casefold() for site in sites]
    if len(set(looks)) < len(looks):
        raise SchemaError(
            "two names of sites that look the same",
            expected="names that differ in more than capitals or the way their letters are encoded",
            remedy="Rename one of them.",
        )
