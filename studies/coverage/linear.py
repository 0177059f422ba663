"""Linear regression on real rows: coverage of the printed intervals with ``family="gaussian"``.

The rows stay; responses are the fit of least squares, with |z| < 2 set to zero, plus residuals of other
rows drawn with replacement. Bounds are declared a quarter wider than the code book's on both sides, so that
hardly any drawn response has to be clipped. Coverage is of that truth, for printed intervals.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import dpglm
from dpglm.curator.curator import Curator
from dpglm.data.coding.design import Response
from dpglm.data.schema.schema import Schema
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.inference.contrasts import Contrasts, interval_decisions
from dpglm.inference.interval_model import interval_model
from dpglm.mechanisms.noise import SeededNoise
from dpglm.methods.base import Problem, to_response_scale
from dpglm.methods.moments import Moments
from dpglm.privacy.budget import Privacy, Relation
from dpglm.typing import FloatVector
from studies import real_tables
from studies.coverage.grid import RESPONSES
from studies.coverage.rows import StudyRows, wide
from studies.coverage.tables import Loaded, table


def _declared_wider(name: str) -> Loaded:
    """The study's table with another of its columns as response, whose bounds are a quarter wider."""
    loaded, response = table(name).load(), RESPONSES[name]
    variable = loaded.schema.variables[response]
    assert isinstance(variable, dpglm.Numeric)
    margin = 0.25 * (variable.high - variable.low)
    wider = replace(variable, low=variable.low - margin, high=variable.high + margin)
    other, terms = loaded.formula.split(" ~ ")
    others = [term for term in terms.split(" + ") if response not in term]
    formula = f"{real_tables.quoted(response)} ~ " + " + ".join([*others, other])
    return Loaded(loaded.frame, Schema({**loaded.schema.variables, response: wider}), formula)


class LinearTruth:
    """Rows with coefficients and residuals that responses are drawn from."""

    def __init__(self, name: str) -> None:
        loaded = _declared_wider(name)
        self.name, self.rows = name, StudyRows.of(loaded, "number")
        self.unit = Response.of(loaded.schema, RESPONSES[name], "number").unit
        self.coding = self.rows.coding
        X = np.concatenate([wide(piece.X) for piece in self.rows.pieces], axis=1)
        y = self.rows.responses()
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
        coding, unit = self.coding, self.unit
        clipped, fits = [], []
        for number in range(replications):
            drawn = self.response(number)
            clipped.append(np.mean(np.abs(drawn) > 1.0))
            rows = self.rows.answered(np.clip(drawn, -1.0, 1.0))
            problem = Problem(coding, families["gaussian"](), penalties["none"](), goal="explain")
            plan = Moments().plan(problem, Privacy(epsilon, 1e-6, relation))
            ask = Curator(rows, plan, SeededNoise(number)).ask
            estimate = to_response_scale(Moments().solve(problem, plan, ask), coding, unit=unit, shift=0.0)
            assert estimate.released is not None
            scales = estimate.scales
            at = coding if scales is None else coding.standardised(scales.moments, scales.longer)
            contrasts = Contrasts(interval_model(estimate.released), at.user_from_coded)
            covered = np.abs(contrasts.estimates - unit * self.beta) <= 1.96 * contrasts.deviations
            printed = np.array([verdict.reported for verdict in interval_decisions(contrasts)])
            fits.append((printed, covered, contrasts.deviations / (unit * self.errors)))
        keep = np.asarray(coding.penalised)
        given, hit, width = (np.array([fit[part][keep] for fit in fits]) for part in range(3))
        zero = (self.beta == 0.0)[keep]
        often = np.flatnonzero(given.mean(axis=0) >= 0.3)
        return {
            "response": RESPONSES[self.name],
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
