"""Checks of the stack of models in a saved result: sizes, signs, shapes."""

from __future__ import annotations

import math
from typing import Any, Final, get_args

import numpy as np

from dpglm.papers.stacking.stack import MOST_MODELS, Combine, Stack
from dpglm.postprocessing.checks import Check, fault, listed, numbers, text

STACK: Final[dict[str, Check]] = {
    "names": listed(text),
    "groups": listed(listed(text)),
    "coefficients": numbers,
    "combine": text,
    "weights": numbers,
}


def stack(values: dict[str, Any], size: int) -> Stack:
    """The stack, from checked values of the keys of `STACK`.

    Raises
    ------
    StoreError
        No model or too many, a length that is not that of the models or of ``size`` coefficients, an unknown
        way to combine, or votes below 0 or without any weight.
    """
    count, combine = len(values["names"]), values["combine"]
    if not 1 <= count <= MOST_MODELS:
        fault("a stack of no model, or of too many models", f"1 to {MOST_MODELS} models")
    if len(values["groups"]) != count:
        fault("groups of a stack of another length than its names", "a list of terms a model")
    if len(values["coefficients"]) != count * size:
        fault("coefficients of a stack of another length", "one a model and name, model by model")
    if combine not in get_args(Combine):
        fault("a stack with another combine", ", ".join(get_args(Combine)))
    if len(values["weights"]) != count + (combine == "model"):
        fault("weights of a stack of another length", "one a model, an intercept first for a meta model")
    if combine != "model" and not (min(values["weights"]) >= 0.0 and 0.0 < sum(values["weights"]) < math.inf):
        fault("votes of a stack below 0 or without any weight", "weights >= 0, one above 0")
    return Stack(
        names=tuple(values["names"]),
        groups=tuple(tuple(group) for group in values["groups"]),
        coefficients=np.array(values["coefficients"], dtype=np.float64).reshape(count, size),
        combine=combine,
        weights=np.array(values["weights"], dtype=np.float64),
    )
