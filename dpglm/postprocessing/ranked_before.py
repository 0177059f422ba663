"""Whether the ledger of a fit says that its features were ranked, and paid for, before."""

from __future__ import annotations

import keyword

from dpglm.postprocessing.record import LedgerState

# How the ledger's line of a ranking begins.
RANKED = "ranking of features: "


def quoted(name: str) -> str:
    """A column as a formula names it.

    Examples
    --------
    >>> quoted("age"), quoted("body mass")
    ('age', 'Q("body mass")')
    """
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    plain = name.isprintable() and '"' not in name and "\\" not in name
    return f'Q("{name}")' if plain else f"Q({name!r})"


def ranked_before(state: LedgerState | None, response: str) -> int | None:
    """The last line of the ledger, from 1 on, that paid for a ranking for this response; None without one."""
    found = None
    for number, entry in enumerate(() if state is None else state.entries, start=1):
        ranked = entry.what.removeprefix(RANKED)
        if entry.status == "charged" and ranked != entry.what and ranked.startswith(f"{response} ~ "):
            found = number
    return found
