"""What the page says of one paper beside what its study pages say: privacy claims, and figures one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studies.page import Paper

TRUE, LOOSE, CONDITIONAL = "true", "true, not tight", "true on a condition"
FALSE, UNPROVED, UNCOUNTED = "false", "not proved", "not counted"
# Worst first, as they are counted. What is not counted is no claim: a paper reads it off the rows in silence.
VERDICTS = (FALSE, UNPROVED, UNCOUNTED, CONDITIONAL, LOOSE, TRUE)

# Of figures that are pictures without numbers in the papers.
CURVES = (
    "The curves are pictures without numbers: axes and printed settings are the paper's; curves, data sets "
    "and numbers of draws are ours."
)


@dataclass(frozen=True)
class PrivacyClaim:
    """A claim of privacy as it was printed, and what settles it.

    Parameters
    ----------
    claim : str
        What the paper promises, and where.
    verdict : str
        One of `VERDICTS`.
    why : str
        In a sentence or two, with what is done here instead.
    settled : sequence of str
        Files of the repository: proofs, and tests as ``"tests/FILE.py::test_name"``, with what is tested in
        brackets where a test has many cases: ``"tests/FILE.py::test_name[PLR]"``.
    """

    claim: str
    verdict: str
    why: str
    settled: Sequence[str]


@dataclass(frozen=True)
class Place:
    """A section of a study's page.

    Parameters
    ----------
    study : str
        Name of the study.
    heading : str
        The section, or "" for the page as a whole.
    """

    study: str
    heading: str = ""


@dataclass(frozen=True)
class Counterpart:
    """A figure, table or number of a paper, and where its like is here.

    Parameters
    ----------
    item : str
        "Figure 1", say, and what it shows.
    places : sequence of Place
        Where; empty if nowhere.
    note : str
        What differs, or why there is none.
    """

    item: str
    places: Sequence[Place] = ()
    note: str = ""


@dataclass(frozen=True)
class Summary:
    """One paper.

    Parameters
    ----------
    name : str
        As the project calls it.
    paper : Paper
    studies : sequence of str
        Its studies, whose pages have its claims on accuracy.
    stands : sequence of str
        Paragraphs: what is built, and what is not.
    corrected : str
        The column of its claims on accuracy that has the verdict of what is built here.
    listed : Place or None
        Where a study's page lists the counterparts itself.
    privacy : sequence of PrivacyClaim
    counterparts : sequence of Counterpart
    """

    name: str
    paper: Paper
    studies: Sequence[str]
    stands: Sequence[str]
    privacy: Sequence[PrivacyClaim]
    counterparts: Sequence[Counterpart]
    corrected: str = "verdict"
    listed: Place | None = None
