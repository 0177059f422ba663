"""The declared prior scales that a fit was planned with, as a reader knows them."""

from __future__ import annotations

import numpy as np

from dpglm.glm.term_columns import TermColumns
from dpglm.postprocessing.record import FitRecord
from dpglm.tables.number import coefficient


def prior_scales(record: FitRecord) -> tuple[tuple[str, str, str], ...]:
    """Term, what its scale is the standard deviation of, and the scale; nothing without a curvature."""
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
