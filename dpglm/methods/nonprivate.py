"""Fits without privacy, for comparison and teaching: LLA is the DPSC paper's L1 fit without noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpglm.curator import Plan
from dpglm.errors import MethodError
from dpglm.inference.scaling import Scaling
from dpglm.methods.base import Ask, Estimate, Method, Problem, methods
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee
from dpglm.releases import ExactMinimiser


@methods.register("nonprivate", "lla")
@dataclass(frozen=True)
class NonPrivate(Method):
    """The exact minimiser, marked NOT PRIVATE wherever it is shown.

    Parameters
    ----------
    folds : int
        Folds of the cross-validation behind ``strength="cv"``, which is also the default for a penalty whose
        strength is not given; the largest strength within one standard error of the best is taken.

    Examples
    --------
    >>> NonPrivate(folds=5).name
    'nonprivate'
    """

    folds: int = 5

    name: ClassVar[str] = "nonprivate"

    def plan(self, problem: Problem, privacy: Privacy | None) -> Plan:
        if privacy is not None:
            raise MethodError(
                "method='nonprivate' with a privacy budget",
                expected="privacy=None",
                remedy="Use method='auto' for a private fit, or say privacy=None.",
            )
        if not problem.penalty.convex:
            raise MethodError(
                f"penalty {problem.penalty.name!r} with privacy=None",
                expected="a convex penalty: an exact minimiser is certified for these only",
                remedy="Use penalty='l1', or a privacy budget: any penalty works on released numbers.",
            )
        if not isinstance(self.folds, int) or not 2 <= self.folds <= 1000:
            raise MethodError(
                "folds out of range", expected="a whole number from 2 to 1000", remedy="Use folds=5."
            )
        scaling = Scaling.of(problem.geometry)
        searched = problem.strength == "cv" or (problem.strength is None and problem.penalty.name != "none")
        strength = 0.0 if searched or problem.strength is None else float(problem.strength)
        release = ExactMinimiser(
            family=problem.family,
            penalty=problem.penalty.with_strength(strength),
            mixing=scaling.mixing,
            penalised=scaling.penalised,
            folds=self.folds if searched else None,
        )
        return Plan((release,), Guarantee.none("no privacy was asked for"), None)

    def solve(self, problem: Problem, plan: Plan, ask: Ask) -> Estimate:
        (release,) = plan.releases
        assert isinstance(release, ExactMinimiser)
        scaling = Scaling.of(problem.geometry)
        answer = ask(release)
        scaled = scaling.scaled(answer[:-1])
        if release.penalty.with_strength(1.0).l1_weight:
            # Going to coded coefficients and back leaves rounding where the minimiser had exact zeros.
            scaled[scaling.penalised & (abs(scaled) < 1e-9)] = 0.0
        return Estimate(answer[:-1], scaling.user(scaled), scaled != 0.0, {"strength": float(answer[-1])})

    def card(self, problem: Problem, plan: Plan) -> dict[str, Any]:
        (release,) = plan.releases
        assert isinstance(release, ExactMinimiser)
        return {
            "algorithm": "exact minimiser without noise",
            "theorem": "none: NOT PRIVATE",
            "noise": "none",
            "strength_chosen_by": "given"
            if release.folds is None
            else f"{release.folds}-fold cross-validation",
        }
