"""What the paper says of its table 2, asked of this study's numbers; verdicts follow from the intervals."""

from __future__ import annotations

from collections.abc import Sequence

from studies.hospitals.grid import LAWS, METHODS, PRINTED
from studies.hospitals.summary import Areas
from studies.hospitals.tables import SOURCES
from studies.page import Table
from studies.paired import Claim, every, some

MEAN = "mean over branches"
# The paper: "may not have better performance"; its table has PPHTL ahead at 8 branches, behind at 7.
CAN_BE = "PPHTL can be no better than PLR(target)"
PAPER = (
    (CAN_BE, "plr-target", "pphtl"),
    ("PST-H(U) improves over PPHTL", "pst-h-u", "pphtl"),
    ("PST-H(U) consistently outperforms PLR(target)", "pst-h-u", "plr-target"),
    ("PST-H(W) is better than PST-H(U)", "pst-h-w", "pst-h-u"),
    ("PST-H(W) is better than PPHTL", "pst-h-w", "pphtl"),
    ("PST-H(W) is better than PLR(target)", "pst-h-w", "plr-target"),
)
OWN = (
    ("PST-H(W) is better than the default at the branch", "pst-h-w", "auto"),
    ("PST-H(W) is better than the main hospital's PLR as it is", "pst-h-w", "plr-main"),
    ("PPHTL is better than the main hospital's PLR as it is", "pphtl", "plr-main"),
    ("A strong pull is better than the least that privacy needs", "pphtl-strong", "pphtl"),
    ("PPHTL with a strong pull is better than PST-H(W)", "pphtl-strong", "pst-h-w"),
    ("PPHTL with a strong pull is better than the main hospital's PLR as it is", "pphtl-strong", "plr-main"),
    ("The default at the branch is better than PLR(target)", "auto", "plr-target"),
    ("PLR of all rows together, which nobody may run, is better than PST-H(W)", "plr-pooled", "pst-h-w"),
)


def claims(
    areas: Areas, pairs: tuple[tuple[str, str, str], ...], laws: Sequence[str] = tuple(LAWS)
) -> list[Claim]:
    """Each statement with its differences branch by branch, of all networks and kinds of budget."""
    found = []
    for said, first, second in pairs:
        cells = [
            (f"{SOURCES[table].title}, {law}", site, gap)
            for table in areas.tables()
            for law in laws
            for site in areas.sites(table)
            for gap in [areas.gap(table, law, first, second, site)]
            if gap is not None
        ]
        if cells:
            contrast = f"{METHODS[first]} less {METHODS[second]}"
            found.append(Claim(said, contrast, cells, some if said == CAN_BE else every))
    return found


def means(areas: Areas, said: str, first: str, second: str) -> Table:
    """The difference of the means over branches, and at how many branches it is above, around and below 0."""
    rows = []
    for table in areas.tables():
        for law in (PRINTED, *LAWS):
            gap = areas.gap(table, law, first, second)
            if gap is not None:
                line = f"{SOURCES[table].title}, {law}"
                rows.append((line, str(gap), branches(areas, first, second, table, law)))
    caption = f"{said}? {METHODS[first]} less {METHODS[second]}."
    return Table(caption, ("", MEAN, "branches above / around / below 0"), rows)


def branches(areas: Areas, first: str, second: str, table: str, law: str) -> str:
    """At how many branches the interval is above, around and below 0.

    Examples
    --------
    >>> branches(Areas([]), "pst-h-w", "pphtl", "cohort", "pure")
    '-'
    """
    gaps = [areas.gap(table, law, first, second, site) for site in areas.sites(table)]
    signs = [gap.sign for gap in gaps if gap is not None]
    if not signs:
        return "-"
    return f"{signs.count(1)} / {signs.count(0)} / {signs.count(-1)}"
