"""Results with made-up numbers, one of each kind, for golden files and for the tests of the results room."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.postprocessing.record import (
    Choice,
    FitRecord,
    LedgerLine,
    LedgerState,
    ResponseFacts,
    SpecificationDocument,
    SpendLine,
)
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import Fact, MethodDescription, ReleaseDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.results.compare import compare
from dpglm.results.fit_result import FitResult
from dpglm.tables.table import Table

NAMES = ("Intercept", "C(job)[T.clerk]", "C(job)[T.R&D <lab>]", "age", "I(age ** 2)")


def made(fields: dict[str, Any]) -> FitResult:
    """A result of these fields of its record; those of the specification stand among them by name."""
    asked = {name: fields.pop(name) for name in ("formula", "schema", "goal")}
    family, method, penalty = fields.pop("family"), fields.pop("method"), fields["penalty"]
    promise = fields["guarantee"]
    budget = Privacy(promise.epsilon, promise.delta, promise.relation) if promise.epsilon < 1e9 else None
    specification = SpecificationDocument(
        **asked,
        family=Choice(family),
        penalty=Choice(penalty),
        method=method if isinstance(method, Choice) else Choice(method),
        strength=None,
        privacy=fields.pop("budget", budget),
    )
    return FitResult(FitRecord(specification=specification, **fields))


def changed(result: FitResult, **changes: Any) -> FitResult:
    """The result with other fields of its record."""
    return FitResult(replace(result._record, **changes))


def described(scale: float, **changes: Any) -> MethodDescription:
    """One perturbed minimiser."""
    release = ReleaseDescription(
        name="perturbed minimiser",
        released="the minimiser of sum of losses + b'theta + ridge/2 |theta|^2 + penalty, once",
        sensitivity=2.0,
        noise="density proportional to exp(-|b| / scale)",
        scale=scale,
        theorem="objective perturbation, pure epsilon (Theorem A1, objective_perturbation.md)",
        facts=(Fact("Ridge, sum units", scale), Fact("Certified solver residual", 1e-8)),
    )
    fields: dict[str, Any] = {
        "algorithm": "objective perturbation",
        "releases": (release,),
        "penalty_applied": "inside the objective",
        "why": "At the minimiser the gradient is zero.\nOutputs and noise determine each other.",
    }
    return MethodDescription(**(fields | changes))


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
        "strength_sum": None,
        "row_norm": 1.0,
        "rows_clipped": "none",
        "residual": None,
        "response": ResponseFacts("affair", levels=("no", "yes")),
        "description": described(12.345678901234567),
        "random_source": "operating system",
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
                LedgerLine("first look", "charged", 1.9, 0.0, None),
                LedgerLine("fit", "charged", 1.0, 1e-6, 0.2581234),
            ),
        ),
        "version": "0.1.0",
    }
    return made(fields | changes)


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


def pure_fit(**changes: Any) -> FitResult:
    """Pure epsilon, private number of rows, no ledger."""
    fields: dict[str, Any] = {
        "formula": "affair ~ age",
        "penalty": "l2",
        "strength": None,
        "names": ("Intercept", "age"),
        "estimates": np.array([-0.75, 0.0314159]),
        "selected_mask": np.array([True, True]),
        "coded": np.array([-0.75, 0.314159]),
        "user_from_coded": np.diag([1.0, 0.1]),
        "terms": (("Intercept", (0,)), ("age", (1,))),
        "guarantee": guarantee(
            epsilon=0.1, delta=0.0, definition="pure", relation="add-remove", mu=None, curve=((0.1, 0.0),)
        ),
        "spend_lines": (SpendLine("perturbed minimiser", 0.1, 0.0, None, 1.0),),
        "strength_sum": 25.0,
        "n_rows": None,
        "ledger": None,
    }
    return private_fit(**(fields | changes))


def seeded_fit() -> FitResult:
    """The private fit with noise that can be drawn again."""
    return private_fit(guarantee=guarantee().seeded(), ledger=None)


def open_fit() -> FitResult:
    """A fit for which nobody asked for privacy."""
    return private_fit(
        guarantee=Guarantee.none("no privacy asked"), method="nonprivate", spend_lines=(), ledger=None
    )


INTERVAL_NAMES = (
    "Intercept",
    "C(job)[T.clerk]",
    "C(job)[T.nurse]",
    "C(job)[T.R&D <lab>]",
    "age",
    "religious",
)


def released() -> ScoreAndInformation:
    """A released linear model from round numbers: no noise was drawn."""
    corner = np.array([[3.0, 0.0, 0.0], [-1.0, 8.0**0.5, 0.0], [-1.0, -(2.0**0.5), 6.0**0.5]]) / 12.0**0.5
    corners = np.vstack([corner, -corner.sum(axis=0)])
    norm = (0.25 + 2 * 2.0 / 4 + 0.75) ** 0.5
    blocks = (
        TermColumns("Intercept", "intercept", 0, 1, 0.125, np.array([[0.5 / norm]]), np.array([10.0 * norm])),
        TermColumns("C(job)", "levels", 1, 4, 0.375, corners / norm, np.full(3, norm)),
        TermColumns("age", "slope", 4, 5, 0.25, np.array([[2.0**0.5 / norm]]), np.array([4.5**0.5 * norm])),
        TermColumns(
            "religious", "slope", 5, 6, 0.25, np.array([[2.0**0.5 / norm]]), np.array([4.5**0.5 * norm])
        ),
    )
    # 400 effective rows: shares of the four jobs, mean and mean square of the two slopes, both around 0.
    shares = np.array([0.4, 0.3, 0.28, 0.02])
    means = np.concatenate([[0.5], shares @ corners, [0.1 * 2.0**0.5, -0.05 * 2.0**0.5]]) / norm
    curvature = np.outer(means, means)
    curvature[1:4, 1:4] = (corners.T * shares) @ corners / norm**2
    curvature[4:6, 4:6] = np.array([[0.14, 0.03], [0.03, 0.18]]) / norm**2
    centre = np.array([-4.0, 0.75, -0.25, 0.5, -0.25, -3.0])
    ridge = np.array([0.5, 2.0, 2.0, 2.0, 2.0, 2.0])
    return ScoreAndInformation(
        term_columns=blocks,
        centre=centre,
        score=ridge * centre,
        information=np.round(400.0 * curvature, 6),  # the same on every machine
        score_scale=6.5,
        information_scale=1.625,
        dispersion=1.0,
        initial_variance=6.5**2 / ridge**2,
        third_derivative_bound=1.0,
    )


def user_from_coded(model: ScoreAndInformation) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Jobs against the farmer's; age over 17 to 43, religious over 1 to 4; the intercept at 0 of both."""
    matrix = np.zeros((6, 6))
    constant, corners, slope = (model.term_columns[k].table for k in (0, 1, 2))
    matrix[0, 0] = constant[0, 0]
    matrix[0, 1:4] = corners[0]
    matrix[1:4, 1:4] = corners[1:] - corners[0]
    matrix[4, 4], matrix[5, 5] = slope[0, 0] / 26.0, slope[0, 0] / 3.0
    matrix[0, 4], matrix[0, 5] = -30.0 * matrix[4, 4], -2.5 * matrix[5, 5]
    return matrix


