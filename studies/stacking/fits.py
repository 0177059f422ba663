"""One job: a fit by the public API, judged by the area under the ROC curve on rows it has not seen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import dpglm
from dpglm.errors import DpglmError
from dpglm.papers.stacking.stack import Stack
from dpglm.results.fit_result import FitResult
from studies.jobs import Job, Result
from studies.paired import auc
from studies.stacking import printed
from studies.stacking.grid import EPSILON, LAWS, PRINTED, STRENGTH, VARIANCE, K, method_of, seed_of
from studies.stacking.tables import Sample, sample


def work(job: Job) -> Result:
    """Numbers of one job: JSON values by name; ``refused`` where dpglm says no.

    ``negative`` is the share of models whose weight in the high-level model has the wrong sign.
    """
    rows = sample(
        job["table"],
        job["repeat"],
        columns=job["columns"],
        rows=job["rows"],
        common=job["method"] == "plr-units",
    )
    if job["law"] == PRINTED:
        start = time.perf_counter()
        return {**printed.work(job, rows), "seconds": round(time.perf_counter() - start, 3)}
    private = job["epsilon"] is not None
    method = method_of(job, rows.importance, rows.provenance)
    start = time.perf_counter()
    try:
        fit = dpglm.fit(
            rows.formula,
            rows.train,
            schema=rows.schema,
            penalty="l2",
            strength=None if private else STRENGTH,
            method=method,
            privacy=dpglm.Privacy(job["epsilon"], LAWS[job["law"]]) if private else None,
            goal="predict",
            seed=seed_of(job),
            progress=False,
        )
    except DpglmError as refusal:
        return {"refused": refusal.found}
    found: Result = {"seconds": round(time.perf_counter() - start, 3), "auc": _auc(fit, rows)}
    stack = fit._record.part
    if isinstance(stack, Stack) and job["combine"] == "model":
        found["negative"] = float(np.mean(stack.weights[1:] < 0.0))
    usual = (EPSILON, K, "model", VARIANCE)
    alone = (job["epsilon"], job["models"], job["combine"], job["weights"]) == usual
    if alone and isinstance(method, dpglm.methods.PSTF) and isinstance(stack, Stack) and method.importance:
        found |= parts(fit, stack, [method.importance[name] for name in stack.names], rows)
    return found


def parts(fit: FitResult, stack: Stack, weights: Sequence[float], rows: Sample) -> Result:
    """Areas of the models of a stack alone, and of their votes: post-processing of what was released."""
    count = len(stack.names)

    def judged(**changes: Any) -> float:
        return _auc(FitResult(replace(fit._record, part=replace(stack, **changes))), rows)

    alone = [judged(weights=np.concatenate([[0.0], one])) for one in np.eye(count)]
    return {
        "alone": dict(zip(stack.names, alone, strict=True)),
        "majority": judged(combine="majority", weights=np.ones(count)),
        "weighted": judged(combine="weighted", weights=np.array(weights)),
    }


def _auc(fit: FitResult, rows: Sample) -> float:
    return auc(rows.positive, np.asarray(fit.predict(rows.test, what="link"), dtype=np.float64))
