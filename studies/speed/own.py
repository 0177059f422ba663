"""Calls of dpglm on simulated rows, timed in the project's own interpreter: run by `measure.Contestant`."""

from __future__ import annotations

import json
import warnings
from contextlib import suppress
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import dpglm
from dpglm.curator.curator import Curator
from dpglm.data.coding.design import Design
from dpglm.errors import DpglmError, PlanningAdvice
from dpglm.glm.penalties import penalties
from dpglm.inference.coefficients import sparse_path
from dpglm.mechanisms.noise import SeededNoise
from dpglm.methods import methods
from studies.speed import simulated
from studies.speed.design import design_of
from studies.speed.timing import serve, timed


class Subject(NamedTuple):
    """What is fitted."""

    formula: str
    frame: pd.DataFrame
    schema: dpglm.Schema


def subject(table: dict[str, int]) -> Subject:
    """The frame of a table in words (`simulated.table`); the last one stays in memory."""
    return _subject(json.dumps(table))


@lru_cache(maxsize=1)
def _subject(words: str) -> Subject:
    table = json.loads(words)
    if table["levels_of"]:
        place, y = simulated.levels(table["rows"], table["levels_of"])
        texts = np.array([f"level {number}" for number in range(table["levels_of"])], dtype=object)
        frame = pd.DataFrame({"f": texts[place], "y": y})
        return Subject("y ~ f", frame, dpglm.Schema.of({"f": texts.tolist(), "y": [0, 1]}))
    X, y = simulated.numbers(table["rows"], table["columns"])
    names = simulated.names(table["columns"])
    frame = pd.DataFrame(X, columns=names)
    frame["y"] = y
    return Subject(simulated.formula(table["columns"]), frame, schema(table["columns"]))


def schema(columns: int) -> dpglm.Schema:
    """Of simulated numbers."""
    bounds: dict[str, Any] = dict.fromkeys(simulated.names(columns), (-1.0, 1.0))
    return dpglm.Schema.of({**bounds, "y": [0, 1]})


def keywords(options: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `dpglm.fit` from JSON: a budget of two numbers is a tuple, a method has its options."""
    found = dict(options)
    if isinstance(found.get("privacy"), list):
        found["privacy"] = tuple(found["privacy"])
    if isinstance(found.get("method"), dict):
        method = dict(found["method"])
        found["method"] = methods.classes()[method.pop("name")](**method)
    return found


@cache
def warm(options: str, rows: bool = False) -> None:
    """Let a process import what a fit needs, before any is timed; ``options`` as JSON."""
    few = subject(simulated.table(100, 1))
    with suppress(DpglmError):
        _fit(few._replace(schema=_counted(few.schema, 100)) if rows else few, json.loads(options))


def _counted(public: dpglm.Schema, rows: int) -> dpglm.Schema:
    """The schema with a public number of rows."""
    return dpglm.Schema.of(public, rows=rows)


def _fit(what: Subject, options: dict[str, Any], seed: int = 0) -> None:
    dpglm.fit(what.formula, what.frame, schema=what.schema, progress=False, seed=seed, **keywords(options))


def fit(
    table: dict[str, int], options: dict[str, Any], seeds: list[int], rows: bool = False
) -> dict[str, Any]:
    """A whole fit, from the frame to the result, mean over noise seeds; ``rows``: their number is public."""
    warm(json.dumps(options), rows)
    what = subject(table)
    if rows:
        what = what._replace(schema=_counted(what.schema, table["rows"]))
    return timed(*(partial(_fit, what, options, seed) for seed in seeds))


@lru_cache(maxsize=1)
def coded(words: str) -> Design:
    """The coded rows of a table."""
    made = design_of(*_subject(words))
    made.row_count()
    return made


def solve(table: dict[str, int], options: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    """Noise and solver only: the plan is made, and its curator has coded rows."""
    what, rows = subject(table), coded(json.dumps(table))
    planned = dpglm.plan(what.formula, what.schema, n=table["rows"], **keywords(options))
    problem, releases = planned.problem, planned.releases

    def once(seed: int) -> None:
        curator = Curator(rows, releases, SeededNoise(seed))
        planned.specification.method.solve(problem, releases, curator.ask)

    return timed(*(partial(once, seed) for seed in seeds))


def plan(table: dict[str, int], options: dict[str, Any]) -> dict[str, Any]:
    """A plan, for which no row is read."""
    warm(json.dumps(options))
    what = subject(table)
    return timed(lambda: dpglm.plan(what.formula, what.schema, n=table["rows"], **keywords(options)))


def audit(columns: int, trials: str | int) -> dict[str, Any]:
    """The audit of a default plan."""
    planned = dpglm.plan(simulated.formula(columns), schema(columns), privacy=(1.0, 1e-6))
    return timed(lambda: dpglm.audit(planned, trials=trials, progress=False, seed=1))  # type: ignore[arg-type]


def gradients(table: dict[str, int], passes: int) -> dict[str, Any]:
    """Steps of gradient descent in plain numpy, all rows at each of them."""
    X, y = simulated.numbers(table["rows"], table["columns"])

    def descend() -> None:
        beta = np.zeros(X.shape[1])
        for _ in range(passes):
            beta -= X.T @ (1.0 / (1.0 + np.exp(-(X @ beta))) - y) / len(y)

    return timed(descend)


def path(penalty: str, columns: int, condition: float) -> dict[str, Any]:
    """A path of 100 strengths on a released quadratic, and the largest residual in parts of the gradient."""
    random = np.random.default_rng(columns)
    basis, _ = np.linalg.qr(random.normal(size=(columns, columns)))
    matrix = (basis * np.geomspace(1.0, condition, columns)) @ basis.T
    slopes = 2.0 * random.normal(size=columns) * (np.arange(columns) < columns // 10)
    right = matrix @ slopes + np.sqrt(np.diag(matrix)) * random.normal(size=columns)
    found = []
    spent = timed(lambda: found.append(sparse_path(matrix, right, penalties[penalty]())))
    return {**spent, "residual": float(found[0].residuals.max() / np.abs(right).max())}


if __name__ == "__main__":
    warnings.simplefilter("ignore", PlanningAdvice)
    tasks = {one.__name__: one for one in (fit, solve, plan, audit, gradients, path)}
    serve(tasks, refusals=(DpglmError,))
