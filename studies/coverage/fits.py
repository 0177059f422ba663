"""Fits of a replication: maximum likelihood, the private intervals, and two recipes to compare them with."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dpglm.curator.curator import Curator
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.inference.contrasts import Contrasts, interval_decisions
from dpglm.inference.interval_model import interval_model
from dpglm.mechanisms.noise import SeededNoise
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Problem
from dpglm.methods.objective import Objective
from dpglm.optim.minimise import minimise
from dpglm.privacy.budget import Privacy
from dpglm.typing import BoolVector, FloatMatrix, FloatVector
from studies.coverage.rows import StudyRows

# Next to nothing beside any score of data; it keeps coefficients finite where a level is all one class.
RIDGE = 1e-3
TOLERANCE = 1e-5


def nonprivate_fit(rows: StudyRows, start: FloatVector | None = None) -> dict[str, FloatVector]:
    """Maximum likelihood (ridge 0.001 on coded coefficients) and its inverse-information standard errors.

    Parameters
    ----------
    rows : StudyRows
        Rows with their response.
    start : ndarray, shape (p,), or None
        Coded coefficients near the answer.

    Returns
    -------
    dict
        ``estimate`` and ``sd`` of the user's coefficients, shape (p,) each.
    """
    loss = rows.loss()
    minimum = minimise(loss, linear=np.zeros(rows.size), ridge=RIDGE, tolerance=TOLERANCE, start=start)
    assert minimum.certified, "the non-private fit did not converge"
    information = loss.hessian(minimum.theta) + RIDGE * np.eye(rows.size)
    # C (L L')^-1 C' has the squared lengths of L^-1 C' as its diagonal.
    factor = scipy.linalg.cholesky(information, lower=True)
    user = rows.coding.user_from_coded
    spread = scipy.linalg.solve_triangular(factor, user.T, lower=True)
    return {"estimate": user @ minimum.theta, "sd": np.sqrt((spread**2).sum(axis=0))}


# What a private fit gives, each of shape (p,), in the user's coefficients; `printed` is Boolean.
FIELDS = (
    "estimate",
    "sd",
    "printed",
    "naive_estimate",
    "naive_sd",
    "plain_estimate",
    "plain_sd",
    "variance_sampling",
    "variance_estimate",
    "variance_curvature",
    "variance_adjustment",
)


def private_fit(rows: StudyRows, privacy: Privacy, seed: int) -> dict[str, FloatVector | BoolVector]:
    """The estimate and the information at it, and intervals from them.

    Parameters
    ----------
    rows : StudyRows
        Rows with the response of this replication.
    privacy : Privacy
        Budget of the whole fit.
    seed : int
        Seed of the noise, at least 0.

    Returns
    -------
    dict
        Arrays of shape (p,) under each name of `FIELDS`, the user's coefficients in the order of
        ``rows.coding.names``. ``estimate`` and ``sd`` are given for every coefficient, printed or not; the
        four variances add up to ``sd ** 2``.
    """
    coding = rows.coding
    problem = Problem(coding, families["binomial"](), penalties["none"](), goal="explain")
    plan = Objective().plan(problem, privacy)
    found = Objective().solve(problem, plan, Curator(rows, plan, SeededNoise(seed)).ask)
    released, scales = found.released, found.scales
    assert released is not None
    user = coding.user_from_coded
    if scales is not None:
        user = coding.standardised(scales.moments, scales.longer).user_from_coded
    (minimiser,) = plan.of_kind(PerturbedMinimiser)
    contrasts = Contrasts(interval_model(released), user)
    scale, curvature = released.score_scale, released.information
    floor = released.information_scale
    fitted = {
        "naive": naive(released.centre, curvature, user, floor=floor),
        "plain": plain(
            released.centre,
            curvature,
            minimiser.ridges,
            user,
            score_scale=scale,
            floor=floor,
        ),
    }
    sampling, estimate, noise, adjustment = contrasts.parts.T
    return {
        "estimate": contrasts.estimates,
        "sd": contrasts.deviations,
        "printed": np.array([verdict.reported for verdict in interval_decisions(contrasts)]),
        **{f"{recipe}_{name}": value for recipe, both in fitted.items() for name, value in both.items()},
        "variance_sampling": sampling,
        "variance_estimate": estimate,
        "variance_curvature": noise,
        "variance_adjustment": adjustment,
    }


def naive(
    centre: FloatVector, curvature: FloatMatrix, user: FloatMatrix, *, floor: float
) -> dict[str, FloatVector]:
    """The released estimate as it stands, with the sampling variance only: V = H+^-1.

    Parameters
    ----------
    centre : ndarray, shape (p,)
        Released minimiser t, coded coefficients.
    curvature : ndarray, shape (p, p)
        Released curvature H~ at t; need not be positive.
    user : ndarray, shape (p, p)
        Map C from coded to the user's coefficients.
    floor : float
        Eigenvalues of H~ below this are raised to it: the noise scale of one entry of H~.

    Returns
    -------
    dict
        ``estimate`` and ``sd`` of the user's coefficients, shape (p,) each.
    """
    values, vectors = _positive(curvature, floor)
    spread = user @ vectors
    return {"estimate": user @ centre, "sd": np.sqrt((spread**2 / values).sum(axis=1))}


def plain(
    centre: FloatVector,
    curvature: FloatMatrix,
    ridge: FloatVector,
    user: FloatMatrix,
    *,
    score_scale: float,
    floor: float,
) -> dict[str, FloatVector]:
    """One Newton step back from the ridge, t + H+^-1 P t, with V = H+^-1 (H+ + s_b^2 I) H+^-1 and no gate.

    It is the recipe that was planned before, but in the centred coding. The noise of H~ is left out of its
    variance.

    Parameters
    ----------
    centre, curvature, user, floor
        As for `naive`.
    ridge : ndarray, shape (p,)
        Public diagonal ridge P.
    score_scale : float
        Standard deviation s_b of a coordinate of the linear perturbation.

    """
    values, vectors = _positive(curvature, floor)
    spread = user @ vectors
    step = (vectors.T @ (ridge * centre)) / values
    variance = (spread**2 * ((values + score_scale**2) / values**2)).sum(axis=1)
    return {"estimate": user @ centre + spread @ step, "sd": np.sqrt(variance)}


def _positive(curvature: FloatMatrix, floor: float) -> tuple[FloatVector, FloatMatrix]:
    """Eigenvalues, raised to ``floor``, and eigenvectors."""
    values, vectors = np.linalg.eigh(curvature)
    return np.maximum(values, floor), vectors
