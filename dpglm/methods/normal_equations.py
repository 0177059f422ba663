"""Noisy normal equations as a linear model: weights of their parts, prior scales, and variances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.moments import MomentSums, SecondMoments
from dpglm.privacy.budget import Relation
from dpglm.typing import FloatVector

# Shares of mu squared (of the squared sensitivity) under add-remove. X'X's noise multiplies coefficients,
# X'y's does not; on two tables the error of coefficients is least, and flat, from .5 to .7 for X'X.
SHARES = {"gram": 0.55, "cross": 0.39, "square": 0.05, "count": 0.01}
# Declared scales are on the logit scale, whose latent standard deviation is pi / sqrt(3).
LATENT = math.pi / math.sqrt(3.0)
# The residual variance is at least this share of the response's.
LEAST_RESIDUAL = 1e-6


def part_weights(relation: Relation, shares: Mapping[str, float] = SHARES) -> dict[str, float]:
    """Public weights of the four parts; under replace-one y'y and the count cost nothing up to these."""
    shares = dict(shares)
    if relation == "replace-one":
        shares |= {"square": shares["cross"], "count": shares["gram"]}
    return {f"{name}_weight": math.sqrt(share) for name, share in shares.items()}


def normal_equations(
    sums: MomentSums, release: SecondMoments, declared: tuple[TermColumns, ...]
) -> ScoreAndInformation:
    """The linear model of the coded response, its dispersion at most the response's variance."""
    variance = _response_variance(sums, release, declared)
    scale = math.sqrt(variance) / LATENT
    term_columns = tuple(replace(block, prior=prior_of(block, scale)) for block in declared)
    return ScoreAndInformation(
        term_columns=term_columns,
        centre=np.zeros(release.size),
        score=sums.cross,
        information=sums.gram,
        score_scale=release.cross_deviation,
        information_scale=release.gram_deviation,
        dispersion=variance,
        initial_variance=np.concatenate([block.prior**2 for block in term_columns]),
        third_derivative_bound=0.0,
    )


def prior_of(block: TermColumns, scale: float) -> FloatVector:
    """Declared scales in standard deviations of the response; the intercept may be anywhere in its range."""
    prior = scale * block.prior
    if block.kind != "intercept":
        return prior
    least: FloatVector = 1.0 / np.abs(block.table[0])
    return np.maximum(prior, least)


def rows_of(sums: MomentSums, release: SecondMoments) -> float:
    """Number of rows, at least one standard deviation of its noise."""
    return max(sums.count, release.deviation / release.count_weight, 1.0)


def _response_variance(sums: MomentSums, release: SecondMoments, declared: tuple[TermColumns, ...]) -> float:
    """Variance of the coded response, one standard deviation of its noise up; in (0, 1]."""
    rows = rows_of(sums, release)
    noise = release.deviation / release.square_weight
    intercept = next((block for block in declared if block.kind == "intercept"), None)
    mean = 0.0
    if intercept is not None:
        mean = float(np.clip(sums.cross[intercept.start] / intercept.table[0, 0] / rows, -1.0, 1.0))
    variance = max(sums.square / rows - mean**2, 0.0) + noise / rows
    return min(max(variance, np.finfo(np.float64).tiny ** 0.5), 1.0)


def residual_variance(sums: MomentSums, release: SecondMoments, coded: FloatVector, most: float) -> float:
    """Residual variance of the coded response, one standard deviation of its noise up.

    ``y'y - theta'X'X theta`` at a shrunk theta explains less than least squares does: it errs upwards.
    """
    noise = math.hypot(
        release.deviation / release.square_weight, release.gram_deviation * float(coded @ coded)
    )
    left = max(sums.square - float(coded @ sums.gram @ coded), 0.0) + noise
    return min(max(left / rows_of(sums, release), LEAST_RESIDUAL * most), most)
