"""Fits of one replication of a design: without privacy, and with it by `dpglm.fit` as a user calls it."""

from __future__ import annotations

import warnings

import numpy as np

import dpglm
from dpglm.errors import DpglmError, PlanningAdvice
from dpglm.typing import FloatVector
from studies.coverage.designs.design import Prepared
from studies.coverage.designs.likelihood import maximum, standard_errors
from studies.jobs import Result


def nonprivate_fit(ready: Prepared, y: FloatVector) -> Result:
    """Maximum likelihood: ``estimate`` and ``sd``, shape (p,) each."""
    family = ready.design.law.family
    beta = maximum(ready.X, y, family, ready.beta)
    return {"estimate": beta, "sd": standard_errors(ready.X, y, family, beta)}


def private_fit(ready: Prepared, y: FloatVector, privacy: dpglm.Privacy, seed: int) -> Result:
    """The private estimate with its intervals, and the naive standard errors at it.

    Returns
    -------
    dict
        Arrays of shape (p,): ``estimate``; ``low`` and ``high``, the ends of the printed 95 % interval, NaN
        where there is none and infinite where an interval has one end; ``reliable``, whether there is an
        interval that is not marked as resting mostly on declared scales; ``naive_sd``, by the formula of
        maximum likelihood at the private estimate, noise being ignored. Or ``refused``, what dpglm said.
    """
    design = ready.design
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanningAdvice)
        try:
            fit = dpglm.fit(
                design.formula,
                ready.frame.assign(y=y),
                schema=design.schema(),
                family=design.law.family,
                penalty="none",
                goal="explain",
                privacy=privacy,
                seed=seed,
                progress=False,
            )
        except DpglmError as refusal:
            return {"refused": str(refusal)}
    assert fit.names == ready.names, "columns of dpglm and patsy differ"
    rows = fit.tidy()
    low, high = rows["conf_low"].to_numpy(), rows["conf_high"].to_numpy()
    given = ~(np.isnan(low) | np.isnan(high))
    estimate = rows["estimate"].to_numpy()
    return {
        "estimate": estimate,
        "low": low,
        "high": high,
        "reliable": given & rows["reliable"].to_numpy() if "reliable" in rows else given,
        "naive_sd": standard_errors(ready.X, y, design.law.family, estimate),
    }
