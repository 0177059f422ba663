"""The coded rows of one table, kept in memory once, with a response that is drawn again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from dpglm.data.coding.coded_model import CodedModel
from dpglm.glm.families import families
from dpglm.optim.loss import ChunkLoss
from dpglm.rows import ArrayChunk
from dpglm.spec.model_spec import ModelSpec
from dpglm.typing import FloatMatrix, FloatVector
from studies.coverage.tables import Loaded


@dataclass(frozen=True, eq=False)
class StudyRows:
    """What releases read (`dpglm.mechanisms.base.Rows`), and the public facts that go with it.

    Parameters
    ----------
    loaded : Loaded
        The table, its schema and its formula.
    model : CodedModel
        The formula read against the schema, with its coding and its response.
    pieces : tuple of ArrayChunk
        Coded rows, variables down, float32: they *are* the design of the study.
    share : float or None
        What each row of a person and a stage counts, of ordered levels.
    """

    loaded: Loaded
    model: CodedModel
    pieces: tuple[ArrayChunk, ...]
    share: float | None = None
    _wide: list[FloatMatrix] = field(default_factory=list)

    @classmethod
    def of(cls, loaded: Loaded, family: str) -> Self:
        """The rows of a table, coded as `dpglm.fit` codes them."""
        share: float | None = None
        model = ModelSpec.of(loaded.formula, loaded.schema, family=family, privacy=1.0).coded_model
        chunks = model.design(loaded.frame).chunks()
        found = []
        for block in chunks:
            found.append(ArrayChunk(block.X, block.y, block.offset))
            share = None if block.share is None else float(block.share[0])
        assert all(piece.offset is None for piece in found), "the study has no offsets"
        return cls(loaded, model, tuple(found), share)

    @property
    def size(self) -> int:
        """Number of coded columns p."""
        return self.model.coding.size

    def row_count(self) -> int:
        """Number of rows n."""
        return sum(piece.y.shape[0] for piece in self.pieces)

    def chunks(self) -> Iterator[ArrayChunk]:
        """The rows, chunk by chunk."""
        return iter(self.pieces)

    def responses(self) -> FloatVector:
        """The response, shape (n,)."""
        return np.concatenate([piece.y for piece in self.pieces])

    def wide(self) -> FloatMatrix:
        """All coded rows in double precision, shape (p, n); made once, also for other responses."""
        if not self._wide:
            self._wide.append(np.concatenate([piece.X for piece in self.pieces], axis=1).astype(np.float64))
        return self._wide[0]

    def answered(self, y: FloatVector) -> Self:
        """The same rows with another response, shape (n,), but those where it is NaN."""
        pieces, first = [], 0
        for piece in self.pieces:
            last = first + piece.y.shape[0]
            own, some = y[first:last], ~np.isnan(y[first:last])
            X = piece.X if some.all() else piece.X[:, some]
            pieces.append(ArrayChunk(X, own[some], None))
            first = last
        assert first == y.shape[0], "one response a row"
        return replace(self, pieces=tuple(pieces), _wide=[])

    def released(self) -> Self:
        """The rows as releases read them: with the share of each."""
        if self.share is None:
            return self
        shares = [np.full(piece.count, self.share) for piece in self.pieces]
        pieces = [
            ArrayChunk(piece.X, piece.y, None, share, share)
            for piece, share in zip(self.pieces, shares, strict=True)
        ]
        return replace(self, pieces=tuple(pieces))

    def loss(self) -> ChunkLoss:
        """The logistic loss of the rows as a function of coded coefficients."""
        return ChunkLoss(self.chunks, families["binomial"](), self.size, row_count=self.row_count())
