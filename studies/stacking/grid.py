"""What is run: a method at a budget on a split of a table, with how many models and which weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

import dpglm
from dpglm.methods.base import Method
from studies.jobs import Job, key_of
from studies.stacking.tables import COHORT, COLUMNS, DESIGNS

DELTA = 1e-6
LAWS: Final = {"pure": 0.0, "Gaussian": DELTA}
# The paper's own algorithms, which tune and scale on the rows: NOT PRIVATE.
PRINTED: Final = "as printed"
EPSILONS = (0.5, 1.0, 2.0, 4.0)
# Hardly any noise: the best that a method can give.
NOISELESS = 1000.0
MODELS = (1, 2, 5, 10, 20, 50)
# Weights of columns: their variances, or alpha^i of the i-th most important one; above 1 the wrong way round.
VARIANCE: Final = "variance"
ALPHAS = (0.8, 0.9, 0.95, 0.98, 1.0, 1.02, 1.05)
EPSILON, K, HOLDOUT = 1.0, 5, 0.5


@dataclass(frozen=True)
class Entry:
    """A method of the study: its label, whether it has K models, and whether it has weights."""

    label: str
    stacks: bool = False
    weighs: bool = False


METHODS: Final = {
    "plr": Entry("PLR"),
    "plr-units": Entry("PLR, component units"),
    "pst-s": Entry("PST-S", stacks=True),
    "pst-f-u": Entry("PST-F(U)", stacks=True),
    "pst-f-w": Entry("PST-F(W)", stacks=True, weighs=True),
    "auto": Entry("default"),
    "nonprivate": Entry("no privacy"),
}
PAPER: Final = ("plr", "pst-s", "pst-f-u", "pst-f-w")
# Strength of the fit without privacy, per row: hardly any.
STRENGTH = 1e-4


@dataclass(frozen=True)
class Grid:
    """How much is run.

    Parameters
    ----------
    tables : tuple of str
    epsilons, models, alphas : tuple
        Of the sweeps; the paper's setting is in each.
    repeats : int
        Splits, each with noise of its own.
    columns : int
        Principal components.
    rows : int or None
        Most training rows.
    """

    tables: tuple[str, ...]
    epsilons: tuple[float, ...]
    models: tuple[int, ...]
    alphas: tuple[float, ...]
    repeats: int
    columns: int
    rows: int | None


FULL = Grid(tuple(DESIGNS), (*EPSILONS, NOISELESS), MODELS, ALPHAS, repeats=10, columns=COLUMNS, rows=None)
QUICK = Grid(("mnist_0v8", COHORT), (1.0, 4.0), (1, 2, 5), (0.9, 1.05), repeats=2, columns=10, rows=600)


def jobs(grid: Grid, tables: Sequence[str]) -> list[Job]:
    """All jobs, those of one repetition after the other, so that a run that is stopped has whole ones."""
    found: dict[str, Job] = {}
    for repeat, name in product(range(grid.repeats), tables):
        for cell in _cells(grid, name):
            job = {
                "table": name,
                "repeat": repeat,
                "columns": grid.columns,
                "rows": grid.rows,
                **cell,
            }
            found.setdefault(key_of(job), job)
    return list(found.values())


def cell(
    method: str,
    law: str | None = None,
    epsilon: float | None = None,
    *,
    models: int = K,
    weights: str | float = VARIANCE,
    combine: str = "model",
) -> dict[str, Any]:
    """The entries of a job that say what is fitted; those that a method does not have are None.

    Examples
    --------
    >>> cell("plr", "pure", 1.0)["models"] is None
    True
    """
    entry = METHODS[method]
    return {
        "method": method,
        "law": law,
        "epsilon": epsilon,
        "models": models if entry.stacks else None,
        "weights": weights if entry.weighs else None,
        "combine": combine if entry.stacks else None,
    }


def _cells(grid: Grid, name: str) -> Iterable[Mapping[str, Any]]:
    units = ("plr-units",) if name != COHORT else ()
    yield cell("nonprivate")
    for law in LAWS:
        for epsilon, method in product(grid.epsilons, (*PAPER, *units, "auto")):
            if epsilon != NOISELESS or method in PAPER:
                yield cell(method, law, epsilon)
        for count, method in product(grid.models, ("pst-s", "pst-f-u", "pst-f-w")):
            if count > 1 or method != "pst-s":  # PST-S of one part is PLR
                yield cell(method, law, EPSILON, models=count)
        for alpha in grid.alphas:
            yield cell("pst-f-w", law, EPSILON, weights=alpha)
        yield cell("pst-f-u", law, EPSILON, combine="majority")
        yield cell("pst-f-w", law, EPSILON, combine="majority")
        yield cell("pst-f-w", law, EPSILON, combine="weighted")
    yield from _printed(grid)


def _printed(grid: Grid) -> Iterable[Mapping[str, Any]]:
    """The same of the paper's algorithms, whose votes come with their models."""
    for epsilon, method in product(grid.epsilons, PAPER):
        yield cell(method, PRINTED, epsilon)
    for count, method in product(grid.models, ("pst-s", "pst-f-u", "pst-f-w")):
        yield cell(method, PRINTED, EPSILON, models=count)
    for alpha in grid.alphas:
        yield cell("pst-f-w", PRINTED, EPSILON, weights=alpha)


def method_of(job: Job, importance: Mapping[str, float], provenance: str) -> str | Method:
    """What ``dpglm.fit`` is given as ``method``.

    Parameters
    ----------
    job : mapping
    importance : mapping
        Public weights of columns, the largest first.
    provenance : str
    """
    name: str = job["method"]
    if name in ("plr", "plr-units"):
        return dpglm.methods.PSTF(groups=1)
    if not METHODS[name].stacks:
        return name
    options = {"combine": job["combine"], "holdout": HOLDOUT}
    if name == "pst-s":
        return dpglm.methods.PSTS(parts=job["models"], **options)
    if name == "pst-f-u":
        return dpglm.methods.PSTF(groups=job["models"], split_seed=job["repeat"], **options)
    groups = ranked_groups(list(importance), job["models"])
    own_weights = weights_of(list(importance), job["weights"], importance)
    weights = {group: sum(own_weights[column] for column in own) for group, own in groups.items()}
    return dpglm.methods.PSTF(groups=groups, importance=weights, provenance=provenance, **options)


def weights_of(
    ranked: Sequence[str], weights: str | float, importance: Mapping[str, float]
) -> dict[str, float]:
    """v_i of each column, the most important first: what was handed in, or alpha^i.

    Examples
    --------
    >>> weights_of(["a", "b"], 0.5, {"a": 3.0, "b": 1.0})
    {'a': 0.5, 'b': 0.25}
    """
    if isinstance(weights, str):
        return {name: importance[name] for name in ranked}
    return {name: weights**place for place, name in enumerate(ranked, start=1)}


def ranked_groups(columns: Sequence[str], count: int) -> dict[str, list[str]]:
    """Columns dealt in their order: the first group has the first ones.

    Examples
    --------
    >>> ranked_groups(["a", "b", "c"], 2)
    {'C-0': ['a', 'b'], 'C-1': ['c']}
    """
    parts = np.array_split(np.arange(len(columns)), count)
    return {f"C-{place}": [columns[at] for at in part] for place, part in enumerate(parts)}


def seed_of(job: Job) -> int:
    """A seed of the job's own."""
    return int.from_bytes(hashlib.sha256(key_of(job).encode()).digest()[:6], "big")
