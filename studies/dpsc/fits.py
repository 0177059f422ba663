"""The fits of the study, each by the public verb, and what is measured of them."""

from __future__ import annotations

import math
import time
import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import dpglm
from dpglm.papers.dpsc.dpsc import DPSC
from dpglm.privacy.events import ReleaseDescription
from dpglm.results.fit_result import FitResult
from dpglm.typing import FloatVector
from studies.dpsc.tables import Sample, sample
from studies.jobs import Job, Result, key_of

DELTA = 1e-6
PENALTIES = ("l1", "l1/2")
STRENGTH = "strength"
FOLDS = 5
EXACT, PRINTED, PURE, GAUSSIAN, DEFAULT, PREDICT = "exact", "printed", "pure", "gaussian", "select", "predict"


@dataclass(frozen=True)
class Kind:
    """How a kind of fit is called on the page, by penalty, and what it promises."""

    labels: tuple[str, str]
    promise: str
    short: str


KINDS = {
    EXACT: Kind(("LLA", "LHA"), "NOT PRIVATE", "no noise"),
    PRINTED: Kind(("DPLL as printed", "DPLH as printed"), "NOT PRIVATE (reproduction)", "as printed"),
    PURE: Kind(("DPLL, pure", "DPLH, pure"), "epsilon", "corrected, pure"),
    GAUSSIAN: Kind(("DPLL, Gaussian", "DPLH, Gaussian"), "(epsilon, 1e-6)", "corrected, Gaussian"),
    DEFAULT: Kind(("default, l1", "default, l1/2"), "(epsilon, 1e-6)", "default, goal='select'"),
    PREDICT: Kind(
        ("default for prediction, l1", "default for prediction, l1/2"),
        "(epsilon, 1e-6)",
        "default, goal='predict'",
    ),
}


def label(kind: str, penalty: str) -> str:
    """What the page calls a fit.

    Examples
    --------
    >>> label("pure", "l1/2")
    'DPLH, pure'
    """
    return KINDS[kind].labels[PENALTIES.index(penalty)]


def work(job: Job) -> Result:
    """One job: the cross-validated loss of a strength, or a fit and its metrics."""
    start = time.process_time()
    rows = sample(str(job["table"]), int(job["rows"]), int(job["set"]), int(job["columns"]))
    if job["kind"] == STRENGTH:
        found: Result = {"loss": tuned(rows, str(job["penalty"]), float(job["strength"]))}
    else:
        found = metrics(rows, fitted(rows, job), float(job.get("c", 0.0)))
    return {**found, "seconds": time.process_time() - start}


def fitted(rows: Sample, job: Job) -> FitResult:
    """The fit that a job asks for; its noise has a seed of its own."""
    kind = str(job["kind"])
    asked: dict[str, Any] = {"penalty": job["penalty"], "progress": False, "schema": rows.schema}
    if kind == EXACT:
        return dpglm.fit(rows.formula, rows.train, privacy=None, strength=job["strength"], **asked)
    delta = 0.0 if kind in (PRINTED, PURE) else DELTA
    privacy = dpglm.Privacy(float(job["epsilon"]), delta, "replace-one")
    if kind == PRINTED:
        asked["method"] = DPSC(
            paper_exact=True,
            iterations=int(job["iterations"]),
            c=float(job["c"]),
            inner=int(job["inner"]),
            alpha=float(job["alpha"]),
        )
        asked["strength"] = job["strength"]
        # Its noise depends on the number of rows, which a plan reads from the schema.
        asked["schema"] = dpglm.Schema.of(rows.schema, rows=len(rows.train))
    elif kind in (PURE, GAUSSIAN):
        asked["method"] = "dpsc"
    else:
        asked["goal"] = kind
    seed = zlib.crc32(key_of(job).encode())
    return dpglm.fit(rows.formula, rows.train, privacy=privacy, seed=seed, **asked)


def metrics(rows: Sample, fit: FitResult, c: float) -> Result:
    """What the figures show of a fit.

    Returns
    -------
    dict
        ``error``: share of test rows on the wrong side of probability 1/2; ``mse``: mean squared difference
        of probability and response; ``kept``: coefficients not zero; ``noise``: expected norm of one noise
        vector in units of the average gradient, None without noise. Where the truth is known ``can`` and
        ``ican``, zeros that are right and wrong, and ``distance``, the squared distance of coefficients from
        the truth, both of length 1 (1 for no coefficient at all).
    """
    answers = rows.second(rows.test)
    chance = np.asarray(fit.predict(rows.test), dtype=np.float64)
    found: Result = {
        "error": float(np.mean((chance >= 0.5) != answers)),
        "mse": float(np.mean((chance - answers) ** 2)),
        "kept": len(fit.selected),
        "noise": noise_norm(minimiser(fit), len(fit.names), len(rows.train), c),
        "rows_cut": fit._record.rows_clipped,
    }
    if rows.names:
        values = fit.params[list(rows.names)].to_numpy()
        zero, true_zero = values == 0.0, rows.truth == 0.0
        found["can"], found["ican"] = int((zero & true_zero).sum()), int((zero & ~true_zero).sum())
        found["distance"] = float(np.sum((_unit(values) - _unit(rows.truth)) ** 2))
    return found


def minimiser(fit: FitResult) -> ReleaseDescription:
    """The release that coefficients come from; others measure the norms of rows."""
    return next(one for one in fit.description.releases if "minimiser" in one.name or "DPSC" in one.name)


def noise_norm(release: ReleaseDescription, size: int, rows: int, c: float) -> float | None:
    """Expected norm of one noise vector against an average gradient, whose norm is at most 1.

    A vector of density proportional to exp(-|b| / scale) has norm ``size * scale`` on average, and a
    Gaussian one at most ``sqrt(size) * scale``. The printed algorithm adds c b to an average gradient, the
    others b to a sum.
    """
    law, scale = release.noise, release.scale
    if law == "none":
        return None
    if law == "as printed":
        return c * size * scale
    return (scale * math.sqrt(size) if law.startswith("Gaussian") else scale * size) / rows


def tuned(rows: Sample, penalty: str, strength: float) -> float:
    """Mean negative log-likelihood of a strength over held-out rows, 5-fold cross-validation.

    Parameters
    ----------
    strength : float
        Per row.
    """
    held = np.arange(len(rows.train)) % FOLDS
    # The probability that a fit predicts is that of the second level, whatever it is called.
    second = rows.second(rows.train)
    losses = []
    for fold in range(FOLDS):
        fit = dpglm.fit(
            rows.formula,
            rows.train[held != fold],
            schema=replace(rows.schema, rows=None),
            penalty=penalty,
            strength=strength,
            privacy=None,
            progress=False,
        )
        link = np.asarray(fit.predict(rows.train[held == fold], what="link"), dtype=np.float64)
        losses.append(np.logaddexp(0.0, np.where(second[held == fold], -link, link)))
    return float(np.mean(np.concatenate(losses)))


def _unit(values: FloatVector) -> FloatVector:
    length = float(np.linalg.norm(values))
    return values / length if length > 0.0 else values
