"""One table of audits: what is audited, what it claims, and a twin with less noise that must be caught.

A case draws its honest subject and its twin on the same pairs of neighbouring tables with `dpglm.audit`'s own
bounds, which fail with probability at most `FAILURE`. The honest claim must stand and the twin's must fall.
Files beside this one declare the cases; `test_cases.py` holds that every release and every method has one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

import dpglm
from dpglm.auditing.audit import tasks_of
from dpglm.auditing.bounds import bounded
from dpglm.auditing.draws import Act
from dpglm.auditing.neighbours import Neighbours, release_neighbours
from dpglm.auditing.result import words
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.either import Either
from dpglm.mechanisms.noise import NoiseSource, SeededNoise
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Method
from dpglm.privacy.budget import Relation
from dpglm.privacy.guarantee import Guarantee
from dpglm.spec.plan import Plan
from dpglm.spec.planned_again import plan_of

FAILURE = 1e-4
TOGETHER = 3000  # draws of all releases of a plan, at least, unless fewer are asked for
LESS, MUCH_LESS = 0.8, 0.7  # the twin's share of the honest noise: 20 % less, and 30 % where that is not seen
RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one")
# Without a claim there is nothing to audit: they have no price, and are refused where one is asked.
UNCLAIMED = {
    "DLA",
    "ExactInformation",
    "ExactMinimiser",
    "HeldOutLoss",
    "LHA",
    "LocalMinimiser",
    "NeighbourWeights",
}
UNCLAIMED |= {"NonPrivate", "PrintedDPSC", "PrintedMPADMM"}
BUDGETS = {
    "pure": dpglm.Privacy(2.0),
    "approximate": dpglm.Privacy(1.0, 0.2),
    "Gaussian": dpglm.Privacy.gdp(1.0, delta=0.05),
}


@dataclass(frozen=True)
class Outcome:
    """A lower bound on epsilon at the claimed delta, and whether the claim is refuted."""

    epsilon: float
    refuted: bool


@dataclass(frozen=True)
class Case:
    """One row of the table that ``make audit`` prints.

    ``subject`` is the class audited; ``run`` draws it with a share of its noise, a seed and a number of draws
    on each table; ``part`` is the twin's share, None for a subject whose claim is audited without a twin.
    ``releases`` are those of a subject that is no method. A method has a third of the draws where it is
    honest: each of its releases is audited by itself, and the twin shows what all draws can see.
    """

    subject: type
    title: str
    claim: Guarantee
    trials: int
    run: Callable[[float, int, int], Outcome]
    part: float | None = LESS
    releases: tuple[Release, ...] = ()

    @property
    def honest(self) -> int:
        """Draws of the honest subject on each table, at most."""
        return self.trials if self.releases or self.part is None else self.trials // 3

    def caught(self, part: float, seed: int) -> tuple[Outcome, int]:
        """What a twin with this share of the noise gives away, in a quarter of the draws, a half or all."""
        for place, share in enumerate((4, 2, 1)):
            draws = self.trials // share
            found = self.run(part, seed + place, draws)
            if found.refuted:
                break
        return found, draws

    def __str__(self) -> str:
        return f"{self.subject.__name__}-{self.title}".replace(" ", "_")


@dataclass(frozen=True)
class Acts:
    """Releases run one after the other on a table, each at the answer of the one before."""

    releases: tuple[Release, ...]

    def draw(self, table: Any, noise: NoiseSource, count: int, pair: Any, step: Any) -> list[Any]:
        drawn = []
        for _ in range(count):
            point, answers = pair.at, []
            for release in self.releases:
                answers.append(release.run(table, point, noise))
                point = answers[-1]
            drawn.append(answers)
        return [np.array(answers) for answers in zip(*drawn, strict=True)]


def under_both(budgets: Mapping[str, dpglm.Privacy] = BUDGETS) -> list[tuple[str, dpglm.Privacy]]:
    """Budgets by title, each under both relations."""
    return [
        (title, replace(privacy, relation=relation))
        for relation in RELATIONS
        for title, privacy in budgets.items()
    ]


def claimed(privacy: dpglm.Privacy) -> Guarantee:
    """The promise of a budget."""
    return Guarantee(
        privacy.epsilon,
        privacy.delta,
        privacy.definition,
        privacy.relation,
        "one row",
        mu=privacy.mu,
    )


def hidden(release: PerturbedMinimiser, price: float) -> PerturbedMinimiser:
    """The minimiser with what hides the solver's residual at this price."""
    return replace(release, residual_noise_scale=release.residual_noise_for(price))


def quieter(release: Release, part: float) -> Release:
    """The same release with this share of its noise, in all of its stages."""
    if isinstance(release, Either):
        inner, *others = (quieter(one, part) for one in release.options)
        return replace(release, inner=inner, others=tuple(others))
    if hasattr(release, "inner"):
        return replace(release, inner=quieter(release.inner, part))  # type: ignore[type-var]
    if hasattr(release, "minimisers"):
        minimisers = tuple(quieter(one, part) for one in release.minimisers)
        return replace(release, minimisers=minimisers)  # type: ignore[type-var]
    assert isinstance(release, PerturbedMinimiser) or hasattr(release, "scale")
    return replace(release, scale=part * release.scale)


