"""One job: a fit by the public API, judged by the area under the ROC curve on rows it has not seen."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

import dpglm
from dpglm.errors import DpglmError
from reports.stack.cells import EPSILON, LAWS, METHODS, STRENGTH, K, method_of, seed_of
from reports.stack.tables import Sample, sample
from reports.studies.paired import auc
from reports.studies.runner import Job, Result


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
    private = job["epsilon"] is not None
    start = time.perf_counter()
    try:
        fit = dpglm.fit(
            rows.formula,
            rows.train,
            schema=rows.schema,
            penalty="l2",
            strength=None if private else STRENGTH,
            method=method_of(job, rows.importance, rows.provenance),
            privacy=dpglm.Privacy(job["epsilon"], LAWS[job["law"]]) if private else None,
            goal="predict",
            seed=seed_of(job),
            progress=False,
        )
    except DpglmError as refusal:
        return {"refused": refusal.found}
    found: Result = {"seconds": round(time.perf_counter() - start, 3), "auc": _auc(fit, rows)}
    if fit._record.part is not None and job["combine"] == "model":
        found["negative"] = float(np.mean(fit._record.part.weights[1:] < 0.0))
    alone = (job["epsilon"], job["models"], job["combine"]) == (EPSILON, K, "model")
    if METHODS[job["method"]].weighs and alone and fit._record.part is not None:
        found |= parts(fit, rows)
    return found


def parts(fit: Any, rows: Sample) -> Result:
    """Areas of the models of a stack alone, and of their votes: post-processing of what was released."""
    stack = fit._record.part
    count = len(stack.names)
    alone = [replace(stack, weights=np.concatenate([[0.0], one])) for one in np.eye(count)]
    weights = [float(share) for share in dict(fit.mechanism["importance"]).values()]
    return {
        "alone": dict(zip(stack.names, [_auc(replace(fit, stack=one), rows) for one in alone], strict=True)),
        "majority": _auc(
            replace(fit, stack=replace(stack, combine="majority", weights=np.ones(count))), rows
        ),
        "weighted": _auc(
            replace(fit, stack=replace(stack, combine="weighted", weights=np.array(weights))), rows
        ),
    }


def _auc(fit: Any, rows: Sample) -> float:
    return auc(rows.positive, np.asarray(fit.predict(rows.test, what="link"), dtype=np.float64))
