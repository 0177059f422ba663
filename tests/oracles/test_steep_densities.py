"""Claims about steep losses against exact densities, made as in `test_exact_densities`, with their slopes.

A loss of steepness C costs what a logistic one does at a C-th of the ridge; at the same ridge it costs more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from dpglm.glm.families.binomial import SteepBinomial
from dpglm.privacy.gdp import gdp_profile
from dpglm.privacy.theorems import free_ridge, gamma_epsilon, mu_perturbed, perturbed_profile
from tests.calibrated import gamma_rate, gaussian_scale
from tests.oracles import test_exact_densities as exact
from tests.oracles.test_exact_densities import BASES, QUADRATURE_ERROR, RELATIONS, Array, Relation, Table

STEEPNESSES = (2.0, 4.0)


def steep_score(steepness: float) -> Callable[[Array, Table], tuple[Array, Array]]:
    """Sum of a u and of the curvature times u^2 over the table."""
    family = SteepBinomial(steepness)

    def score(w: Array, table: Table) -> tuple[Array, Array]:
        total, curvature = np.zeros_like(w), np.zeros_like(w)
        one = np.ones_like(w)
        for record in table:
            margin = w * record.u - record.offset
            total -= record.count * record.u * family.slope(margin, one)
            curvature += record.count * record.u**2 * family.curvature(margin, one)
        return total, curvature

    return score


@pytest.fixture(params=STEEPNESSES)
def steepness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    """Densities of losses that are so steep."""
    monkeypatch.setattr(exact, "score", steep_score(request.param))
    return float(request.param)


@pytest.mark.parametrize("relation", RELATIONS)
def test_gaussian_claims_are_those_of_a_smaller_ridge(relation: Relation, steepness: float) -> None:
    steps, reached = 1 + (relation == "replace-one"), 0.0
    for scale, part in itertools.product((0.4, 4.3), (0.25, 2.0, None)):
        ridge = steepness * (2.0 * scale**2 if part is None else part)
        epsilons = np.array([0.0, 0.25, 1.0, 2.5]) * (steps if scale > 1 else 4 * steps)
        claimed = perturbed_profile(epsilons, scale, ridge / steepness, relation=relation)
        epsilons, claimed = epsilons[claimed > 1e-12], claimed[claimed > 1e-12]
        ratio = exact.worst_ratio(relation, scale, ridge, epsilons, claimed, ("empty", "one class"))
        assert ratio <= 1.0 + QUADRATURE_ERROR
        reached = max(reached, ratio)
    assert reached >= 0.999


@pytest.mark.parametrize("relation", RELATIONS)
def test_calibrated_noise_keeps_its_delta_and_the_ridge_of_a_logistic_loss_does_not(
    relation: Relation, steepness: float
) -> None:
    """The same twin has the factor left out, as code that forgot the steepness would."""
    epsilon, delta = 1.0, 1e-6
    ridge = free_ridge(epsilon, relation=relation)
    scale = gaussian_scale(epsilon, delta, ridge, relation=relation).score_scale
    ask = np.array([epsilon]), np.array([delta]), ("empty",)
    assert exact.worst_ratio(relation, scale, steepness * ridge, *ask) <= 1.0 + QUADRATURE_ERROR
    if relation == "replace-one":  # a ridge of 2 C / epsilon leaves room there
        return
    caught = 1.0
    for place in np.linspace(-6.0, 6.0, 33):  # of the transition, in noise scales
        pair = ((exact.Record(1.0, place * scale / ridge),), ())
        deltas = exact.gaussian_deltas(pair, (), ridge, scale, np.array([epsilon]), 1 / 400)
        caught = max(caught, float(deltas.max() / delta))
    assert caught > 1.3


@pytest.mark.parametrize("relation", RELATIONS)
def test_gdp_and_pure_claims_are_those_of_a_smaller_ridge(relation: Relation, steepness: float) -> None:
    scale = 3.0
    mu = mu_perturbed(scale, 2.0 * scale**2, relation=relation)
    epsilons = mu * np.array([-2.0, 0.0, 0.5, 2.0, 4.0])
    ask = epsilons, gdp_profile(epsilons, mu), ("empty", "balanced")
    assert exact.worst_ratio(relation, scale, steepness * 2.0 * scale**2, *ask) <= 1.0 + QUADRATURE_ERROR
    for epsilon, fraction in itertools.product((0.2, 4.0), (1.0, 0.4)):
        ridge = fraction * free_ridge(epsilon, relation=relation)
        rate = gamma_rate(epsilon, ridge, relation=relation)
        claimed, worst = gamma_epsilon(rate, ridge, relation=relation), 0.0
        for name, norm in (("empty", 1.0), ("empty", 0.4), ("one class", 1.0)):
            for pair in exact.pairs(relation, steepness * ridge, 1.0 / rate, BASES[name], norm):
                worst = max(worst, exact.pure_loss(pair, BASES[name], steepness * ridge, rate))
        assert 0.9 * claimed <= worst <= claimed * (1.0 + 1e-12)
