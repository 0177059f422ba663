"""Fits with made-up numbers, from literals: the same on every machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.base import DECLARED
from dpglm.postprocessing.correlations import ProfiledColumn
from dpglm.postprocessing.profile import ProfileRecord
from dpglm.postprocessing.quartiles import ClassCounts
from dpglm.postprocessing.record import Choice, LedgerLine, LedgerState, ResponseFacts, SpendLine
from dpglm.privacy.events import Fact, MethodDescription, ReleaseDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.results.fit_result import FitResult
from dpglm.results.profile import Profile
from dpglm.results.result import Result
from tests.golden.examples import described, interval_fit, made

PURE_THEOREM = "objective perturbation, pure epsilon (Theorem A1, objective_perturbation.md)"
MINIMISER = described(2.0202020202020203).releases[0]
render, plot = Result.to_html, FitResult.plot
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
        "strength_sum": None,
        "row_norm": 1.0,
        "rows_clipped": "none",
        "residual": None,
        "response": ResponseFacts("affair", levels=("no", "yes")),
        "description": described(2.0202020202020203),
        "random_source": "operating system",
        "n_rows": 6366,
        "ledger": ledger(),
        "version": "0.1.0",
    }
    return made(fields | changes)


def pure(**changes: Any) -> Guarantee:
    """One woman exchanged, epsilon 1."""
    fields: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 0.0,
        "definition": "pure",
        "relation": "replace-one",
        "unit": "one woman",
        "theorem": PURE_THEOREM,
        "assumptions": (
            "bounds, levels, formula and penalty strength were chosen without looking at these data",
            "the solver’s certificate, in double precision, is right to within its tolerance",
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
        "theorem": "objective perturbation, (epsilon, delta) (Theorem B, objective_perturbation.md)",
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
        "theorem": "objective perturbation, Gaussian DP (Theorem A2, objective_perturbation.md)",
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
            LedgerLine(what, status, epsilon, 0.0, None, when) for when, what, status, epsilon in lines
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
        description=MethodDescription("exact minimiser without noise", ()),
        spend_lines=(),
        ledger=None,
    )


def interval(**changes: Any) -> FitResult:
    """The golden fit with a released curvature, on this page's guarantee and ledger."""
    information = ReleaseDescription(
        name="information matrix",
        released="the sum of curvature times x x' at that point, with symmetric noise",
        sensitivity=0.3535533905932738,
        noise="Gaussian, symmetric",
        scale=1.625,
        theorem="Gaussian mechanism (information.md)",
    )
    card = described(2.0202020202020203)
    card = replace(card, releases=(*card.releases, information))
    promise = approximate(relation="replace-one")
    fields: dict[str, Any] = {"guarantee": promise, "ledger": ledger(), "description": card}
    return interval_fit(**(fields | {"spend_lines": interval_fit()._record.spend_lines} | changes))


def simplex(count: int) -> np.ndarray:
    """Corners of a centred simplex, one row each, columns orthonormal: Helmert's."""
    table = np.zeros((count, count - 1))
    for k in range(1, count):
        table[:k, k - 1], table[k, k - 1] = -1.0, k
        table[:, k - 1] /= (k * (k + 1.0)) ** 0.5
    return table


