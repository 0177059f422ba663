"""One job: a ranking by the public verb, judged by classifiers on rows not seen or by the true columns."""

from __future__ import annotations

import multiprocessing
import re
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import dpglm
from dpglm.errors import DpglmError, PlanningAdvice
from dpglm.papers.fwell.fwell import STRENGTH
from dpglm.papers.fwell.printed import neighbour_margins
from dpglm.typing import IntVector
from studies.fwell.grid import (
    DELTA,
    DESIGNS,
    METHODS,
    NOT_PRIVATE,
    ONE,
    PRINTED,
    RANDOM,
    REFERENCE,
    REFERENCE_ROWS,
    SHARES,
    TIMED,
    WITNESS,
    seed_of,
)
from studies.fwell.tables import Sample, folds, sample
from studies.jobs import Job, Result

if TYPE_CHECKING:
    import pandas as pd

CLASSIFIERS = ("3-NN", "SVM")
# The printed epsilon of which a table of a thousand rows makes more.
CLAIMED, WITNESS_ROWS = 0.1, 1000


def work(job: Job) -> Result:
    """Numbers of one job: JSON values by name; ``refused`` where dpglm says no."""
    start = time.process_time()
    try:
        if job["study"] == WITNESS:
            found = broken_promise()
        elif job["study"] == TIMED:
            found = timed(job)
        elif job["study"] == "design":
            found = recalled(job)
        else:
            found = judged(job)
    except DpglmError as refusal:
        return {"refused": refusal.found}
    return {**found, "seconds": round(time.process_time() - start, 3)}


def ranked(
    frame: pd.DataFrame, formula: str, schema: Any, job: Job, reference: pd.DataFrame | None = None
) -> list[str]:
    """Names of the features, the first the one of the largest weight."""
    random = np.random.default_rng(seed_of(job))
    if job["method"] == RANDOM:
        names = [name for name in frame.columns if name != formula.split(" ~ ")[0]]
        return [names[place] for place in random.permutation(len(names))]
    options = dict(METHODS[job["method"]].options)
    privacy = None
    if job["epsilon"] is not None:
        delta = 0.0 if job["method"] == PRINTED else DELTA
        privacy = dpglm.Privacy(job["epsilon"], delta, "replace-one")
    if reference is not None:
        options["reference"] = reference
    if "strength" in job:
        options["strength"] = job["strength"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanningAdvice)
        ranking = dpglm.rank_features(
            formula,
            frame,
            schema=schema,
            privacy=privacy,
            seed=None if privacy is None else seed_of(job),
            **options,
        )
    # Features of equal weight, such as all those that a penalty sets to 0, come in a random order.
    names, weights = list(ranking.weights.index), ranking.weights.to_numpy()
    return [str(names[place]) for place in np.lexsort((random.random(len(names)), -weights))]


def judged(job: Job) -> Result:
    """Accuracy on a fold by classifier, for each number of features: ``accuracy`` and ``counts``."""
    rows = sample(job["table"], job["rows"])
    train, test = folds(rows.y, job["repeat"], job["folds"])[job["fold"]]
    counts = counts_of(len(rows.features))
    found = []
    for order in range(job.get("orders", 1)):
        which = {**job, "order": order} if job["method"] == RANDOM else job
        names = ranked(rows.frame.iloc[train], rows.formula, rows.schema_of(len(train)), which)
        found.append(accuracies(rows, names, counts, train, test))
    return {
        "counts": counts,
        "accuracy": {name: np.mean([one[name] for one in found], axis=0).tolist() for name in CLASSIFIERS},
        "size": len(rows.y),
        "majority": rows.majority,
    }


def counts_of(features: int) -> list[int]:
    """Numbers of features that are selected.

    Examples
    --------
    >>> counts_of(30)
    [1, 2, 3, 6, 15, 30]
    """
    return list(dict.fromkeys(max(1, round(share * features)) for share in SHARES))


def accuracies(
    rows: Sample, order: Sequence[str], counts: Sequence[int], train: IntVector, test: IntVector
) -> dict[str, list[float]]:
    """Share of test rows that a classifier of the first features tells right, for each count."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import LinearSVC

    places = {name: place for place, name in enumerate(rows.features)}
    ranks = np.empty(len(places), dtype=np.int64)
    ranks[[places[name] for name in order]] = np.arange(len(order))
    found: dict[str, list[float]] = {name: [] for name in CLASSIFIERS}
    for count in counts:
        X = rows.X[:, ranks[rows.owner] < count]
        for name, classifier in (
            ("3-NN", KNeighborsClassifier(3, algorithm="brute")),
            ("SVM", LinearSVC(C=1.0, random_state=0)),
        ):
            classifier.fit(X[train], rows.y[train])
            found[name].append(float(np.mean(classifier.predict(X[test]) == rows.y[test])))
    return found


def recalled(job: Job) -> Result:
    """``recall``: share of the true columns among as many of the largest weights."""
    design = DESIGNS[job["table"]]
    reference = None
    if job["method"] == REFERENCE:
        design = replace(design, rows=design.rows + REFERENCE_ROWS)
    frame, schema, active = design.draw(100 + job["repeat"])
    if job["method"] == REFERENCE:
        frame, reference = frame[:-REFERENCE_ROWS], frame[-REFERENCE_ROWS:]
    order = ranked(frame[: job["rows"]], "y ~ .", schema, job, reference)
    return {"recall": len(active & set(order[: len(active)])) / len(active), "active": len(active)}


def broken_promise() -> Result:
    """What one row does to FWELL: margins that change, distance of the weights, and what that costs.

    All rows but one are of one class, in the middle; the other one, on one side of them or below, is the near
    miss of all.
    """
    import pandas as pd

    spread = 0.02 * np.random.default_rng(1).random((WITNESS_ROWS - 1, 2)) + 0.49
    y = np.array([1] * (WITNESS_ROWS - 1) + [0])
    margins, weights = [], []
    for place in ((1.0, 0.5), (0.5, 1.0)):
        X = np.vstack([spread, place])
        margins.append(neighbour_margins(X, y.astype(np.float64)))
        frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
        schema = {"a": (0, 1), "b": (0, 1), "y": [0, 1]}
        ranking = dpglm.rank_features("y ~ .", frame, schema=schema, privacy=None)
        weights.append(ranking.weights.to_numpy())
    claimed = 2.0 / (STRENGTH * WITNESS_ROWS)
    apart = float(np.linalg.norm(weights[0] - weights[1]))
    return {
        "rows": WITNESS_ROWS,
        "changed": int((margins[0] != margins[1]).any(axis=1).sum()),
        "apart": apart,
        "claimed": claimed,
        "epsilon": CLAIMED,
        "loss": CLAIMED * apart / claimed,
    }


def timed(job: Job) -> Result:
    """Seconds and peak memory of a ranking of the whole table, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_alone, (dict(job),))


def _alone(job: dict[str, Any]) -> Result:
    rows = sample(job["table"], None)
    epsilon = ONE if METHODS[job["method"]].promise != NOT_PRIVATE else None
    start, before = time.process_time(), time.perf_counter()
    ranked(rows.frame, rows.formula, rows.schema_of(len(rows.frame)), {**job, "epsilon": epsilon})
    return {
        "processor": round(time.process_time() - start, 1),
        "wall": round(time.perf_counter() - before, 1),
        "gigabytes": round(_peak(), 2),
    }


def _peak() -> float:
    """The most memory that this process has had, the table included, in gigabytes."""
    import resource

    status = Path("/proc/self/status")
    if status.exists():  # what the kernel calls the maximum of a child begins with that of its parent
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"))[0]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**30
