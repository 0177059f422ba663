"""The verb ``audit``: draw what was promised on neighbouring tables, and bound the loss from below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from dpglm.auditing.bounding import Found, bounded
from dpglm.auditing.claim import release_claim, whole_claim
from dpglm.auditing.draws import Act
from dpglm.auditing.neighbours import Neighbours, declared_axes, declared_neighbours, release_neighbours
from dpglm.auditing.progress import counting
from dpglm.auditing.rebuild import Subject, subject_of
from dpglm.auditing.result import Audit, AuditRow
from dpglm.errors import MethodError
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise.source import NoiseSource
from dpglm.planning.study_plan import StudyPlan
from dpglm.privacy.guarantee import Guarantee
from dpglm.results.fit_result import FitResult
from dpglm.spec.arguments import noise_of

WHOLE: Final = "whole method"
_FEWEST, _MOST = 200, 10**9

Task = tuple[Act, list[Neighbours], Guarantee]


def audit(
    what: FitResult | StudyPlan,
    *,
    trials: int = 10_000,
    confidence: float = 0.9999,
    progress: bool | None = True,
    seed: int | None = None,
) -> Audit:
    """A lower bound on what a fit gives away, from draws on neighbouring tables made of its schema.

    The plan is built again from public facts, and its releases are drawn as a fit draws them, on pairs of
    tables that differ in one row. No private table is read, so an audit costs no privacy. Half of the draws
    choose the pair, a statistic of the outputs (a likelihood ratio, or one that is learned) and events; the
    other half counts these, with exact binomial bounds.

    Parameters
    ----------
    what : FitResult or StudyPlan
        What `dpglm.fit`, `dpglm.load` or `dpglm.plan` gave back.
    trials : int
        Draws on each table, for each release and for the whole method.
    confidence : float
        All bounds hold together with at least this probability, between 0 and 1.
    progress : bool or None
        A bar over the draws, whose number is public; None shows it in a terminal only.
    seed : int, optional
        Repeatable draws; by default noise comes from the operating system, as in a fit.

    Returns
    -------
    Audit
        With ``summary()``, ``tidy()``, ``plot()`` and ``passed``.

    Raises
    ------
    MethodError
        Something that is neither fit nor study, a fit without a promise or whose file lacks a public fact of
        its plan, or numbers out of range.

    Notes
    -----
    A bound below the claim does not prove the claim; a bound above it refutes it. With few draws the bound on
    epsilon at a small delta stays far below any claim: interval_decisions also use the other points of a
    claim, its
    curve and its mu.

    References
    ----------
    Ding, Wang, Wang, Zhang and Kifer (2018), "Detecting violations of differential privacy", CCS; Gilbert and
    McMillan (2018), "Property testing for differential privacy"; Jagielski, Ullman and Oprea (2020),
    "Auditing differentially private machine learning", NeurIPS, for bounds from counts of events.

    Examples
    --------
    >>> import dpglm
    >>> schema = {"y": (0, 1), "x": (0, 9)}
    >>> study = dpglm.plan("y ~ x", schema, n=99, privacy=(1.0, 0.05), family="gaussian")
    >>> found = dpglm.audit(study, trials=1000, seed=1, progress=False)
    >>> found.passed, found.rows[-1].epsilon < 1.0
    (True, True)
    """
    count = _trials(trials)
    failure = 1.0 - _confidence(confidence)
    return audited(subject_of(what), count, failure, noise_of(seed), progress)


def audited(subject: Subject, count: int, failure: float, noise: NoiseSource, progress: bool | None) -> Audit:
    """``audit`` of a plan with its public facts, all bounds wrong with at most probability ``failure``."""
    tasks = _tasks(subject)
    each = failure / len(tasks)
    with counting(2 * count * len(tasks), progress) as step:
        found = [_run(task, noise, count, each, step) for task in tasks]
    names = [release.name for release in unlike(subject.plan.releases)]
    if len(found) == 1:  # a plan of one release: what is drawn is the same
        found, tasks = found * 2, tasks * 2
    rows = tuple(
        _row(name, claim, one, count, each)
        for name, (_, _, claim), one in zip((*names, WHOLE), tasks, found, strict=True)
    )
    return Audit(subject.formula, subject.method.name, rows, 1.0 - failure)


def _tasks(subject: Subject) -> list[Task]:
    """What is drawn on which tables for which claim; each release and then all, or the only one."""
    plan, encoder = subject.plan, subject.encoder
    relation = plan.guarantee.relation
    declared = declared_neighbours(subject.schema, encoder, subject.problem.family, relation)
    axes = declared_axes(subject.schema, encoder)
    distinct = unlike(plan.releases)
    own = [release_neighbours(release, relation, encoder.size, axes) for release in distinct]
    tasks = []
    if len(plan.releases) > 1:
        for release, hardest in zip(distinct, own, strict=True):
            pairs = [hardest, *(replace(pair, at=hardest.at) for pair in declared)]
            act = Act(plan, subject.problem, subject.method, release)
            tasks.append((act, pairs, release_claim(plan, release)))
    # Later releases are taken at the answers of earlier ones, and look at other directions.
    worst = [own[0], *(replace(pair, direction=None, at=None) for pair in own[1:])]
    whole = Act(plan, subject.problem, subject.method)
    return [*tasks, (whole, [*worst, *declared], whole_claim(plan))]


def unlike(releases: Sequence[Release]) -> tuple[Release, ...]:
    """Releases without those that repeat an earlier one: the same public parameters at another point."""
    found: list[Release] = []
    for release in releases:
        if not any(_alike(release, other) for other in found):
            found.append(release)
    return tuple(found)


def _alike(release: Release, other: Release) -> bool:
    if type(release) is not type(other):
        return False
    pairs = zip(vars(release).values(), vars(other).values(), strict=True)
    return all(one is two or (isinstance(one, float | int | str) and one == two) for one, two in pairs)


def _run(task: Task, noise: NoiseSource, trials: int, failure: float, step: Callable[[], None]) -> Found:
    act, pairs, claim = task
    return bounded(act, pairs, claim, noise, trials=trials, failure=failure, step=step)


def _row(name: str, claim: Guarantee, found: Found, trials: int, failure: float) -> AuditRow:
    bound = found.bound
    return AuditRow(
        name,
        claim,
        bound.epsilon,
        bound.delta,
        trials,
        failure,
        bound.refuted,
        found.tables,
        found.statistics,
    )


def _trials(trials: object) -> int:
    whole = isinstance(trials, int | np.integer) and not isinstance(trials, bool)
    if not whole or not _FEWEST <= trials <= _MOST:  # type: ignore[operator]  # a whole number, as just checked
        raise MethodError(
            f"trials={trials!r}"
            if isinstance(trials, int | float)
            else f"trials of type {type(trials).__name__}",
            expected=f"a whole number of draws from {_FEWEST} to {_MOST:,}",
            remedy="Use trials=10_000.",
        )
    return int(trials)  # type: ignore[call-overload, no-any-return]  # a whole number, as just checked


def _confidence(confidence: object) -> float:
    number = isinstance(confidence, int | float | np.floating) and not isinstance(confidence, bool)
    if not number or not 0.0 < confidence < 1.0:  # type: ignore[operator]  # a number, as just checked
        raise MethodError(
            f"confidence={confidence!r}"
            if isinstance(confidence, int | float)
            else f"confidence of type {type(confidence).__name__}",
            expected="a probability between 0 and 1",
            remedy="Use confidence=0.9999.",
        )
    return float(confidence)  # type: ignore[arg-type]  # a number, as just checked