def wide(levels: Sequence[int] = (42, 16, 15, 14, 7, 6), slopes: int = 3) -> FitResult:
    """As many coefficients as the adult table has, all digits of every number in use; seed 3."""
    generator = np.random.default_rng(3)
    norm = (0.25 + 0.5 * slopes + sum(1.0 - 1.0 / count for count in levels)) ** 0.5
    blocks = [
        TermColumns("Intercept", "intercept", 0, 1, 0.1, np.array([[0.5 / norm]]), np.array([10 * norm]))
    ]
    means, inner = [np.array([0.5 / norm])], [np.array([[0.25]]) / norm**2]
    names, terms = ["Intercept"], [("Intercept", (0,))]
    matrix_rows: list[tuple[int, int, np.ndarray]] = []
    for k, count in enumerate(levels):
        start = blocks[-1].stop
        corners = simplex(count) / norm
        shares = np.arange(count, 0.0, -1.0) ** 2 / np.sum(np.arange(count, 0.0, -1.0) ** 2)
        label = f"C(factor_{k})"
        blocks.append(
            TermColumns(label, "levels", start, start + count - 1, 0.1, corners, np.full(count - 1, norm))
        )
        means.append(shares @ corners)
        inner.append((corners.T * shares) @ corners)
        names += [f"{label}[T.level number {level}]" for level in range(1, count)]
        terms.append((label, tuple(range(start, start + count - 1))))
        matrix_rows.append((start, start + count - 1, corners))
    for k in range(slopes):
        start, scale = blocks[-1].stop, 2.0**0.5 / norm
        blocks.append(
            TermColumns(f"x{k}", "slope", start, start + 1, 0.1, np.array([[scale]]), np.array([3 / scale]))
        )
        means.append(np.array([0.1 * scale]))
        inner.append(np.array([[0.1 * scale**2]]))
        names.append(f"x{k}")
        terms.append((f"x{k}", (start,)))
    size = len(names)
    mean = np.concatenate(means)
    curvature = np.outer(mean, mean)
    matrix = np.zeros((size, size))
    matrix[0, 0] = 0.5 / norm
    for block, part in zip(blocks, inner, strict=True):
        curvature[block.columns, block.columns] = part
        if block.kind == "slope":
            matrix[block.start, block.start] = block.table[0, 0] / 60.0
            matrix[0, block.start] = -0.5 * block.table[0, 0]
    for start, stop, corners in matrix_rows:
        matrix[start:stop, start:stop] = corners[1:] - corners[0]
        matrix[0, start:stop] = corners[0]
    noise = generator.normal(size=(size, size))
    ridge = np.full(size, 2.0)
    centre = generator.normal(size=size)
    released = ScoreAndInformation(
        term_columns=tuple(blocks),
        centre=centre,
        score=ridge * centre,
        information=6000.0 * curvature + (noise + noise.T) / 2.0,
        score_scale=6.5,
        information_scale=1.625,
        dispersion=1.0,
        initial_variance=6.5**2 / ridge**2,
        third_derivative_bound=1.0,
    )
    columns = {
        f"factor_{k}": {"levels": [f"level number {j}" for j in range(n)]} for k, n in enumerate(levels)
    }
    return interval(
        names=tuple(names),
        estimates=matrix @ centre,
        coded=centre,
        user_from_coded=matrix,
        selected_mask=np.ones(size, dtype=bool),
        terms=tuple(terms),
        released=released,
        schema={"unit": "one person", "variables": columns},
        formula="income ~ " + " + ".join(name for name, _ in terms[1:]),
    )


GROUPS = {
    "life": ("age", "children", "religious", "rate_marriage"),
    "work and schooling of the woman": ("educ", "C(occupation)"),
    "marriage": ("yrs_married", "rate_marriage"),
}


def stack(groups: Mapping[str, tuple[str, ...]] = GROUPS, combine: str = "model") -> Any:
    """Models on groups of terms, whose coefficients are shares of the specimen's."""
    from dpglm.papers.stacking.stack import Stack

    places = dict(fit()._record.terms)
    coefficients = np.zeros((len(groups), len(NAMES)))
    for k, terms in enumerate(groups.values()):
        read = [0, *(place for term in terms or places for place in places.get(term, ()))]
        coefficients[k, read] = 0.5 * np.array(ESTIMATES)[read] + 0.01 * (k + 1)
    weights = np.array([0.125, *(1.5 - 0.75 * k for k in range(len(groups)))])
    if combine != "model":
        weights = 1.0 + np.arange(float(len(groups))) if combine == "weighted" else np.ones(len(groups))
    return Stack(tuple(groups), tuple(groups.values()), coefficients, combine, weights)


def stacked(one: Any = None, **changes: Any) -> FitResult:
    """The fit as a stack at a branch, with importance and a source."""
    one = stack() if one is None else one
    weights = tuple(f"{name}: {2.0 / (k + 1):.6g}" for k, name in enumerate(one.names))
    provenance = "three marriage counsellors, asked before the survey was opened"
    facts = (
        Fact("Importance, public weights", weights),
        Fact("Where the importance comes from", provenance),
        Fact("Origin of the groups", "given"),
        Fact("Source of the coefficients that the fit is pulled to", "affair ~ age + children  [pst-f]"),
        Fact("Price of that source, a budget of its own", "epsilon 1, delta 0, replace-one"),
        Fact("On that source", "budgets of source and target are separate; a person in both pays both"),
    )
    fields: dict[str, Any] = {
        "method": Choice("pst-h", {"source": "main.json"}),
        "penalty": "l2",
        "part": one,
        "coded": one.linear(),
        "estimates": one.linear(),
        "selected_mask": np.ones(len(NAMES), dtype=bool),
        "description": described(2.0202020202020203, facts=facts),
    }
    return fit(**(fields | changes))


