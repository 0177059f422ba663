"""A sentence, the cells in which it holds, and the verdict that follows from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from studies.page import Table
from studies.paired import HOLDS, IN_PART, MIXED, NOT, UNEXAMINED, UNTOLD
from studies.radmm.means import called, titled
from studies.radmm.summary import Share

Counted = tuple[str, Share]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, what was counted here, and whether that bears it out.

    Parameters
    ----------
    statement : str
    contrast : str
        Whose difference is counted, and of what.
    counted : sequence of (str, Share)
        Where or what, and in how many cells.
    verdict : str
    printed : sequence of (str, Share)
        The same of algorithms as printed, which promise nothing.
    beside : str
        Evidence that is no count of cells.
    """

    statement: str
    contrast: str
    counted: tuple[Counted, ...]
    verdict: str
    printed: tuple[Counted, ...] = ()
    beside: str = ""
    printed_beside: str = ""

    @property
    def evidence(self) -> str:
        """Of what is built here."""
        return self.beside or _text(self.counted)

    @property
    def as_printed(self) -> str:
        """Of what was printed."""
        return self.printed_beside or _text(self.printed) or "-"

    def differences(self) -> Table | None:
        """All differences that were counted, by cell; None where there are none."""
        lines: dict[tuple[str, str, str], dict[float, str]] = {}
        for what, share in (*self.counted, *((f"as printed, {what}", share) for what, share in self.printed)):
            for cell, gap in share.gaps:
                assert cell.epsilon is not None, "differences are of private fits"
                where = (what, titled(cell.table, cell.family), called(cell.strength))
                lines.setdefault(where, {})[cell.epsilon] = str(gap)
        if not lines:
            return None
        epsilons = sorted({epsilon for line in lines.values() for epsilon in line})
        rows = [(*where, *(line.get(epsilon, "-") for epsilon in epsilons)) for where, line in lines.items()]
        columns = ("counted", "table and loss", "strength", *(f"epsilon {one:g}" for one in epsilons))
        return Table(f"{self.statement}: {self.contrast}.", columns, rows)


def verdict(share: Share, *, most: bool = False) -> str:
    """Of a statement by its cells; ``most`` where it speaks of most cases and half of them are not enough.

    Examples
    --------
    >>> verdict(Share(4, 2, 6)), verdict(Share(3, 2, 6)), verdict(Share(3, 2, 6), most=True)
    ('holds', 'mixed', 'does not hold')
    >>> verdict(Share(0, 2, 6)), verdict(Share(2, 0, 6)), verdict(Share(0, 0, 6))
    ('does not hold', 'holds in part', 'not told apart')
    """
    if not share.of:
        return UNEXAMINED
    if share.most:
        return HOLDS
    if not share.held and not share.against:
        return UNTOLD
    if not share.held or 2 * share.against > share.of or (most and share.against):
        return NOT
    return MIXED if share.against else IN_PART


RULE = (
    "A cell is a table, a loss, a strength and an epsilon. Methods are compared fold by fold, or draw by "
    "draw, and differ where the 95 % interval of the mean difference does not contain 0; no interval is "
    "widened because there are many. A statement holds where it does in more than half of the cells. Else "
    "its verdict is: does not hold, where it does in none and its contrary in some, or its contrary in more "
    "than half, and for a statement on most cases wherever its contrary holds in some; mixed, where there "
    "are cells of both kinds; holds in part, where it does in some and its contrary in none; not told "
    "apart, where neither is seen in any cell."
)


def _text(counted: Iterable[Counted]) -> str:
    return "; ".join(f"{what}: {share}" for what, share in counted)
