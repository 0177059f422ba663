"""Links of a fit: how a linear predictor becomes an expected response, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit, logit

from dpglm.errors import MethodError
from dpglm.glm.families.binomial import SHIFTED, shifted_mean
from dpglm.registry import require_word
from dpglm.typing import FloatVector

MARGIN: Final = "margin"  # of losses that are no likelihoods: what a linear predictor means is its sign
# The links of responses with two levels.
BINARY_LINKS: Final = ("logit", SHIFTED, MARGIN)
INVERSE_LINKS: dict[str, Callable[[FloatVector], FloatVector]] = {
    "logit": expit,
    SHIFTED: shifted_mean,
    "log": np.exp,
    "identity": np.asarray,
}


@dataclass(frozen=True)
class Link:
    """A link with its inverse, the derivative of that, and the link itself, of a fit with standard errors."""

    mean: Callable[[FloatVector], FloatVector]
    slope: Callable[[FloatVector], FloatVector]
    link: Callable[[FloatVector], FloatVector]


_LINKS: Final = {
    "logit": Link(expit, lambda eta: np.asarray(expit(eta) * expit(-eta)), logit),
    "log": Link(np.exp, np.exp, np.log),
    "identity": Link(np.asarray, np.ones_like, np.asarray),
}


def link_of(name: str, what: str) -> Link:
    """The link of this name; for ``what="link"`` the identity, which leaves linear predictors as they are."""
    remedy = "Use what='mean' for expected responses, 'link' for the linear predictor."
    require_word("what", what, ("mean", "link"), remedy)
    if what == "mean" and name not in _LINKS:
        raise MethodError(
            f"what='mean' of a fit with the link {name!r}",
            expected="the identity, log or logit link",
            remedy="Use what='link', or fit with goal='explain'.",
        )
    return _LINKS["identity" if what == "link" else name]
