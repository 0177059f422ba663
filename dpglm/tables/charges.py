"""Table of what was charged to a ledger, for the ledger itself and for what a result keeps of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from dpglm.tables.plain import Fact
from dpglm.tables.table import ABSENT, Column, Table, budget

MOST_CHARGES: Final = 40


class ChargeLine(Protocol):
    """One line of a ledger: what was asked for, whether it was charged, and what it costs."""

    @property
    def when(self) -> str | None: ...
    @property
    def what(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def mu(self) -> float | None: ...


def charge_table(
    dataset: str, balance: tuple[Fact, ...], lines: Sequence[ChargeLine], notes: tuple[str, ...] = ()
) -> Table:
    """A ledger with its balance and its latest lines."""
    latest = lines[-MOST_CHARGES:]
    earlier = len(lines) - len(latest)
    left_out = f"The latest {len(latest)} of {len(lines)} lines; the balance counts all."
    return Table(
        title=f"Ledger {dataset}",
        columns=(
            Column(""),
            *(Column(name, "left") for name in ("when", "what", "status")),
            *(Column(name) for name in ("epsilon", "delta", "mu")),
        ),
        rows=tuple(
            (
                str(earlier + place),
                line.when or ABSENT,
                line.what,
                line.status,
                *map(budget, (line.epsilon, line.delta, line.mu)),
            )
            for place, line in enumerate(latest, 1)
        ),
        wide=balance,
        notes=((left_out, *notes) if earlier else notes),
    )
