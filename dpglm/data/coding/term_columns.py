"""Coded columns as inference sees them: tables of cells with bounds and declared prior scales."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpglm.data.coding.groups import SLACK, Group
from dpglm.glm.term_columns import Kind, TermColumns
from dpglm.typing import FloatMatrix, FloatVector


def term_blocks(groups: Sequence[Group], row_norm: float) -> tuple[TermColumns, ...]:
    """The term_columns of a coding.

    Parameters
    ----------
    groups : sequence of Group
        Coded columns, group by group.
    row_norm : float
        What coded rows were divided by, but for the slack of rounding.
    """
    divisor = (row_norm * SLACK) ** 2
    term_columns = []
    for group in groups:
        kind, table = _cells(group)
        bound = group.bound / divisor * (1.0 + 2.0**-13)  # rounding to float32 included
        term_columns.append(
            TermColumns(group.label, kind, group.start, group.stop, bound, table, _prior(group))
        )
    return tuple(term_columns)


def _cells(group: Group) -> tuple[Kind, FloatMatrix]:
    """Kind and table of cells of one group."""
    product = group.products[0]
    if len(group.products) == 1 and product.mixing is None:
        if not product.parts:
            return "intercept", np.array([[product.scale]])
        if len(product.parts) == 1:
            table = product.parts[0].table
            if table is None:
                return "slope", np.array([[product.scale]])
            if group.role in ("levels", "binary"):
                return "levels", product.scale * table
    return "other", np.eye(group.stop - group.start)


def _prior(group: Group) -> FloatVector:
    """Prior standard deviations of the group's coded coefficients."""
    total = np.zeros(group.stop - group.start)
    for product in group.products:
        scale = product.prior / product.scale
        if product.mixing is None:
            total += scale**2
        else:
            total += scale**2 * (product.mixing**2).sum(axis=0)
    return np.sqrt(total)
