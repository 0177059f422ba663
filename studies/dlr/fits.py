"""One job: a fit of several holders, or of one curator, judged by its coefficients and its predictions."""

from __future__ import annotations

import hashlib
import time
import warnings
from typing import Any, Final

import numpy as np

import dpglm
from dpglm.errors import DpglmError
from dpglm.methods import DLA, SecureSum
from dpglm.results.compare import SiteFits
from studies.dlr.tables import Sites, regions, sites, wide
from studies.jobs import Job, Result, key_of
from studies.paired import auc

DELTA: Final = 1e-6
# Of the consensus without privacy and of the printed algorithm, per row: next to nothing.
RIDGE: Final = 1e-3
# Rounds of the printed iteration before its noise, and of the table of times.
PRINTED_ROUNDS, ROUNDS = 5, 20
METHODS: Final = {
    "one": "one curator",
    "pool": "pooled fits",
    "secure": "secure sums",
    "dp-admm": "DP-ADMM",
    "dlvp": "DLVP",
    "dlp": "DLP",
    "dlp-printed": "DLP as printed",
    "nonprivate": "no privacy",
}


def work(job: Job) -> Result:
    """What a job found; ``refused`` where dpglm says no."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # advice that a study does not take
        try:
            return {"time": _timed, "regions": _regions, "fit": _fitted}[job["what"]](job)
        except DpglmError as refusal:
            return {"refused": str(refusal)}


def seed_of(job: Job) -> int:
    """A seed of the fit's own."""
    return int.from_bytes(hashlib.sha256(key_of(job).encode()).digest()[:6], "big")


def _fitted(job: Job) -> Result:
    """Root mean square error of the slopes, and the area under the ROC curve of rows not fitted."""
    rows, start = sites(job["sites"], job["kind"], job["repeat"]), time.process_time()
    if job["method"] == "dlp-printed":
        return _printed(rows, job, start)
    found = _joint(rows, job)
    return _judged(rows, found.params.to_numpy(), found.auc(rows.test), start)


def _joint(rows: Sites, job: Job) -> dpglm.FitResult:
    asked: dict[str, Any] = {"schema": rows.schema, "progress": False}
    if job["method"] == "nonprivate":
        found = dpglm.fit(rows.formula, rows.pooled, privacy=None, penalty="none", **asked)
    else:
        # Under replace-one the number of rows of each site is public, which joint methods need.
        asked |= {"privacy": dpglm.Privacy(job["epsilon"], DELTA), "seed": seed_of(job)}
        if job["method"] == "one":
            found = dpglm.fit(rows.formula, rows.pooled, **asked)
        elif job["method"] == "pool":
            apart = dpglm.fit(rows.formula, rows.tables, **asked)
            assert isinstance(apart, SiteFits)
            found = apart.pool()
        else:
            method = SecureSum("dpsgd") if job["method"] == "secure" else job["method"]
            found = dpglm.fit(rows.formula, rows.tables, method=method, penalty="l2", **asked)
    assert isinstance(found, dpglm.FitResult)
    return found


def _judged(rows: Sites, params: np.ndarray[Any, Any], area: float, start: float) -> Result:
    error = float(np.sqrt(np.mean((params - rows.truth)[1:] ** 2)))
    return {"rmse": error, "auc": area, "seconds": time.process_time() - start}


def _printed(rows: Sites, job: Job, start: float) -> Result:
    """Algorithm 2 as printed: an iterate of a few rounds, plus noise for the minimiser.

    The noise has density proportional to exp(-n epsilon lambda |b| / 2) on coded coefficients: NOT PRIVATE.
    """
    iterate = dpglm.fit(
        rows.formula,
        rows.tables,
        schema=rows.schema,
        method=DLA(rounds=PRINTED_ROUNDS),
        privacy=None,
        penalty="l2",
        strength=RIDGE,
        progress=False,
    )
    assert isinstance(iterate, dpglm.FitResult)
    record, random = iterate._record, np.random.default_rng(seed_of(job))
    size = len(record.coded)
    direction = random.standard_normal(size)
    length = random.gamma(size, 2.0 / (len(rows.pooled) * job["epsilon"] * RIDGE))
    noisy = record.coded + length * direction / np.linalg.norm(direction)
    params = record.user_from_coded @ noisy
    X = rows.test.drop(columns="y").to_numpy()
    return _judged(rows, params, auc(rows.positive, X @ params[1:]), start)


def _timed(job: Job) -> Result:
    """Processor seconds of a site's part of DLA, and of a general fitter on all rows."""
    frame, schema, formula = wide(job["rows"], job["columns"], 0)
    start = time.process_time()
    if job["sites"] == 1:
        import statsmodels.api as sm

        X = np.column_stack([np.ones(len(frame)), frame.drop(columns="y").to_numpy(dtype=np.float64)])
        sm.GLM(frame["y"].to_numpy(), X, family=sm.families.Binomial()).fit()
        return {"seconds": time.process_time() - start}
    parts = np.array_split(np.arange(len(frame)), job["sites"])
    tables = {f"site{place:03d}": frame.iloc[part] for place, part in enumerate(parts)}
    start = time.process_time()
    fit = dpglm.fit(
        formula,
        tables,
        schema=schema,
        method=DLA(rounds=ROUNDS),
        privacy=None,
        penalty="l2",
        strength=RIDGE,
        progress=False,
    )
    assert isinstance(fit, dpglm.FitResult)
    return {"seconds": (time.process_time() - start) / job["sites"], "apart": fit._record.residual}


def _regions(job: Job) -> Result:
    """GUSTO's regions, pooled: coefficients, their intervals, and standard deviations between regions."""
    rows = regions()
    privacy = dpglm.Privacy(job["epsilon"], DELTA, relation="add-remove")
    apart = dpglm.fit(
        rows.formula, rows.tables, schema=rows.schema, privacy=privacy, seed=seed_of(job), progress=False
    )
    assert isinstance(apart, SiteFits)
    pooled = apart.pool(effects=job["effects"])
    tidy = pooled.tidy()
    found: Result = {
        "names": list(pooled.params.index),
        "truth": rows.truth.tolist(),
        "estimate": tidy["estimate"].to_list(),
        "low": tidy["conf_low"].to_list(),
        "high": tidy["conf_high"].to_list(),
    }
    if job["effects"] == "random":
        found["between"] = pooled.heterogeneity()["tau"].to_list()
    return found
