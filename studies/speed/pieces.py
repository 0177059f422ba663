"""The pieces of a fit, taken apart as `dpglm.fit` puts them together, so that each can be timed alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpglm.curator.curator import Curator
from dpglm.data.coding.coding import Coding
from dpglm.data.coding.design import Design
from dpglm.data.coding.response import Response
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import open_source
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.noise import SeededNoise
from dpglm.methods.base import Problem
from dpglm.privacy.budget import Privacy
from dpglm.spec.arguments import auto


@dataclass(frozen=True)
class Pieces:
    """A public coding and the private rows coded by it."""

    coding: Coding
    design: Design

    @classmethod
    def of(cls, formula: str, data: object, schema: Schema) -> Pieces:
        """What a fit makes of a formula before it reads a row."""
        model = parse(formula, schema)
        coding = Coding.of(model)
        response = Response.of(schema, model.response, "binary")
        return cls(coding, Design(open_source(data), schema, coding=coding, response=response))

    def solve(self, privacy: Privacy, penalty: str, *, seed: int) -> Any:
        """Plan, draw the noise and minimise."""
        problem = Problem(
            geometry=self.coding,
            family=families["binomial"](),
            penalty=penalties[penalty](),
            strength=None,
            rows=None,
        )
        method = auto(privacy)
        plan = method.plan(problem, privacy)
        return method.solve(problem, plan, Curator(self.design, plan, SeededNoise(seed)).ask)


def coded_rows(pieces: Pieces) -> tuple[Any, Any]:
    """All coded rows, shape (n, p), and responses: for peers, which want one array."""
    blocks = list(pieces.design.chunks())
    rows = np.concatenate([block.X.T.astype(np.float64) for block in blocks])
    return rows, np.concatenate([block.y for block in blocks])


def user_rows(pieces: Pieces) -> Iterator[tuple[int, Any]]:
    """Rows of the user's design matrix, as the coded ones imply it, block by block with their first place."""
    first = 0
    for block in pieces.design.chunks():
        yield first, block.X.T.astype(np.float64) @ pieces.coding.coded_from_user
        first += len(block.y)
