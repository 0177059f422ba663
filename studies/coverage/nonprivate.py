"""The non-private fit: the yardstick of width, and where truths come from."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dpglm.optim.minimise import minimise
from dpglm.typing import FloatVector
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
