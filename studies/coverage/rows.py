"""The coded rows of one table, kept in memory once, with a response that is drawn again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from dpglm.data.coding.coding import Coding
from dpglm.data.coding.design import Design, Response
from dpglm.data.formula.model import Model
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import open_source
from dpglm.glm.families import families
from dpglm.glm.families.base import ResponseKind
from dpglm.optim.loss import ChunkLoss
from dpglm.rows import ArrayChunk
from dpglm.typing import FloatBlock, FloatVector
from studies.coverage.tables import Loaded


@dataclass(frozen=True, eq=False)
class StudyRows:
    """What releases read (`dpglm.mechanisms.base.Rows`), and the public facts that go with it.

    Parameters
    ----------
    schema, model, coding
        Public: what was declared, the formula read against it, and the coding.
    pieces : tuple of ArrayChunk
        Coded rows in chunks of 2,000, variables down, float32: they *are* the design of the study.
    """

    schema: Schema
    model: Model
    coding: Coding
    pieces: tuple[ArrayChunk, ...]

    @classmethod
    def of(cls, loaded: Loaded, kind: ResponseKind = "binary") -> Self:
        """The rows of a table, coded."""
        model = parse(loaded.formula, loaded.schema)
        coding = Coding.of(model)
        response = Response.of(loaded.schema, model.response, kind)
        design = Design(open_source(loaded.frame), loaded.schema, coding, response)
        pieces = tuple(ArrayChunk(block.X, block.y, block.offset) for block in design.chunks())
        assert all(piece.offset is None for piece in pieces), "the study has no offsets"
        return cls(loaded.schema, model, coding, pieces)

    @property
    def size(self) -> int:
        """Number of coded columns p."""
        return self.coding.size

    def row_count(self) -> int:
        """Number of rows n."""
        return sum(piece.y.shape[0] for piece in self.pieces)

    def chunks(self) -> Iterator[ArrayChunk]:
        """The rows, chunk by chunk."""
        return iter(self.pieces)

    def responses(self) -> FloatVector:
        """The response, shape (n,)."""
        return np.concatenate([piece.y for piece in self.pieces])

    def answered(self, y: FloatVector) -> Self:
        """The same rows with another response, shape (n,)."""
        pieces, first = [], 0
        for piece in self.pieces:
            last = first + piece.y.shape[0]
            pieces.append(ArrayChunk(piece.X, y[first:last], None))
            first = last
        assert first == y.shape[0], "one response a row"
        return type(self)(self.schema, self.model, self.coding, tuple(pieces))

    def predictor(self, theta: FloatVector) -> FloatVector:
        """Linear predictor of every row, shape (n,), in float64."""
        return np.concatenate([theta @ wide(piece.X) for piece in self.pieces])

    def loss(self) -> ChunkLoss:
        """The logistic loss of the rows as a function of coded coefficients."""
        return ChunkLoss(self.chunks, families["binomial"](), self.size, row_count=self.row_count())


def wide(X: FloatBlock) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Float32 rows in float64."""
    return X.astype(np.float64)
