"""How useful a result is, and what more rows or a larger epsilon would buy: from released numbers alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from dpglm.glm.term_columns import TermColumns
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.linear_model import LinearModel
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.uncertainty import reported, shares, standard_errors
from dpglm.tables.number import coefficient
from dpglm.typing import FloatMatrix, FloatVector

# Standard errors that an effect must measure to be found by a two-sided test at 5 % with power 80 %:
# 1.960 + 0.842.
DETECTABLE: Final = 2.802
FACTORS: Final = tuple(2.0**k for k in range(-2, 5))  # at which widths are computed
Means: TypeAlias = Literal["epsilon", "n"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rescaled(LinearModel):
    """What a fit with more epsilon or more rows would have released; approximate.

    Parameters
    ----------
    base : LinearModel
        As released.
    factor : float
        By what epsilon or the number of rows is multiplied, > 0.
    means : {"epsilon", "n"}
        Which of the two.

    Notes
    -----
    The noise scales of both releases are proportional to 1 / epsilon. With ``factor`` times the rows the
    information grows and the noise stays; in units of the information the noise shrinks like 1 / n, and so
    does the sampling variance. The distance of the released estimate from the truth, which multiplies the
    noise of the information, is taken as it is now. At factor 1 nothing changes.
    """

    base: LinearModel
    factor: float
    means: Means

    @property
    def design(self) -> FloatMatrix:
        """That of ``base``."""
        return self.base.design

    @property
    def sampling(self) -> FloatMatrix:
        """Covariance of the sampling score, in units of the present information."""
        return np.asarray(self.base.sampling / (self.factor if self.means == "n" else 1.0))

    @property
    def noise(self) -> FloatMatrix:
        """The part that the noise of the information makes."""
        return np.asarray(self.base.noise / self.factor**2)

    @property
    def omega(self) -> FloatMatrix:
        """Covariance of the error."""
        score = np.eye(self.released.size) * self.released.score_scale**2
        return np.asarray(self.sampling + score + self.noise)


def rescaled(model: LinearModel, factor: float, means: Means) -> LinearModel:
    """`Rescaled`, with the noise of its score."""
    changed = replace(model.released, score_scale=model.released.score_scale / factor)
    return Rescaled(changed, base=model, factor=factor, means=means)


def widths(record: FitRecord, means: Means) -> FloatMatrix:
    """Standard errors at each of `FACTORS`, shape (len(FACTORS), p); NaN where there is no interval now."""
    assert record.contrasts is not None
    found = []
    for factor in FACTORS:
        with np.errstate(all="ignore"):
            model = rescaled(record.contrasts.model, factor, means)
            found.append(Contrasts(model, record.user_from_coded).deviations)
    return np.where(reported(record), np.array(found), np.nan)


def halving(errors: FloatMatrix) -> FloatVector:
    """The factor at which each standard error is half of that at 1, shape (p,), interpolated; inf beyond all.

    Parameters
    ----------
    errors : ndarray, shape (len(FACTORS), p)
        From `widths`.

    Examples
    --------
    >>> halving(np.array(FACTORS)[:, None] ** -0.5).round(6)
    array([4.])
    """
    logs = np.log(FACTORS)
    now = int(np.argmin(np.abs(logs)))
    answer = np.full(errors.shape[1], np.nan)
    for j in np.flatnonzero(np.isfinite(errors).all(axis=0)):
        share = np.log(np.minimum.accumulate(errors[now:, j]) / errors[now, j])
        if share[-1] > np.log(0.5):
            answer[j] = np.inf
        else:
            # Both logarithms are close to straight lines; np.interp wants a rising abscissa.
            answer[j] = np.exp(np.interp(-np.log(0.5), -share, logs[now:]))
    return answer


def detectable(record: FitRecord) -> FloatVector:
    """The smallest effect that a two-sided test at 5 % finds with power 80 %, shape (p,)."""
    return DETECTABLE * standard_errors(record)


def against_sampling(record: FitRecord) -> FloatVector:
    """Standard error over its sampling part alone, >= 1, shape (p,): what privacy and adjustment cost."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(standard_errors(record) / shares(record)[:, 0])


def prior_scales(record: FitRecord) -> tuple[tuple[str, str, str], ...]:
    """Term, what its scale is the standard deviation of, and the scale; nothing without them."""
    if record.released is None:
        return ()
    return tuple((block.label, *_scale(block)) for block in record.released.term_columns)


def _scale(block: TermColumns) -> tuple[str, str]:
    if block.kind == "intercept":
        return "the middle of every declared range", _text(block.table[0, 0] * block.prior[0])
    if block.kind == "slope":
        return "one end of the declared range against the other", _text(block.table[0, 0] * block.prior[0])
    if block.kind == "levels":
        apart = (block.table[0] - block.table[1]) * block.prior
        return "one level against another", _text(float(np.sqrt(apart @ apart)))
    ends = sorted({_text(float(block.prior.min())), _text(float(block.prior.max()))}, key=float)
    return "coded columns", " to ".join(ends)


def _text(scale: float) -> str:
    """Four digits, without trailing zeros."""
    digits = coefficient(abs(float(scale)))
    return digits.rstrip("0").rstrip(".") if "." in digits and "e" not in digits else digits
