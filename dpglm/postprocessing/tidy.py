"""A result as data frames with the column names of R's broom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpglm.errors import MethodError
from dpglm.postprocessing.missing_intervals import models_text, no_intervals, reason
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.uncertainty import debiased, intervals, p_values, selected, shares, standard_errors

if TYPE_CHECKING:
    import pandas as pd


def tidy(record: FitRecord, *, exponentiate: bool) -> pd.DataFrame:
    """One row per coefficient; see :meth:`FitResult.tidy`."""
    import pandas as pd

    errors, ends, parts = standard_errors(record), intervals(record, 0.95), shares(record)
    centre = debiased(record)
    with np.errstate(over="ignore"):
        shown = np.exp if exponentiate else np.array
        estimates, low, high = shown(record.estimates), shown(ends[:, 0]), shown(ends[:, 1])
        shown_centre = shown(centre)
    frame = pd.DataFrame(
        {
            "term": list(record.names),
            "estimate": estimates,
            "std_error": errors,
            "statistic": centre / errors,
            "p_value": p_values(record),
            "conf_low": low,
            "conf_high": high,
            "selected": selected(record),
            "debiased": shown_centre,
            "sampling_se": parts[:, 0],
            "privacy_se": np.hypot(parts[:, 1], parts[:, 2]),
            "adjustment_se": parts[:, 3],
            "reason": [
                no_intervals(record) if record.stack else reason(one) for one in record.interval_decisions
            ],
        }
    )
    return marked(frame, record)


def glance(record: FitRecord) -> pd.DataFrame:
    """One row per fit; see :meth:`FitResult.glance`."""
    import pandas as pd

    guarantee = record.guarantee
    # A frame may lose its other columns: an epsilon that was not kept must not be in it.
    epsilon, delta, mu = (
        (guarantee.epsilon, guarantee.delta, guarantee.mu) if guarantee.private else (None, None, None)
    )
    frame = pd.DataFrame(
        {
            "family": [record.family],
            "link": [record.link],
            "penalty": [record.penalty],
            "strength": [number(record.strength)],
            "method": [record.method],
            "goal": [record.goal],
            "n_terms": [len(record.names)],
            "n_selected": [int(selected(record).sum())],
            "epsilon": [number(epsilon)],
            "delta": [number(delta)],
            "mu": [number(mu)],
            "relation": [guarantee.relation if guarantee.private else None],
            "unit": [guarantee.unit if guarantee.private else None],
            "nobs": [number(record.n_rows)],
            "private": [guarantee.private],
        }
    )
    return marked(frame, record)


def odds_ratios(record: FitRecord) -> pd.DataFrame:
    """Odds ratios with their intervals; see :meth:`FitResult.odds_ratios`."""
    if record.link != "logit":
        raise MethodError(
            f"odds ratios of a fit with the {record.link} link",
            expected="the logit link",
            remedy="Use family='binomial'."
            if record.link == "margin"
            else "Use tidy(exponentiate=True) where ratios make sense.",
        )
    if record.stack is not None:
        raise MethodError(
            f"odds ratios of a stack of {models_text(record.stack)}",
            expected="one model: the odds of a stack change by another factor at every row",
            remedy="Compare predict(new, what='link') at two rows; submodels() has the models' coefficients.",
        )
    frame = tidy(record, exponentiate=True).rename(columns={"estimate": "odds_ratio"})
    return marked(frame[["term", "odds_ratio", "debiased", "conf_low", "conf_high", "selected"]], record)


def spend(record: FitRecord) -> pd.DataFrame:
    """One row per release; see :attr:`FitResult.spend`."""
    import pandas as pd

    lines = record.spend_lines
    frame = pd.DataFrame(
        {
            "release": [line.release for line in lines],
            "epsilon": [number(line.epsilon) for line in lines],
            "delta": [number(line.delta) for line in lines],
            "mu": [number(line.mu) for line in lines],
            "share": [number(line.share) for line in lines],
        }
    )
    return marked(frame, record)


def number(value: float | None) -> float:
    """``value`` as a float, NaN where absent."""
    return float("nan") if value is None else float(value)


def marked(frame: pd.DataFrame, record: FitRecord) -> pd.DataFrame:
    """``frame`` with what was promised in its ``attrs``."""
    frame.attrs["privacy"] = record.alarm or record.guarantee.statement()
    return frame
