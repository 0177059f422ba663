"""How sites differ: their own estimates, heterogeneity by coefficient, and the pool without each site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import gammaincc, stdtrit

from dpglm.errors import MethodError
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.interval_model import interval_model
from dpglm.postprocessing.frames import marked
from dpglm.postprocessing.functions import reported_estimates
from dpglm.postprocessing.intervals import quantile
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.site_pool import pool_of
from dpglm.typing import FloatMatrix, FloatVector

if TYPE_CHECKING:
    import pandas as pd

LEVEL: Final = 0.95


@dataclass(frozen=True, eq=False)
class SiteEstimates:
    """Debiased estimates of each site by itself, with standard errors; NaN where there is none."""

    sites: tuple[str, ...]
    values: FloatMatrix  # (sites, p)
    errors: FloatMatrix  # (sites, p)


@dataclass(frozen=True, eq=False)
class Heterogeneity:
    """Cochran's Q and what follows from it, by coefficient; NaN with fewer than two sites."""

    count: FloatVector  # (p,), sites with a standard error
    q: FloatVector
    p_value: FloatVector
    i_squared: FloatVector  # share of the spread of the sites' estimates that their errors do not explain
    tau: FloatVector  # standard deviation between sites, by REML; NaN without random effects
    low: FloatVector  # 95 % prediction interval of the coefficient of another site
    high: FloatVector


def site_estimates(record: FitRecord) -> SiteEstimates:
    """What each site says by itself."""
    pool = pool_of(record, "site estimates")
    with np.errstate(all="ignore"):
        each = [Contrasts(interval_model(site.released), site.user_from_coded) for site in pool.sites]
    values, errors = zip(*map(reported_estimates, each), strict=True)
    return SiteEstimates(pool.names, np.array(values), np.array(errors))


def heterogeneity(record: FitRecord) -> Heterogeneity:
    """Heterogeneity of each coefficient.

    The prediction interval is the pooled estimate with Student's quantile of two degrees of freedom less than
    there are sites, over its own variance and that between sites (Higgins, Thompson and Spiegelhalter 2009,
    JRSS A 172(1)).
    """
    pool, found = pool_of(record, "heterogeneity"), site_estimates(record)
    precision = 1.0 / found.errors**2
    count = np.isfinite(precision).sum(axis=0)
    enough = count >= 2
    total = np.nansum(precision, axis=0)
    with np.errstate(all="ignore"):
        mean = np.nansum(precision * found.values, axis=0) / total
        q = np.where(enough, np.nansum(precision * (found.values - mean) ** 2, axis=0), np.nan)
        share = np.maximum(0.0, 1.0 - (count - 1) / q)
    tests = np.where(enough, gammaincc(np.maximum(count - 1, 1) / 2.0, q / 2.0), np.nan)
    if pool.effects == "common":
        nothing = np.full(len(record.names), np.nan)
        return Heterogeneity(count, q, tests, share, nothing, nothing, nothing)
    critical = float(stdtrit(max(len(pool.sites) - 2, 1), 0.5 + LEVEL / 2.0))
    reach = critical * np.sqrt(record.standard_errors**2 + pool.variances)
    tau = np.sqrt(pool.variances)
    return Heterogeneity(count, q, tests, share, tau, record.debiased - reach, record.debiased + reach)


def heterogeneity_frame(record: FitRecord) -> pd.DataFrame:
    """One row per coefficient; see :meth:`dpglm.FitResult.heterogeneity`."""
    import pandas as pd

    found = heterogeneity(record)
    columns = {
        "term": list(record.names),
        "sites": found.count,
        "q": found.q,
        "df": np.maximum(found.count - 1, 0),
        "p_value": found.p_value,
        "i_squared": found.i_squared,
        "tau": found.tau,
        "pred_low": found.low,
        "pred_high": found.high,
    }
    return marked(pd.DataFrame(columns), record)


def leave_one_out(record: FitRecord) -> pd.DataFrame:
    """The pool without each of its sites; see :meth:`dpglm.FitResult.leave_one_out`."""
    import pandas as pd

    pool, rows = pool_of(record, "leave_one_out"), []
    if len(pool.sites) < 2:
        raise MethodError(
            "leave_one_out of one site", expected="two sites or more", remedy="Pool the sites' results first."
        )
    critical = quantile(LEVEL)
    for place, name in enumerate(pool.names):
        with np.errstate(all="ignore"):
            model = pool.interval_model(record, without=place)
            values, errors = reported_estimates(Contrasts(model, record.user_from_coded))
        ends = values - critical * errors, values + critical * errors
        columns = {"estimate": values, "std_error": errors, "conf_low": ends[0], "conf_high": ends[1]}
        rows.append(pd.DataFrame({"without": name, "term": list(record.names), **columns}))
    return marked(pd.concat(rows, ignore_index=True), record)
