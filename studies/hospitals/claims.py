"""What the paper says of its table 2, asked of this study's numbers; verdicts follow from the intervals."""

from __future__ import annotations

from collections.abc import Sequence

from studies.hospitals.grid import LAWS, METHODS
from studies.hospitals.summary import Areas
from studies.hospitals.tables import SOURCES
from studies.paired import Claim

MEAN = "mean over branches"
PAPER = (
    ("PPHTL is no better than PLR(target)", "plr-target", "pphtl"),
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
    """Each statement with its differences: means over branches, and counts of branches."""
    found = []
    for said, first, second in pairs:
        cells = [
            (f"{SOURCES[table].title}, {law}", MEAN, gap)
            for table in areas.tables()
            for law in laws
            for gap in [areas.gap(table, law, first, second)]
            if gap is not None
        ]
        if cells:
            found.append(Claim(said, f"{METHODS[first]} less {METHODS[second]}", cells))
    return found


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
