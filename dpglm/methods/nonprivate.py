"""Fits without privacy, for comparison and teaching: LLA and LHA are the DPSC paper's fits without noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.inference.coefficients import Scaling
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.exact import ExactAnswer, ExactMinimiser
from dpglm.mechanisms.exact_information import ExactInformation, ExactInformationAnswer
from dpglm.methods.base import Ask, Estimate, Method, Problem, methods, require_positive
from dpglm.methods.information import weighting
from dpglm.methods.iterated import require_whole
from dpglm.postprocessing.exact_fit import ExactFit
from dpglm.postprocessing.parts import ExactPath
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import Fact, MethodDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import FloatVector

# Links whose loss is minus a log-likelihood, up to a known factor.
LIKELIHOODS: Final = ("logit", "log", "identity")
# With more coefficients a fit keeps no information matrix: it would be most of its file.
MOST_WITH_INFORMATION: Final = 1000


@methods.register("nonprivate", "lla")
@dataclass(frozen=True)
class NonPrivate(Method):
    """The exact minimiser, marked NOT PRIVATE wherever it is shown.

    Without a penalty it has classical standard errors, tests and intervals, log-likelihood, AIC and BIC.

    With ``penalty="l1"`` it is the paper's LLA, with ``"l1/2"`` its LHA. For a penalty that is not convex the
    answer is a stationary point of the objective, certified as such: the better of those reached from the
    next stronger penalty on a path and from a lasso. There may be better ones.

    Parameters
    ----------
    folds : int
        Folds of the cross-validation behind ``strength="cv"``, which is also the default for a penalty whose
        strength is not given; the largest strength within one standard error of the best is taken. Rows are
        dealt to folds by place: where a person has several, the strength is rather too small.
    augmentation : float or None
        c of ADMM per row, > 0, for penalties that are not convex; rows have norm at most 1. None takes 2.02
        times the Lipschitz constant of the gradient, as found on the rows: beyond twice that constant ADMM
        converges whatever the penalty.
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
    >>> fit.path().coefficients.shape, fit.private, fit.privacy.reason
    ((50, 3), False, 'no privacy was asked for')
    """

    folds: int = 5
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
        self._check(problem)
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
            augmentation=self.augmentation,
        )
        # Classical standard errors are those of the maximum likelihood estimate.
        classical = problem.family.link in LIKELIHOODS and problem.penalty.name == "none"
        known = len(problem.geometry.names) <= MOST_WITH_INFORMATION
        more = (ExactInformation(problem.family),) if classical and known else ()
        return PricedReleases((release, *more), Guarantee.none("no privacy was asked for"), None)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        (release,) = plan.of_kind(ExactMinimiser)
        scaling = Scaling.of(problem.geometry)
        answer = ExactAnswer.of(ask(release), len(scaling.lengths))
        path = None
        if answer.strengths.size:
            coefficients = np.array([scaling.user(coded) for coded in answer.gammas])
            chosen = int(np.flatnonzero(answer.strengths == answer.strength)[0])
            found = answer.strengths, coefficients, chosen, release.folds or 0, answer.losses, answer.errors
            path = ExactPath(*found, answer.whole)
        return Estimate(
            answer.theta,
            scaling.user(answer.gamma),
            answer.gamma != 0.0,
            answer.strength,
            residual=answer.residual,
            exact_path=path,
            **_likelihood(problem, plan, ask, answer.theta),
        )

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        (release,) = plan.of_kind(ExactMinimiser)
        chosen = "given" if release.folds is None else f"{release.folds}-fold cross-validation"
        facts = [Fact("Penalty strength chosen by", chosen)]
        if not problem.penalty.convex:
            facts.append(Fact("Optimality", "a stationary point; better ones are not excluded"))
        solver = "exact minimiser" if problem.penalty.convex else "ADMM"
        return MethodDescription(
            f"{solver} without noise", plan.describe(), "inside the objective", facts=tuple(facts)
        )

    def _check(self, problem: Problem) -> None:
        require_whole("folds", self.folds, 2, 1000, "Use folds=5.")
        require_positive(self.augmentation, "augmentation")
        if not problem.penalty.convex and self.augmentation is None and problem.family.curvature_max is None:
            raise MethodError(
                f"family {problem.family.name!r} with ADMM",
                expected="a family whose curvature is bounded, or augmentation= of your own",
                remedy="Use a convex penalty, or NonPrivate(augmentation=1.0).",
            )


def _likelihood(problem: Problem, plan: PricedReleases, ask: Ask, theta: FloatVector) -> dict[str, Any]:
    """What standard errors and information criteria are made of, where the plan asks for it."""
    if not (planned := plan.of_kind(ExactInformation)):
        return {}
    family, size = problem.family, len(theta)
    answer = ExactInformationAnswer.of(ask(planned[0], theta), size)
    if not answer.rows > size or not np.isfinite(answer.information).all():
        return {}
    dispersion = family.dispersion
    if not family.fixed_dispersion:
        rows = answer.weights * (1.0 - size / answer.rows) if problem.weighted else answer.rows - size
        dispersion = max(2.0 * answer.loss / rows, np.finfo(np.float64).tiny)
    part = 1.0
    if problem.weighted:
        spread = float(np.trace(answer.scores))
        part = weighting((spread, 0.0), dispersion * float(np.trace(answer.information)))
    released = ScoreAndInformation(
        term_columns=problem.geometry.term_columns,
        centre=theta,
        score=np.zeros(size),
        information=answer.information,
        score_scale=0.0,
        information_scale=0.0,
        dispersion=part * dispersion,
        initial_variance=np.ones(size),
        third_derivative_bound=family.third_derivative_bound,
        logistic=family.link == "logit" and not problem.offset,
        exponential=family.link == "log",
        weighting=part,
        score_covariance=answer.scores if answer.weighted else None,
    )
    if answer.weighted:
        return {"released": released}
    llf = None if not family.fixed_dispersion else -answer.loss / family.dispersion - answer.constant
    return {"released": released, "part": ExactFit(llf, answer.rows)}


@methods.register("lha")
@dataclass(frozen=True)
class LHA(NonPrivate):
    """The DPSC paper's LHA: `NonPrivate` with the l1/2 penalty, and with no other.

    Examples
    --------
    >>> LHA(folds=10).folds
    10
    """

    def _check(self, problem: Problem) -> None:
        if problem.penalty.name != "l1/2":
            raise MethodError(
                f"penalty {problem.penalty.name!r} with method='lha'",
                expected="penalty='l1/2', which LHA is",
                remedy="Say penalty='l1/2', or method='nonprivate'.",
            )
        super()._check(problem)
