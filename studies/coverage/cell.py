"""One cell: replications of a private fit beside the non-private one of the same response, summed up."""

from __future__ import annotations

import hashlib
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np

import dpglm
from dpglm.errors import DpglmError, PlanningAdvice
from dpglm.methods import Moments, Objective
from dpglm.spec.plan import Plan
from dpglm.typing import FloatVector
from studies.coverage.grid import DECLARED, Cell, seed_of
from studies.coverage.summary import Arrays, Summary
from studies.jobs import Result


class Ready(Protocol):
    """A table or a design whose responses can be drawn and fitted again and again."""

    @property
    def name(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def formula(self) -> str: ...
    @property
    def schema(self) -> dpglm.Schema: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def beta(self) -> FloatVector:
        """What is to be covered, shape (p,)."""

    def response(self, number: int) -> FloatVector:
        """That of a replication, shape (n,): the same for every budget."""

    def nonprivate(self, number: int) -> tuple[FloatVector, FloatVector]:
        """Maximum likelihood of that response: estimates and standard errors, shape (p,) each."""

    def naive_errors(self, y: FloatVector, beta: FloatVector) -> FloatVector:
        """Standard errors by the formula of maximum likelihood at other coefficients, shape (p,)."""

    def fit(self, plan: Plan, y: FloatVector, seed: int) -> dpglm.FitResult:
        """The private fit."""


def study_cell(ready: Ready, cell: Cell, replications: int) -> Result:
    """All replications, summed up; or ``refused``, what dpglm said.

    A coefficient is judged by the interval that `dpglm.FitResult.tidy` prints, and by its mark.
    """
    start = time.perf_counter()
    fits: list[Arrays] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanningAdvice)
        try:
            plan = plan_of(ready, cell)
            for number in range(replications):
                fits.append(_replicated(ready, plan, cell, number))
        except DpglmError as refusal:
            return {"refused": str(refusal)}
    stacked = {name: np.stack([fit[name] for fit in fits]) for name in fits[0]}
    seconds = time.perf_counter() - start
    found = Summary.of(np.array(ready.names), ready.beta, stacked, seconds / replications)
    return {**found.to_json(), "code": code()}


def plan_of(ready: Ready, cell: Cell) -> Plan:
    """The plan of a cell, as `dpglm.fit` makes it."""
    declared = Moments if ready.family == "gaussian" else Objective
    return dpglm.plan(
        ready.formula,
        ready.schema,
        family=ready.family,
        penalty="none",
        goal="explain",
        privacy=cell.privacy,
        method=declared(scales="declared") if cell.scales == DECLARED else "auto",
    )


def _replicated(ready: Ready, plan: Plan, cell: Cell, number: int) -> Arrays:
    """Arrays of shape (p,), see `Summary.of`."""
    y = ready.response(number)
    fit = ready.fit(plan, y, seed_of(cell.table, number, "noise", cell.key))
    rows = fit.tidy()
    terms = rows["term"] if "level" not in rows else rows["term"] + "[" + rows["level"] + "]"
    assert tuple(terms) == ready.names, "columns of dpglm and of the study differ"
    estimate = rows["estimate"].to_numpy()
    beta, sd = ready.nonprivate(number)
    return {
        "low": rows["conf_low"].to_numpy(),
        "high": rows["conf_high"].to_numpy(),
        "reliable": rows["reliable"].to_numpy(dtype=np.bool_),
        "estimate": estimate,
        "naive_sd": ready.naive_errors(y, estimate),
        "nonprivate": beta,
        "sd": sd,
    }


@cache
def code() -> str:
    """Fingerprint of the sources of dpglm, which a result keeps."""
    found = hashlib.sha256()
    for path in sorted(Path(dpglm.__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]
