"""A choice among candidates keeps its claim; twins with less noise or one fit's price do not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.auditing.bounds import bounded
from dpglm.auditing.neighbours import Neighbours, Table, release_neighbours
from dpglm.glm.families import families
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import SeededNoise
from dpglm.papers.stacking.parts import Part
from dpglm.papers.tuning.held_out import HeldOutErrors
from dpglm.papers.tuning.random_stopping import MEAN, RandomStopping
from dpglm.papers.tuning.tune import Tune
from dpglm.privacy.guarantee import Guarantee
from dpglm.rows import ArrayChunk
from tests.audits.harness import (
    FAILURE,
    RELATIONS,
    Acts,
    Case,
    check,
    claimed,
    of_plan,
    of_releases,
)

BINOMIAL = families["binomial"]()
TRAINING, HELD_OUT = Part((0.0, 0.8, 1.0), 0), Part((0.0, 0.8, 1.0), 1)
ERRORS = HeldOutErrors.at_price((BINOMIAL,), 1.0)
DELTA = 0.001


@dataclass(frozen=True, eq=False)
class Scripted:
    """An attempt whose error is 0, 1 or 2, with probabilities that the response of the first row decides."""

    chances: Mapping[float, tuple[float, float]]  # of 0 and 1, by response

    def run(self, training: Any, held_out: Any, noise: Any) -> tuple[float, list[Any]]:
        # The table that the training rows are cut from; to cut them at each of a million attempts takes long.
        best, middle = self.chances[float(training._rows._blocks[0].y[0])]
        place = int.from_bytes(noise.bytes(6), "little") / 2**48
        return 0.0 if place < best else 1.0 if place < best + middle else 2.0, []


def scripted(chances: Mapping[float, tuple[float, float]]) -> RandomStopping:
    """The real random stopping of written-down attempts."""
    attempt: Any = Scripted(chances)
    return RandomStopping((attempt, attempt), TRAINING, HELD_OUT)


def tables(first: float = 0.0, second: float = 1.0) -> Neighbours:
    """Two responses of one row."""
    X = np.ones((1, 1), dtype=np.float32)
    one, other = (Table(ArrayChunk(X, np.array([y]), None)) for y in (first, second))
    return Neighbours("one row, two responses", one, other)


def telling(delta: float) -> RandomStopping:
    """An attempt is the best where it tells the table, with this probability, and tells nothing otherwise."""
    return scripted({0.0: (delta, 0.0), 1.0: (0.0, 0.0)})


def leaning(epsilon: float) -> RandomStopping:
    """Middling attempts are likelier on the first table and better ones on the second, both by ``epsilon``.

    With an epsilon of 1, the best of a random number of attempts has a loss of 1.7; the proof's bound is 2.
    """
    more = math.exp(epsilon)
    return scripted({0.0: (0.08, 0.08), 1.0: (0.08 * more, 0.08 / more)})


def releases() -> list[Case]:
    found = []
    for relation in RELATIONS:
        privacy = dpglm.Privacy(1.0, relation=relation)
        errors = HeldOutErrors.at_price((BINOMIAL, BINOMIAL), 1.0)
        pair = release_neighbours(errors, relation, 2)
        found.append(of_releases(HeldOutErrors, "two models", privacy, [errors], [pair], trials=20_000))
    claim = dpglm.Privacy(1e-3, MEAN * DELTA)
    stopped = of_releases(
        RandomStopping,
        "attempts that tell",
        claim,
        [telling(DELTA)],
        [tables()],
        trials=100_000,
        twin=lambda release, part: telling(DELTA / part),
    )
    return [*found, stopped]


def option(penalty: str, strength: float | None = None) -> dict[str, Any]:
    return {
        "method": "objective",
        "method_options": {"scales": "declared"},
        "penalty": penalty,
        "penalty_options": {},
        "strength": strength,
    }


def methods() -> list[Case]:
    """Both of two candidates, audited release by release and as a whole."""
    schema = dpglm.Schema.of({"y": ["no", "yes"], "x": (0, 1), "z": (-30, 30)}, rows=100)
    two = Tune(candidates=(option("none"), option("l2")))
    spec = dpglm.ModelSpec.of(
        "y ~ x - 1 + offset(z)", schema, goal="predict", method=two, privacy=dpglm.Privacy(4.0)
    )
    return [of_plan("both candidates, pure", spec.plan(), trials=8000)]


CASES = [*releases(), *methods()]


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)


def refuted(release: Release, claim: Guarantee, pair: Neighbours, trials: int, seed: int = 1) -> bool:
    found = bounded(
        Acts((release,)),
        [pair],
        claim,
        SeededNoise(seed),
        trials=trials,
        failure=FAILURE,  # type: ignore[arg-type]
    )
    return found.bound.refuted


@pytest.mark.audit
def test_random_stopping_priced_as_one_attempt_is_caught_and_at_twice_is_not() -> None:
    """The loss is 1.7 epsilons of one. Power above .99 at 6,000 draws; wrong once in 10^4."""
    release = leaning(1.0)
    assert refuted(release, claimed(dpglm.Privacy(1.0)), tables(), 6000)
    assert not refuted(release, claimed(dpglm.Privacy(2.0)), tables(), 6000)


def test_the_number_of_attempts_must_stay_secret() -> None:
    """Beside the number of attempts the best of them costs more: a hundred attempts all missed the best.

    The exact loss of "100 attempts, none better than the worst": 100 times that of one.
    """
    chances = leaning(1.0).attempts[0].chances  # type: ignore[attr-defined]
    worst = [1.0 - sum(chances[y]) for y in (0.0, 1.0)]
    assert 100 * abs(math.log(worst[0] / worst[1])) > 2.0


def exact(release: RandomStopping) -> RandomStopping:
    """A twin whose errors have no noise."""
    quiet = tuple(replace(one, errors=replace(one.errors, scale=1e-6)) for one in release.attempts)
    return replace(release, attempts=quiet)


@pytest.mark.audit
def test_errors_without_noise_are_caught() -> None:
    """The response of the one held-out row decides which of two fits is the best, and its error."""
    schema = dpglm.Schema.of({"y": ["no", "yes"], "x": (-1, 1)}, rows=4)
    grid = tuple(option(penalty, strength) for penalty in ("l1", "l2") for strength in (0.1, 1.0))
    spec = dpglm.ModelSpec.of(
        "y ~ x", schema, goal="predict", method=Tune(candidates=grid), privacy=dpglm.Privacy(1.0)
    )
    (release,) = spec.plan().releases.releases
    assert isinstance(release, RandomStopping)
    place = int(np.flatnonzero(HELD_OUT.holds(0, 20))[0])

    def table(response: float) -> Table:
        X = np.zeros((2, place + 1), dtype=np.float32)
        X[:, place] = 0.7
        y = np.zeros(place + 1)
        y[place] = response
        return Table(ArrayChunk(X, y, None))

    pair = replace(Neighbours("a held-out response", table(0.0), table(1.0)), direction=np.array([0.0, 1.0]))
    claim = claimed(dpglm.Privacy(1.0))
    assert refuted(exact(release), claim, pair, 400)
    assert not refuted(release, claim, pair, 400)


@pytest.mark.audit
@pytest.mark.parametrize("privacy", [dpglm.Privacy(1.0), dpglm.Privacy(1.0, 0.01)], ids=["pure", "delta"])
def test_an_audit_of_random_stopping_as_users_run_it_finds_nothing(privacy: dpglm.Privacy) -> None:
    schema = {"y": ["no", "yes"], "x": (-1, 1)}
    grid = (option("l1"), option("l2"), option("l2", 0.1), option("l1", 0.1))
    spec = dpglm.ModelSpec.of("y ~ x", schema, goal="predict", method=Tune(candidates=grid), privacy=privacy)
    plan = spec.plan(n=100)
    assert len(plan.releases.releases) == 1
    assert plan.audit(trials=300, seed=1, progress=False).passed
