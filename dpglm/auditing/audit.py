"""Audits of a plan: draws of its releases on neighbouring tables bound the privacy loss from below."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from dpglm.auditing.bounds import bounded
from dpglm.auditing.draws import Act
from dpglm.auditing.neighbours import Neighbours, release_neighbours
from dpglm.auditing.raw_tables import declared_axes, declared_neighbours
from dpglm.auditing.result import Audit, AuditRow
from dpglm.errors import MethodError
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import NoiseSource, SeededNoise
from dpglm.privacy.accountant import basic_composition, composed_profile
from dpglm.privacy.events import Event, PureEvent, gaussian_mu
from dpglm.privacy.gdp import gdp_epsilon
from dpglm.privacy.guarantee import Guarantee
from dpglm.spec.arguments import bar_of, number_of

if TYPE_CHECKING:
    from dpglm.spec.plan import Plan


WHOLE: Final = "whole method"
QUICK: Final = "quick"
_FEWEST, _MOST = 200, 10**9
# Draws that are timed before an audit says how long it takes; seconds and draws of a quick one at most.
_TIMED, _QUICK_SECONDS, _QUICK_MOST = 20, 30.0, 10_000

Task = tuple[Act, list[Neighbours], Guarantee]


def audited_plan(
    plan: Plan, *, trials: object, confidence: object, progress: bool | None, noise: NoiseSource
) -> Audit:
    """See `dpglm.audit`; no private table is read.

    Raises
    ------
    MethodError
        A plan without a promise, or numbers out of range.
    """
    if plan.releases.privacy is None:  # of a fit without noise, or of an algorithm as printed
        raise MethodError(
            "a fit that promises no privacy",
            expected="a fit with a budget: an audit compares draws with what is promised",
            remedy="Fit with privacy=1.0, say.",
        )
    likely = "a probability between 0 and 1"
    sure = number_of("confidence", confidence, expected=likely, remedy="Use confidence=0.9999.")
    failure = 1.0 - sure
    tasks = tasks_of(plan)
    seconds = _seconds(tasks)
    trials, each = _trials(trials, seconds), failure / len(tasks)
    label = f"audit, about {max(round(seconds * trials), 1)} s"
    with bar_of(progress, range(2 * trials * len(tasks)), label=label) as step:
        found = [
            bounded(act, pairs, claim, noise, trials=trials, failure=each, step=step)
            for act, pairs, claim in tasks
        ]
    if len(tasks) == 1:  # a plan of one release: what is drawn is the same
        found, tasks = found * 2, tasks * 2
    names = (*(release.name for release in unlike(plan.releases.releases)), WHOLE)
    rows = tuple(
        AuditRow(
            name,
            claim,
            one.bound.epsilon,
            one.bound.delta,
            trials,
            each,
            one.bound.refuted,
            one.tables,
            one.statistics,
        )
        for name, (_, _, claim), one in zip(names, tasks, found, strict=True)
    )
    spec = plan.specification
    return Audit(spec.formula, spec.method.name, rows, 1.0 - failure)


def _seconds(tasks: Sequence[Task]) -> float:
    """Seconds for a draw of every task on both tables, at most, from a few that are not looked at."""
    total, noise = 0.0, SeededNoise(0)
    for act, pairs, _ in tasks:
        pair = max(pairs, key=lambda pair: pair.first.row_count())
        start = time.perf_counter()
        replace(act, widths=[]).draw(pair.first, noise, _TIMED, pair, lambda: None)
        total += 2.0 * (time.perf_counter() - start) / _TIMED
    return total


def _trials(trials: object, seconds: float) -> int:
    """The number of draws that was asked for, or as many as a quick audit has time for."""
    if isinstance(trials, str) and trials == QUICK:
        return min(max(int(_QUICK_SECONDS / seconds), _FEWEST), _QUICK_MOST)
    draws = f"a whole number of draws from {_FEWEST} to {_MOST:,}, or {QUICK!r}"
    count = number_of(
        "trials", trials, low=_FEWEST, high=_MOST, whole=True, expected=draws, remedy="Use trials=10_000."
    )
    return int(count)


def tasks_of(plan: Plan) -> list[Task]:
    """What is drawn on which tables for which claim; each release and then all, or the only one."""
    spec, releases, problem = plan.specification, plan.releases, plan.problem
    coding, relation = spec.coded_model.coding, releases.guarantee.relation
    declared = declared_neighbours(spec.coded_model, relation)
    axes = declared_axes(spec.schema, coding)
    distinct = unlike(releases.releases)
    hardest = [release_neighbours(release, relation, coding.size, axes) for release in distinct]
    # What the plan promises; the numbers are audited even where a seed took the promise away.
    whole = replace(releases.guarantee, private=True, reason="")
    tasks = []
    if len(releases.releases) > 1:
        for release, case in zip(distinct, hardest, strict=True):
            pairs = [case, *(replace(pair, at=case.at) for pair in declared)]
            act = Act(releases, problem, spec.method, release)
            tasks.append((act, pairs, release_claim(whole, release)))
    # Later releases are taken at the answers of earlier ones, and look at other directions.
    worst = [hardest[0], *(replace(pair, direction=None, at=None) for pair in hardest[1:])]
    return [*tasks, (Act(releases, problem, spec.method), [*worst, *declared], whole)]


def unlike(releases: Sequence[Release]) -> tuple[Release, ...]:
    """Releases without those that repeat an earlier one: the same public parameters at another point."""
    distinct: list[Release] = []
    for release in releases:
        if not any(_alike(release, other) for other in distinct):
            distinct.append(release)
    return tuple(distinct)


def _alike(release: Release, other: Release) -> bool:
    if type(release) is not type(other):
        return False
    pairs = zip(vars(release).values(), vars(other).values(), strict=True)
    return all(a is b or (isinstance(a, float | int | str) and a == b) for a, b in pairs)


# Points of a profile that is neither pure nor Gaussian.
_POINTS = 21


def release_claim(whole: Guarantee, release: Release) -> Guarantee:
    """What one release of a plan with that guarantee promises, given all earlier ones.

    Examples
    --------
    >>> import dpglm
    >>> plan = dpglm.plan("y ~ x", {"y": (0, 1), "x": (0, 9)}, privacy=1.0, family="gaussian")
    >>> release_claim(plan.guarantee, plan.releases.releases[0]).epsilon
    1.0
    """
    events: list[Event] = [event for _, event in release.events(whole.relation)]
    claimed = partial(Guarantee, relation=whole.relation, unit=whole.unit)
    if all(isinstance(event, PureEvent) for event in events):
        return claimed(basic_composition(events, 0.0), 0.0, "pure")
    mus = [each_mu for each_mu in map(gaussian_mu, events) if each_mu is not None]
    delta = whole.delta
    if len(mus) == len(events):
        mu = math.hypot(*mus)
        return claimed(gdp_epsilon(mu, delta), delta, "gdp", mu=mu)
    epsilon = basic_composition(events, delta)
    grid = np.linspace(0.0, 1.5 * epsilon, _POINTS)
    curve = tuple(zip(grid.tolist(), composed_profile(events, grid.tolist()).tolist(), strict=True))
    return claimed(epsilon, delta, "approximate", curve=curve)
