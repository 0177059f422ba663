"""From the coded response back to the user's: estimates in units of the response."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.methods.base import Estimate, Geometry
from dpglm.typing import FloatVector


def to_response_scale(estimate: Estimate, geometry: Geometry, *, unit: float, shift: float) -> Estimate:
    """The estimate of a model of ``y = shift + unit * coded response``.

    Parameters
    ----------
    estimate : Estimate
        For the coded response.
    geometry : Geometry
        The public coding; a shift needs an intercept among the user's coefficients.
    unit, shift : float
        Public, from the declared bounds; 1 and 0 leave everything as it is.

    Returns
    -------
    Estimate
        Coefficients in units of the response; zeros stay exact, the intercept takes up the shift.
    """
    if unit == 1.0 and shift == 0.0:
        return estimate
    free = ~np.asarray(geometry.penalised)
    origin = shift * np.asarray(geometry.coded_from_user)[:, free].sum(axis=1)
    released = None if estimate.released is None else _released(estimate.released, unit, origin)
    path = estimate.exact_path
    if path is not None:
        path = path.with_coefficients(
            np.where(free, shift + unit * path.coefficients, unit * path.coefficients)
        )
    return replace(
        estimate,
        coded=unit * estimate.coded + origin,
        estimates=np.where(free, shift + unit * estimate.estimates, unit * estimate.estimates),
        released=released,
        exact_path=path,
    )


def _released(released: ScoreAndInformation, unit: float, origin: FloatVector) -> ScoreAndInformation:
    return replace(
        released,
        term_columns=tuple(replace(block, prior=unit * block.prior) for block in released.term_columns),
        centre=unit * released.centre,
        score=unit * released.score,
        score_scale=unit * released.score_scale,
        dispersion=unit**2 * released.dispersion,
        initial_variance=unit**2 * released.initial_variance,
        origin=origin,
    )
