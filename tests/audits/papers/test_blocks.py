"""A minimiser on margins of blocks keeps its claim; with 70 % less noise it is caught.

The margins of a block point the other way after an exchange of one row. All responses are 1, so that slopes
of both margins are near one half: an exchange moves the score by half of what is paid for, or less.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dpglm
from dpglm.auditing.neighbours import release_neighbours
from dpglm.papers.fwell.blocks import OnBlocks
from tests.audits.harness import Case, check, of_releases
from tests.audits.test_minimiser import calibrated


def cases() -> list[Case]:
    found = []
    for title, privacy in (("pure", dpglm.Privacy(2.0)), ("Gaussian", dpglm.Privacy.gdp(1.0, delta=0.05))):
        release = OnBlocks(calibrated(privacy), 3, 0.5)
        pair = [release_neighbours(release, "replace-one", 1)]
        found.append(of_releases(OnBlocks, title, privacy, [release], pair, trials=4000, part=0.3))
    return found


CASES = cases()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)
