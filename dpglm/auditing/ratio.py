"""Log-likelihood ratios of all outputs of a plan, for audits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpglm.mechanisms.base import Release, Rows
from dpglm.typing import FloatMatrix, FloatVector


def log_ratio(
    releases: Sequence[Release],
    answers: Sequence[FloatMatrix],
    first: Rows,
    second: Rows,
    at: FloatVector | None = None,
) -> FloatVector | None:
    """How much likelier the outputs are on the first table, in logarithms; None where no law is known.

    Parameters
    ----------
    releases : sequence of Release
        In order.
    answers : sequence of ndarray, shape (k, m)
        Outputs of each.
    first, second : Rows
        The tables.
    at : ndarray, shape (p,), or None
        Where the first release is evaluated; later ones are at the answer of the release before them.
    """
    total = np.zeros(len(answers[0]))
    points = None if at is None else np.broadcast_to(np.asarray(at), (len(total), len(at)))
    for release, answer in zip(releases, answers, strict=True):
        ratio = release.log_ratio(answer, first, second, points)
        if ratio is None:
            return None
        total += ratio
        points = answer
    return total
