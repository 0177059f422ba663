"""Releases on rows that a public map makes of coded ones: standardised rows, and their lengths."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from dpglm.errors import MethodError
from dpglm.factor_rows import squares
from dpglm.mechanisms.base import Covered, Release, Rows, WorstCase, release_error
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.noisy_sum import NoisySum, SumNoise
from dpglm.mechanisms.rows import DownWeightedRows, RowView, ShortenedRows, once
from dpglm.mechanisms.whole_sums import WholeNumbers
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import Event, Fact, ReleaseDescription
from dpglm.rows import ArrayChunk, LazyChunk, RowChunk
from dpglm.typing import FloatMatrix, FloatVector, IntVector


class RowMapping(ABC):
    """A map of rows, each by itself, from public numbers and what was released before."""

    # What the inner release's one event is called; None where it keeps its names.
    label: str | None = None

    @property
    @abstractmethod
    def fact(self) -> Fact:
        """What it does, for the description of a release."""

    @abstractmethod
    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        """The rows as the inner release reads them, and what it is evaluated at."""

    @abstractmethod
    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        """What ``at`` must be for rows to stay as they are, for the worst case of ``size`` columns."""

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        """Coded rows, of ``size`` columns, that are mapped to these."""
        return rows

    def width(self, size: int) -> int:
        """Columns of mapped rows, for the worst case of ``size`` columns."""
        return size


@dataclass(frozen=True, eq=False)
class Wrapper(Release):
    """A release that runs ``inner`` on rows, or at points, that are made for it."""

    inner: Release

    @property
    def assumptions(self) -> tuple[str, ...]:
        return self.inner.assumptions

    def sensitivity(self, relation: Relation) -> float:
        return self.inner.sensitivity(relation)

    @property
    def noise_scales(self) -> tuple[float, ...]:
        return self.inner.noise_scales


@dataclass(frozen=True, eq=False)
class Mapped(Wrapper):
    """A release on mapped rows.

    Neighbouring tables have neighbouring images, since each row is mapped by itself: the claim is that of the
    release, on rows that keep its promise.

    Parameters
    ----------
    inner : Release
        On rows as the mapping makes them.
    mapping : RowMapping
    """

    mapping: RowMapping

    name: ClassVar[str] = "release on mapped rows"
    premises: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.mapping.label or self.inner.name)

    @property
    def inside(self) -> Release:
        return self.inner

    @property
    def shortens(self) -> bool:
        return isinstance(self.mapping, Standardisation) and self.mapping.shortens

    @property
    def summed(self) -> NoisySum | None:
        inner = self.inner.summed
        return None if inner is None else MappedSum(inner, self.mapping)

    @property
    def covers(self) -> Covered:
        return self.inner.covers

    @property
    def weighs(self) -> bool:
        return self.inner.weighs

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        events = self.inner.events(relation)  # proof: events
        label = self.mapping.label
        return events if label is None else tuple((label, event) for _, event in events)

    def describe(self, relation: Relation) -> ReleaseDescription:
        described = self.inner.describe(relation)
        described = replace(described, name=self.mapping.label or described.name)
        return replace(described, facts=(*described.facts, self.mapping.fact))

    def why(self, relation: Relation) -> tuple[str, ...]:
        return self.inner.why(relation)

    def log_ratio(
        self, answers: FloatMatrix, first: Rows, second: Rows, at: FloatMatrix | None
    ) -> FloatVector | None:
        try:
            near, inside = self.mapping.mapped(first, None if at is None else at[0])
        except MethodError:  # an audit of a whole plan does not know the map
            return None
        far, _ = self.mapping.mapped(second, None if at is None else at[0])
        every = None if inside is None else np.broadcast_to(inside, (len(answers), len(inside)))
        return self.inner.log_ratio(answers, near, far, every)

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        mapped, inside = self.mapping.mapped(rows, at)
        read = mapped if self.inner.summed is None else once(mapped)
        return self.inner.run(read, inside, noise)  # proof: rows

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        worst = self.inner.worst_case(relation, self.mapping.width(size))
        first, second = (self.mapping.unmapped(rows, size) for rows in (worst.first, worst.second))
        return replace(worst, first=first, second=second, at=self.mapping.before(worst.at, size))


@dataclass(frozen=True)
class MappedSum:
    """A sum over mapped rows, as `Mapped.run` forms it: each row is mapped by itself, whoever holds it."""

    inner: NoisySum
    mapping: RowMapping

    @property
    def sum_noise(self) -> SumNoise:
        return self.inner.sum_noise

    def whole(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> WholeNumbers:
        mapped, inside = self.mapping.mapped(rows, at)
        return self.inner.whole(once(mapped), inside, noise)  # proof: rows

    def finished(self, noisy: FloatVector) -> FloatVector:
        return self.inner.finished(noisy)


@dataclass(frozen=True)
class Standardisation(RowMapping):
    """Rows in standard deviations, long ones with a smaller weight, or shortened.

    The map is the first part of ``at``: p * p numbers, row by row, made of public and released ones; what the
    inner release is evaluated at follows.

    Parameters
    ----------
    shortens : bool
        Whether rows are read as `ShortenedRows` and not as `DownWeightedRows`.
    """

    shortens: bool = False

    @property
    def fact(self) -> Fact:
        long = "are shortened" if self.shortens else "count less"
        return Fact("Rows", f"in standard deviations; those longer than 1 {long}")

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        size = rows.size
        if at is None or len(at) not in (size * size, size * (size + 1)):
            raise release_error("no map of rows", "a matrix of their columns, and a point or none")
        matrix, inside = at[: size * size].reshape(size, size), at[size * size :]
        view = ShortenedRows if self.shortens else DownWeightedRows
        return view(rows, matrix), inside if inside.size else None

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        identity = np.eye(size).ravel()
        return identity if at is None else np.concatenate([identity, at])


@dataclass(frozen=True)
class LengthClasses(RowMapping):
    """Classes of squared length of standardised rows, as levels of a factor that `ColumnSums` counts.

    Parameters
    ----------
    edges : tuple of float
        Rising; class k holds squared lengths from edge k - 1 to edge k, and the last one all beyond.
    constant : (int, float)
        Column of the constant and its value in every coded row that can be used; others are left out.
    """

    label = "classes of row length"

    edges: tuple[float, ...]
    constant: tuple[int, float]

    @property
    def fact(self) -> Fact:
        return Fact("Levels", "classes of row length, in standard deviations")

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        standardised, inside = Standardisation().mapped(rows, at)
        return ClassRows(rows, standardised, self.constant, self._class_of), inside

    def _class_of(self, chunk: RowChunk) -> IntVector:
        X = chunk.entries
        return np.searchsorted(np.array(self.edges), squares(np.ones(X.shape[0]), X))

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        # Coded rows of a worst case have the constant alone: it is stretched to the classes' lengths.
        return np.eye(size).ravel()

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        """Rows of the constant and one column, as long as their classes say; the first column else."""
        at, value = self.constant
        X = np.zeros((size, len(rows.y)), dtype=np.float32)
        X[at] = value
        ends = np.array([0.25 * self.edges[0], *self.edges, 4.0 * self.edges[-1]])
        squares_of = np.sqrt(ends[:-1] * ends[1:])  # of a row in the middle of each class
        if size > 1:
            rest = np.maximum(squares_of - value**2, 0.0)
            X[(at + 1) % size] = np.sqrt(rest)[rows.X[1].astype(np.intp)]
        return ArrayChunk(X, rows.y, None)


class ClassRows(RowView):
    """A group and a class of each row, as `ColumnSums` reads them: group -1 where it cannot be used.

    ``constant`` is the column of the constant and its value in the coded ``rows`` that can be used;
    ``class_of`` gives the classes of mapped ones, shape (k,).
    """

    def __init__(
        self, rows: Rows, mapped: Rows, constant: tuple[int, float], class_of: Callable[[RowChunk], IntVector]
    ) -> None:
        super().__init__(rows)
        self._mapped, self._constant, self._class_of = once(mapped), constant, class_of

    @property
    def size(self) -> int:
        return 2

    def chunks(self) -> Iterator[RowChunk]:
        for coded, chunk in zip(self._rows.chunks(), self._mapped.chunks(), strict=True):
            yield LazyChunk.of(coded, partial(self._classed, mapped=chunk))

    def _classed(self, coded: RowChunk, mapped: RowChunk) -> RowChunk:
        at, value = self._constant
        with np.errstate(all="ignore"):
            group = np.where(coded.entries[at] > 0.5 * value, 0.0, -1.0)
            classes = self._class_of(mapped)
        found = np.array([group, classes], dtype=np.float32)
        return ArrayChunk(found, mapped.y, None, mapped.share, mapped.share)
