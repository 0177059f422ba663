"""Numbers that mean nothing are refused right at the edge of what means something."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from dpglm.errors import PrivacyError
from dpglm.privacy.accountant import compose
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import ApproximateEvent, BoundedSlopeEvent, GaussianEvent, PerturbedEvent, PureEvent
from dpglm.privacy.guarantee import Guarantee

TINY = 1e-9


@pytest.mark.parametrize(
    ("make", "good", "bad"),
    [
        (PureEvent, [(0.0,), (TINY,), (1e6,)], [(-TINY,), (math.inf,)]),
        (GaussianEvent, [(0.0,), (TINY,), (1e6,)], [(-TINY,), (math.inf,)]),
        (
            ApproximateEvent,
            [(0.0, 0.0), (1.0, 1.0), (1e6, TINY)],
            [(-TINY, 0.0), (1.0, -TINY), (1.0, 1.0 + TINY)],
        ),
        (
            lambda mu, max_leverage: PerturbedEvent(mu, max_leverage, "add-remove"),
            [(TINY, 1.0), (1.0, TINY), (5.0, 5.0)],
            [(0.0, 1.0), (1.0, 0.0), (-TINY, 1.0), (1.0, -TINY), (math.inf, 1.0), (1.0, math.inf)],
        ),
        (
            lambda epsilon, delta: compose([PureEvent(epsilon)], delta=delta),
            [(1.0, 0.0), (1.0, 1.0 - TINY)],
            [(1.0, -TINY), (1.0, 1.0)],
        ),
        (
            lambda epsilon, delta: Guarantee(epsilon, delta, "approximate", "add-remove", "one row"),
            [(0.0, 0.0), (1.0, 1.0), (1e9, TINY)],
            [(-TINY, 0.0), (1.0, -TINY), (1.0, 1.0 + TINY), (math.inf, 0.0)],
        ),
        (
            lambda mu, rho: Guarantee(1.0, 1e-6, "gdp", "add-remove", "one row", mu=mu, rho=rho),
            [(0.0, 0.0), (TINY, None), (5.0, 5.0)],
            [(-TINY, 0.0), (0.0, -TINY), (math.inf, 0.0), (0.0, math.inf)],
        ),
        (
            lambda epsilon, delta: Guarantee(
                1.0, 1e-6, "approximate", "add-remove", "one row", curve=((epsilon, delta),)
            ),
            [(0.0, 0.0), (1.0, 1.0), (5.0, TINY)],
            [(-TINY, 0.0), (1.0, -TINY), (1.0, 1.0 + TINY), (math.inf, 0.0)],
        ),
        (Privacy, [(TINY, 0.0), (1e6, 1.0 - TINY)], [(0.0, 0.0), (-TINY, 0.0), (1.0, 1.0), (1.0, -TINY)]),
    ],
)
def test_the_edge_of_a_range_is_where_it_is_said(
    make: Callable[..., object], good: list[tuple[float, ...]], bad: list[tuple[float, ...]]
) -> None:
    for numbers in good:
        make(*numbers)
    for numbers in bad:
        with pytest.raises(PrivacyError):
            make(*numbers)


def test_an_unknown_relation_has_no_price() -> None:
    for kind in (PerturbedEvent, BoundedSlopeEvent):
        with pytest.raises(PrivacyError, match="relation"):
            kind(0.2, 0.4, "swap")  # type: ignore[arg-type]


@pytest.mark.parametrize("private", [True, False])
def test_rates_and_priors_are_probabilities(private: bool) -> None:
    promise = Guarantee(1.0, 1e-6, "approximate", "add-remove", "one row", mu=0.2)
    promise = promise if private else promise.seeded()
    for ask in (promise.posterior, promise.guess, promise.true_positive_rate):
        for bad in (-TINY, 1.0 + TINY, math.nan):
            with pytest.raises(PrivacyError):
                ask(bad)
        assert 0.0 <= ask(0.0) <= ask(1.0) == 1.0


@pytest.mark.parametrize("bad", [0, -1, 1.5])
def test_a_group_is_a_whole_number_of_rows(bad: float) -> None:
    promise = Guarantee(1.0, 0.0, "pure", "replace-one", "one row")
    with pytest.raises(PrivacyError, match="size"):
        promise.group(bad)  # type: ignore[arg-type]
    assert promise.group(1) == (1.0, 0.0)
    assert promise.group(2) == (2.0, 0.0)


def test_a_refused_budget_is_told_the_range_of_the_number_that_is_wrong() -> None:
    for ask, expected in (
        (lambda: Privacy.gdp(0.0), "mu > 0 and finite"),
        (lambda: Privacy.gdp(0.5, delta=0.0), "delta > 0 and < 1"),
        (lambda: Privacy.zcdp(0.0), "rho > 0 and finite"),
        (lambda: Privacy(0.0), "epsilon > 0 and finite"),
        (lambda: Privacy(1.0, -0.1), "delta >= 0 and < 1"),
        (lambda: Privacy.of("1"), "a number, a pair (epsilon, delta) or a Privacy"),
        (lambda: Privacy.of(True), "a number, a pair (epsilon, delta) or a Privacy"),
    ):
        with pytest.raises(PrivacyError) as refusal:
            ask()
        assert refusal.value.expected == expected
    with pytest.raises(PrivacyError, match="delta's reach"):
        Privacy.gdp(1e-7, delta=1e-3)


@pytest.mark.parametrize(
    "parts",
    [
        {"definition": "gdp"},
        {"definition": "zcdp"},
        {"definition": "gdp", "mu": 0.3},
        {"definition": "gdp", "mu": math.inf},
        {"definition": "approximate", "mu": 0.5},
        {"definition": "pure", "mu": 0.5},
        {"definition": "gdp", "mu": 1},
        {"definition": "perfect"},
    ],
)
def test_a_mu_that_does_not_belong_to_epsilon_and_delta_is_refused(parts: dict[str, object]) -> None:
    asked = Privacy.gdp(0.5)
    for definition in ("gdp", "zcdp"):
        assert Privacy(asked.epsilon, asked.delta, definition=definition, mu=0.5).mu == 0.5  # type: ignore[arg-type]
    with pytest.raises(PrivacyError, match="belong together"):
        Privacy(asked.epsilon, asked.delta, **parts)  # type: ignore[arg-type]
    with pytest.raises(PrivacyError, match="belong together"):
        Privacy(asked.epsilon, 0.0, definition="gdp", mu=0.5)


def test_a_budget_of_two_numbers_is_a_pair_and_a_longer_list_is_not() -> None:
    assert Privacy.of([1.0, 1e-6]) == Privacy(1.0, 1e-6)
    for wrong in ([1.0], [1.0, 1e-6, 1e-6], [], {1.0, 1e-6}):
        with pytest.raises(PrivacyError, match=r"privacy=(list|set)"):
            Privacy.of(wrong)
    long = 10**16
    with pytest.raises(PrivacyError) as refusal:
        Privacy(1.0, long)
    assert str(long) not in str(refusal.value)
