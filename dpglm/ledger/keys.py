"""Keys of a ledger: what was charged under each, and the answers that are kept for it.

Under one key is charged once. Whoever asks for the same again gets what is kept, and nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dpglm.errors import LedgerError
from dpglm.ledger.lines import Entry, fields_of, words_of
from dpglm.ledger.log import Line
from dpglm.ledger.odometer import Balance
from dpglm.privacy.guarantee import Guarantee

Planned: TypeAlias = tuple[Balance, Guarantee, str, str]  # cost, guarantee, what it is for, its plan


@dataclass(frozen=True)
class Keyed:
    """What was charged at once under one key, and the answers that are kept for it."""

    charges: tuple[Entry, ...]
    last: int  # the line of the file that was read last
    answers: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of each by its site, "" for one table


def keyed_by(before: Keyed | None, line: Line, charge: Entry | None) -> Keyed:
    """What stands under a key once ``line`` has been read, a charge or an answer.

    ValueError for lines that no ledger wrote.

    Charges of a key follow each other, and so do its answers: neither is written a second time.
    """
    fields = fields_of(line)
    key, status = fields["key"], fields["status"]
    if not isinstance(key, str) or not key or not key.isprintable() or status == "refused":
        raise ValueError
    if charge is not None:
        charges = () if before is None else before.charges
        if before is not None and (before.answers or before.last != line.position - 1):
            raise ValueError
        return Keyed((*charges, charge), line.position)
    site, digest = words_of(fields["site"]), words_of(fields["answer"])
    if before is None or site in before.answers or (before.answers and before.last != line.position - 1):
        raise ValueError
    return Keyed(before.charges, line.position, {**before.answers, site: digest})


def require_same(key: str, under: Keyed, planned: Sequence[Planned]) -> None:
    """Refuse a key under which something else was charged."""
    charged = [
        (one.epsilon, one.delta, one.mu, one.relation, one.unit, one.what, one.plan) for one in under.charges
    ]
    asked = [
        (cost.epsilon, cost.delta, cost.mu, guarantee.relation, guarantee.unit, what, plan)
        for cost, guarantee, what, plan in planned
    ]
    if charged != asked:
        raise LedgerError(
            f"key {key!r}, under which another plan was charged on {under.charges[0].when}",
            expected="the same plan, for the same sites and by the same version of dpglm, at each try",
            remedy="Use another key for another plan; it is then charged. Nothing was read.",
        )


def charged_before(key: str, under: Keyed) -> LedgerError:
    """The error for a key that was charged and whose answer is not kept; in no case is it drawn again."""
    return LedgerError(
        f"key {key!r}, which was charged on {under.charges[0].when} by a process that "
        + ("has finished meanwhile" if under.answers else "still runs or was interrupted: no answer is kept"),
        expected="a key that was never charged, or one whose answer is kept",
        remedy="If that process still runs, wait for it and try again with this key. If it was interrupted, "
        "its charge is lost: use another key, which is charged anew. Nothing was read.",
    )
