"""Cells of two factors pulled towards independence, as far as their noise justifies it."""

from __future__ import annotations

import numpy as np

from dpglm.inference.cells import Cells
from dpglm.typing import BoolVector, FloatMatrix

# A cell further from independence than this many standard deviations is left as it is.
_FAR = 2.0
# Variance of a uniform variable on its range, the largest a slope's spread is believed to be below noise.
_MOST_SPREAD = 0.25


def shrink(curvature: FloatMatrix, variances: FloatMatrix, cells: Cells) -> tuple[FloatMatrix, FloatMatrix]:
    """Information in cells and its variances, after shrinkage; both shape (m, m).

    The cell of two levels with totals M_l and M_g out of W is expected at M_l M_g / W, give or take the
    square root of that times min(M_l, M_g) / 2; a slope in a level at its overall mean. A rare level has a
    tiny total, so that noise leaves exactly the rows that would break an inverse. Post-processing of
    released numbers.

    Parameters
    ----------
    curvature, variances : ndarray, shape (m, m)
        Of cells, as released.
    cells : Cells
        Which cell is what.

    Examples
    --------
    >>> shrink(np.eye(1), np.eye(1), Cells(()))[0]
    array([[1.]])
    """
    shrunk, left = curvature.copy(), variances.copy()
    if cells.intercept is None:
        return shrunk, left
    one = next(place.start for block, place in cells.of_kind("intercept"))
    whole = max(curvature[one, one], 0.5 * np.sqrt(variances[one, one]))
    totals = np.maximum(np.diag(curvature), 0.5 * np.sqrt(np.diag(variances)))
    factors = [place for _, place in cells.of_kind("levels")]
    slopes = [place.start for _, place in cells.of_kind("slope")]
    for i, rows in enumerate(factors):
        for columns in factors[i + 1 :]:
            expected = np.outer(totals[rows], totals[columns]) / whole
            spread = expected * np.minimum.outer(totals[rows], totals[columns]) / 2.0
            _pull(shrunk, left, (rows, columns), expected, spread)
        for slope in slopes:
            mean = float(np.clip(curvature[one, slope] / whole, -0.5, 0.5))
            around = float(np.clip(curvature[slope, slope] / whole - mean**2, 0.0, _MOST_SPREAD))
            expected = mean * totals[rows][:, None]
            spread = (totals[rows][:, None]) ** 2 * around / 2.0
            _pull(shrunk, left, (rows, slice(slope, slope + 1)), expected, spread)
    return shrunk, left


def _pull(
    curvature: FloatMatrix,
    variances: FloatMatrix,
    place: tuple[slice, slice],
    expected: FloatMatrix,
    spread: FloatMatrix,
) -> None:
    """Shrink one rectangle of cells, and its mirror image, in place."""
    noise = variances[place]
    distance = curvature[place] - expected
    far: BoolVector = distance**2 > _FAR**2 * (noise + spread)
    weight = np.where(
        far, 1.0, np.divide(spread, spread + noise, where=spread + noise > 0.0, out=np.ones_like(spread))
    )
    curvature[place] = expected + weight * distance
    variances[place] = weight * noise
    mirror = place[1], place[0]
    curvature[mirror], variances[mirror] = curvature[place].T, variances[place].T
