"""Coverage for family="gaussian" on real rows: ``python -m reports.coverage.gaussian``, then the page.

The rows stay; responses are the fit of least squares, with |z| < 2 set to zero, plus residuals of other
rows drawn with replacement. Bounds are declared a quarter wider than the code book's on both sides, so that
hardly any drawn response has to be clipped. Coverage is of that truth, for printed intervals.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import real_tables
from dpglm.curator.curator import Curator
from dpglm.data.coding.coding import Coding
from dpglm.data.coding.design import Design
from dpglm.data.coding.encoder import RowEncoder
from dpglm.data.coding.response import NumericResponse
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import open_source
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.inference.contrasts import Contrasts, interval_decisions
from dpglm.inference.prior_scales import interval_model
from dpglm.mechanisms.noise.source import SeededNoise
from dpglm.methods.base import Problem
from dpglm.methods.moments import Moments
from dpglm.methods.response_scale import to_response_scale
from dpglm.optim.rows import ArrayChunk
from dpglm.privacy.budget import Privacy, Relation
from dpglm.typing import FloatVector
from reports.coverage.study import OUT
from reports.coverage.tables import table

# Formula and schema of the study's table of that name, with another of its columns as response.
RESPONSES = {"adult": "hours-per-week", "diabetes130": "time_in_hospital"}
CELLS: tuple[tuple[float, Relation], ...] = tuple(
    (epsilon, relation) for relation in ("add-remove", "replace-one") for epsilon in (0.5, 1.0, 2.0, 4.0)
)
FILE = "gaussian.json"


class Rows:
    """Coded rows in memory, with a response that is drawn again."""

    def __init__(self, name: str) -> None:
        loaded = table(name).load()
        schema, response = loaded.schema, RESPONSES[name]
        wide = schema.variables[response]
        max_leverage = 0.25 * (wide.high - wide.low)  # type: ignore[union-attr]  # declared with bounds
        variables = {
            **schema.variables,
            response: replace(wide, low=wide.low - max_leverage, high=wide.high + max_leverage),
        }  # type: ignore[union-attr,call-arg]
        self.schema = Schema(variables)
        other, terms = loaded.formula.split(" ~ ")
        kept = [term for term in terms.split(" + ") if response not in term]
        model = parse(f"{real_tables.quoted(response)} ~ " + " + ".join([*kept, other]), self.schema)
        self.coding = Coding.of(model)
        self.response = NumericResponse.of(self.schema, response)
        source = open_source(loaded.frame)
        design = Design(source, self.schema, RowEncoder(model, self.coding), self.response)
        self.pieces = tuple(ArrayChunk(block.X, block.y, None) for block in design.chunks())
        self.X = np.concatenate([piece.X for piece in self.pieces], axis=1).astype(np.float64)
        self.y = np.concatenate([piece.y for piece in self.pieces])

    @property
    def size(self) -> int:
        """Number of coded columns."""
        return self.coding.size

    def row_count(self) -> int:
        """Number of rows."""
        return len(self.y)

    def chunks(self) -> tuple[ArrayChunk, ...]:
        """The rows in blocks."""
        return self.pieces

    def answer(self, y: FloatVector) -> None:
        """Exchange the response."""
        ends = np.cumsum([len(piece.y) for piece in self.pieces])[:-1]
        self.pieces = tuple(
            ArrayChunk(piece.X, part, None)
            for piece, part in zip(self.pieces, np.split(y, ends), strict=True)
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cells that are not on disk yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--tables", default=",".join(RESPONSES))
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the results")
    options = parser.parse_args(arguments)
    path = options.out / FILE
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    done = {(one["table"], one["epsilon"], one["relation"]) for one in found}
    for name in options.tables.split(","):
        absence = table(name).absence()
        missing = [cell for cell in CELLS if (name, *cell) not in done]
        if absence is not None:
            print(f"skipped: {name}: {absence}", file=sys.stderr)
        elif missing:
            truth = Truth(Rows(name), name)
            for epsilon, relation in missing:
                found.append(truth.study(epsilon, relation, options.replications))
                print(found[-1], flush=True)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


class Truth:
    """Rows with coefficients and residuals that responses are drawn from."""

    def __init__(self, rows: Rows, name: str) -> None:
        self.rows, self.name = rows, name
        X, y, self.coding = rows.X, rows.y, rows.coding
        gram = np.linalg.pinv(X @ X.T, hermitian=True)
        theta = gram @ (X @ y)
        self.residuals = y - theta @ X
        user = self.coding.user_from_coded
        self.errors = np.sqrt(np.einsum("ij,jk,ik->i", user, gram, user) * self.residuals.var())
        self.beta = user @ theta
        self.beta[(np.abs(self.beta) < 2.0 * self.errors) & self.coding.penalised] = 0.0
        self.mean = (self.coding.coded_from_user @ self.beta) @ X

    def response(self, number: int) -> FloatVector:
        """The response of a replication, not yet clipped: the same for every cell."""
        generator = np.random.default_rng([number, 11])
        return np.asarray(self.mean + generator.choice(self.residuals, size=len(self.mean)))

    def study(self, epsilon: float, relation: Relation, replications: int) -> dict[str, Any]:
        """One cell."""
        rows, coding, unit = self.rows, self.coding, self.rows.response.unit
        clipped, fits = [], []
        for number in range(replications):
            drawn = self.response(number)
            clipped.append(np.mean(np.abs(drawn) > 1.0))
            rows.answer(np.clip(drawn, -1.0, 1.0))
            problem = Problem(coding, families["gaussian"](), penalties["none"](), goal="explain")
            plan = Moments().plan(problem, Privacy(epsilon, 1e-6, relation))
            ask = Curator(rows, plan, SeededNoise(number)).ask
            estimate = to_response_scale(Moments().solve(problem, plan, ask), coding, unit=unit, shift=0.0)
            assert estimate.released is not None
            found = Contrasts(interval_model(estimate.released), coding.user_from_coded)
            covered = np.abs(found.estimates - unit * self.beta) <= 1.96 * found.deviations
            printed = np.array([verdict.reported for verdict in interval_decisions(found)])
            fits.append((printed, covered, found.deviations / (unit * self.errors)))
        keep = np.asarray(coding.penalised)
        given, hit, width = (np.array([fit[part][keep] for fit in fits]) for part in range(3))
        zero = (self.beta == 0.0)[keep]
        often = np.flatnonzero(given.mean(axis=0) >= 0.3)
        return {
            "table": self.name,
            "response": RESPONSES[self.name],
            "epsilon": epsilon,
            "relation": relation,
            "replications": replications,
            "coefficients": int(keep.sum()),
            "usual": int((given.mean(axis=0) > 0.5).sum()),
            "share": float(given.mean()),
            "pooled": float(hit[given].mean()),
            "least": min(float(hit[given[:, j], j].mean()) for j in often),
            "zeros": float(hit[:, zero][given[:, zero]].mean()),
            "nonzeros": float(hit[:, ~zero][given[:, ~zero]].mean()),
            "width": float(np.median(width[given])),
            "clipped": float(np.mean(clipped)),
        }


if __name__ == "__main__":
    sys.exit(main())
