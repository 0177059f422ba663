"""Neighbouring tables of one row each whose slope is the largest there is, for audits."""

from __future__ import annotations

import numpy as np

from dpglm.glm.families import Family
from dpglm.optim.rows import ArrayChunk
from dpglm.privacy.budget import Relation

# An offset beyond which a slope is 1 or 0 for the audit's purposes.
FAR = 1e3


def worst_case_rows(family: Family, relation: Relation, size: int) -> tuple[ArrayChunk, ArrayChunk]:
    """One row along the first of ``size`` columns, against none or against its opposite.

    Offsets keep slopes at 1 wherever the coefficients are.
    """
    axis = np.eye(size, 1, dtype=np.float32)
    if family.response_kind == "count":  # a response of 0 and a mean at the bound: slope 1, not -1
        first = ArrayChunk(axis, np.array([0.0]), np.array([FAR]))
        second = ArrayChunk(-axis, np.array([0.0]), np.array([FAR]))
    else:
        first = ArrayChunk(axis, np.array([1.0]), np.array([-FAR]))
        second = ArrayChunk(axis, np.array([0.0]), np.array([FAR]))
    if relation == "add-remove":
        second = ArrayChunk(np.zeros((size, 0), dtype=np.float32), np.zeros(0), np.zeros(0))
    return first, second