def profile(**changes: Any) -> Profile:
    """Numbers and factors by group: a number that may be missing, and a group that its noise hides."""
    columns = (
        ProfiledColumn("age", False, 17.5, 42.0),
        ProfiledColumn("children", True, 0.0, 5.5),
        ProfiledColumn("occupation", True, levels=("student", "farming", "business")),
        ProfiledColumn("trained", False, levels=("no", "yes")),
    )
    # Rows; z and z^2 - 1/2 of age; values, z and z^2 - 1/2 of children; levels.
    first = [4310.0, -212.5, -811.25, 4200.5, -1810.0, -902.0, 130.5, 2904.0, 1171.25, 3100.5, 1209.5]
    second = [2049.5, 96.0, -402.75, 2001.0, -602.5, -388.5, -4.25, 1340.0, 660.5, 1500.0, 549.5]
    third = [9.5, 11.0, -6.5, 3.0, 8.0, 2.5, -7.0, 1.5, 4.0, 6.0, 3.5]
    fields: dict[str, Any] = {
        "names": ("occupation", "age", "trained", "children"),
        "schema": schema(),
        "columns": columns,
        "by": "affair",
        "groups": ("no", "yes", "not told"),
        "group_rows": None,
        "counted": True,
        "released": np.array([first, second, third]),
        "deviations": np.array([12.0, 12.0, 6.0, 24.0, 12.0, 6.0, *[8.0] * 5]),
        "guarantee": replace(
            gaussian(),
            theorem="Gaussian mechanism on sums (column_sums.md)",
            assumptions=(DECLARED,),
        ),
        "spend_lines": (SpendLine("column sums", None, None, 0.268, 1.0),),
        "description": described(6.0, algorithm="counts, and first and second moments of numbers"),
        "random_source": "operating system",
        "n_rows": 6366,
        "ledger": ledger(),
        "version": "0.1.0",
        "plan_fingerprint": "0123456789abcdef" * 4,
    }
    return Profile(ProfileRecord(**(fields | changes)))


def with_quartiles() -> Profile:
    """Counts of both numbers in four classes of each group, the second one narrow."""
    edges = np.array([[-0.75, -0.125, 0.5], [-1.0, -0.99, 0.25]])
    first = [610.5, 1402.0, 1809.25, 488.0, 1400.25, 4.5, 1801.0, 990.5]
    second = [301.0, 611.5, 902.0, 240.25, 299.5, 12.0, 1101.25, 598.0]
    third = [4.0, -7.5, 9.25, 2.0, -3.0, 6.5, 1.25, 0.5]
    return profile(classes=ClassCounts(edges, np.array([first, second, third]), 9.0))


CHOICES = {
    "tuning": "Penalty strength left at its default, which does not look at data.",
    "formula": "Fixed in the study plan before the survey was read.",
}
PAGES: dict[str, tuple[Callable[[], FitResult | Profile], dict[str, str]]] = {
    "pure": (fit, CHOICES),
    "approximate": (
        lambda: fit(guarantee=approximate(), n_rows=None, strength=None, ledger=None, penalty="l2"),
        {},
    ),
    "gaussian": (lambda: fit(guarantee=gaussian()), {}),
    "intervals": (interval, CHOICES),
    "intervals_seeded": (
        lambda: interval(guarantee=replace(pure(), private=False, reason="seeded"), ledger=None),
        {},
    ),
    "wide": (wide, {}),
    "stack": (stacked, CHOICES),
    "votes_seeded": (
        lambda: stacked(
            stack(dict.fromkeys(["part 1", "part 2"], ()), "majority"),
            method="pst-s",
            description=MethodDescription("stacking", ()),
            guarantee=replace(pure(), private=False, reason="seeded"),
        ),
        {},
    ),
    "seeded": (seeded, {}),
    "plain": (plain, CHOICES),
    "profile": (profile, {"columns": "All of the study plan."}),
    "quartiles": (with_quartiles, {}),
    "profile_seeded": (
        lambda: profile(guarantee=replace(gaussian(), private=False, reason="seeded"), ledger=None),
        {},
    ),
}
if find_spec("dpglm.papers") is None:
    del PAGES["stack"], PAGES["votes_seeded"]
