"""Why objective perturbation is private, step by step: the argument of its proof in a reader's words."""

from __future__ import annotations

from typing import Final

COMMON: Final = (
    "At the minimiser the gradient is zero, so each output belongs to exactly one noise vector b: outputs "
    "and noise determine each other, and the density of the output is the density of b times a Jacobian.",
    "For two neighbouring tables the same output needs two noise vectors. They differ by at most the "
    "slope of one row’s loss (one row more or less) or of two rows (one exchanged), and every slope is at "
    "most the row’s norm.",
    "The Jacobians differ by one rank-one term, bounded by the loss’s curvature against the ridge: one "
    "factor, not two.",
)
BY_THEOREM: Final = {
    "A1": "With noise of density exp(-|b|/scale) the first ratio is at most exp(distance/scale). "
    "With enough ridge the Jacobian’s factor is made up for by the slope’s distance from its bound, so "
    "the sum is at most ε.",
    "A2": "With Gaussian noise the log-ratio is bounded by that of two shifted Gaussians, point "
    "by point, when the ridge is large against the noise variance: the release is as private as the "
    "Gaussian mechanism.",
    "A2 and A2'": "For any ridge the Jacobian costs at most log(1 + R²/(4 ridge)); the rest of the "
    "log-ratio is that of two shifted Gaussians. The Gaussian privacy profile, shifted by that cost, "
    "therefore bounds the release, and so does a numeric bound on the log-ratio: the smaller one counts.",
    "A2' and B": "The other releases’ log-ratios decide how much of ε is left for this one. Where that is "
    "enough for its ridge, its δ is that of the Gaussian mechanism; elsewhere the Jacobian costs at most "
    "log(1 + R²/(4 ridge)). The average over the other log-ratios bounds the δ of all releases together.",
    "B": "At the declared ε only outputs with a log-ratio above ε matter. With a ridge of at "
    "least R²/ε (one row more or less) or 2R²/ε (one exchanged) these are outputs where the Jacobian "
    "costs nothing, so δ is that of the Gaussian mechanism.",
    "C": "The slope of a row stays in an interval as long as the row’s norm, and a convex function "
    "of it is largest at an end: the log-ratio is that of two shifted Gaussians (or the distance over the "
    "scale), plus at most log(1 + R²/ridge) for the Jacobian. The privacy profile, shifted by that cost, "
    "bounds the release.",
}
DIAGONAL: Final = (
    "Each term has a ridge of its own here: R² over the ridge is then the sum over terms of the largest "
    "squared norm over the ridge."
)
RESIDUAL: Final = (
    "The solver stops at a certified residual, not at the exact minimum. Between neighbours the point it "
    "stops at moves by at most twice the residual over the ridge more than the minimum does, and a "
    "second, small noise hides that; its price is in the ledger."
)
INFORMATION: Final = (
    "The information matrix is a second release, taken at the point that was released already. One row adds "
    "the outer product of a row of bounded norm, times a weight that the loss bounds, so that its Frobenius "
    "norm is bounded too; symmetric noise, equally strong in every direction of that norm, hides it. The two "
    "releases compose."
)
SUM: Final = (
    "One row moves the sum by at most the sensitivity. Noise of that scale hides it, and releases compose."
)
OUTPUT: Final = (
    "The ridge makes the objective strongly convex: one row moves its minimiser by at most its slope over "
    "the ridge, and the solver’s residual adds a known amount. Noise of that scale hides both."
)
AFTERWARDS: Final = "Everything after the release works on released numbers only and costs nothing."
