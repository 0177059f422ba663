"""The DLR paper: privacy claims and its table of times."""

from __future__ import annotations

from studies.dlr.study import PAPER, STUDY
from studies.papers.summary import (
    CONDITIONAL,
    FALSE,
    UNCOUNTED,
    Counterpart,
    Place,
    PrivacyClaim,
    Summary,
)

PRIVACY = (
    PrivacyClaim(
        "Algorithm 2 (DLP): output w + b is epsilon-private, with b of density exp(-n epsilon lambda / 2), "
        "which is read as exp(-n epsilon lambda |b| / 2)",
        FALSE,
        "The noise is right for the exact minimiser over all n rows with the ridge lambda / 2. What is "
        "output is an iterate after K rounds, which one row moves eight times as far in the example of the "
        "audit; and messages "
        'between computers go in clear. Built as `method="dlp"`: the minimiser over the rows of all sites is '
        "certified, the network is trusted, and each person's rows are at one site only.",
        (
            "tests/audits/papers/test_dlr.py::test_the_output_of_dlp_moves_further_than_its_noise_is_set_for",
            "tests/audits/papers/test_dlr.py::"
            "test_draws_refute_the_printed_claim_of_dlp_on_an_iterate_that_has_not_converged",
            "dpglm/mechanisms/output_perturbation.md",
        ),
    ),
    PrivacyClaim(
        "Algorithm 3 (DLVP): noise on w in every round, epsilon(1) + ... + epsilon(K) in all",
        CONDITIONAL,
        "True where a round is one gradient step, sums are divided by the rows of all computers, noise is "
        'fresh, and the noisy w is all that is kept. Built this way as `method="dlvp"`, with Gaussian '
        "noise on the gradients of each site.",
        (
            "dpglm/mechanisms/gradient.md",
            "tests/audits/papers/test_joint.py::test_the_claim_stands_and_that_of_a_twin_falls[DLVP]",
        ),
    ),
    PrivacyClaim(
        "The strength by cross-validation over all computers",
        UNCOUNTED,
        'Its errors are exact functions of the rows. `method="dla"` has it, NOT PRIVATE. Elsewhere strengths '
        "follow from public numbers, or are chosen privately by `dpglm.tune`.",
        ("dpglm/papers/tuning/held_out.md",),
    ),
)
SUMMARY = Summary(
    "DLR",
    PAPER,
    (STUDY.name,),
    (
        'Built as `method="dla"`, `"dlp"` and `"dlvp"`, over tables by site. '
        "The copy at hand has the algorithms, the appendix and one table, but no theorem on privacy and no "
        "figure; verdicts are about the algorithms.",
        "For the same purpose the package has `dpglm.pool`, one model of what sites released, "
        '`method="secure-sum"`, whose aggregator sees noisy totals alone, and `method="dp-admm"`, noisy '
        "gradients by parties. The study has all of them side by side.",
    ),
    PRIVACY,
    (
        Counterpart(
            "Table 1: sixteen running times of DLA and glmfit, on 10,000 and 100,000 rows",
            (Place("dlr", "Table 1: times"),),
            "Times of a site beside those printed, with local minimisers that are exact: how times fall with "
            "the number of sites can be compared, and not their size.",
        ),
        Counterpart(
            "Theorem 2: convergence, proved in the appendix",
            (),
            "Not examined. The copy at hand has the proof and not the statement.",
        ),
    ),
)
