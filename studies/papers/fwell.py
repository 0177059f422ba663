"""The FWELL paper: privacy claims and figures."""

from __future__ import annotations

from studies.fwell.study import PAPER, STUDY
from studies.papers.summary import FALSE, UNCOUNTED, Place, PrivacyClaim, Summary

AUDITS = "tests/audits/papers/test_fwell.py::"
PRIVACY = (
    PrivacyClaim(
        "Corollary 1: one row moves the weights by at most 2 / (lambda n), because a margin depends on its "
        "own row only",
        FALSE,
        "One row may be the near miss of every row of the other class. The weights then move by a constant "
        "over lambda, whatever n is.",
        (
            AUDITS + "test_one_row_changes_all_margins_of_the_printed_algorithm",
            "dpglm/papers/fwell/printed.md",
        ),
    ),
    PrivacyClaim(
        "Theorem 1: Private FWELL is epsilon-private",
        FALSE,
        "It rests on Corollary 1. Here margins are to released prototypes, to released centres of clusters, "
        "to public rows, or within blocks assigned by row position. Given what was released before, one row "
        "changes one margin row of norm at most 1.",
        (
            AUDITS + "test_the_printed_private_fwell_exceeds_its_claim",
            AUDITS + "test_corrected_rankings_keep_their_claim",
            "dpglm/papers/fwell/margins.md",
            "dpglm/papers/fwell/kmeans.md",
            "dpglm/papers/fwell/blocks.md",
        ),
    ),
    PrivacyClaim(
        "The strength lambda by cross-validation on the rows",
        UNCOUNTED,
        "Here it is .1, a constant, unless a user declares another.",
        ("dpglm/mechanisms/objective_perturbation.md",),
    ),
)
SUMMARY = Summary(
    "FWELL",
    PAPER,
    (STUDY.name,),
    (
        'Built as `dpglm.rank_features`, with `method="fwell"` (prototypes, or a public reference table), '
        '`"fwell-kmeans"` and `"fwell-block"`; `privacy=None` is the original FWELL and `paper_exact=True` '
        "Private FWELL as printed, both NOT PRIVATE.",
    ),
    PRIVACY,
    (),
    listed=Place(STUDY.name, "Figures and tables of the paper"),
)
