"""The reference coding: the user's own columns, each divided by its bound; long rows are clipped."""

from __future__ import annotations

import math

import numpy as np

from dpglm.data.coding.groups import SLACK, Group, Layout, Part, Product, prior_of, role_of
from dpglm.data.formula.factors import NumericFactor
from dpglm.data.formula.model import Model, Subterm
from dpglm.typing import FloatVector


def reference(model: Model) -> Layout:
    """Rows of the user's columns in [-1, 1], clipped at the norm of a typical row.

    That is one whose numbers sit at the root mean square of their declared ranges.
    """
    lengths = np.empty(model.size)
    typical, pieces = [], []
    for term in model.terms:
        start = term.start
        for subterm in term.subterms:
            parts, largest, usual = _scaled_parts(model, subterm)
            lengths[start : start + subterm.size] = largest
            typical.append(usual)
            pieces.append((term, start, subterm, parts, usual))
            start += subterm.size
    bound = math.fsum(typical)
    scale = 1.0 / (math.sqrt(bound) * SLACK)
    groups = tuple(
        Group(
            label=term.name,
            role=role_of(model, tuple(usage.factor for usage in subterm.usages)),
            start=start,
            stop=start + subterm.size,
            share=1.0,
            bound=usual,
            products=(
                Product(parts, scale, prior=prior_of(model, tuple(usage.factor for usage in subterm.usages))),
            ),
        )
        for term, start, subterm, parts, usual in pieces
    )
    return Layout(np.diag(lengths), math.sqrt(bound), groups)


def _scaled_parts(model: Model, subterm: Subterm) -> tuple[tuple[Part, ...], FloatVector, float]:
    """Parts scaled into [-1, 1], the largest values of the columns, and a typical squared norm."""
    parts, largest, typical = [], np.ones(1), 1.0
    for usage in subterm.usages:
        factor = model.factors[usage.factor]
        if usage.table is None:
            assert isinstance(factor, NumericFactor)
            most = max(abs(factor.low), abs(factor.high))
            low, high = factor.low / most, factor.high / most
            parts.append(Part(usage.factor, 0.0, 1.0 / most))
            with np.errstate(over="ignore", under="ignore"):  # the coding looks at the lengths
                largest = largest * most
            typical *= (low * low + low * high + high * high) / 3
        else:
            most_each = np.abs(usage.table).max(axis=0)
            table = usage.table / most_each
            parts.append(Part(usage.factor, table=table))
            largest = np.kron(most_each, largest)
            typical *= float((table**2).sum(axis=1).max())
    return tuple(parts), largest, typical