def interval_fit(**changes: Any) -> FitResult:
    """With a released curvature: intervals for all but a rare level."""
    model = released()
    matrix = user_from_coded(model)
    coded = np.array([-3.75, 0.5, -0.25, 0.125, 0.0, -3.0])
    estimates = np.round(matrix @ coded, 9)
    estimates[4] = 0.0
    fields: dict[str, Any] = {
        "formula": "affair ~ C(job) + age + religious",
        "penalty": "l1/2",
        "names": INTERVAL_NAMES,
        "estimates": estimates,
        "selected_mask": np.array([True, True, True, True, False, True]),
        "coded": coded,
        "user_from_coded": matrix,
        "terms": (("Intercept", (0,)), ("C(job)", (1, 2, 3)), ("age", (4,)), ("religious", (5,))),
        "spend_lines": (
            SpendLine("perturbed minimiser", None, None, 0.2581234 * 0.495**0.5, 0.495),
            SpendLine("solver residual", None, None, 0.2581234 * 0.01**0.5, 0.01),
            SpendLine("information matrix", None, None, 0.2581234 * 0.495**0.5, 0.495),
        ),
        "schema": {
            "unit": "one woman",
            "variables": {
                "affair": {"levels": ["no", "yes"]},
                "job": {"levels": ["farmer", "clerk", "nurse", "R&D <lab>"]},
                "age": {"bounds": [17.0, 43.0]},
                "religious": {"bounds": [1.0, 4.0]},
            },
        },
        "released": model,
    }
    return private_fit(**(fields | changes))


def dense_fit() -> FitResult:
    """The fit with intervals, without a penalty: its coefficients are the debiased ones."""
    fit = interval_fit()._record
    assert fit.contrasts is not None
    printed = np.array([decision.reported for decision in fit.interval_decisions])
    estimates = np.where(printed, fit.contrasts.estimates, fit.contrasts.shrunk)
    return interval_fit(
        penalty="none",
        strength=None,
        estimates=estimates,
        coded=np.linalg.solve(fit.user_from_coded, estimates),
        selected_mask=np.ones(6, dtype=bool),
    )


RESULTS = {
    "private": private_fit,
    "pure": pure_fit,
    "seeded": seeded_fit,
    "open": open_fit,
    "interval": interval_fit,
    "dense": dense_fit,
}


def outputs() -> dict[str, str]:
    """What each golden file must hold, by file name."""
    tables: dict[str, Table] = {f"summary_{name}": make().summary() for name, make in RESULTS.items()}
    tables["compare"] = compare({"small": pure_fit(), "large": private_fit(), "open": open_fit()})
    tables["compare_intervals"] = compare(
        {"sparse": interval_fit(), "dense": dense_fit(), "small": pure_fit()}
    )
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
