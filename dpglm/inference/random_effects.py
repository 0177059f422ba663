"""Sites that differ: the variance of each coefficient between sites, by REML on what the sites released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from dpglm.inference.linear_model import LinearModel, positive_inverse
from dpglm.inference.pooled_model import PooledModel, SiteEquation, SiteRelease, pooled_model
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.typing import FloatMatrix, FloatVector

# Variances and the sites' distances from the pool depend on each other: rounds in which both settle.
_ROUNDS: Final = 3
# Variances are searched for from these multiples of what one site leaves open, and up to the last one of it.
_STARTS: Final = (1.0, 0.05)
_MOST: Final = 1e6
# A stored variance may fall behind the best one by so much log likelihood.
_NEAR: Final = 0.5


def random_effects(
    reference: ScoreAndInformation,
    user_from_coded: FloatMatrix,
    sites: Sequence[SiteRelease],
    directions: FloatMatrix,
) -> FloatVector:
    """REML variances of the sites' coefficients along the columns of ``directions``, shape (p, k) to (k,).

    The arguments are those of `pooled_model`; directions are coded coefficients of the pool, and sites differ
    independently along each.

    References
    ----------
    .. [1] Patterson and Thompson (1971), "Recovery of inter-block information when block sizes are unequal",
       Biometrika 58(3).
    .. [2] Jackson, Riley and White (2011), "Multivariate meta-analysis: potential and promise", Statistics in
       Medicine 30(20).
    """
    variances = np.zeros(directions.shape[1])
    for _ in range(_ROUNDS):
        between = (directions * variances) @ directions.T
        variances = _best(_equations(pooled_model(reference, user_from_coded, sites, between)), directions)
    return variances


def fits_best(model: LinearModel, directions: FloatMatrix, variances: FloatVector) -> bool:
    """Whether these variances are those of REML on the sites of a pooled model, up to a small likelihood."""
    sites = _equations(model)
    best = restricted_loss(_best(sites, directions), sites, directions)[0]
    return restricted_loss(variances, sites, directions)[0] <= best + _NEAR


def restricted_loss(
    variances: FloatVector, sites: Sequence[SiteEquation], directions: FloatMatrix
) -> tuple[float, FloatVector]:
    """Minus the restricted log likelihood, up to a constant, and its gradient, shape (k,)."""
    size = len(directions)
    information, right, value = np.zeros((size, size)), np.zeros(size), 0.0
    pieces = []
    for site in sites:
        design = site.believed @ site.link
        along = design @ directions
        total = site.model.omega + (along * variances) @ along.T
        inverse = positive_inverse(total)
        weighted = inverse @ design
        information += design.T @ weighted
        right += weighted.T @ site.response
        value += 0.5 * float(np.linalg.slogdet(total)[1])
        pieces.append((design, along, inverse, weighted, site.response))
    covariance = positive_inverse(information)
    mean = covariance @ right
    value += 0.5 * float(np.linalg.slogdet(information)[1])
    gradient = np.zeros(directions.shape[1])
    for design, along, inverse, weighted, response in pieces:
        residual = response - design @ mean
        scored = inverse @ residual
        value += 0.5 * float(residual @ scored)
        crossed = weighted.T @ along
        gradient += 0.5 * (
            np.einsum("ij,ij->j", along, inverse @ along)
            - np.einsum("ij,ij->j", crossed, covariance @ crossed)
            - (along.T @ scored) ** 2
        )
    return value, gradient


def _best(sites: Sequence[SiteEquation], directions: FloatMatrix) -> FloatVector:
    """The variances of least `restricted_loss`, shape (k,)."""
    from scipy.optimize import minimize  # costs as much to import as the rest of the package

    count = directions.shape[1]
    if not count:
        return np.zeros(0)
    known = np.zeros(count)
    for site in sites:
        along = site.believed @ site.link @ directions
        known += np.einsum("ij,ij->j", along, positive_inverse(site.model.omega) @ along)
    units = len(sites) / np.maximum(known, np.finfo(np.float64).tiny)

    def loss(multiples: FloatVector) -> tuple[float, FloatVector]:
        value, gradient = restricted_loss(units * multiples, sites, directions)
        return value, units * gradient

    found = [
        minimize(loss, np.full(count, start), jac=True, method="L-BFGS-B", bounds=[(0.0, _MOST)] * count)
        for start in _STARTS
    ]
    return np.asarray(units * min(found, key=lambda result: result.fun).x)


def _equations(model: LinearModel) -> tuple[SiteEquation, ...]:
    """Those of the sites, with what is believed of their information for the designs.

    The noise of a site's own matrix stays in its response, where the pooled coefficients are known.
    """
    assert isinstance(model, PooledModel)
    return tuple(
        replace(site, response=site.response + (site.believed - site.model.design) @ site.link @ model.mean)
        for site in model.sites
    )
