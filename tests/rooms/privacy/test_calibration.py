"""Noise for a budget: no more than is asked, the shares that were said, remedies that are the least."""

from __future__ import annotations

import itertools
import math
from typing import Literal

import numpy as np
import pytest

from dpglm.errors import MethodError, PrivacyError
from dpglm.privacy.gdp import gdp_delta, gdp_epsilon, gdp_mu, mu_from_pure, mu_from_rho, rho_from_mu
from dpglm.privacy.theorems import free_ridge, gamma_epsilon, mu_perturbed
from tests.calibrated import (
    bounded_delta,
    calibrate_bounded,
    calibrate_bounded_pure,
    calibrate_pair,
    calibrate_pair_gdp,
    calibrate_pair_pure,
    gamma_rate,
    gaussian_scale,
    gaussian_scale_gdp,
)

Relation = Literal["add-remove", "replace-one"]
STEPS: dict[Relation, int] = {"add-remove": 1, "replace-one": 2}
RELATIONS = list(STEPS)


@pytest.mark.parametrize("bad", [-1e-9, -0.5, math.nan, math.inf])
def test_conversions_refuse_what_is_below_zero_and_take_what_is_just_above(bad: float) -> None:
    for convert in (rho_from_mu, mu_from_rho, mu_from_pure, lambda value: gdp_epsilon(value, 1e-6)):
        with pytest.raises(PrivacyError, match="finite"):
            convert(bad)
        assert 0.0 <= convert(1e-9) < 1e-4
        assert convert(0.0) == 0.0
    with pytest.raises(PrivacyError):
        gdp_mu(bad, 1e-6)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_ridge_of_a_remedy_is_the_least_at_which_nothing_is_lost(relation: Relation) -> None:
    """A thousandth above it the noise is the ideal one; a fiftieth below it is more."""
    steps = STEPS[relation]

    def remedy(caught: pytest.ExceptionInfo[MethodError]) -> float:
        return float(caught.value.remedy.split("ridge=")[1].split(" ")[0])

    with pytest.raises(MethodError) as caught:
        gamma_rate(0.1, 0.01, relation=relation)
    ridge = remedy(caught)
    assert gamma_rate(0.1, ridge, relation=relation) == pytest.approx(0.1 / steps, rel=1e-8)
    assert gamma_rate(0.1, 0.98 * ridge, relation=relation) < 0.1 / steps * (1.0 - 1e-6)
    with pytest.raises(MethodError) as caught:
        gaussian_scale(0.1, 1e-6, 0.01, relation=relation)
    ridge = remedy(caught)
    assert ridge == pytest.approx(free_ridge(0.1, relation=relation), rel=2e-3)
    with pytest.raises(MethodError) as caught:
        gaussian_scale_gdp(0.5, 0.01, relation=relation)
    ridge = remedy(caught)
    ideal = steps / 0.5
    assert gaussian_scale_gdp(0.5, ridge, relation=relation).score_scale == pytest.approx(ideal, rel=1e-8)
    below = gaussian_scale_gdp(0.5, 0.98 * ridge, relation=relation)
    assert below.score_scale > ideal * (1.0 + 1e-6)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("share", "residual_share"), [(0.5, 0.01), (0.2, 0.1)])
