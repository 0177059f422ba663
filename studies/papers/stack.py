"""The STACK paper: privacy claims, figures and tables."""

from __future__ import annotations

from studies.hospitals.study import STUDY as HOSPITALS
from studies.papers.summary import FALSE, LOOSE, TRUE, UNCOUNTED, Counterpart, Place, PrivacyClaim, Summary
from studies.stacking.study import PAPER
from studies.stacking.study import STUDY as STACKING

AUDIT = "tests/audits/papers/test_stacks.py::test_the_claim_stands_and_that_of_a_twin_falls"
COHORT = Place(HOSPITALS.name, "Simulated cohort")
PRIVACY = (
    PrivacyClaim(
        "Proposition 1: Algorithm 1 (PLR) is epsilon-private",
        LOOSE,
        "With a strength of at least 2 / (n epsilon) per row nothing is lost to the curvature. "
        '`method="plr"` has the exact price.',
        (
            "dpglm/mechanisms/objective_perturbation.md",
            "tests/audits/papers/test_iterative.py::test_the_claim_stands_and_that_of_a_twin_falls",
        ),
    ),
    PrivacyClaim(
        "Proposition 3: Algorithm 2 (PST-S) is epsilon-private",
        TRUE,
        "Parts are dealt by place, whatever the rows hold. The high-level model is pulled to the sum of "
        "evidence here, for accuracy.",
        ("dpglm/papers/stacking/parts.md", "dpglm/papers/stacking/meta_minimiser.md", AUDIT),
    ),
    PrivacyClaim(
        "Theorem 4: Algorithm 3 (PST-F) is epsilon-private",
        LOOSE,
        "Nothing need be lost to the curvature. With a delta all groups share one Gaussian noise at the "
        "price of one model.",
        ("dpglm/papers/stacking/submodel_minimisers.md", AUDIT),
    ),
    PrivacyClaim(
        "Corollary 6: Algorithm 4 (PST-H) is private with epsilon of the source for the source's rows",
        FALSE,
        "Each of its K models there has the whole epsilon, and every row is in all of them: K epsilons. "
        "Here the source shares one budget among its groups.",
        (
            "tests/audits/papers/test_stacks.py::test_the_printed_source_of_pst_h_breaks_its_claim",
            "dpglm/papers/stacking/submodel_minimisers.md",
        ),
    ),
    PrivacyClaim(
        "Principal components and their variances as weights; strengths on a third of the rows; rows divided "
        "by the longest",
        UNCOUNTED,
        "The paper says so of the weights. Here weights are public or declared, strengths follow from the "
        "budget, and bounds are declared.",
        ("dpglm/papers/stacking/submodel_minimisers.md",),
    ),
)
SUMMARY = Summary(
    "STACK",
    PAPER,
    (STACKING.name, HOSPITALS.name),
    (
        'Built as `method="plr"`, `"pst-s"`, `"pst-f"`, `"pst-h"` and `"pphtl"`. The printed algorithms are '
        "in `studies/stacking/printed.py` and `studies/hospitals/printed.py`, NOT PRIVATE.",
    ),
    PRIVACY,
    (
        *(
            Counterpart(item, (Place(STACKING.name, heading),), note)
            for item, heading, note in (
                ("Figure 1: area against epsilon", "Figure 1: privacy", ""),
                ("Figure 2: area against the number of models", "Figure 2: number of models", ""),
                ("Figure 3: area against alpha", "Figure 3: weights", ""),
                ("Figure 4: ways to combine", "Figure 4: ways to combine", ""),
            )
        ),
        Counterpart(
            "Table 1: rows of MNIST and of the newsgroups",
            (Place(STACKING.name, "How it was run"),),
            "Some rows are set apart as public, so that fewer are fitted.",
        ),
        Counterpart(
            "Table 2: areas at sixteen branches, and .668 at the main hospital",
            (COHORT,),
            "All 64 numbers stand beside ours. The hospitals are not public: ours are simulated, with the "
            "sizes of Table 4. Two public networks are on the same page.",
        ),
        Counterpart(
            "Table 3: weights of nine features by doctors",
            (COHORT,),
            "Weights of the cohort's fifty features, .060 and .055 for the two glucose levels among them.",
        ),
        Counterpart("Table 4: rows of the main hospital and of the branches", (COHORT,), "The same sizes."),
    ),
)
