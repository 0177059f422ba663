"""Which coefficients get an interval, and in words why the others do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dpglm.inference.contrasts import Contrasts

# A coefficient is reported with an interval if the released curvature says more about it than noise alone
# would, its standard error is below this share of the declared scale, and the other coefficients, which are
# only known through the declared prior, make no more than this share of its variance.
LEAST_SIGNAL: Final = 8.0
MOST_SHARE_OF_SCALE: Final = 0.5
MOST_ADJUSTMENT: Final = 0.35


@dataclass(frozen=True)
class IntervalDecision:
    """Whether a coefficient has an interval.

    Attributes
    ----------
    reported : bool
        True if all three tests hold.
    reason : str
        The first test that fails, in words; empty if reported.
    factor : float
        By how much the number of rows, or epsilon, would have to grow for that test to hold; 1 if reported.
    """

    reported: bool
    reason: str = ""
    factor: float = 1.0


def interval_decisions(found: Contrasts) -> tuple[IntervalDecision, ...]:
    """A verdict for each function; from released and declared numbers only.

    Standard errors here are those of the linear model itself, which is what the tests were measured with. The
    factor treats the standard error as falling like 1 / (n epsilon), which it does where noise dominates.
    """
    scale = np.sqrt(found.prior)
    deviations = np.sqrt(found.linear_variances)
    share = found.first_order[:, 3] / found.linear_variances
    with np.errstate(divide="ignore"):
        tests = (
            ("noise hides its variation", np.sqrt(LEAST_SIGNAL / found.signal)),
            ("too wide against the declared scale", deviations / (MOST_SHARE_OF_SCALE * scale)),
            ("cannot be told from the other terms", np.sqrt(share / MOST_ADJUSTMENT)),
        )
    answers = []
    for j in range(len(scale)):
        failed = [(reason, float(factor[j])) for reason, factor in tests if not factor[j] <= 1.0]
        worst = max(factor for _, factor in failed) if failed else 1.0
        answers.append(IntervalDecision(not failed, failed[0][0] if failed else "", worst))
    return tuple(answers)
