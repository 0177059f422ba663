"""What each version sees, why Theorem 1 is false, and what was changed: the words of the page."""

from __future__ import annotations

from studies.fwell.grid import LEAST

SEES = (
    ("prototypes (`fwell`)", "shifts, thresholds and U shapes of single columns", "interactions"),
    (
        "`fwell` with `reference=`, a public labelled table",
        "interactions, too",
        "what the public table does not show",
    ),
    (
        "clusters (`fwell-kmeans`)",
        "interactions such as XOR, with few columns or a large epsilon",
        "weak effects among many columns",
    ),
    ("blocks (`fwell-block`)", "interactions such as XOR", "weak effects; it has a tenth of the rows"),
    ("`objective`", "linear effects, jointly", "shapes without a slope, interactions"),
    ("`marginal`", "shifts of single columns", "shapes without a shift, interactions"),
)
WHY = (
    "Why Theorem 1 is false: equation 13 supposes that the margin of a row depends on that row alone. A "
    "row may be the near miss of all rows of the other class, so that nearly all margins change with it. "
    "Then the weights move by an amount that does not fall with the number of rows, and no noise of the "
    "order 1 / n hides it.",
    "Algorithm 1 takes steps of length 1, one for each row. It does not come to rest: the last steps go "
    "to and fro around 0, and the order of the rows decides. The proof is about the minimiser, so that "
    "'FWELL' and 'as printed' are here the minimiser, without noise and with the printed noise; Algorithm "
    "1 has a line of its own.",
    "Margins are bounded only if they are made so: the paper writes 'normalized' and features between 0 "
    "and 1 give lengths up to the root of their number. Here columns have public bounds.",
    "The paper tunes lambda by cross-validation on the private rows and does not count it. Here it is .1 "
    "throughout; 'Other strengths' has others for FWELL and for the printed algorithm.",
)
CHANGED = (
    "Prototypes: two points of each class in each column are released first, and a margin compares a "
    "row with them. It depends on its own row and on what was released, and its length is at most 1 "
    "without any cutting.",
    "Clusters: private k-means releases the sums of rows near each of four centres of each class, five "
    "times; near hits and near misses are then looked for among the centres.",
    "Blocks: near hits and near misses are looked for among ten rows, and the mean margin of a block is "
    "one row of the minimiser, so that one row changes one block.",
    "Noise is in the objective of an exact minimiser, not on its answer (objective_perturbation.md), at "
    "(epsilon, 1e-6), one row replaced, where the paper claims a pure epsilon.",
)
CHANCE = (
    "Below the epsilons of the first table under the figures a private ranking is not told apart from a "
    "random order in nearly all cells. Corrected rankings were run from epsilon .01 on; the paper's smallest "
    f"epsilon, {LEAST:g}, was run as printed."
)
