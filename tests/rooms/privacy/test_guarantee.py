"""The printed promise: its words, its numbers, its round trip, its refusals."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from dpglm.errors import PrivacyError
from dpglm.privacy.gdp import gdp_delta, gdp_epsilon, gdp_mu
from dpglm.privacy.guarantee import Guarantee
from dpglm.privacy.theorems import free_ridge, perturbed_profile
from tests.calibrated import gaussian_scale


def pure(epsilon: float = 1.0) -> Guarantee:
    return Guarantee(epsilon, 0.0, "pure", "replace-one", "one patient", theorem="Theorem A1")


def gaussian(epsilon: float, delta: float = 1e-5) -> Guarantee:
    return Guarantee(epsilon, delta, "gdp", "add-remove", "one visit", mu=gdp_mu(epsilon, delta))


def approximate() -> Guarantee:
    ridge = free_ridge(1.0, relation="replace-one")
    scale = gaussian_scale(1.0, 1e-6, ridge, relation="replace-one").score_scale
    grid = np.linspace(0.0, 1.5, 16)
    deltas = perturbed_profile(grid, scale, ridge, relation="replace-one")
    return Guarantee(
        1.0,
        1e-6,
        "approximate",
        "replace-one",
        "one patient",
        theorem="Theorem B",
        assumptions=("bounds were chosen without looking at the data", "the number of rows is public"),
        curve=tuple(zip(grid.tolist(), deltas.tolist(), strict=True)),
    )


@pytest.mark.parametrize(
    ("epsilon", "half", "hundredth", "mu", "half_mu", "detected"),
    [
        (1.0, 0.731, 0.0267, 0.268, 0.553, 0.0198),
        (0.1, 0.525, 0.0110, 0.033, 0.506, 0.0109),
        (4.0, 0.982, 0.3555, 0.925, 0.678, 0.0805),
    ],
)
def test_numbers_of_the_report(
    epsilon: float, half: float, hundredth: float, mu: float, half_mu: float, detected: float
) -> None:
    """Published values for a Gaussian mechanism at delta = 1e-5, to the digits printed."""
    assert pure(epsilon).posterior(0.5) == pytest.approx(half, abs=5.1e-4)
    assert pure(epsilon).posterior(0.01) == pytest.approx(hundredth, abs=5.1e-4)
    promise = gaussian(epsilon)
    assert promise.mu == pytest.approx(mu, abs=5.1e-4)
    assert promise.guess(0.5) == pytest.approx(half_mu, abs=5.1e-4)
    assert promise.true_positive_rate(0.01) == pytest.approx(detected, abs=5.1e-5)


def test_statement_says_who_what_and_why() -> None:
    text = approximate().statement()
    for word in (
        "epsilon = 1",
        "delta = 1e-6",
        "one patient",
        "replaced by any other",
        "2.719",  # e, rounded up
        "Theorem B",
    ):
        assert word in text
    assert "provided that bounds were chosen without looking at the data, and that the number of rows" in text
    assert text.endswith(".")
    assert ". " not in text  # one sentence
    assert "present or absent" in gaussian(1.0).statement()
    assert "mu = 0.268" in gaussian(1.0).statement()
    assert "pure" in pure().statement()


def test_no_promise_is_never_dressed_as_one() -> None:
    none = Guarantee.none("no privacy was asked for")
    assert not none.private
    assert none.statement().startswith("NOT PRIVATE")
    assert "no privacy was asked for" in none.statement()
    assert "epsilon" not in none.statement()
    seeded = approximate().seeded()
    assert (seeded.private, seeded.epsilon) == (False, 1.0)
    assert seeded.statement().startswith("NOT PRIVATE")
    assert "seed" in seeded.statement()
    for promise in (none, seeded):
        assert promise.posterior(0.01) == promise.guess() == promise.true_positive_rate(0.01) == 1.0
        assert promise.group(3) == (math.inf, 1.0)


def test_plain_values_need_no_infinity_in_json() -> None:
    for promise in (pure(), gaussian(0.3), approximate().seeded(), Guarantee.none("not asked for")):
        values = json.loads(json.dumps(promise.to_dict(), allow_nan=False))
        assert (values["epsilon"] is None) == (promise.epsilon == math.inf)
        assert (values["delta"], values["private"], values["unit"]) == (
            promise.delta,
            promise.private,
            promise.unit,
        )


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"delta": 1e-6}, "pure"),
        ({"delta": math.nan}, "delta"),
        ({"definition": "perfect"}, "definition"),
        ({"definition": "gdp"}, "definition"),
        ({"relation": "swap"}, "relation"),
        ({"unit": " "}, "unit"),
        ({"mu": -0.1}, "mu"),
        ({"rho": math.inf}, "rho"),
        ({"curve": ((1.0, 1.5),)}, "curve"),
        ({"private": False}, "reason"),
    ],
)
def test_contradictions_are_refused(changed: dict[str, object], named: str) -> None:
    values = {**pure().to_dict(), "assumptions": (), "curve": (), **changed}
    with pytest.raises(PrivacyError, match=named):
        Guarantee(**values)


def test_groups_pay_for_every_row() -> None:
    assert pure(0.5).group(5) == (2.5, 0.0)
    promise = gaussian(1.0)
    assert promise.mu is not None
    assert promise.group(2) == (gdp_epsilon(2.0 * promise.mu, 1e-5), 1e-5)
    epsilon, delta = Guarantee(0.5, 1e-6, "approximate", "replace-one", "one row").group(3)
    assert epsilon == 1.5
    assert delta == pytest.approx(1e-6 * math.expm1(1.5) / math.expm1(0.5), rel=1e-12, abs=0.0)
    assert approximate().group(1) == (1.0, 1e-6)
    with pytest.raises(PrivacyError):
        pure().group(0)


def test_detection_bounds_are_those_of_the_exact_gaussian_test() -> None:
    """The best test of N(0, 1) against N(mu, 1) attains the bound under mu, and never passes the others."""
    promise = gaussian(1.0)
    assert promise.mu is not None
    points = tuple((e, gdp_delta(e, promise.mu)) for e in np.linspace(0.0, 3.0, 301).tolist())
    listed = Guarantee(1.0, 1e-5, "approximate", "add-remove", "one visit", curve=points)
    for rate in (1e-4, 0.01, 0.2, 0.5, 0.9):
        exact = promise.true_positive_rate(rate)
        assert rate <= exact <= listed.true_positive_rate(rate) <= exact * 1.001 + 1e-9
    assert listed.guess() == pytest.approx(promise.guess(), rel=1e-9)


def test_guessing_never_beats_the_posterior_and_equals_it_at_even_odds() -> None:
    for epsilon in (0.1, 1.0, 3.0):
        assert pure(epsilon).guess(0.5) == pytest.approx(pure(epsilon).posterior(0.5), rel=1e-12)
        for prior in (0.01, 0.3, 0.9):
            assert max(prior, 1 - prior) <= pure(epsilon).guess(prior) <= 1.0
            assert pure(epsilon).guess(prior) == pytest.approx(pure(epsilon).guess(1 - prior), rel=1e-9)
    assert pure().guess(0.01) == 0.99  # so rare that always saying no is best
