"""Missing intervals: why there is none, in words, and what would give one."""

from __future__ import annotations

import math

import numpy as np

from dpglm.inference.contrasts import (
    LEAST_SIGNAL,
    MOST_ADJUSTMENT,
    MOST_SHARE_OF_SCALE,
    IntervalDecision,
)
from dpglm.postprocessing.record import FitRecord
from dpglm.tables.number import factor

MOST_NAMES = 8
PENALISED = (
    "Standard errors, tests and intervals belong to the debiased estimates, which no penalty shrinks; "
    'conf_int(adjust="fcr") widens them for a list of selected coefficients.'
)
DEBIASED = (
    "Coefficients with an interval are not shrunk; those without one are drawn towards 0 by the declared "
    "prior scale."
)
RULE = (
    f"the released numbers say {LEAST_SIGNAL:g} times as much about the coefficient as noise alone, or more",
    f"its standard error is no more than {MOST_SHARE_OF_SCALE:g} of its declared prior scale",
    "the other coefficients, of which only the declared prior is known, make no more than "
    f"{100 * MOST_ADJUSTMENT:.0f} % of its variance",
)


def no_intervals(record: FitRecord) -> str:
    """Why a result has no standard errors, as a sentence can go on; empty where it can have them."""
    asked = record.specification
    if record.contrasts is not None:
        return ""
    if record.part is not None and (reason := record.part.no_intervals()):
        return reason
    if record.released is not None:
        return "the released numbers are too large or too small to compute with"
    if record.link == "margin":
        return (
            f'the loss of family "{asked.family.name}" is not a likelihood: it says nothing '
            'of how estimates spread; a private fit of family "binomial" can have them'
        )
    if not math.isfinite(record.guarantee.epsilon):
        return "they are not computed for fits without privacy"
    if asked.goal != "explain":
        return f'with goal "{asked.goal}" the budget goes to the coefficients; goal "explain" pays for them'
    if asked.method.name not in ("objective", "moments"):
        return f'method "{asked.method.name}" releases no information matrix; method "objective" does'
    if record.guarantee.definition in ("gdp", "zcdp"):
        return (
            "a mu or rho that holds at every epsilon needs a ridge that pulls the estimate too far; "
            f"privacy=({record.guarantee.epsilon:.3g}, {record.guarantee.delta:g}) pays for them"
        )
    if record.guarantee.definition == "pure":
        return (
            'pure epsilon pays for an information matrix only with few coefficients and penalty "none"; '
            f"privacy=({record.guarantee.epsilon:g}, 1e-6) does with more"
        )
    if record.penalty not in ("none", "l2"):
        return (
            'the whole budget went into the penalised fit; penalty "none" pays for an information matrix, '
            "and refit() then selects at no cost"
        )
    return "honest ones need a released information matrix, which this fit does not have"


def approximation(record: FitRecord) -> str:
    """What the coefficients beside a part that predicts are; empty for other fits."""
    if record.predictor is None:
        return ""
    return (
        f"Coefficients are a linear approximation of the log odds of {record.predictor.title}; "
        "predict() and submodels() use the stack itself."
    )


def gaps(record: FitRecord) -> tuple[str, ...]:
    """Sentences on the coefficients without an interval, a reason each, and what repairs it."""
    if record.contrasts is None:
        return ()
    groups: dict[str, list[tuple[str, IntervalDecision]]] = {}
    for name, decision in zip(record.names, record.interval_decisions, strict=True):
        if not decision.reported:
            groups.setdefault(decision.reason, []).append((name, decision))
    lines = [f"No interval (-), {reason}: {_listed(group)}." for reason, group in groups.items()]
    if not lines:
        return ()
    repair = "In brackets: by how much n or epsilon would have to grow for an interval."
    if any(
        mergeable(record)[j] for j, decision in enumerate(record.interval_decisions) if not decision.reported
    ):
        repair += " Or merge the level with another by declaration."
    return (*lines, repair)


def reason(decision: IntervalDecision) -> str:
    """Why a coefficient has no interval and what repairs it; empty for one that has.

    Examples
    --------
    >>> reason(IntervalDecision(False, "noise hides its variation", 1.51))
    'noise hides its variation; n or epsilon x 1.6'
    """
    if not decision.reason:
        return ""
    return f"{decision.reason}; n or epsilon {_times(decision.factor)}"


def mergeable(record: FitRecord) -> tuple[bool, ...]:
    """Which coefficients are of levels of a factor with three levels or more."""
    if record.released is None:
        return (False,) * len(record.names)
    factors = np.zeros(len(record.names), dtype=np.bool_)
    for block in record.released.term_columns:
        factors[block.columns] = block.kind == "levels" and len(block.table) > 2
    used = record.user_from_coded != 0.0
    return tuple(bool(row.any() and not (row & ~factors).any()) for row in used)


def _listed(group: list[tuple[str, IntervalDecision]]) -> str:
    """Names with their factors, the last ones counted only."""
    most = MOST_NAMES if len(group) > MOST_NAMES + 1 else len(group)
    words = ", ".join(f"{name} ({_times(decision.factor)})" for name, decision in group[:most])
    rest = [decision.factor for _, decision in group[most:]]
    if not rest:
        return words
    ends = dict.fromkeys((_times(min(rest)), _times(max(rest))))
    return f"{words} and {len(rest)} more ({' to '.join(ends)})"


def _times(growth: float) -> str:
    return f"x {factor(growth)}"
