"""Perturbed outputs keep their claims; with 20 % less noise they are caught.

One row with an offset that keeps its slope at 1 moves the minimiser by all of the sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.output_perturbation import PerturbedOutput
from dpglm.privacy.budget import Relation
from tests.audits.harness import Case, check, of_releases, under_both
from tests.audits.twins import logistic_minimisers


def one_column(family: str, relation: Relation) -> PerturbedOutput:
    """An output whose noise has the scale of its sensitivity."""
    release = PerturbedOutput(
        families[family]().with_bound(20.0),
        ridge=2.0,
        law="gaussian",
        scale=1.0,
        tolerance=1e-8,
        penalty=penalties["none"](),
        penalty_rows=1.0,
        mixing=np.eye(1),
        penalised=np.ones(1, dtype=bool),
    )
    return replace(release, scale=release.sensitivity(relation))


def cases() -> list[Case]:
    found = []
    for title, privacy in under_both():
        for name in ("binomial", "poisson"):
            release = one_column(name, privacy.relation)
            if title == "pure":
                release = replace(release, law="gamma", scale=release.scale / privacy.epsilon)
            if title != "approximate":
                words = f"{name}, {title}"
                found.append(of_releases(PerturbedOutput, words, privacy, [release], trials=8000))
    return found


CASES = cases()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)


@pytest.mark.parametrize("rows", [1, 10, 200])
@pytest.mark.parametrize("ridge", [0.05, 1.0, 20.0])
def test_slopes_at_a_minimiser_stay_below_what_a_ridge_alone_allows(rows: int, ridge: float) -> None:
    """No neighbours among rows of norm 1, both responses, move the minimiser by more than the constant."""
    release = PerturbedOutput(
        families["binomial"](),
        ridge=ridge,
        law="gaussian",
        scale=1.0,
        tolerance=1e-9,
        penalty=penalties["none"](),
        penalty_rows=1.0,
        mixing=np.eye(1),
        penalised=np.ones(1, dtype=bool),
        plain_rows=rows,
    )
    most = release.sensitivity("replace-one")
    general = replace(release, plain_rows=None).sensitivity("replace-one")
    assert most < general
    generator = np.random.default_rng(rows)
    worst = 0.0
    for place in range(60):
        rest = np.ones((rows, 1)) if place == 0 else generator.uniform(-1.0, 1.0, size=(rows, 1))
        y = np.ones(rows) if place == 0 else (generator.uniform(size=rows) < 0.5).astype(float)
        other = y.copy()
        rest[0], other[0] = 1.0, 1.0 - y[0]
        ends = [
            logistic_minimisers(rest, answer, np.ones(rows), np.zeros((1, 1)), ridge)[0]
            for answer in (y, other)
        ]
        worst = max(worst, float(np.abs(ends[0] - ends[1]).max()))
    assert worst <= most
