"""Models on groups of columns of the same rows, released together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

import numpy as np

from dpglm.errors import MethodError
from dpglm.factor_rows import squares
from dpglm.inference.expectation import EstimateNoise, ExpectedRows, noise_of_minimiser
from dpglm.mechanisms.base import CERTIFICATE, CHOSEN, TAIL, Release, Rows, WorstCase, worst_case_rows
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.rows import unweighted
from dpglm.privacy.budget import STEPS, Relation
from dpglm.privacy.events import Event, Fact, GaussianEvent, ReleaseDescription
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import FloatMatrix, FloatVector, IntVector

# Squared norm that rows may have before they are cut: what is left takes the rounding to float32.
_LONGEST = 1.0 - 1e-6
# Squares of loadings, times those of rows, are numbers.
_MOST = 1e50
_REMEDY = "Let a method make the release."
# Why a release of several models costs what it says.
TOGETHER = (
    "One row moves the scores of all groups together by no more than its norm, which is at most 1. With "
    "Gaussian noise of one scale, and a ridge of at least twice its variance, a group is as private as a "
    "Gaussian mechanism whose mu is what the group sees of the row over the scale; independent noise adds "
    "squares of mu, which for all groups together are at most those of the whole row."
)


class _Group:
    """Rows of one group of columns: those of its loadings, all rows cut alike."""

    def __init__(self, rows: Rows, loadings: FloatVector, total: FloatVector) -> None:
        self._rows, self._total = rows, total
        self._columns: IntVector = np.flatnonzero(loadings)
        self._loadings = loadings[self._columns]

    @property
    def size(self) -> int:
        return len(self._columns)

    def row_count(self) -> int:
        return self._rows.row_count()

    def chunks(self) -> Iterator[RowChunk]:
        for block in unweighted(self._rows):
            square = squares(self._total, block.X)
            factor = np.sqrt(_LONGEST / np.maximum(square, _LONGEST))  # proof: cut
            wide = block.X[self._columns].astype(np.float64) * self._loadings[:, None] * factor
            yield ArrayChunk(np.ascontiguousarray(wide, dtype=np.float32), block.y, block.offset)


@dataclass(frozen=True, eq=False)
class SubmodelMinimisers(Release):
    r"""Perturbed minimisers on groups of columns of the same rows: with Gaussian noise, for the price of one.

    Group k reads the rows ``f * loadings[k] * x``, its columns alone, where f <= 1 is the same for all groups
    of a row and cuts it to ``sum_k |f * loadings[k] * x|^2 <= 1``. Neighbours move the scores of all groups
    together by no more than one row of norm 1.

    Parameters
    ----------
    minimisers : tuple of PerturbedMinimiser
        One for a group, of the size of its columns. Several have Gaussian noise of one scale, one ridge each
        of at least ``2 scale**2``, and claims that compose.
    loadings : ndarray, shape (K, p)
        Public factors of the coded columns, >= 0 and finite; a group reads those above 0.

    Raises
    ------
    MethodError
        Minimisers of which the theorem does not speak, or sizes that do not fit.

    References
    ----------
    ``submodel_minimisers.md`` beside this file.
    """

    minimisers: tuple[PerturbedMinimiser, ...]
    loadings: FloatMatrix

    name: ClassVar[str] = "block minimisers"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN, CERTIFICATE, TAIL)

    @property
    def assumptions(self) -> tuple[str, ...]:
        return self.minimisers[0].assumptions

    def __post_init__(self) -> None:
        loadings = np.array(self.loadings, dtype=np.float64)
        loadings.setflags(write=False)
        object.__setattr__(self, "loadings", loadings)
        fitting = loadings.ndim == 2 and len(loadings) == len(self.minimisers) > 0
        if not fitting or not ((loadings >= 0.0) & (loadings < _MOST)).all():  # proof: finite
            raise MethodError(
                "loadings", expected="a row of numbers from 0 to 1e50 for each minimiser", remedy=_REMEDY
            )
        for minimiser, own in zip(self.minimisers, loadings, strict=True):
            if len(minimiser.mixing) != int(np.count_nonzero(own)):
                raise MethodError(
                    "a minimiser of another size than its group",
                    expected="as many coefficients as columns",
                    remedy=_REMEDY,
                )
            if len(self.minimisers) > 1 and not self._together(minimiser):
                raise MethodError(
                    "minimisers whose claims do not join",
                    expected="Gaussian noise of one scale, logistic losses, ridges of 2 steepness scale^2",
                    remedy=_REMEDY,
                )

    def _together(self, minimiser: PerturbedMinimiser) -> bool:
        """Whether the joint theorem speaks of it."""
        return (  # proof: joint
            minimiser.family.logistic
            and minimiser.law == "gaussian"
            and minimiser.claimed_epsilon is None
            and minimiser.scale == self.minimisers[0].scale
            and np.ndim(minimiser.ridge) == 0
            and minimiser.least_ridge >= 2.0 * minimiser.family.steepness * minimiser.scale**2
        )

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(len(each.mixing) for each in self.minimisers))

    def sensitivity(self, relation: Relation) -> float:
        """Largest change of the scores of all groups, taken together."""
        return float(STEPS[relation])  # proof: sensitivity

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        alone = [each.events(relation) for each in self.minimisers]  # refuses what one of them refuses
        if len(alone) == 1:
            return alone[0]
        (scale,) = {each.scale for each in self.minimisers}
        joint = GaussianEvent(self.sensitivity(relation) / scale)  # proof: price
        residuals = math.hypot(
            *(each.moved / each.residual_noise_scale for each in self.minimisers)
        )  # proof: residual
        return (self.name, joint), ("solver residual", GaussianEvent(residuals))

    @property
    def noise_scales(self) -> tuple[float, ...]:
        return self.minimisers[0].noise_scales

    def describe(self, relation: Relation) -> ReleaseDescription:
        first = self.minimisers[0]
        described = first.describe(relation)
        if len(self.minimisers) == 1:
            return described
        return replace(
            described,
            name=self.name,
            released=f"{len(self.minimisers)} perturbed minimisers, each on its own columns, once",
            noise=f"{first.noise_law.words}, fresh for every model",
            theorem="objective perturbation on groups of columns, Gaussian differential privacy "
            "(Theorem A2, submodel_minimisers.md)",
            facts=(
                Fact("Ridge, sum units", tuple(dict.fromkeys(each.least_ridge for each in self.minimisers))),
                Fact("Certified solver residual", max(each.tolerance for each in self.minimisers)),
                Fact("Noise that hides the residual", max(m.residual_noise_scale for m in self.minimisers)),
            ),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        return (TOGETHER,) if len(self.minimisers) > 1 else self.minimisers[0].why(relation)

    def expected_noise(self, rows: ExpectedRows) -> EstimateNoise:
        """Of the sum of all groups' coded coefficients, on rows as declared, none of them cut."""
        sampling, noise = np.zeros_like(rows.information), np.zeros_like(rows.information)
        for minimiser, loadings in zip(self.minimisers, self.loadings, strict=True):
            columns = np.flatnonzero(loadings)
            inside, factors = np.ix_(columns, columns), np.outer(loadings[columns], loadings[columns])
            group = noise_of_minimiser(
                factors * rows.information[inside], minimiser.ridges, minimiser.deviation, rows.dispersion
            )
            sampling[inside] += factors * group.sampling
            noise[inside] += factors * group.noise
        return EstimateNoise(sampling, noise)

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """Coefficients of all groups, one after the other; ``at`` is where their ridges pull to, likewise."""
        total = np.square(self.loadings).sum(axis=0)
        groups = zip(self.minimisers, self.loadings, strict=True)
        centres = [None] * len(self.minimisers) if at is None else np.split(at, self._ends[:-1])
        answers = [
            minimiser.run(_Group(rows, own, total), centre, noise)  # proof: fresh
            for (minimiser, own), centre in zip(groups, centres, strict=True)
        ]
        return np.concatenate(answers)

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """One row with as much in the first column of each group, or its opposite."""
        groups = [int(np.flatnonzero(own)[0]) for own in self.loadings]
        share = 1.0 / math.sqrt(len(groups))
        row = np.zeros((size, 1), dtype=np.float32)
        row[groups, 0] = [share / float(own[place]) for own, place in zip(self.loadings, groups, strict=True)]
        row *= np.float32(min(1.0, 1.0 / float(np.linalg.norm(row))))
        first, second = worst_case_rows(self.minimisers[0].family, relation, size)
        tables = [ArrayChunk(row * block.X[:1], block.y, block.offset) for block in (first, second)]
        direction = np.zeros(self._ends[-1])
        direction[[0, *self._ends[:-1]]] = share
        return WorstCase(tables[0], tables[1], direction)
