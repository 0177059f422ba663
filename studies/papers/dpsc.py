"""The DPSC paper: privacy claims and figures."""

from __future__ import annotations

from studies.dpsc.fits import GAUSSIAN, label
from studies.dpsc.page import HEADINGS
from studies.dpsc.study import PAPER, STUDY
from studies.papers.summary import (
    CURVES,
    FALSE,
    LOOSE,
    UNCOUNTED,
    UNPROVED,
    Counterpart,
    Place,
    PrivacyClaim,
    Summary,
)

AUDIT = "tests/audits/papers/test_iterative.py::test_the_claim_stands_and_that_of_a_twin_falls"
PROOF = "dpglm/mechanisms/objective_perturbation.md"
PRIVACY = (
    PrivacyClaim(
        "Theorem 4: DPLL and DPLH with K iterations are epsilon-private, epsilon = K (8 gamma + 2.8) / (4 c "
        "n); algorithms 1 to 3 draw the noise once, before the loop",
        FALSE,
        'The noise cancels from one iteration to the next. `method="dpsc"` draws it anew in every iteration.',
        (
            "tests/audits/papers/test_printed.py::"
            "test_printed_dpsc_with_one_noise_vector_for_all_iterations_exceeds_its_claim",
            "dpglm/papers/printed.md",
            f"{AUDIT}[DPSC]",
        ),
    ),
    PrivacyClaim(
        "Lemma 2, for fresh noise and an exact minimiser: (2 gamma c1 + 2.8 c2) / (c n) for one iteration",
        LOOSE,
        "For the logistic loss and gamma of at least 1 the price is 2 gamma / (c n), whatever c is. Gaussian "
        "noise costs what a Gaussian mechanism costs.",
        (PROOF, f"{AUDIT}[DPSC]"),
    ),
    PrivacyClaim(
        "M gradient steps stand for the minimiser",
        UNPROVED,
        "No theorem is about them. Here minimisers are certified, and their residual is hidden by noise.",
        (PROOF,),
    ),
    PrivacyClaim(
        "Rows and columns divided by the largest that occur; strengths by cross-validation",
        UNCOUNTED,
        "Both read the rows. Here bounds are declared, and strengths follow from the noise.",
        (PROOF,),
    ),
)
FIGURES = {
    "simulation by epsilon": "Figures 1 to 4: zeros found and missed, classification error and mean squared "
    "error against epsilon",
    "simulation by rows": "Figures 5 and 6: errors against the number of rows",
    "kdd by epsilon": "Figures 7 and 8: errors on KDD Cup 99 against epsilon",
    "kdd by rows": "Figures 9 and 10: errors on KDD Cup 99 against the number of rows",
}
SUMMARY = Summary(
    "DPSC",
    PAPER,
    (STUDY.name,),
    ('Built as `method="dpsc"`, corrected, and as printed with `paper_exact=True`, NOT PRIVATE.',),
    PRIVACY,
    (
        *(Counterpart(item, (Place(STUDY.name, HEADINGS[name]),), CURVES) for name, item in FIGURES.items()),
        Counterpart(
            "38,420 positive labels among 60,000 rows, 118 columns, share of negative labels .20 in the file",
            (Place(STUDY.name, "How it was run"),),
            "Levels of the whole file give 119 columns. .20 is the share of good connections, which the "
            "paper calls positive: its two shares contradict each other, and the sample's is followed.",
        ),
        Counterpart(
            "Theorem 1: ADMM without noise converges to a stationary point",
            (),
            "Not examined. What is released here is a fixed number of perturbed minimisers.",
        ),
    ),
    corrected=label(GAUSSIAN, "l1"),
)
