"""Numbers beyond all use are answered or refused in words; and searches end on the safe side of noise."""

from __future__ import annotations

import math
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.errors import PrivacyError
from dpglm.ledger import lines, records
from dpglm.ledger.ledger import Ledger
from dpglm.ledger.odometer import Balance
from dpglm.privacy.accountant import compose
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import ApproximateEvent, GaussianEvent, PureEvent, SampledGaussianEvent
from dpglm.privacy.gdp import conservative_root, gdp_delta, gdp_epsilon, gdp_mu
from dpglm.privacy.guarantee import Guarantee
from tests.calibrated import sampled_epsilon

exponents = st.floats(-12.0, 15.0).map(lambda power: 10.0**power)
chances = st.floats(-300.0, -1e-3).map(lambda power: 10.0**power)


@given(mu=exponents, delta=chances)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_every_mu_has_an_epsilon_that_keeps_delta(mu: float, delta: float) -> None:
    epsilon = gdp_epsilon(mu, delta)
    assert epsilon == 0.0 or gdp_delta(epsilon, mu) <= delta * (1.0 + 1e-11)
    # No more than a little: the rounding of mu squared is felt far below a millionth of it.
    assert epsilon <= mu * (mu / 2.0 + 40.0) * (1.0 + 1e-8)


@given(epsilon=exponents, delta=chances)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_every_epsilon_has_a_mu_that_keeps_delta(epsilon: float, delta: float) -> None:
    assert gdp_delta(epsilon, gdp_mu(epsilon, delta)) <= delta * (1.0 + 1e-11)


def test_a_mu_whose_square_no_double_holds_is_no_budget() -> None:
    assert gdp_epsilon(1e200, 1e-6) == math.inf
    with pytest.raises(PrivacyError, match="epsilon=inf"):
        Privacy.gdp(1e200)
    assert math.isfinite(Privacy.gdp(1e9).epsilon)


def test_deltas_without_an_epsilon_add_up() -> None:
    events = [ApproximateEvent(0.0, 1e-7), ApproximateEvent(0.0, 2e-7)]
    assert compose(events, delta=3.1e-7) == 0.0
    assert compose(events, delta=2.9e-7) == math.inf
    beside = [*events, GaussianEvent(0.5)]
    assert gdp_epsilon(0.5, 1e-6) <= compose(beside, delta=1e-6) <= gdp_epsilon(0.5, 0.7e-6) * 1.001


def test_a_belief_of_nought_stays_nought_at_any_epsilon() -> None:
    for epsilon in (1.0, 800.0):
        promise = Guarantee(epsilon, 0.0, "pure", "replace-one", "one row")
        assert promise.posterior(0.0) == 0.0
        assert promise.true_positive_rate(0.0) == 0.0
    leaky = Guarantee(800.0, 0.25, "approximate", "replace-one", "one row")
    assert leaky.true_positive_rate(0.0) == 0.25
    assert leaky.true_positive_rate(1e-9) == 1.0
    assert Guarantee.none("x").posterior(0.0) == 0.0
    assert Guarantee.none("x").posterior(1e-9) == 1.0


@pytest.mark.parametrize("epsilon", [709.0, 709.9, 1e300])
def test_an_epsilon_that_no_power_holds_promises_little_but_is_told(epsilon: float) -> None:
    promise = Guarantee(epsilon, 1e-6, "approximate", "replace-one", "one row")
    assert promise.group(3) == (3.0 * epsilon, 1.0)
    assert "times as probable" in promise.statement()


def test_a_search_ends_where_nothing_is_exceeded_however_rough_the_price_is() -> None:
    edge = 1.5

    def rough(x: float) -> float:
        """Broken from the edge on, and for a ten-billionth below it in all but narrow gaps."""
        if edge * (1.0 - 1e-10) <= x < edge:
            return -1.0 if (edge - x) / edge / 1e-12 % 1.0 < 0.02 else 1.0
        return math.copysign(1.0, x - edge)

    found = conservative_root(rough, 1.0, 2.0)
    assert rough(found) <= 0.0
    assert edge * (1.0 - 1e-9) < found < edge


def test_a_loss_too_large_for_sums_is_accounted_without_its_sample() -> None:
    event = SampledGaussianEvent(30.0, 0.5, "fixed", "replace-one")
    assert sampled_epsilon([event], 1e-6) == gdp_epsilon(30.0, 1e-6)
    assert sampled_epsilon([event, PureEvent(1.0)], 1e-6) == 1.0 + gdp_epsilon(30.0, 1e-6)


def test_a_pure_amount_is_told_without_delta() -> None:
    assert records.amounts(Balance(1.0, 0.0, None)) == "epsilon = 1.0"
    assert records.amounts(Balance(1.0, 1e-6, None)) == "epsilon = 1.0, delta = 1e-06"
    assert records.amounts(Balance(1.0, 1e-6, 0.25)) == "mu = 0.25"


def test_what_is_hashed_has_one_spelling() -> None:
    assert lines.canonical(b="\N{LATIN SMALL LETTER A WITH DIAERESIS}", a=None) == '{"a":null,"b":"\\u00e4"}'


@pytest.mark.skipif(not hasattr(os, "O_DIRECTORY"), reason="folders are files on POSIX systems only")
def test_the_name_of_a_new_ledger_is_on_the_disk_when_it_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bool] = []
    honest = os.fsync

    def seen(descriptor: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        honest(descriptor)

    monkeypatch.setattr(os, "fsync", seen)
    Ledger(tmp_path / "ward", 1.0)
    assert any(synced)
