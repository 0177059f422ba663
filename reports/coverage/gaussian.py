"""Coverage for family="gaussian" on real rows: ``python -m reports.coverage.gaussian``.

The rows stay; responses are the fit of least squares, with |z| < 2 set to zero, plus residuals of other
rows drawn with replacement. Bounds are declared a quarter wider than the code book's on both sides, so that
hardly any drawn response has to be clipped. Coverage is of that truth, for printed intervals.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks import real_tables
from dpglm.curator import Curator
from dpglm.data import Coding, Design, NumericResponse, RowEncoder, Schema, open_source, parse
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.printing import verdicts
from dpglm.methods import Moments, Problem
from dpglm.methods.units import in_units
from dpglm.noise import SeededNoise
from dpglm.optim.rows import Piece
from dpglm.privacy.budget import Privacy, Relation
from dpglm.typing import FloatVector

TABLES = {
    "adult": ("hours-per-week", ("fnlwgt", "education-num")),
    "diabetes130": ("time_in_hospital", ("diag_1", "diag_2", "diag_3")),
}
CELLS: tuple[tuple[float, Relation], ...] = ((1.0, "add-remove"), (4.0, "add-remove"), (1.0, "replace-one"))


class Rows:
    """Coded rows in memory, with a response that is drawn again."""

    def __init__(self, name: str) -> None:
        real = real_tables.table(name)
        response, left_out = TABLES[name]
        schema = real.schema()
        wide = schema.variables[response]
        reach = 0.25 * (wide.high - wide.low)  # type: ignore[union-attr]  # declared with bounds
        variables = {
            **schema.variables,
            response: replace(wide, low=wide.low - reach, high=wide.high + reach),
        }  # type: ignore[union-attr,call-arg]
        self.schema = Schema(variables)
        terms = [real_tables.quoted(one) for one in variables if one not in (response, *left_out)]
        model = parse(f"{real_tables.quoted(response)} ~ " + " + ".join(terms), self.schema)
        self.coding = Coding.of(model)
        self.response = NumericResponse.of(self.schema, response)
        source = open_source(real.frame())
        design = Design(source, self.schema, RowEncoder(model, self.coding), self.response)
        self.pieces = tuple(Piece(block.X, block.y, None) for block in design.blocks())
        self.X = np.concatenate([piece.X for piece in self.pieces], axis=1).astype(np.float64)
        self.y = np.concatenate([piece.y for piece in self.pieces])

    @property
    def size(self) -> int:
        """Number of coded columns."""
        return self.coding.size

    def row_count(self) -> int:
        """Number of rows."""
        return len(self.y)

    def blocks(self) -> tuple[Piece, ...]:
        """The rows in blocks."""
        return self.pieces

    def answer(self, y: FloatVector) -> None:
        """Exchange the response."""
        ends = np.cumsum([len(piece.y) for piece in self.pieces])[:-1]
        self.pieces = tuple(
            Piece(piece.X, part, None) for piece, part in zip(self.pieces, np.split(y, ends), strict=True)
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line a cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--tables", default=",".join(TABLES))
    options = parser.parse_args(arguments)
    print("data         eps relation      printed        pooled  least  zero / non-zero  width  clipped")
    for name in options.tables.split(","):
        if not real_tables.available(name):
            print(f"{name}: {real_tables.absence(name)}")
            continue
        study(Rows(name), name, options.replications)
    return 0


def study(rows: Rows, name: str, replications: int) -> None:
    """All cells of one table."""
    X, y, coding = rows.X, rows.y, rows.coding
    gram = np.linalg.pinv(X @ X.T, hermitian=True)
    theta = gram @ (X @ y)
    residuals = y - theta @ X
    user = coding.user_from_coded
    errors = np.sqrt(np.einsum("ij,jk,ik->i", user, gram, user) * residuals.var())
    beta = user @ theta
    beta[(np.abs(beta) < 2.0 * errors) & coding.penalised] = 0.0
    mean = (coding.coded_from_user @ beta) @ X
    keep = np.asarray(coding.penalised)
    unit = rows.response.unit
    for epsilon, relation in CELLS:
        covered, printed, widths, clipped = [], [], [], []
        for number in range(replications):
            generator = np.random.default_rng([number, 11])
            drawn = mean + generator.choice(residuals, size=len(y))
            clipped.append(np.mean(np.abs(drawn) > 1.0))
            rows.answer(np.clip(drawn, -1.0, 1.0))
            problem = Problem(coding, families["gaussian"](), penalties["none"](), goal="explain")
            plan = Moments().plan(problem, Privacy(epsilon, 1e-6, relation))
            ask = Curator(rows, plan, SeededNoise(number)).ask
            estimate = in_units(Moments().solve(problem, plan, ask), coding, unit=unit, shift=0.0)
            assert estimate.released is not None
            found = Contrasts(LinearModel(estimate.released), user)
            printed.append([verdict.printed for verdict in verdicts(found)])
            covered.append(np.abs(found.estimates - unit * beta) <= 1.96 * found.deviations)
            widths.append(found.deviations / (unit * errors))
        given, hit, wide = (np.array(one)[:, keep] for one in (printed, covered, widths))
        zero = (beta == 0.0)[keep]
        often = given.mean(axis=0) >= 0.3
        least = min((hit[given[:, j], j].mean() for j in np.flatnonzero(often)), default=float("nan"))
        share = f"{given.mean():.2f} ({(given.mean(axis=0) > 0.5).sum()} of {keep.sum()})"
        halves = f"{hit[:, zero][given[:, zero]].mean():.3f} / {hit[:, ~zero][given[:, ~zero]].mean():.3f}"
        print(
            f"{name:12} {epsilon:3g} {relation:12} {share}   {hit[given].mean():.3f}  {least:.3f}  {halves}"
            f"  {np.median(wide[given]):.2f}  {np.mean(clipped):.4f}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
