"""Results with made-up numbers, one of each kind, for golden files and for the tests of the results room."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpglm.privacy.guarantee import Guarantee
from dpglm.results.compare import compare
from dpglm.results.fit_result import FitResult, LedgerState, SpendLine
from dpglm.tables.table import Table

NAMES = ("Intercept", "C(job)[T.clerk]", "C(job)[T.R&D <lab>]", "age", "I(age ** 2)")


def private_fit(**changes: Any) -> FitResult:
    """(epsilon, delta) with a public number of rows, charged to a ledger."""
    # Column scales 1, 1, 1, 10, 100, and a centred age: the intercept takes up its mean.
    user_from_coded = np.diag([1.0, 1.0, 1.0, 0.1, 0.01])
    user_from_coded[0, 3] = -4.2
    coded = np.array([-0.8125, 0.25, 0.0, 0.3333333333333333, -0.00012345678])
    fields: dict[str, Any] = {
        "formula": "affair ~ C(job) + age + I(age ** 2)",
        "family": "binomial",
        "link": "logit",
        "penalty": "l1",
        "strength": 0.0123456,
        "method": "objective",
        "goal": "explain",
        "names": NAMES,
        "estimates": user_from_coded @ coded,
        "selected_mask": np.array([True, True, False, True, True]),
        "coded": coded,
        "user_from_coded": user_from_coded,
        "terms": (("Intercept", (0,)), ("C(job)", (1, 2)), ("age", (3,)), ("I(age ** 2)", (4,))),
        "guarantee": guarantee(),
        "spend_lines": (
            SpendLine("perturbed minimiser", 0.99, 1e-6, 0.2581234, 0.99),
            SpendLine("solver residual", 0.01, 0.0, None, 0.01),
        ),
        "schema": {
            "unit": "one woman",
            "variables": {
                "affair": {"levels": ["no", "yes"]},
                "job": {"levels": ["farmer", "clerk", "R&D <lab>"]},
                "age": {"bounds": [17.0, 43.0]},
            },
        },
        "mechanism": {
            "algorithm": "objective perturbation",
            "noise_scale": 12.345678901234567,
            "strength_sum": None,
            "response": "affair",
            "response_levels": ["no", "yes"],
        },
        "n_rows": 6366,
        "ledger": LedgerState(
            dataset="ward-7",
            budget_epsilon=3.0,
            budget_delta=1e-5,
            spent_epsilon=2.9,
            spent_delta=1e-6,
            remaining_epsilon=3.0 - 2.9,
            remaining_delta=9e-6,
            entries=(
                {"what": "first look", "status": "charged", "epsilon": 1.9, "delta": 0.0, "mu": None},
                {"what": "fit", "status": "charged", "epsilon": 1.0, "delta": 1e-6, "mu": 0.2581234},
            ),
        ),
        "version": "0.1.0",
    }
    return FitResult(**(fields | changes))


def guarantee(**changes: Any) -> Guarantee:
    """One woman replaced, at (1, 1e-6)."""
    fields: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "definition": "approximate",
        "relation": "replace-one",
        "unit": "one woman",
        "mu": 0.2581234,
        "theorem": "Theorem B",
        "assumptions": ("the randomness of the operating system is good", "row norms are at most 1"),
        "curve": ((0.5, 1e-3), (1.0, 1e-6)),
    }
    return Guarantee(**(fields | changes))


def pure_fit() -> FitResult:
    """Pure epsilon, private number of rows, no ledger."""
    return private_fit(
        formula="affair ~ age",
        penalty="l2",
        strength=None,
        names=("Intercept", "age"),
        estimates=np.array([-0.75, 0.0314159]),
        selected_mask=np.array([True, True]),
        coded=np.array([-0.75, 0.314159]),
        user_from_coded=np.diag([1.0, 0.1]),
        terms=(("Intercept", (0,)), ("age", (1,))),
        guarantee=guarantee(
            epsilon=0.1, delta=0.0, definition="pure", relation="add-remove", mu=None, curve=((0.1, 0.0),)
        ),
        spend_lines=(SpendLine("perturbed minimiser", 0.1, 0.0, None, 1.0),),
        mechanism={"strength_sum": 25.0, "response": "affair", "response_levels": ["no", "yes"]},
        n_rows=None,
        ledger=None,
    )


def seeded_fit() -> FitResult:
    """The private fit with noise that can be drawn again."""
    return private_fit(guarantee=guarantee().seeded(), ledger=None)


def open_fit() -> FitResult:
    """A fit for which nobody asked for privacy."""
    return private_fit(
        guarantee=Guarantee.none("no privacy asked"), method="nonprivate", spend_lines=(), ledger=None
    )


RESULTS = {"private": private_fit, "pure": pure_fit, "seeded": seeded_fit, "open": open_fit}


def outputs() -> dict[str, str]:
    """What each golden file must hold, by file name."""
    tables: dict[str, Table] = {f"summary_{name}": make().summary() for name, make in RESULTS.items()}
    tables["compare"] = compare({"small": pure_fit(), "large": private_fit(), "open": open_fit()})
    writers = {
        "txt": lambda table: f"{table}\n",
        "html": Table.to_html,
        "tex": Table.to_latex,
        "md": Table.to_markdown,
    }
    return {
        f"{name}.{ending}": write(table)
        for name, table in tables.items()
        for ending, write in writers.items()
    }
