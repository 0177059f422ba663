"""The RADMM paper: privacy claims and figures."""

from __future__ import annotations

from studies.papers.summary import (
    CONDITIONAL,
    FALSE,
    LOOSE,
    UNCOUNTED,
    Counterpart,
    Place,
    PrivacyClaim,
    Summary,
)
from studies.radmm.study import PAPER, STUDY

AUDIT = "tests/audits/papers/test_iterative.py::test_the_claim_stands_and_that_of_a_twin_falls"
REAL, SIMULATED = "Figures 1 and 2: Adult and IPUMS-BR", "Figures 3 and 4: the simulation"
CURVES = "The curves, and the values of epsilon, cannot be read in the copy at hand: both are ours."
PRIVACY = (
    PrivacyClaim(
        "Theorem 1: ssADMM, with equation (7) for gradients of random samples, is Rényi private",
        LOOSE,
        "It holds for samples of a fixed size, drawn anew for every step. In the paper's setting for Adult "
        "the same noise on gradients of all rows costs a third of the printed epsilon; it is the default.",
        (
            "dpglm/mechanisms/gradient.md",
            "tests/studies/papers/test_study_radmm.py::test_prices_are_those_of_the_design",
            AUDIT,
        ),
    ),
    PrivacyClaim(
        "Theorem 3: mpADMM is Rényi private; equations (24) to (26) say how far one row moves x, y and z",
        FALSE,
        "The sensitivity of x lacks the factor eta: too little noise for steps above 1, too much below. "
        "Here noise is on x alone, with the right factor; y and z follow from it.",
        (
            "tests/audits/papers/test_printed.py::test_printed_mpadmm_with_large_steps_exceeds_its_claim",
            "dpglm/papers/printed.md",
            AUDIT,
        ),
    ),
    PrivacyClaim(
        "ADMM-objP, a rival: epsilon-private where each minimiser is exact; 20 epochs of descent are taken "
        "to be enough, as the paper says",
        CONDITIONAL,
        "Here each minimiser is certified, and its residual is hidden by noise.",
        ("dpglm/mechanisms/objective_perturbation.md", AUDIT),
    ),
    PrivacyClaim(
        "Columns between the least and the largest value that occur",
        UNCOUNTED,
        "These are read off the rows. Here bounds are declared.",
        ("dpglm/mechanisms/gradient.md",),
    ),
)
SUMMARY = Summary(
    "RADMM",
    PAPER,
    (STUDY.name,),
    (
        'Built as `method="ssadmm"` and `"mpadmm"`, with the rivals `"dpsgd"`, `"dp-admm"` and `"dpsc"`; '
        "mpADMM "
        "as printed with `paper_exact=True`, NOT PRIVATE.",
    ),
    PRIVACY,
    (
        Counterpart(
            "Figure 1: accuracy and objective of logistic regressions against epsilon",
            (Place(STUDY.name, REAL),),
            CURVES,
        ),
        Counterpart(
            "Figure 2: accuracy and objective of huberised support vector machines against epsilon",
            (Place(STUDY.name, REAL),),
            CURVES,
        ),
        Counterpart("Figure 3: accuracy on the simulation", (Place(STUDY.name, SIMULATED),), CURVES),
        Counterpart(
            "Figure 4: share of relevant columns among the k largest coefficients",
            (Place(STUDY.name, SIMULATED),),
            CURVES,
        ),
        Counterpart(
            "Shares of the majority label: .761 of 48,842 rows, .507 of 38,000, .500 in the simulation",
            (Place(STUDY.name, REAL), Place(STUDY.name, SIMULATED)),
            "In the captions of the tables of accuracy, on test rows.",
        ),
        Counterpart(
            "Settings: delta 1e-8, samples of the root of the rows, rho .25 and .5, h .5, strengths .0001 "
            "and .001",
            (Place(STUDY.name, "Settings"),),
        ),
        Counterpart(
            "Equation (7) with Proposition 1, as a number", (Place(STUDY.name, "What samples cost"),)
        ),
    ),
)
