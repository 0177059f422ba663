"""A plan keeps what was asked, read off the prices of its own releases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import pytest

import dpglm
from dpglm.curator.curator import Permit, PricedReleases, releases_profile
from dpglm.errors import PermitError, PrivacyError
from dpglm.mechanisms.base import Release, Rows, WorstCase
from dpglm.mechanisms.noise import NoiseSource
from dpglm.privacy.budget import Privacy, pure_curve
from dpglm.privacy.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    PureEvent,
    ReleaseDescription,
    SampledGaussianEvent,
)
from dpglm.privacy.gdp import gdp_delta
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import FloatVector

Relation = Literal["add-remove", "replace-one"]


@dataclass(frozen=True)
class Priced(Release):
    """A release that says what it costs, twice as much where a row is replaced."""

    event: Event
    twice: Event | None = None

    name: ClassVar[str] = "priced"
    premises: ClassVar[tuple[str, ...]] = ()

    def sensitivity(self, relation: Relation) -> float:
        return 1.0

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        event = self.twice if relation == "replace-one" and self.twice is not None else self.event
        return ((self.name, event),)

    def describe(self, relation: Relation) -> ReleaseDescription:
        return ReleaseDescription(self.name, "nothing", 1.0, "none", 1.0, "none")

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        raise AssertionError("nothing is run")

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        raise AssertionError("nothing is audited")


class Other(Priced):
    """Another name."""

    name: ClassVar[str] = "other"


def promised(asked: Privacy) -> Guarantee:
    return Guarantee(
        asked.epsilon, asked.delta, asked.definition, asked.relation, "one row", mu=asked.mu, rho=asked.rho
    )


def plan(asked: Privacy, *events: Event) -> PricedReleases:
    return PricedReleases(tuple(Priced(event) for event in events), promised(asked), asked)


def test_a_plan_may_cost_what_was_asked_and_a_billionth_more_for_rounding() -> None:
    for epsilon in (0.01, 1.0, 20.0):
        half = PureEvent(epsilon / 2.0)
        plan(Privacy(epsilon), half, PureEvent(epsilon / 2.0 * (1.0 + 1e-9)))
        with pytest.raises(PrivacyError, match="cost epsilon"):
            plan(Privacy(epsilon), half, PureEvent(epsilon / 2.0 * (1.0 + 3e-9)))
    with pytest.raises(PrivacyError, match="cost epsilon"):
        plan(Privacy(1.0, 1e-6), ApproximateEvent(0.5, 1e-6), ApproximateEvent(0.4, 1e-12))
    plan(Privacy(1.0, 1e-6), ApproximateEvent(0.5, 5e-7), ApproximateEvent(0.5, 5e-7))


def test_the_relation_of_the_budget_decides_the_price() -> None:
    release = Priced(PureEvent(0.5), twice=PureEvent(1.0))
    for relation, asked in (("add-remove", 0.5), ("replace-one", 1.0)):
        budget = Privacy(asked, relation=relation)  # type: ignore[arg-type]
        assert PricedReleases((release,), promised(budget), budget).parallel() == (
            (("priced", PureEvent(asked)),),
        )
        less = Privacy(0.9 * asked, relation=relation)  # type: ignore[arg-type]
        with pytest.raises(PrivacyError):
            PricedReleases((release,), promised(less), less)


@pytest.mark.parametrize(
    "changed", [{"epsilon": 0.9}, {"epsilon": 1.1}, {"delta": 1e-7}, {"definition": "zcdp", "rho": 1.0}]
)
def test_a_guarantee_other_than_the_budget_is_refused(changed: dict[str, object]) -> None:
    asked = Privacy(1.0, 1e-6)
    release = Priced(PureEvent(0.1))
    PricedReleases((release,), promised(asked), asked)
    with pytest.raises(PrivacyError, match="not the budget"):
        PricedReleases((release,), replace(promised(asked), **changed), asked)  # type: ignore[arg-type]
    other = replace(promised(asked), relation="add-remove")
    with pytest.raises(PrivacyError, match="not the budget"):
        PricedReleases((release,), other, asked)


def test_a_mu_is_promised_only_where_gaussian_releases_keep_it() -> None:
    asked = Privacy.gdp(0.5)
    plan(asked, GaussianEvent(0.3), GaussianEvent(0.4))
    plan(asked, GaussianEvent(0.5 * (1.0 + 0.9e-9)))
    for events in (
        (GaussianEvent(0.5 * (1.0 + 1.8e-9)),),
        (GaussianEvent(0.4), GaussianEvent(0.31)),
        (GaussianEvent(0.3), PureEvent(0.01)),  # cheap enough, and not Gaussian
    ):
        with pytest.raises(PrivacyError, match="mu that releases do not keep"):
            plan(asked, *events)
    # An (epsilon, delta) budget whose guarantee says a mu as well.
    pair = Privacy(asked.epsilon, asked.delta)
    said = replace(promised(pair), mu=0.5)
    PricedReleases((Priced(GaussianEvent(0.5)),), said, pair)
    with pytest.raises(PrivacyError, match="mu that releases do not keep"):
        PricedReleases((Priced(GaussianEvent(0.5)),), replace(said, mu=0.4), pair)


def test_without_a_budget_nothing_is_priced() -> None:
    assert PricedReleases((Priced(PureEvent(5.0)),), Guarantee.none("test"), None).parallel() == ()


def test_releases_are_run_in_the_order_of_the_plan() -> None:
    first, second = Priced(PureEvent(0.4)), Other(PureEvent(0.4))
    permit = Permit(PricedReleases((first, second), promised(Privacy(1.0)), Privacy(1.0)))
    with pytest.raises(PermitError, match="a release of 'other'") as refusal:
        permit.use(second)
    assert refusal.value.expected == "'priced', as planned and charged"
    assert permit.left == 2
    permit.use(first)
    with pytest.raises(PermitError, match="a release of 'priced'") as refusal:
        permit.use(first)
    assert refusal.value.expected == "'other', as planned and charged"
    permit.use(second)
    assert permit.left == 0
    with pytest.raises(PermitError, match="no further release"):
        permit.use(second)


@pytest.mark.parametrize(
    "privacy", [Privacy(5.0), Privacy.gdp(1.0, delta=1e-6), Privacy.zcdp(0.5, delta=1e-6)]
)
def test_samples_are_priced_in_epsilon_and_delta_only(privacy: Privacy) -> None:
    def promised(one: Privacy) -> Guarantee:
        return Guarantee(
            one.epsilon, one.delta, one.definition, one.relation, str(one.unit), mu=one.mu, rho=one.rho
        )

    for rate in (0.99, 0.1):
        sample = Priced(SampledGaussianEvent(0.2, rate, "poisson", "replace-one"))
        with pytest.raises(PrivacyError, match="random samples"):
            PricedReleases((sample,), promised(privacy), privacy)
    pair = Privacy(1.0, 1e-6)
    assert PricedReleases((sample,), promised(pair), pair).releases == (sample,)
    # A sample of all rows is none.
    whole = Priced(SampledGaussianEvent(0.2, 1.0, "poisson", "replace-one"))
    if privacy.mu is not None:
        assert PricedReleases((whole,), promised(privacy), privacy).releases == (whole,)


def test_a_curve_is_stated_only_where_the_releases_keep_it() -> None:
    pair = Privacy(1.0, 1e-6)
    mu = 0.2
    for event, keeps, breaks in (
        (GaussianEvent(mu), gdp_delta(0.5, mu), 0.999 * gdp_delta(0.5, mu)),
        (PureEvent(0.9), pure_curve(0.5, 0.9), 0.999 * pure_curve(0.5, 0.9)),
    ):
        release = Priced(event)
        kept = replace(promised(pair), curve=((0.5, keeps), (1.0, 1e-6)))
        assert PricedReleases((release,), kept, pair).guarantee is kept
        with pytest.raises(PrivacyError, match="a curve that its releases do not keep"):
            PricedReleases((release,), replace(kept, curve=((0.5, breaks), (1.0, 1e-6))), pair)


def test_a_minimiser_says_more_of_other_epsilons_than_its_event() -> None:
    schema = dpglm.Schema.of({"y": ["no", "yes"], "x": (0, 9)})
    releases = dpglm.plan(
        "y ~ x", schema, n=500, privacy=(1.0, 1e-6), goal="predict", penalty="none"
    ).releases
    (release,), guarantee, privacy = releases.releases, releases.guarantee, releases.privacy
    epsilons, deltas = zip(*guarantee.curve, strict=True)
    assert releases_profile((release,), "replace-one", epsilons).tolist() == pytest.approx(list(deltas))
    smaller = tuple((epsilon, 0.99 * delta) for epsilon, delta in guarantee.curve)
    with pytest.raises(PrivacyError, match="a curve"):
        PricedReleases((release,), replace(guarantee, curve=smaller), privacy)
