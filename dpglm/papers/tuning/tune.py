"""The method behind `dpglm.tune`: fits of several candidates, of which the best on rows held out is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Final, Literal

import numpy as np

from dpglm.curator.curator import Permit, PricedReleases
from dpglm.errors import MethodError, PrivacyError
from dpglm.glm.penalties import penalised_terms
from dpglm.mechanisms.base import Release
from dpglm.methods.base import Ask, Estimate, Method, Problem, budgeted_plan, methods
from dpglm.papers.stacking.parts import OnPart, Part
from dpglm.papers.tuning.chosen import MOST_CANDIDATES, Candidate, Chosen, labels_of
from dpglm.papers.tuning.held_out import HeldOutErrors
from dpglm.papers.tuning.random_stopping import Attempt, RandomStopping, unpacked
from dpglm.privacy.accountant import basic_composition
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import Target
from dpglm.privacy.events import Fact, MethodDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import FloatVector

# Budgets of a fit that are tried where all candidates are fitted: m to minus this, times epsilon.
_POWERS: Final = tuple(np.linspace(0.5, 1.0, 9).tolist())


@dataclass(frozen=True)
class _Fits(PricedReleases):
    """Releases of all candidates, and the plan of each by itself."""

    plans: tuple[PricedReleases, ...] = ()


@methods.register("tune")
@dataclass(frozen=True)
class Tune(Method):
    """The best of several fits on rows held out; `dpglm.tune` makes it.

    Few candidates are all fitted, and all errors released. Of more, one is drawn at random, fitted and
    compared, a secret random number of times, and the best is released. Which of the two is a public rule:
    the one that leaves more budget to each fit. Rows are dealt by their place.

    Parameters
    ----------
    candidates : sequence of mappings
        Names of method and penalty with their options, and the strength, as a saved specification keeps them.
    holdout : float
        Share of the rows on which fits are compared, and which no fit reads.

    References
    ----------
    Liu and Talwar (2019); Papernot and Steinke (2022); ``papers/tuning/random_stopping.md``.

    Examples
    --------
    >>> Tune(holdout=0.25).name
    'tune'
    """

    candidates: Sequence[Mapping[str, Any]] = ()
    holdout: float = 0.2
    coding: Literal["centred", "clipped"] = field(default="centred", init=False)

    name: ClassVar[str] = "tune"
    tunable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        number = isinstance(self.holdout, int | float) and not isinstance(self.holdout, bool)
        if not (number and 0.05 <= self.holdout <= 0.5):
            raise MethodError(
                "holdout out of range", expected="a share from 0.05 to 0.5", remedy="Leave it out: 0.2."
            )
        codings = {candidate.method.coding for candidate in self._candidates}
        if len(codings) > 1:
            raise MethodError(
                "candidates whose methods read differently coded rows",
                expected="methods of one coding",
                remedy="Give the methods coding='centred' or coding='clipped', or tune them apart.",
            )
        object.__setattr__(self, "coding", next(iter(codings), "centred"))

    @cached_property
    def _candidates(self) -> tuple[Candidate, ...]:
        try:
            found = tuple(map(Candidate.of_option, self.candidates))
        except (TypeError, KeyError, ValueError, AttributeError):
            found = ()
        if len(found) != len(self.candidates) or len(found) > MOST_CANDIDATES:
            raise MethodError(
                "candidates that are no mappings, or too many",
                expected=f"at most {MOST_CANDIDATES}, as dpglm.tune makes them of a grid",
                remedy="Use dpglm.tune(..., grid={'strength': [0.001, 0.01, 0.1]}).",
            )
        return found

    @property
    def _training(self) -> Part:
        return Part((0.0, 1.0 - float(self.holdout), 1.0), 0)

    @property
    def _held_out(self) -> Part:
        return replace(self._training, index=1)

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        self._require(privacy)
        problems = self._problems(problem)
        fits = [partial(one.method.plan, own) for one, own in zip(self._candidates, problems, strict=True)]
        if privacy is None:
            plans = [fit(None) for fit in fits]
            return self._all(plans, problems, None)
        epsilon, delta = RandomStopping.attempt_budget(privacy)
        alone = replace(privacy, epsilon=epsilon, delta=delta)
        plans = [fit(alone) for fit in fits]
        self._require_paid_choice(problems, plans)
        together = self._together(fits, privacy, least=_level(alone))
        if together is not None:
            return self._all(together, problems, privacy)
        attempts = tuple(
            Attempt(
                plan,
                HeldOutErrors.at_price((own.family,), epsilon),
                partial(_coefficients, one.method, own, plan),
            )
            for one, own, plan in zip(self._candidates, problems, plans, strict=True)
        )
        return budgeted_plan((RandomStopping(attempts, self._training, self._held_out),), privacy, mu=None)

    def _require(self, privacy: Privacy | None) -> None:
        """Refuse what cannot be chosen from, and budgets in other terms than epsilon and delta."""
        if len(self._candidates) < 2:
            raise MethodError(
                "a choice among fewer than two candidates",
                expected="a grid of two or more",
                remedy="Use dpglm.tune(..., grid={'strength': [0.001, 0.01, 0.1]}), or dpglm.fit for one.",
            )
        for candidate in self._candidates:
            if not candidate.method.tunable or candidate.method.planned_by_row_count:
                raise MethodError(
                    f"method {candidate.method.name!r} as a candidate",
                    expected="one linear model of all rows it is given, with a promise",
                    remedy="Leave it out of the grid, and fit it by itself.",
                )
        if privacy is None:
            return
        if privacy.definition not in ("pure", "approximate"):
            raise MethodError(
                f"a choice among candidates with a budget in {privacy.definition}",
                expected="an epsilon, or an epsilon and a delta",
                remedy="Use privacy=(1.0, 1e-6), or privacy=1.0.",
            )
        if privacy.relation != "replace-one":
            raise MethodError(
                "a choice among candidates under add-remove",
                expected="replace-one: rows are held out by their place, which is public there alone",
                remedy="Use privacy=dpglm.Privacy(1.0, relation='replace-one').",
            )

    def _require_paid_choice(self, problems: Sequence[Problem], plans: Sequence[PricedReleases]) -> None:
        """Refuse to pay for what is free."""
        for candidate, own, plan in zip(self._candidates, problems, plans, strict=True):
            if candidate.method.describe(own, plan).interval_method:
                raise MethodError(
                    f"method {candidate.method.name!r} with goal {own.goal!r} as a candidate, which releases "
                    "an information matrix",
                    expected="candidates without one: beside it every penalty and strength is free",
                    remedy="Fit once and use fit.refit(penalty) or fit.select(), or say goal='predict'.",
                )

    def _problems(self, problem: Problem) -> list[Problem]:
        """What each candidate is given: its penalty and strength, and the rows that are fitted."""
        geometry, count, known = problem.geometry, problem.count_rows, problem.known_rows
        terms = penalised_terms(geometry.terms, np.asarray(geometry.penalised))
        size = int(np.sum(geometry.penalised))
        problems = []
        for one in self._candidates:
            penalty = one.method.inside(one.penalty, one.strength).for_terms(terms)
            penalty.require_size(size)
            own = replace(
                problem,
                penalty=penalty,
                strength=one.strength,
                known_rows=None if known is None else held_by(self._training, known),
                count_rows=None if count is None else partial(_counted, self._training, count),
            )
            problems.append(one.method.prepared(own))
        return problems

    def _together(
        self, fits: Sequence[Callable[[Privacy], PricedReleases]], privacy: Privacy, *, least: float
    ) -> list[PricedReleases] | None:
        """Plans of all candidates that fit the budget together, if each may be as precise as ``least``."""
        count, delta = len(fits), privacy.delta / len(fits) * (1.0 - 1e-9)
        for power in _POWERS:
            each = replace(privacy, epsilon=privacy.epsilon * count**-power * (1.0 - 1e-12), delta=delta)
            if _level(each) < least * (1.0 - 1e-6):
                return None
            plans = [fit(each) for fit in fits]
            events = [event for plan in plans for costs in plan.parallel() for _, event in costs]
            try:
                if basic_composition(events, privacy.delta) <= privacy.epsilon:
                    return plans
            except PrivacyError:  # samples beside a perturbed minimiser
                return None
        return None

    def _all(
        self, plans: Sequence[PricedReleases], problems: Sequence[Problem], privacy: Privacy | None
    ) -> PricedReleases:
        """Every candidate fitted, then all errors: they are paid for by rows that are in no fit."""
        families = tuple(own.family for own in problems)
        errors = HeldOutErrors(families, 0.0)
        if privacy is not None:
            errors = HeldOutErrors.at_price(families, privacy.epsilon)
        releases: list[Release] = [
            OnPart(release, self._training) for plan in plans for release in plan.releases
        ]
        releases.append(OnPart(errors, self._held_out))
        guarantee = Guarantee.none("no privacy was asked for")
        if privacy is not None:
            guarantee = budgeted_plan(tuple(releases), privacy, mu=None).guarantee
        return _Fits(tuple(releases), guarantee, privacy, tuple(plans))

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        problems, candidates = self._problems(problem), self._candidates
        if isinstance(plan, _Fits):
            outer = iter(plan.releases)
            estimates = [
                one.method.solve(own, fit, _in_turn(fit, outer, ask))
                for one, own, fit in zip(candidates, problems, plan.plans, strict=True)
            ]
            coded = [_coded(own, each) for own, each in zip(problems, estimates, strict=True)]
            errors = ask(next(outer), np.concatenate(coded))
            index = int(np.argmin(errors))
            (release,) = plan.of_kind(OnPart)[-1:]
            scale, estimate = release.noise_scales[0], estimates[index]
        else:
            (stopping,) = plan.of_kind(RandomStopping)
            found = ask(plan.releases[0])
            index, errors, answers = int(found[0]), found[1:2], iter(unpacked(found[2:]))
            attempt = stopping.attempts[index]
            scale = attempt.errors.scale
            estimate = candidates[index].method.solve(
                problems[index], attempt.plan, lambda release, at=None: next(answers)
            )
        assert problem.count_rows is not None, "the number of rows is public"
        rows = problem.count_rows()
        own, held = problems[index], max(held_by(self._held_out, rows), 1)
        strength, total = estimate.strength, estimate.strength_sum
        if strength is None and own.strength is None and total is not None:
            strength = total / max(held_by(self._training, rows), 1)
        noise_sd = float(np.sqrt(2.0) * scale / held)
        part = Chosen(labels_of(self._candidates), index, errors / held, noise_sd, float(self.holdout))
        return replace(estimate, strength=strength, part=part, problem=own)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        if isinstance(plan, _Fits):
            algorithm = "fits of all candidates, and their errors on rows held out"
        else:
            algorithm = (
                "random stopping: the best of a random number of fits, by their errors on rows held out"
            )
        facts = (
            Fact("Candidates", labels_of(self._candidates)),
            Fact("Rows held out", f"{held_by(self._held_out, 1000) / 10:.3g} %, dealt by place"),
        )
        return MethodDescription(
            algorithm, plan.describe(), "as each candidate says", plan.why(), facts=facts
        )


def _level(privacy: Privacy) -> float:
    """What precision grows with."""
    return privacy.epsilon if privacy.delta == 0.0 else Target.of(privacy).ideal_mu


def held_by(part: Part, rows: int) -> int:
    """How many of so many rows a part has."""
    return int(part.holds(0, rows).sum())


def _counted(part: Part, count: Callable[[], int]) -> int:
    return held_by(part, count())


def _coded(problem: Problem, estimate: Estimate) -> FloatVector:
    """Coded coefficients in the coding of the rows as they are declared."""
    return np.asarray(problem.geometry.coded_from_user, dtype=np.float64) @ estimate.estimates


def _coefficients(method: Method, problem: Problem, plan: PricedReleases, ask: Ask) -> FloatVector:
    return _coded(problem, method.solve(problem, plan, ask))


def _in_turn(plan: PricedReleases, outer: Iterator[Release], ask: Ask) -> Ask:
    """A way to ask for the releases of one candidate, each by the next of the plan of all."""
    permit = Permit(plan)

    def ask_own(release: Release, at: FloatVector | None = None) -> FloatVector:
        permit.use(release)
        return ask(next(outer), at)

    return ask_own