def of_releases(
    subject: type[Release],
    title: str,
    privacy: dpglm.Privacy,
    releases: Sequence[Release],
    pairs: Sequence[Neighbours] = (),
    *,
    trials: int,
    part: float | None = LESS,
    twin: Callable[[Release, float], Release] = quieter,
) -> Case:
    """A case of releases as they are drawn, by default on the first one's worst case in one column."""
    tables = tuple(pairs) or (release_neighbours(releases[0], privacy.relation, 1),)
    claim = claimed(privacy)

    def run(share: float, seed: int, trials: int) -> Outcome:
        drawn = tuple(releases) if share == 1.0 else tuple(twin(release, share) for release in releases)
        found = bounded(
            Acts(drawn),
            tables,
            claim,
            SeededNoise(seed),
            trials=trials,
            failure=FAILURE,  # type: ignore[arg-type]
        )
        return Outcome(found.bound.epsilon, found.bound.refuted)

    return Case(subject, f"{title} {privacy.relation}", claim, trials, run, part, tuple(releases))


def of_plan(
    title: str,
    plan: Plan,
    *,
    trials: int,
    part: float | None = LESS,
    twin: Callable[..., Release] = quieter,
) -> Case:
    """A case of a whole method, audited as users audit it; of its twin until a release is caught."""

    def run(share: float, seed: int, trials: int) -> Outcome:
        subject = plan if share == 1.0 else with_less_noise(plan, share, twin)
        return first_refuted(subject, seed, trials)

    title = f"{title} {plan.guarantee.relation}"
    return Case(type(plan.specification.method), title, plan.guarantee, trials, run, part)


def first_refuted(plan: Plan, seed: int, trials: int) -> Outcome:
    """What a plan gives away, audited as users audit it, up to the first release that is caught.

    All releases together, where there are several, are drawn half as often: their likelihood ratio is
    known, but for releases whose law is not, and no draw is spent on learning it.
    """
    tasks, noise = tasks_of(plan), SeededNoise(seed)
    for act, pairs, claim in tasks:
        count = trials if act.alone is not None or len(tasks) == 1 else max(trials // 2, TOGETHER)
        count = min(count, trials)
        bound = bounded(act, pairs, claim, noise, trials=count, failure=FAILURE / len(tasks)).bound
        if bound.refuted:
            break
    return Outcome(bound.epsilon, bound.refuted)


def of_method(title: str, method: Method, privacy: dpglm.Privacy, *, trials: int, part: float = LESS) -> Case:
    """A case of a whole method as it is rebuilt from a fit, on the worst case of its first release.

    Its releases by themselves have cases of their own. The offset lets slopes be as large as they may.
    """
    schema = dpglm.Schema.of({"y": ["no", "yes"], "x": (0, 1), "z": (-1, 1)}, rows=2)
    frame = pd.DataFrame({"y": ["no", "yes"], "x": [0.2, 0.7], "z": [0.0, 0.0]})
    claim = claimed(privacy)

    def run(share: float, seed: int, trials: int) -> Outcome:
        fit = dpglm.fit(
            "y ~ x - 1 + offset(z)",
            frame,
            schema=schema,
            method=method,
            penalty="none",
            privacy=privacy,
            seed=1,
            progress=False,
        )
        plan = plan_of(fit)
        releases = plan.releases.releases
        pair = release_neighbours(releases[0], privacy.relation, 1)
        if share != 1.0:
            releases = tuple(broken(release, quieter(release, share)) for release in releases)
        act = Act(replace(plan.releases, releases=releases), plan.problem, plan.specification.method)
        found = bounded(act, [pair], claim, SeededNoise(seed), trials=trials, failure=FAILURE)
        return Outcome(found.bound.epsilon, found.bound.refuted)

    return Case(type(method), f"{title} {privacy.relation}", claim, trials, run, part)


def with_less_noise(plan: Plan, part: float, twin: Callable[[Release, float], Release] = quieter) -> Plan:
    """A plan whose releases claim what they claimed and run with this share of the noise."""
    quiet = tuple(broken(release, twin(release, part)) for release in plan.releases.releases)
    return replace(plan, releases=replace(plan.releases, releases=quiet))


def broken(release: Release, runs: Release) -> Release:
    """A release that claims what the honest one does and runs another one."""
    kind = type(release)
    lying = type(kind.__name__, (kind,), {"run": lambda self, rows, at, noise: runs.run(rows, at, noise)})
    other = copy.copy(release)
    object.__setattr__(other, "__class__", lying)
    return other


def check(case: Case, record: Callable[[str, object], None], seed: int = 1) -> None:
    """The honest claim stands, the twin's falls; both are told to the table at the end of ``make audit``.

    The honest subject is drawn as often as was needed to catch its twin, at most ``honest`` times: in as many
    draws less noise would have been seen.
    """
    twin, needed = (None, case.trials) if case.part is None else case.caught(case.part, seed + 1)
    draws = min(case.honest, needed)
    honest = case.run(1.0, seed, draws)
    record(
        "audit",
        [
            case.subject.__name__,
            case.title,
            words(case.claim),
            f"{honest.epsilon:.3f}",
            f"{draws:,}",
            "-" if case.part is None else f"{100 * (1 - case.part):.0f} %",
            "-" if twin is None else "yes" if twin.refuted else "NO",
            "NO" if honest.refuted else "yes",
        ],
    )
    assert not honest.refuted, f"{case}: the claim is refuted"
    assert twin is None or twin.refuted, f"{case}: a twin with less noise is not caught"
