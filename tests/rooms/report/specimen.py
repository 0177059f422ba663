"""Fits with made-up numbers, from literals: the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpglm.privacy.guarantee import Guarantee
from dpglm.results.fit_result import FitResult, LedgerState, SpendLine

NAMES = (
    "Intercept",
    "age",
    "yrs_married",
    "children",
    "religious",
    "educ",
    "C(occupation)[T.farming]",
    "C(occupation)[T.white collar]",
    "C(occupation)[T.teacher or nurse]",
    "C(occupation)[T.business]",
    "C(occupation)[T.professional]",
    "rate_marriage",
)
ESTIMATES = (
    3.1415926,
    -0.0412345,
    0.0987654,
    0.0,
    -0.3654321,
    0.0,
    0.0,
    0.2345678,
    0.0,
    0.5678912,
    0.0,
    -0.6912345,
)


def fit(**changes: Any) -> FitResult:
    """Pure epsilon 1, replace-one, an L1 penalty, charged to a ledger with a refusal."""
    estimates = np.array(ESTIMATES)
    fields: dict[str, Any] = {
        "formula": "affair ~ age + yrs_married + children + religious + educ + C(occupation) + rate_marriage",
        "family": "binomial",
        "link": "logit",
        "penalty": "l1",
        "strength": 0.0031,
        "method": "objective",
        "goal": "explain",
        "names": NAMES,
        "estimates": estimates,
        "selected_mask": (estimates != 0),
        "coded": estimates,
        "user_from_coded": np.eye(len(NAMES)),
        "terms": (
            ("Intercept", (0,)),
            ("age", (1,)),
            ("yrs_married", (2,)),
            ("children", (3,)),
            ("religious", (4,)),
            ("educ", (5,)),
            ("C(occupation)", (6, 7, 8, 9, 10)),
            ("rate_marriage", (11,)),
        ),
        "guarantee": pure(),
        "spend_lines": (
            SpendLine("perturbed minimiser", 0.99, 0.0, None, 0.99),
            SpendLine("solver residual", 0.01, 0.0, None, 0.01),
        ),
        "schema": schema(),
        "mechanism": {
            "algorithm": "objective perturbation",
            "theorem": "Theorem A1",
            "released": "the minimiser of sum of losses + b'theta + ridge/2 |theta|^2 + penalty, once",
            "sensitivity": 2.0,
            "noise": "density proportional to exp(-|b| / scale)",
            "noise_scale": 2.0202020202020203,
            "ridge": 2.0202020202020203,
            "row_norm": 1.0,
            "rows_clipped": "none",
            "strength_sum": None,
            "solver_residual": 1e-8,
            "residual_noise_scale": 9.9e-7,
            "response": "affair",
            "response_levels": ["no", "yes"],
            "random_source": "operating system",
        },
        "n_rows": 6366,
        "ledger": ledger(),
        "version": "0.1.0",
    }
    return FitResult(**(fields | changes))


def pure(**changes: Any) -> Guarantee:
    """One woman exchanged, epsilon 1."""
    fields: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 0.0,
        "definition": "pure",
        "relation": "replace-one",
        "unit": "one woman",
        "theorem": "Theorem A1",
        "assumptions": (
            "bounds, levels, formula and penalty strength were chosen without looking at these data",
            "the solver's certificate and the noise are computed in double precision (idealized numerics)",
            "the number of rows is public",
        ),
    }
    return Guarantee(**(fields | changes))


def approximate(**changes: Any) -> Guarantee:
    """One visit more or less, (1, 1e-5), with a curve of points that hold all at once."""
    curve = tuple((0.1 * k, 10.0 ** (-1.2 - 0.036 * k * k)) for k in range(1, 16))
    fields: dict[str, Any] = {
        "delta": 1e-5,
        "definition": "approximate",
        "relation": "add-remove",
        "unit": "one visit",
        "theorem": "Theorem B",
        "curve": curve,
    }
    return pure(**(fields | changes))


def gaussian(**changes: Any) -> Guarantee:
    """The Gaussian mechanism at (1, 1e-5): mu = 0.268."""
    fields: dict[str, Any] = {
        "delta": 1e-5,
        "definition": "gdp",
        "mu": 0.268,
        "rho": 0.035912,
        "theorem": "Theorem A2",
    }
    return pure(**(fields | changes))


def schema() -> dict[str, Any]:
    """Every kind of declaration."""
    book = "code book of the survey"
    return {
        "title": "Redbook survey 1974",
        "unit": "one woman",
        "variables": {
            "affair": {"levels": ["no", "yes"]},
            "age": {"bounds": [17.5, 42.0], "source": book},
            "yrs_married": {"bounds": [0.5, 23.0], "source": book},
            "children": {"bounds": [0.0, 5.5], "missing": 2.0, "source": book},
            "religious": {"bounds": [1.0, 4.0], "source": book},
            "educ": {"bounds": [9.0, 20.0], "source": book},
            "occupation": {
                "levels": [
                    "student",
                    "farming",
                    "white collar",
                    "teacher or nurse",
                    "business",
                    "professional",
                ],
                "other": "white collar",
                "source": book,
            },
            "rate_marriage": {"bounds": [1.0, 5.0], "source": book},
        },
    }


def ledger(**changes: Any) -> LedgerState:
    """Three charges and a refusal."""
    lines = (
        ("2026-01-12T09:30:00Z", "fit: affair ~ age", "charged", 0.5),
        ("2026-01-12T10:02:11Z", "fit: affair ~ age + children", "charged", 0.5),
        ("2026-02-03T16:45:30Z", "fit: affair ~ .", "refused", 2.5),
        (
            "2026-02-03T16:47:02Z",
            "fit: affair ~ age + yrs_married + children + religious + …",
            "charged",
            1.0,
        ),
    )
    fields: dict[str, Any] = {
        "dataset": "redbook-1974",
        "budget_epsilon": 3.0,
        "budget_delta": 0.0,
        "spent_epsilon": 2.0,
        "spent_delta": 0.0,
        "remaining_epsilon": 1.0,
        "remaining_delta": 0.0,
        "entries": tuple(
            {"when": when, "what": what, "status": status, "epsilon": epsilon, "delta": 0.0, "mu": None}
            for when, what, status, epsilon in lines
        ),
    }
    return LedgerState(**(fields | changes))


def seeded() -> FitResult:
    """The fit with noise from a known seed."""
    return fit(guarantee=replace(pure(), private=False, reason="seeded"))


def plain() -> FitResult:
    """A fit for which nobody asked for privacy."""
    return fit(
        guarantee=Guarantee.none("no privacy was asked for"),
        method="nonprivate",
        mechanism={
            "algorithm": "exact minimiser without noise",
            "theorem": "none: NOT PRIVATE",
            "noise": "none",
        },
        spend_lines=(),
        ledger=None,
    )


CHOICES = {
    "tuning": "Penalty strength left at its default, which does not look at data.",
    "formula": "Fixed in the study plan before the survey was read.",
}
PAGES: dict[str, tuple[Callable[[], FitResult], dict[str, str]]] = {
    "pure": (fit, CHOICES),
    "approximate": (
        lambda: fit(guarantee=approximate(), n_rows=None, strength=None, ledger=None, penalty="l2"),
        {},
    ),
    "gaussian": (lambda: fit(guarantee=gaussian()), {}),
    "seeded": (seeded, {}),
    "plain": (plain, CHOICES),
}
