"""Fits without privacy, for comparison and teaching: LLA and LHA are the DPSC paper's fits without noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpglm.curator.priced_releases import PricedReleases
from dpglm.errors import MethodError
from dpglm.glm.penalties.separable import Separable
from dpglm.inference.exact_path import ExactPath
from dpglm.inference.scaling import Scaling
from dpglm.mechanisms.exact import ExactAnswer, ExactMinimiser
from dpglm.mechanisms.exact_table import Solver
from dpglm.methods.base import Ask, Estimate, Method, Problem, methods
from dpglm.privacy.budget import Privacy
from dpglm.privacy.description import Fact, MethodDescription
from dpglm.privacy.guarantee import Guarantee

SOLVERS = ("auto", "exact", "admm", "reweighted")
ALGORITHMS = {
    "exact": "exact minimiser without noise",
    "admm": "ADMM without noise",
    "reweighted": "reweighted lassos without noise",
}


@methods.register("nonprivate", "lla")
@dataclass(frozen=True)
class NonPrivate(Method):
    """The exact minimiser, marked NOT PRIVATE wherever it is shown.

    With ``penalty="l1"`` it is the paper's LLA, with ``"l1/2"`` its LHA. For a penalty that is not convex the
    answer is a stationary point of the objective, certified as such: the better of those reached from the
    next stronger penalty on a path and from a lasso. There may be better ones.

    Parameters
    ----------
    folds : int
        Folds of the cross-validation behind ``strength="cv"``, which is also the default for a penalty whose
        strength is not given; the largest strength within one standard error of the best is taken.
    solver : {"auto", "exact", "admm", "reweighted"}
        ``"exact"`` minimises convex penalties to a certificate, ``"admm"`` takes any; ``"auto"`` is the first
        of these that serves. ``"reweighted"`` solves a sequence of weighted lassos, for penalties that are
        sums over coefficients and not convex.
    augmentation : float or None
        ADMM's c per row, > 0; rows have norm at most 1. None takes 2.02 times the Lipschitz constant of the
        gradient, as found on the rows, beyond which ADMM converges whatever the penalty.
    path : bool
        Keep the path of 50 strengths also where the strength is given. With cross-validation it is kept
        anyway: see `FitResult.path`.

    References
    ----------
    .. [1] The DPSC paper, "Differential privacy for sparse classification learning", algorithms 1 to 3
       without noise: the order Z, w, V, with exact w-steps.
    .. [2] Hastie, Tibshirani and Friedman (2009), "The Elements of Statistical Learning", section 7.10 (the
       one-standard-error rule).

    Examples
    --------
    >>> NonPrivate(folds=5).name
    'nonprivate'
    >>> import dpglm
    >>> fit = dpglm.fit("y ~ x1 + x2", dpglm.load_data("simulated"), penalty="l1/2", privacy=None)
    >>> fit.path().coefficients.shape, fit.alarm
    ((50, 3), 'NOT PRIVATE: no privacy was asked for')
    """

    folds: int = 5
    solver: Literal["auto", "exact", "admm", "reweighted"] = "auto"
    augmentation: float | None = None
    path: bool = False

    name: ClassVar[str] = "nonprivate"

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        if privacy is not None:
            raise MethodError(
                "method='nonprivate' with a privacy budget",
                expected="privacy=None",
                remedy="Use method='auto' for a private fit, or say privacy=None.",
            )
        self._check_options()
        scaling = Scaling.of(problem.geometry)
        searched = problem.strength == "cv" or (problem.strength is None and problem.penalty.name != "none")
        strength = 0.0 if searched or problem.strength is None else float(problem.strength)
        release = ExactMinimiser(
            family=problem.family,
            penalty=problem.penalty.with_strength(strength),
            mixing=scaling.mixing,
            penalised=scaling.penalised,
            folds=self.folds if searched else None,
            path=self.path and problem.penalty.name != "none",
            solver=self._solver(problem),
            augmentation=self.augmentation,
        )
        return PricedReleases((release,), Guarantee.none("no privacy was asked for"), None)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        (release,) = plan.of_kind(ExactMinimiser)
        scaling = Scaling.of(problem.geometry)
        answer = ExactAnswer.of(ask(release), len(scaling.lengths))
        path = None
        if answer.strengths.size:
            path = ExactPath(
                answer.strengths,
                np.array([scaling.user(one) for one in answer.gammas]),
                int(np.flatnonzero(answer.strengths == answer.strength)[0]),
                release.folds or 0,
                answer.losses,
                answer.errors,
            )
        return Estimate(
            answer.theta,
            scaling.user(answer.gamma),
            answer.gamma != 0.0,
            answer.strength,
            residual=answer.residual,
            exact_path=path,
        )

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        (release,) = plan.of_kind(ExactMinimiser)
        chosen = "given" if release.folds is None else f"{release.folds}-fold cross-validation"
        facts = [Fact("Penalty strength chosen by", chosen)]
        if not problem.penalty.convex:
            facts.append(Fact("Optimality", "a stationary point; better ones are not excluded"))
        return MethodDescription(
            ALGORITHMS[release.solver], plan.describe(), "inside the objective", facts=tuple(facts)
        )

    def _check_options(self) -> None:
        if not isinstance(self.folds, int) or not 2 <= self.folds <= 1000:
            raise MethodError(
                "folds out of range", expected="a whole number from 2 to 1000", remedy="Use folds=5."
            )
        if self.solver not in SOLVERS:
            raise MethodError(
                f"solver={self.solver!r}",
                expected=f"one of {', '.join(map(repr, SOLVERS))}",
                remedy="Use solver='auto'.",
            )
        c = self.augmentation
        if c is not None and (
            isinstance(c, bool) or not isinstance(c, int | float) or not 0.0 < c < math.inf
        ):
            raise MethodError(
                f"augmentation={c!r}",
                expected="a finite number > 0 per row, or None",
                remedy="Leave augmentation out.",
            )

    def _solver(self, problem: Problem) -> Solver:
        """Which solver serves the penalty."""
        penalty = problem.penalty
        chosen = self.solver
        if chosen == "auto":
            chosen = "exact" if penalty.convex else "admm"
        if chosen == "exact" and not penalty.convex:
            raise MethodError(
                f"penalty {penalty.name!r} with solver='exact'",
                expected="a convex penalty: an exact minimiser is certified for these only",
                remedy="Use solver='auto', which takes ADMM to a stationary point.",
            )
        if chosen == "reweighted" and (penalty.convex or not isinstance(penalty, Separable)):
            raise MethodError(
                f"penalty {penalty.name!r} with solver='reweighted'",
                expected="a penalty that is concave in each coefficient, such as 'l1/2', 'scad' or 'mcp'",
                remedy="Use solver='auto'.",
            )
        if chosen == "admm" and self.augmentation is None and problem.family.curvature_max is None:
            raise MethodError(
                f"family {problem.family.name!r} with ADMM",
                expected="a family whose curvature is bounded, or augmentation= of your own",
                remedy="Use a convex penalty, or NonPrivate(augmentation=1.0).",
            )
        return chosen


@methods.register("lha")
@dataclass(frozen=True)
class LHA(NonPrivate):
    """The DPSC paper's LHA: `NonPrivate` with the l1/2 penalty, and with no other.

    Examples
    --------
    >>> LHA().solver
    'auto'
    """

    def _solver(self, problem: Problem) -> Solver:
        if problem.penalty.name != "l1/2":
            raise MethodError(
                f"penalty {problem.penalty.name!r} with method='lha'",
                expected="penalty='l1/2', which LHA is",
                remedy="Say penalty='l1/2', or method='nonprivate'.",
            )
        return super()._solver(problem)
