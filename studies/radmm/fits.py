"""One job: a fit by the public API, judged on rows it has not seen."""

from __future__ import annotations

import time

import numpy as np

import dpglm
from dpglm.errors import DpglmError
from dpglm.glm.families import families
from dpglm.results.fit_result import FitResult
from dpglm.typing import BoolVector, FloatVector
from studies.jobs import Job, Result
from studies.radmm import accounting
from studies.radmm.grid import DELTA, METHODS, method_of, seed_of
from studies.radmm.tables import RELEVANT, Split, split

TOPS = (20, 25, 30, 40)


def work(job: Job) -> Result:
    """Numbers of one job: JSON values by name; ``refused`` where dpglm says no."""
    if job["study"] == "paper":
        return accounting.paper()
    if job["study"] == "noise":
        return accounting.noise(job["sampling"], job["epsilon"])
    rows = split(job["table"], job["draw"], job["rows"])
    epsilon = job["epsilon"]
    if job.get("method") == "samples-printed":
        epsilon = accounting.cost_of_printed_samples(epsilon, len(rows.train))
        if epsilon is None:
            return {"refused": "the printed bound does not come down to this epsilon with any noise"}
    start = time.perf_counter()
    try:
        fit = dpglm.fit(
            rows.formula,
            rows.train,
            schema=rows.schema,
            family=job["family"],
            method=method_of(job, len(rows.train)),
            strength=job["strength"],
            privacy=None if epsilon is None else dpglm.Privacy(epsilon, DELTA),
            goal=METHODS[job["method"]].goal if "method" in job else "explain",
            seed=seed_of(job),
            progress=False,
        )
    except DpglmError as refusal:
        return {"refused": refusal.found}
    seconds = time.perf_counter() - start
    return {
        "seconds": round(seconds, 3),
        "strength_used": fit._record.strength,
        **judged(fit, rows, job["family"]),
    }


def judged(fit: FitResult, rows: Split, family: str) -> Result:
    """Accuracy, average loss, l1 norm and, where the truth is known, shares of relevant columns found."""
    link = np.asarray(fit.predict(rows.test, what="link"), dtype=np.float64)
    loss = families[family]().loss(link, rows.positive.astype(np.float64))
    slopes = fit.params.drop("Intercept", errors="ignore").to_numpy()
    found: Result = {
        "accuracy": float(np.mean((link > 0.0) == rows.positive)),
        "majority": float(max(rows.positive.mean(), 1.0 - rows.positive.mean())),
        "loss": float(np.mean(loss)),
        "length": rows.length(fit.params.to_numpy()),
        "nonzero": int(np.count_nonzero(slopes)),
        "columns": len(slopes),
    }
    if rows.relevant is not None and rows.truth is not None:
        found |= {f"xi{k}": xi(slopes, rows.relevant, k) for k in TOPS}
        found["truth"] = float(np.mean((rows.truth > 0.0) == rows.positive))
    return found


def xi(slopes: FloatVector, relevant: BoolVector, k: int) -> float:
    """Share of the relevant columns among the ``k`` largest absolute coefficients.

    A coefficient of exactly zero is never among them, so that ties at zero are not broken by place. Bounds of
    all columns are alike, so that the user's coefficients rank as scaled ones.

    Examples
    --------
    >>> xi(np.array([3.0, 0.0, -2.0, 1.0]), np.array([True, True, True, False]), 3) * RELEVANT
    2.0
    """
    largest = np.argsort(-np.abs(slopes), kind="stable")[:k]
    return float(np.sum(relevant[largest] & (slopes[largest] != 0.0)) / RELEVANT)
