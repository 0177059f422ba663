"""Mechanism card: the algorithm, its noise, its certificate, and why the theorem holds."""

from __future__ import annotations

from collections.abc import Mapping

from dpglm.postprocessing.record import FitRecord
from dpglm.report.section import Section, fact_words, shown

LABELS = {
    "algorithm": "Algorithm",
    "theorem": "Theorem",
    "released": "What was released",
    "released_too": "Released too",
    "information_sensitivity": "Sensitivity of the curvature, Frobenius",
    "curvature_noise_scale": "Noise scale of the curvature",
    "interval_method": "Intervals by",
    "post_processing": "Computed afterwards",
    "sensitivity": "Sensitivity, Euclidean",
    "noise": "Law of the noise b",
    "noise_scale": "Noise scale",
    "ridge": "Ridge, sum units",
    "row_norm": "Norm bound of a coded row, divided out",
    "rows_clipped": "Rows clipped",
    "strength_sum": "Penalty strength, sum units",
    "strength_chosen_by": "Penalty strength chosen by",
    "solver_residual": "Certified solver residual",
    "residual_noise_scale": "Noise that hides the residual",
    "response_levels": "Levels of the response",
    "response_bounds": "Bounds of the response, beyond which it is clipped",
    "loss_width": "Width of the smooth corner of the hinge, in units of the margin",
    "gram_deviation": "Noise of X'X, standard deviation on the diagonal",
    "cross_deviation": "Noise of X'y, standard deviation",
    "prior_scale": "Scale of the prior that shrinks",
    "random_source": "Source of randomness",
    "coding": "Coding of categories",
    "models": "Models",
    "combine": "Answers combined by",
    "groups": "Groups of columns",
    "groups_chosen": "Origin of the groups",
    "group_epsilon": "Epsilon of each group",
    "meta_ridge": "Ridge of the meta model, sum units",
    "meta_noise_scale": "Noise scale of the meta model",
    "meta_pulled_to": "Weight of each model to which that ridge pulls",
    "parallel_parts": "Parts of the rows",
    "stacking": "Options of the source's stack",
    "importance": "Importance, public weights",
    "importance_provenance": "Where the importance comes from",
    "source": "Source of the coefficients that the fit is pulled to",
    "source_privacy": "Price of that source, a budget of its own",
    "source_note": "On that source",
}
CLAIMS = ("theorem", "sensitivity", "information_sensitivity")  # not shown where nothing is promised
MOST_FACTS = 60

COMMON_STEPS = (
    "At the minimiser the gradient is zero, so each output belongs to exactly one noise vector b: outputs "
    "and noise determine each other, and the density of the output is the density of b times a Jacobian.",
    "For two neighbouring tables the same output needs two noise vectors. They differ by at most the "
    "slope of one row’s loss (one row more or less) or of two rows (one exchanged), and every slope is at "
    "most the row’s norm.",
    "The Jacobians differ by one rank-one term, bounded by the loss’s curvature against the ridge: one "
    "factor, not two.",
)
LAST_STEPS = {
    "Theorem A1": "With noise of density exp(-|b|/scale) the first ratio is at most exp(distance/scale). "
    "With enough ridge the Jacobian’s factor is made up for by the slope’s distance from its bound, so "
    "the sum is at most ε.",
    "Theorem A2": "With Gaussian noise the log-ratio is bounded by that of two shifted Gaussians, point "
    "by point, when the ridge is large against the noise variance: the release is as private as the "
    "Gaussian mechanism.",
    "Theorem C": "The slope of a row stays in an interval as long as the row’s norm, and a convex function "
    "of it is largest at an end: the log-ratio is that of two shifted Gaussians (or the distance over the "
    "scale), plus at most log(1 + R²/ridge) for the Jacobian. The privacy profile, shifted by that cost, "
    "bounds the release.",
    "Theorem A2'": "For any ridge the Jacobian costs at most log(1 + R²/(4 ridge)); the rest of the "
    "log-ratio is that of two shifted Gaussians. The Gaussian privacy profile, shifted by that cost, "
    "therefore bounds the release.",
    "Theorem B": "At the declared ε only outputs with a log-ratio above ε matter. With a ridge of at "
    "least R²/ε (one row more or less) or 2R²/ε (one exchanged) these are outputs where the Jacobian "
    "costs nothing, so δ is that of the Gaussian mechanism.",
}
RESIDUAL_STEP = (
    "The solver stops at a certified residual, not at the exact minimum. Between neighbours the point it "
    "stops at moves by at most twice the residual over the ridge more than the minimum does, and a "
    "second, small noise hides that; its price is in the ledger."
)
TERMS_STEP = (
    "Each term has a ridge of its own here: R² over the ridge is then the sum over terms of the largest "
    "squared norm over the ridge."
)
CURVATURE_STEP = (
    "The curvature is a second release, taken at the point that was released already. One row adds the outer "
    "product of a row of bounded norm, times a weight that the loss bounds, so that its Frobenius norm is "
    "bounded too; symmetric noise, equally strong in every direction of that norm, hides it. The two "
    "releases compose."
)


def mechanism_card(result: FitRecord, choices: Mapping[str, str]) -> Section:
    """Public facts of the release in their order, with labels for known ones, and a proof sketch."""
    private = result.guarantee.private
    facts = [
        (LABELS.get(key, shown(key, 80).replace("_", " ").capitalize()), fact_words(key, value))
        for key, value in list(result.mechanism.items())[:MOST_FACTS]
        if value is not None and key != "proof_sketch" and (private or key not in CLAIMS)
    ]
    content = {"facts": facts, "steps": _proof(result) if private else []}
    return Section("mechanism", "Mechanism card", content)


def _proof(result: FitRecord) -> list[str]:
    """The sketch that came with the mechanism, or the one for a known theorem, or none."""
    given = result.mechanism.get("proof_sketch")
    if given:
        return [shown(given, 3000)]
    theorem = str(result.mechanism.get("theorem") or result.guarantee.theorem)
    last = LAST_STEPS.get(theorem)
    if last is None:
        return []
    residual = [RESIDUAL_STEP] if "residual_noise_scale" in result.mechanism else []
    curvature = "curvature_noise_scale" in result.mechanism
    return [
        *COMMON_STEPS,
        last,
        *([TERMS_STEP] if curvature else []),
        *residual,
        *([CURVATURE_STEP] if curvature else []),
        "Everything after the release works on released numbers only and costs nothing.",
    ]
