r"""What the information matrices of a pool's sites have in common: that of one site may be mostly noise.

Site j releases :math:`\tilde H_j = H_j + E_j` at a point t_j of its own. What is made of a noisy matrix, and
multiplied by it, does not average out over sites: the noise draws all of them alike. So all that bends an
equation, or gives it a weight, is made of matrices that hold little of a site's own noise. Where rows are
alike at all sites, the information at t_j is

.. math:: H_j \approx s_j S(t_j), \qquad \hat H_j = s_j S(t_j) + \Lambda_j \circ (\tilde H_j - s_j S(t_j)),

with S their common information, moved from a point among the t_j to each as `secant_design` moves it, and
s_j the site's share. The entries of :math:`\Lambda_j` are the shares of its squared distance from that which
noise surely does not explain, cell by cell. Without noise they are 1, and each site has its own matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from dpglm.inference.interval_model import secant_design
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.score_and_information import Cells, ScoreAndInformation
from dpglm.typing import FloatMatrix, FloatVector

# Sites differ in a cell by what their mean square distance shows beyond noise, less so many standard errors.
SURE: Final = 2.0
# Rounds in which the common information, and variances between sites, settle.
_ROUNDS: Final = 4
# Variances that are so small a share of the mean one are rounding.
_ROUNDED: Final = 1e-9


@dataclass(frozen=True, eq=False)
class SharedInformation:
    """Believed information of each site; all matrices of cells are those of the pool's coding."""

    own: ScoreAndInformation  # of the pool: its terms, and a point near the sites'
    models: Sequence[LinearModel]  # of the sites, as released
    links: Sequence[FloatMatrix]  # their coded coefficients from the pool's
    centres: Sequence[FloatVector]  # t_j in the pool's coefficients

    @cached_property
    def cells(self) -> Cells:
        """Of the pool's coded columns."""
        return Cells(self.own.term_columns)

    @cached_property
    def seen(self) -> FloatMatrix:
        """What the sites released, shape (sites, m, m)."""
        parts = zip(self.models, self.links, strict=True)
        return self._inside([link.T @ model.design @ link for model, link in parts])

    @cached_property
    def noise(self) -> FloatMatrix:
        """Variances of the cells, shape (sites, m, m).

        Of cells that are 0 by nature the mean one: they should not weigh. Of a site without noise rounding.
        """
        found = []
        for model, link in zip(self.models, self.links, strict=True):
            across = model.cells.to_coded @ link @ self.cells.from_coded
            for _, levels in self.cells.of_kind("levels"):
                # Cells of levels add up to the constant's: of all maps that say the same, the one that
                # leaves levels where they are.
                even = 1.0 / (levels.stop - levels.start)
                across[levels, levels] += even
                for _, constant in self.cells.of_kind("intercept"):
                    across[constant, levels] -= even
            found.append((across**2).T @ model.cell_variances @ across**2)
        noise = np.array(found)
        typical = noise.mean(axis=(1, 2), keepdims=True)
        exact = _ROUNDED**2 * (self.seen**2).max(axis=(1, 2), keepdims=True)
        return np.asarray(np.maximum(np.where(noise > _ROUNDED * typical, noise, typical), exact))

    @cached_property
    def _settled(self) -> tuple[FloatMatrix, FloatVector, FloatMatrix]:
        """Common information at each site's point, shares, and variances between sites."""
        ones, variance = np.ones((len(self.links), 1, 1)), np.zeros(self.seen.shape[1:])
        shape, _ = self._mean(self.seen, ones, variance)
        expected = np.broadcast_to(shape, self.seen.shape)
        for _ in range(_ROUNDS):
            shares = self._shares(expected)
            variance = self._variance(expected, shares)
            over = self.seen - shares[:, None, None] * expected
            moved, unsure = self._mean(over, shares[:, None, None], variance)
            shape = shape + moved
            expected = self._expected(shape, unsure)
        shares = self._shares(expected)
        return expected, shares, self._variance(expected, shares)

    @property
    def shares(self) -> FloatVector:
        """How much of the common information each site has, > 0, shape (sites,)."""
        return self._settled[1]

    @cached_property
    def believed(self) -> list[LinearModel]:
        """Each site with what is believed of its information at its point."""
        expected, shares, variance = self._settled
        shapes, own = shares[:, None, None] * expected, shares[:, None, None] ** 2 * variance
        # Of a site's own noise, what is left in it.
        left = own / (own + self.noise)
        inside = shapes + left * (self.seen - shapes)
        found = []
        for model, link, each, part in zip(self.models, self.links, inside, left, strict=True):
            back = np.linalg.inv(link)
            coded = back.T @ self.cells.to_coded.T @ each @ self.cells.to_coded @ back
            found.append(model.with_design(coded, part * model.cell_variances))
        return found

    def _expected(self, shape: FloatMatrix, unsure: FloatMatrix) -> FloatMatrix:
        """Common information at each site's point, per unit of share, shape (sites, m, m)."""
        if not (self.own.logistic or self.own.exponential):
            return np.broadcast_to(shape, self.seen.shape)
        # Per unit of share there is next to no noise.
        model = LinearModel(replace(self.own, information_scale=0.0))
        model = model.with_design(self.cells.to_coded.T @ shape @ self.cells.to_coded, unsure)
        return self._inside(
            [secant_design(model, centre - self.own.centre, at_end=True) for centre in self.centres]
        )

    def _shares(self, expected: FloatMatrix) -> FloatVector:
        """By least squares, at least half a standard deviation of their noise, shape (sites,)."""
        known = np.einsum("kij,kij->k", expected, expected / self.noise)
        found = np.einsum("kij,kij->k", expected, self.seen / self.noise)
        return np.asarray(np.maximum(found, 0.5 * np.sqrt(known)) / known)

    def _variance(self, expected: FloatMatrix, shares: FloatVector) -> FloatMatrix:
        """By how much sites differ in a cell beyond noise, per squared share, shape (m, m)."""
        squares = shares[:, None, None] ** 2
        beyond = (self.seen - shares[:, None, None] * expected) ** 2 - self.noise
        found = np.zeros(self.seen.shape[1:])
        for _ in range(_ROUNDS):
            weights = 1.0 / (self.noise + squares * found)
            weights = (weights / weights.max(axis=0)) ** 2
            unsure = np.sqrt(2.0 * (weights**2 * self.noise**2).sum(axis=0))
            found = np.maximum((weights * beyond).sum(axis=0) - SURE * unsure, 0.0)
            found = found / (weights * squares).sum(axis=0)
        return np.asarray(found)

    def _mean(
        self, inside: FloatMatrix, shares: FloatMatrix, variance: FloatMatrix
    ) -> tuple[FloatMatrix, FloatMatrix]:
        """Weighted mean per unit of share, and its variances, shape (m, m)."""
        weights = shares / (self.noise + shares**2 * variance)
        total = (weights * shares).sum(axis=0)
        return np.asarray((weights * inside).sum(axis=0) / total), np.asarray(1.0 / total)

    def _inside(self, coded: Sequence[FloatMatrix]) -> FloatMatrix:
        """Matrices in the pool's coding in its cells, shape (sites, m, m)."""
        return np.array([self.cells.from_coded.T @ each @ self.cells.from_coded for each in coded])
