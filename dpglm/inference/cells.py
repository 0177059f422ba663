"""Coded curvature seen as weighted counts: one row and column a level, and how noisy each entry is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.linalg

from dpglm.glm.term_columns import TermColumns
from dpglm.typing import FloatMatrix, FloatVector


@dataclass(frozen=True, eq=False)
class Cells:
    """The public linear maps between coded columns and cells, m of them.

    A cell is the constant, a slope's value per declared range, the indicator of a level, or a coded column
    that is none of these. With ``x`` a coded row and ``o`` its cells, ``x = o @ to_coded`` and
    ``o = x @ from_coded``; so a curvature in cells is ``from_coded.T @ H @ from_coded``.

    Parameters
    ----------
    term_columns : sequence of TermColumns
        In the order of the coded columns. Levels become cells only where one block is the intercept.
    """

    term_columns: Sequence[TermColumns]

    @cached_property
    def intercept(self) -> TermColumns | None:
        """The block of the constant, if there is one."""
        return next((block for block in self.term_columns if block.kind == "intercept"), None)

    def kind(self, block: TermColumns) -> str:
        """How the block is treated: without an intercept, levels cannot be counted."""
        return "other" if block.kind == "levels" and self.intercept is None else block.kind

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """The cells of each block."""
        counts = [
            block.table.shape[0] if self.kind(block) != "other" else block.stop - block.start
            for block in self.term_columns
        ]
        ends = np.cumsum([0, *counts])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    def of_kind(self, kind: str) -> Iterator[tuple[TermColumns, slice]]:
        """Blocks of one kind with their cells."""
        for block, place in zip(self.term_columns, self.places, strict=True):
            if self.kind(block) == kind:
                yield block, place

    @cached_property
    def to_coded(self) -> FloatMatrix:
        """Coded values of each cell, shape (m, p)."""
        return np.asarray(
            scipy.linalg.block_diag(
                *[
                    block.table if self.kind(block) != "other" else np.eye(block.stop - block.start)
                    for block in self.term_columns
                ]
            )
        )

    @cached_property
    def from_coded(self) -> FloatMatrix:
        """Cells of each coded column, shape (p, m)."""
        found = np.zeros(self.to_coded.T.shape)
        for block, place in zip(self.term_columns, self.places, strict=True):
            kind = self.kind(block)
            inside = np.eye(block.stop - block.start) if kind == "other" else np.linalg.pinv(block.table)
            found[block.columns, place] = inside
            if kind == "levels":
                assert self.intercept is not None
                constant = float(self.intercept.table[0, 0])
                found[self.intercept.start, place] = 1.0 / (constant * len(block.table))
        return found

    def variances(self, scale: float) -> FloatMatrix:
        """Variance of each cell of a released curvature, shape (m, m).

        ``scale`` is the standard deviation of its diagonal entries before the projection that ties the
        entries of one factor: within a factor only the totals of levels are free.
        """
        size = self.to_coded.shape[1]
        entries = np.full((size, size), 0.5)
        np.fill_diagonal(entries, 1.0)
        totals: dict[int, FloatVector] = {}
        if self.intercept is not None:
            constant = float(self.intercept.table[0, 0])
            at = self.intercept.start
            squares = constant**4
            for block, _ in self.of_kind("levels"):
                squares += _stretch(block) ** 2 * (len(block.table) - 1) / len(block.table) ** 2
            whole = 1.0 / squares  # variance of the sum of weights
            entries[at, at] = constant**4 * whole
            for block, _ in self.of_kind("levels"):
                stretch, count = _stretch(block), len(block.table)
                each = 1.0 / (2.0 * constant**2 * stretch + stretch**2 * (1.0 - 2.0 / count))
                entries[at, block.columns] = entries[block.columns, at] = constant**2 * stretch * each
                totals[block.start] = np.full(count, whole / count**2 + each * (1.0 - 1.0 / count))
        weights = self.from_coded**2
        found = np.asarray(weights.T @ entries @ weights)
        for block, place in self.of_kind("levels"):
            found[place, place] = np.diag(totals[block.start])
        return scale**2 * found


def _stretch(block: TermColumns) -> float:
    """The number of which ``table.T @ table`` is that multiple of the identity."""
    return float((block.table**2).sum() / block.table.shape[1])
