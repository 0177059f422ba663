"""What makes intervals wide: their parts, what would narrow them, and why there are none.

A coefficient about which too little was released has a reason instead, and NaN, which tables print as ``-``:
a standard error that forgets the noise would be too small.
"""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

import numpy as np

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.contrasts import CURVED, LINEAR, WIDEST, Contrasts
from dpglm.inference.linear_model import MOST_MOVED
from dpglm.inference.score_and_information import OWN_SCALE
from dpglm.postprocessing.intervals import listed
from dpglm.postprocessing.record import FitRecord
from dpglm.tables.table import plain_number
from dpglm.typing import FloatMatrix, FloatVector

RULE = (
    f"the released numbers say {CURVED.signal:g} times as much about the coefficient as noise alone, in "
    f"linear regression {LINEAR.signal:g} times, or more",
    f"its standard error is no more than {CURVED.share_of_scale:g} of its prior scale, in linear regression "
    f"{LINEAR.share_of_scale:g}: the declared or default one, or {OWN_SCALE:g} times its estimate where that "
    f"is more; larger for a number that varies less than it is coded for; not above {WIDEST:g} of the first",
    "the other coefficients, of which only the prior is known, make no more than "
    f"{100 * CURVED.adjustment:.0f} % of its variance, in linear regression {100 * LINEAR.adjustment:.0f} %",
    "no number that noise hides within its declared range may move predictors by a standard deviation of "
    f"more than {MOST_MOVED:g}",
)
# Standard errors that an effect must measure to be found by a two-sided test at 5 % with power 80 %:
# 1.960 + 0.842.
DETECTABLE: Final = 2.802
FACTORS: Final = tuple(2.0**k for k in range(-2, 5))  # at which widths are computed
Means: TypeAlias = Literal["epsilon", "n"]


def shares(record: FitRecord) -> FloatMatrix:
    """Standard errors by source, shape (p, 4), whose squares add up.

    From sampling, from the noise of the estimate, from that of the information, and from the adjustment.
    """
    if record.contrasts is None:
        return np.full((len(record.names), 4), np.nan)
    return np.where(record.reported[:, None], np.sqrt(record.contrasts.parts), np.nan)


def covariance(record: FitRecord) -> FloatMatrix:
    """Covariance of the debiased estimates, shape (p, p); NaN where there is no standard error."""
    size = len(record.names)
    if record.contrasts is None:
        return np.full((size, size), np.nan)
    with_interval = record.reported
    return np.where(np.outer(with_interval, with_interval), record.contrasts.covariance, np.nan)


def no_intervals(record: FitRecord) -> str:
    """Why a result has no standard errors, as a sentence can go on; empty where it can have them."""
    asked = record.specification
    if record.contrasts is not None:
        return ""
    if record.part is not None and (reason := record.part.no_intervals()):
        return reason
    if record.released is not None:
        return "the released numbers are too large or too small to compute with"
    if record.link == "margin":
        return (
            f'the loss of family "{asked.family.name}" is not a likelihood: it says nothing '
            'of how estimates spread; a private fit of family "binomial" can have them'
        )
    if not math.isfinite(record.guarantee.epsilon):
        return (
            "without privacy they belong to the maximum likelihood estimate, which a penalty shrinks; "
            'penalty "none" has them, with up to 1,000 coefficients and more rows than these'
        )
    if asked.goal != "explain":
        return f'with goal "{asked.goal}" the budget goes to the coefficients; goal "explain" pays for them'
    if asked.method.name not in ("objective", "moments"):
        return f'method "{asked.method.name}" releases no information matrix; method "objective" does'
    if record.guarantee.definition in ("gdp", "zcdp"):
        return (
            "a mu or rho that holds at every epsilon needs a ridge that pulls the estimate too far; "
            f"privacy=({record.guarantee.epsilon:.3g}, {record.guarantee.delta:g}) pays for them"
        )
    if record.guarantee.definition == "pure":
        return (
            'pure epsilon pays for an information matrix only with few coefficients and penalty "none"; '
            f"privacy=({record.guarantee.epsilon:g}, 1e-6) does with more"
        )
    if record.penalty not in ("none", "l2"):
        return (
            'the whole budget went into the penalised fit; penalty "none" pays for an information matrix, '
            "and refit() then selects at no cost"
        )
    return "honest ones need a released information matrix, which this fit does not have"


def hidden_notes(record: FitRecord) -> tuple[str, ...]:
    """Numbers that vary far less than their declared ranges, so that noise hides how much; and what helps."""
    masking = () if record.contrasts is None else record.contrasts.model.masking
    if not masking:
        return ()
    names = listed(tuple(spread.label for spread in masking))
    return (
        f"Within a range as wide as declared, noise hides how much {names} varies. What it explains may be "
        "in any other coefficient. A narrower range helps another fit, or profile=dpglm.describe(...).",
    )


def widths(record: FitRecord, means: Means) -> FloatMatrix:
    """Standard errors at each of `FACTORS`, shape (len(FACTORS), p); NaN where there is none now."""
    assert record.contrasts is not None
    with np.errstate(all="ignore"):
        models = [record.contrasts.model.rescaled(multiple, rows=means == "n") for multiple in FACTORS]
        errors = [Contrasts(model, record.user_from_coded).deviations for model in models]
    return np.where(record.reported, np.array(errors), np.nan)


def halving(errors: FloatMatrix) -> FloatVector:
    """The factor at which each standard error of `widths` is half of that at 1, shape (p,); inf beyond all.

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
    return DETECTABLE * record.standard_errors


def against_sampling(record: FitRecord) -> FloatVector:
    """Standard error over its sampling part alone, >= 1, shape (p,): what privacy and adjustment cost."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(record.standard_errors / shares(record)[:, 0])


def prior_scales(record: FitRecord) -> tuple[tuple[str, str, str], ...]:
    """Term, what its scale is the standard deviation of, and the scale; nothing without them."""
    if record.released is None:
        return ()
    measured = () if record.scales is None else record.scales.names
    return tuple((block.label, *_scale(block, measured)) for block in record.released.term_columns)


def _scale(block: TermColumns, measured: tuple[str, ...]) -> tuple[str, str]:
    if block.kind == "other":
        ends = dict.fromkeys(map(plain_number, (block.prior.min(), block.prior.max())))
        return "coded columns", " to ".join(ends)
    if block.kind == "levels":
        apart = (block.table[0] - block.table[1]) * block.prior
        return "one level against another", plain_number(np.sqrt(apart @ apart))
    span = "one end of the declared range against the other"
    if block.label in measured:
        span = "two standard deviations above the mean against two below"
    middle = "the mean of every number" if measured else "the middle of every declared range"
    return span if block.kind == "slope" else middle, plain_number(abs(block.table[0, 0] * block.prior[0]))
