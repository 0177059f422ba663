"""One job: fits at every branch by the public API, judged by areas under ROC curves on rows not seen."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import dpglm
from dpglm.errors import DpglmError
from dpglm.methods.base import Method
from dpglm.papers.stacking.stack import Stack
from dpglm.results.fit_result import FitResult
from studies.hospitals import printed
from studies.hospitals.grid import ALONE, EPSILON, LAWS, PRINTED, RIDGE, STRENGTH, TRANSFERS, K, seed_of
from studies.hospitals.tables import Network, Site, network
from studies.jobs import Job, Result
from studies.paired import auc
from studies.stacking.grid import ranked_groups


def work(job: Job) -> Result:
    """Numbers of one job: areas by site; ``refused`` where dpglm says no.

    ``main`` is the area of what the main hospital releases on its own test rows, ``moved`` that on branches'
    rows, where something is released; ``negative`` the share of a branch's models whose weight in its
    high-level model has the wrong sign.
    """
    rows = network(job["table"], job["repeat"], job["branches"])
    start = time.perf_counter()
    if job["law"] == PRINTED:
        return {**printed.judged(job, rows), "seconds": round(time.perf_counter() - start, 3)}
    try:
        found = _judged(job, rows)
    except DpglmError as refusal:
        return {"refused": refusal.found}
    return {"seconds": round(time.perf_counter() - start, 3), **found}


def _judged(job: Job, rows: Network) -> Result:
    method: str = job["method"]
    main, branches = rows.sites[rows.main], {n: s for n, s in rows.sites.items() if n != rows.main}
    if method in ("plr-pooled", "nonprivate"):
        import pandas as pd

        every = pd.concat([site.train for site in rows.sites.values()], ignore_index=True)
        how = dpglm.methods.PSTF(groups=1) if method == "plr-pooled" else "nonprivate"
        fit = _fit(job, rows, every, how, "pooled")
        return {"auc": {name: _auc(fit, site) for name, site in branches.items()}, "main": _auc(fit, main)}
    if method in ("plr-target", "auto"):
        how = dpglm.methods.PSTF(groups=1) if method == "plr-target" else "auto"
        return {
            "auc": {
                name: _auc(_fit(job, rows, site.train, how, name), site) for name, site in branches.items()
            }
        }
    source = _fit(job, rows, main.train, source_of(job, rows), "source")
    moved = {name: _auc(source, site) for name, site in branches.items()}
    if method not in TRANSFERS:
        return {"auc": moved, "main": _auc(source, main)}
    with tempfile.TemporaryDirectory() as folder:
        path = source.save(Path(folder) / "main.json")
        target = target_of(job, path)
        fits = {name: _fit(job, rows, site.train, target, name) for name, site in branches.items()}
    found = {
        "auc": {name: _auc(fits[name], site) for name, site in branches.items()},
        "main": _auc(source, main),
        "moved": moved,
    }
    stacks = [fit._record.part for fit in fits.values()]
    signs = [stack.weights[1:] < 0.0 for stack in stacks if isinstance(stack, Stack)]
    return found if not signs else {**found, "negative": float(np.mean(np.concatenate(signs)))}


def source_of(job: Job, rows: Network) -> Method:
    """What the main hospital fits; models of a stack read all of its rows, as in the paper's Algorithm 4."""
    if job["method"] in ALONE:
        return dpglm.methods.PSTF(groups=1)
    if job["method"] == "pst-h-u":
        return dpglm.methods.PSTF(groups=K, split_seed=job["repeat"], combine="majority")
    return dpglm.methods.PSTF(
        groups=ranked_groups(list(rows.importance), K),
        importance=dict(rows.importance),
        provenance=rows.provenance,
        combine="weighted",
    )


def target_of(job: Job, path: Path) -> Method:
    """What a branch fits from the file that came over."""
    if job["method"].startswith("pphtl"):
        return dpglm.methods.PPHTL(source=path, ridge=RIDGE if job["method"] == "pphtl-strong" else None)
    return dpglm.methods.PSTH(source=path)


def _fit(job: Job, rows: Network, frame: Any, method: str | Method, site: str) -> FitResult:
    law = job["law"]
    return dpglm.fit(
        rows.formula,
        frame,
        schema=rows.schema_of(len(frame)),
        penalty="l2",
        strength=STRENGTH if law is None else None,
        method=method,
        privacy=None if law is None else dpglm.Privacy(EPSILON, LAWS[law]),
        goal="predict",
        seed=seed_of(job, site),
        progress=False,
    )


def _auc(fit: FitResult, site: Site) -> float:
    return auc(site.positive, np.asarray(fit.predict(site.test, what="link"), dtype=np.float64))
