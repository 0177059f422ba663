"""One fit and what it predicts, by dpglm or by diffprivlib in an interpreter of its own."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

import dpglm
from dpglm.errors import DpglmError, PlanningAdvice
from dpglm.methods import DPSGD, Objective
from dpglm.typing import FloatVector
from studies.jobs import Job, Result
from studies.paired import auc
from studies.predictions.tables import Split, split
from studies.speed.design import coded_rows, design_of
from studies.speed.measure import PEER_PYTHON, Contestant

PEER, NONPRIVATE = "diffprivlib", "without privacy"
# Strengths of the peer, the best of which is shown: chosen on the test rows, in its favour.
STRENGTHS: Final = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
# As few steps as a small budget wants, the default, and many small samples.
DESCENTS: Final = {
    "few steps": {"steps": 20, "eta": 4.0},
    "default": {},
    "samples": {"sampling": "poisson", "rate": 0.05, "steps": 200},
}


@dataclass(frozen=True)
class Call:
    """A call of `dpglm.fit`.

    Parameters
    ----------
    keywords : mapping
        Beside formula, data, schema and privacy.
    group : str
        ``"own"``: what a user of the default method may call; ``"dpsgd"``: gradient descent, a peer.
    """

    keywords: dict[str, Any] = field(default_factory=dict)
    group: str = "own"


CALLS: Final = {
    "default": Call(),
    "explain, l1": Call({"penalty": "l1"}),
    "predict": Call({"goal": "predict"}),
    "predict, l2": Call({"goal": "predict", "penalty": "l2"}),
    "select": Call({"goal": "select"}),
    "predict, declared scales": Call({"goal": "predict", "method": Objective(scales="declared")}),
    **{
        f"DP-SGD, {name}, {coding}": Call(
            {"goal": "predict", "method": DPSGD(coding=coding, **options)}, "dpsgd"
        )
        for name, options in DESCENTS.items()
        for coding in ("clipped", "centred")
    },
}


def work(job: Job) -> Result:
    """Area under the ROC curve and share of right classes on rows that were not fitted."""
    rows = split(job["table"])
    if job["call"] == PEER:
        if not PEER_PYTHON.exists():  # a job that failed is run again, where there is one
            raise FileNotFoundError("no environment with diffprivlib: make benchmark makes it")
        return _by_peer(job["table"], job["epsilon"], job["repeat"], job["strength"])
    if job["call"] == NONPRIVATE:
        fit = dpglm.fit(
            rows.formula, rows.train, schema=rows.schema, privacy=None, penalty="l2", strength=1e-4
        )
        about = {"rows": len(rows.train), "coefficients": len(fit.params)}
        return {**about, **judged(rows, np.asarray(fit.predict(rows.test), dtype=np.float64))}
    privacy, call = dpglm.Privacy(job["epsilon"], job["delta"], relation=job["relation"]), CALLS[job["call"]]
    # Gradient methods need a number of rows, which add-remove does not make public.
    schema = dpglm.Schema.of(rows.schema, rows=len(rows.train)) if call.group == "dpsgd" else rows.schema
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanningAdvice)
        try:
            fit = dpglm.fit(
                rows.formula,
                rows.train,
                schema=schema,
                privacy=privacy,
                seed=job["repeat"],
                progress=False,
                **call.keywords,
            )
        except DpglmError as refusal:
            return {"refused": str(refusal)}
    return judged(rows, np.asarray(fit.predict(rows.test), dtype=np.float64))


def judged(rows: Split, probability: FloatVector) -> Result:
    """Of predicted probabilities of the second level, shape (k,)."""
    right = (probability > 0.5) == rows.positive
    return {"auc": auc(rows.positive, probability), "accuracy": float(right.mean())}


def _by_peer(name: str, epsilon: float, seed: int, strength: float) -> Result:
    """diffprivlib on the coded rows that dpglm fits, with their norm of 1 declared."""
    peer = _peer(name)
    return peer.ask("predict", epsilon=epsilon, seed=seed, strength=strength)


@cache
def _peer(name: str) -> Contestant:
    """A process that has the coded rows of a table in memory; it ends with this one."""
    rows = split(name)
    peer = Contestant(str(PEER_PYTHON), "studies.predictions.peer")
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for part, frame in (("train", rows.train), ("test", rows.test)):
            X, y = coded_rows(design_of(rows.formula, frame, rows.schema))
            for what, array in (("rows", X), ("labels", y)):
                paths[part, what] = str(Path(folder) / f"{part}-{what}.npy")
                np.save(paths[part, what], array)
        peer.ask("load", rows=paths["train", "rows"], labels=paths["train", "labels"])
        peer.ask("load_test", rows=paths["test", "rows"], labels=paths["test", "labels"])
    return peer
