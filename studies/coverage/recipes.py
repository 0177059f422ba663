"""Two recipes that the procedure is compared with, from the same two released quantities."""

from __future__ import annotations

import numpy as np

from dpglm.typing import FloatMatrix, FloatVector


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

    It is the recipe that was planned before, but for the coding: here the centred one, there reference
    dummies. The noise of H~ is left out of its variance.

    Parameters
    ----------
    centre, curvature, user, floor
        As for `naive`.
    ridge : ndarray, shape (p,)
        Public diagonal ridge P.
    score_scale : float
        Standard deviation s_b of a coordinate of the tilt.

    Returns
    -------
    dict
        ``estimate`` and ``sd`` of the user's coefficients, shape (p,) each.
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