def test_a_pair_splits_its_budget_as_was_said(
    relation: Relation, share: float, residual_share: float
) -> None:
    """Squares of mu, or epsilons: ``residual_share`` of all, then ``share`` of what is left."""
    steps = STEPS[relation]
    asked = {} if share == 0.5 else {"share": share, "residual_share": residual_share}
    for found in (
        calibrate_pair(
            1.0,
            1e-6,
            max_leverage_of=lambda scale: 0.2,
            relation=relation,
            information_sensitivity=0.3,
            **asked,
        ),
        calibrate_pair_gdp(0.4, relation=relation, information_sensitivity=0.3, **asked),
        calibrate_bounded(
            1.0, 1e-6, max_leverage_of=lambda s: 0.02, relation=relation, information_sensitivity=0.3, **asked
        ),
    ):
        score, curvature = steps / found.score_scale, 0.3 / found.information_scale
        total = score**2 + curvature**2 + found.residual_price**2
        assert found.residual_price**2 == pytest.approx(residual_share * total, rel=1e-9)
        assert curvature**2 == pytest.approx(share * (total - found.residual_price**2), rel=1e-9)
        if found.least_ridge > 0.0:  # Theorem A2 asks for 2 scale^2 and no more
            assert found.least_ridge == pytest.approx(2.0 * found.score_scale**2, rel=1e-8)
            assert found.max_leverage * found.least_ridge == pytest.approx(1.0, rel=1e-12)
    pure = calibrate_pair_pure(
        2.0, max_leverage_of=lambda scale: 1e-3, relation=relation, information_sensitivity=0.3, **asked
    )
    assert pure.ridge_factor == 1.0
    assert pure.residual_price == pytest.approx(2.0 * residual_share, rel=1e-9)
    assert 0.3 / pure.information_scale == pytest.approx(2.0 * (1.0 - residual_share) * share, rel=1e-8)
    assert steps / pure.score_scale == pytest.approx(2.0 * (1.0 - residual_share) * (1.0 - share), rel=1e-8)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_pure_pair_multiplies_the_ridge_by_what_theorem_a1_needs_and_no_more(relation: Relation) -> None:
    for part in (0.05, 0.3, 2.0):

        def max_leverage_of(scale: float, part: float = part) -> float:
            return part / math.sqrt(scale)

        found = calibrate_pair_pure(
            1.0, max_leverage_of=max_leverage_of, relation=relation, information_sensitivity=0.3
        )
        max_leverage = max_leverage_of(found.score_scale)
        rate = 1.0 / found.score_scale
        assert found.ridge_factor == pytest.approx(max(1.0, max_leverage / rate), rel=1e-8)
        assert (
            gamma_epsilon(rate, found.ridge_factor / max_leverage, relation=relation)
            == STEPS[relation] * rate
        )
        if found.ridge_factor > 1.0:
            less = 0.98 * found.ridge_factor / max_leverage
            assert gamma_epsilon(rate, less, relation=relation) > STEPS[relation] * rate


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_bounded_pair_is_the_least_noise_of_its_bound(relation: Relation) -> None:
    steps = STEPS[relation]
    for epsilon, delta, share in itertools.product((0.3, 2.0), (1e-9, 1e-3), (0.0, 0.5)):

        def max_leverage_of(scale: float, epsilon: float = epsilon) -> float:
            return 0.05 * epsilon + 0.1 / scale**2

        found = calibrate_bounded(
            epsilon,
            delta,
            max_leverage_of=max_leverage_of,
            relation=relation,
            information_sensitivity=0.3,
            share=share,
        )
        assert found.max_leverage == max_leverage_of(found.score_scale)
        beside = math.hypot(found.residual_price, 0.3 / found.information_scale)
        assert bounded_delta(epsilon, 1.0 / found.score_scale, found.max_leverage, steps, beside) <= delta
        less = 0.999 * found.score_scale
        assert bounded_delta(epsilon, 1.0 / less, max_leverage_of(less), steps, beside / 0.999) > delta
        pure = calibrate_bounded_pure(
            epsilon,
            max_leverage_of=max_leverage_of,
            relation=relation,
            information_sensitivity=0.3,
            share=share,
        )
        spent = (
            steps / pure.score_scale
            + math.log1p(max_leverage_of(pure.score_scale))
            + 0.3 / pure.information_scale
        )
        assert spent + pure.residual_price == pytest.approx(epsilon, rel=1e-7)
        assert spent + pure.residual_price <= epsilon
        assert pure.ridge_factor == 1.0


def test_shares_out_of_range_are_refused() -> None:
    def pair(share: float, residual_share: float) -> None:
        calibrate_pair_gdp(
            0.4,
            relation="add-remove",
            information_sensitivity=0.3,
            share=share,
            residual_share=residual_share,
        )

    def bounded(share: float, residual_share: float) -> None:
        calibrate_bounded_pure(
            1.0,
            max_leverage_of=lambda scale: 1e-9,
            relation="add-remove",
            information_sensitivity=0.3,
            share=share,
            residual_share=residual_share,
        )

    for calibrate in (pair, bounded):
        calibrate(0.999, 1e-3)
        calibrate(1e-3, 0.999)
        for share, residual_share in (
            (1.0, 0.01),
            (-0.1, 0.01),
            (0.5, 0.0),
            (0.5, 1.0),
            (0.5, -0.1),
            (1.5, 0.5),
        ):
            with pytest.raises(MethodError, match="share"):
                calibrate(share, residual_share)
    bounded(0.0, 0.01)  # no curvature
    with pytest.raises(MethodError, match="share"):
        pair(0.0, 0.01)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_epsilon_of_a_calibrated_scale_is_used_up(relation: Relation) -> None:
    """Where a theorem's bound decides, a thousandth less noise passes it."""
    for epsilon, fraction in itertools.product((0.3, 1.0), (0.9, 0.6, 0.3)):
        ridge = fraction * free_ridge(epsilon, relation=relation)
        mu = gdp_mu(epsilon, 1e-6)
        scale = gaussian_scale(epsilon, 1e-6, ridge, relation=relation).score_scale
        ideal = STEPS[relation] / mu
        assert ideal < scale <= STEPS[relation] / gdp_mu(epsilon - math.log1p(0.25 / ridge), 1e-6) * 1.0001
        mine = mu_perturbed(scale, ridge, relation=relation)
        assert mine >= STEPS[relation] / scale
        assert gdp_delta(epsilon, STEPS[relation] / scale) < 1e-6


def test_free_ridges_are_rounded_up_so_that_nothing_is_lost() -> None:
    for epsilon, relation in itertools.product(np.geomspace(0.01, 10.0, 7).tolist(), RELATIONS):
        ridge = free_ridge(epsilon, relation=relation)
        exact = STEPS[relation] / epsilon
        assert exact < ridge <= exact * (1.0 + 1e-8)
        assert gamma_epsilon(epsilon / STEPS[relation], ridge, relation=relation) == pytest.approx(epsilon)


def test_noise_is_found_at_ridges_cut_nearly_to_where_none_is_enough() -> None:
    """At small epsilons, too, where the noise is large in its own units: two to five times the ideal one."""
    for relation, fraction in (("add-remove", 0.3), ("replace-one", 0.15)):
        for epsilon in (0.05, 0.1):
            ridge = fraction * free_ridge(epsilon, relation=relation)  # type: ignore[arg-type]
            found = gaussian_scale(epsilon, 1e-6, ridge, relation=relation)  # type: ignore[arg-type]
            ideal = (1 if relation == "add-remove" else 2) / gdp_mu(epsilon, 1e-6)
            assert 2.0 * ideal < found.score_scale < 5.0 * ideal
