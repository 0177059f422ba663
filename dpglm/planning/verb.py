"""The verb ``plan``: its arguments are checked as those of a fit, and nothing else is needed."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, Final

import numpy as np

from dpglm.data.coding.expected_rows import expected_shares
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical
from dpglm.errors import MethodError, PrivacyError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty, penalised_terms
from dpglm.methods.base import Method
from dpglm.planning.study import Study
from dpglm.planning.study_plan import StudyPlan
from dpglm.postprocessing.store import read
from dpglm.postprocessing.uncertainty import quantile
from dpglm.privacy.budget import REMEDY, Privacy
from dpglm.spec.arguments import (
    REQUIRED,
    Required,
    family_of,
    method_of,
    naming_unit,
    penalty_of,
    privacy_of,
    require_choice,
)

GOALS: Final = ("explain", "predict", "select")
_MOST_ROWS: Final = 10**12


def plan(
    formula: str,
    schema: Schema | Mapping[str, Any] | str | PathLike[str],
    *,
    n: int,
    privacy: float | tuple[float, float] | Privacy | Required = REQUIRED,
    family: str | Family = "binomial",
    penalty: str | Penalty = "l1",
    goal: str = "explain",
    method: str | Method = "auto",
    rate: float | None = None,
    level: float = 0.95,
) -> StudyPlan:
    """What a fit can be expected to give, before any data are touched; costs no privacy.

    Expected standard errors, interval widths and detectable effects of each coefficient on the original
    scale, which coefficients will probably have no interval and why, what is released with which noise, and
    the price. Rare levels are proposed for merging where the schema declares their shares.

    Parameters
    ----------
    formula : str
        As for `dpglm.fit`.
    schema : Schema, dict or path
        Public bounds and levels. ``shares`` of levels, and ``mean`` and ``sd`` of numbers, make the plan
        better; without them levels are taken to be equally frequent, and numbers to lie in the middle of
        their bounds with a sixth of their range as standard deviation.
    n : int
        Expected number of rows.
    privacy : float, (epsilon, delta) or Privacy
        The budget, required.
    family, penalty, goal, method
        As for `dpglm.fit`.
    rate : float, optional
        Expected share of the response's second level; by default what the schema declares as its share, else
        one half.
    level : float
        Coverage of the intervals.

    Returns
    -------
    StudyPlan
        With ``summary()``, ``tidy()``, ``curve()`` and ``plot()``.

    Raises
    ------
    PrivacyError, FormulaError, SchemaError, MethodError
        As `dpglm.fit`; also for a number of rows, a rate or a level out of range.

    Notes
    -----
    An orientation: columns are taken to overlap like normal scores with correlation .5, and to explain a
    fifth of the response. The fit decides by ``Schema(rows=...)``, not by ``n``, whether a penalty that
    selects is worth a curvature.

    Examples
    --------
    >>> import dpglm
    >>> schema = dpglm.Schema.of(
    ...     {
    ...         "ill": ["no", "yes"],
    ...         "age": {"bounds": (18, 90), "mean": 50, "sd": 15},
    ...         "job": {"levels": ["office", "care", "mine", "sea"], "shares": [0.6, 0.37, 0.02, 0.01]},
    ...     }
    ... )
    >>> study = dpglm.plan("ill ~ age + job", schema, n=4000, privacy=(1.0, 1e-6), penalty="none")
    >>> study.expected.printed
    (True, True, False, False, True)
    >>> [merger.levels for merger in study.mergers]
    [('sea', 'mine')]
    """
    budget = privacy_of(privacy)
    if budget is None:
        raise PrivacyError(
            "privacy=None for a plan", expected="the budget that the fit will have", remedy=REMEDY
        )
    chosen_penalty = penalty_of(penalty, None)
    require_choice("goal", goal, GOALS)
    declared = Schema.of(schema)
    chosen_family = family_of(family)
    study = Study(
        formula=formula,
        schema=declared,
        family=chosen_family,
        penalty=chosen_penalty,
        goal=goal,
        method=method_of(method, budget, chosen_family).opened(read),
        privacy=naming_unit(budget, declared) or budget,
        n=_rows(n),
        rate=0.5 if rate is None else _rate(rate),
    )
    quantile(level)
    if chosen_family.name not in ("binomial", "gaussian"):
        raise MethodError(
            f"a plan for family={chosen_family.name!r}",
            expected="family='binomial' or 'gaussian'",
            remedy="PricedReleases for one of these.",
        )
    terms = penalised_terms(study.coding.terms, study.coding.penalised)
    chosen_penalty.for_terms(terms).require_size(int(study.coding.penalised.sum()))
    response = study.response
    outcome = declared.variables[response.name]
    if rate is None and chosen_family.binary and isinstance(outcome, Categorical):
        study = study.with_rate(float(expected_shares(outcome)[1]))
    study.forecast  # noqa: B018  # refusals come from this call, not from a later one
    return StudyPlan(study, float(level))


def _rows(n: object) -> int:
    """A number of rows to expect."""
    whole = isinstance(n, int | np.integer) and not isinstance(n, bool)
    if not whole or not 1 <= n <= _MOST_ROWS:  # type: ignore[operator]  # a whole number, as just checked
        raise MethodError(
            f"n={n!r}" if isinstance(n, int | float) else f"n of type {type(n).__name__}",
            expected="the expected number of rows, a whole number of at least 1",
            remedy="Use n=10_000.",
        )
    return int(n)  # type: ignore[call-overload, no-any-return]  # a whole number, as just checked


def _rate(rate: object) -> float:
    """A share of successes to expect."""
    number = isinstance(rate, int | float | np.integer | np.floating) and not isinstance(rate, bool)
    if not number or not 0.0 < rate < 1.0:  # type: ignore[operator]  # a number, as just checked
        raise MethodError(
            f"rate={rate!r}" if isinstance(rate, int | float) else f"rate of type {type(rate).__name__}",
            expected="the expected share of the response's second level, between 0 and 1",
            remedy="Use rate=0.2, or leave it out.",
        )
    return float(rate)  # type: ignore[arg-type]  # a number, as just checked
