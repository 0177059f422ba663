"""FWELL, corrected: features weighted by margins to released prototypes, to public rows, or within blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.glm.families.binomial import Binomial
from dpglm.glm.penalties.elastic_net import NoPenalty
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.mapped import Mapped
from dpglm.mechanisms.noise import NoiseLaw
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Ask, budgeted_plan
from dpglm.methods.class_moments import ClassMoments, class_moments, class_sums
from dpglm.methods.perturbed_objective import RESIDUAL_SHARE, tolerance_at
from dpglm.papers.fwell.blocks import OnBlocks
from dpglm.papers.fwell.margins import PrototypeMargins, ReferenceMargins
from dpglm.papers.fwell.printed import exact_fwell, printed_fwell
from dpglm.privacy.budget import STEPS, Privacy
from dpglm.privacy.calibration import Minimisers, Target, calibrate
from dpglm.spec.ranking import RankingMethod, RankingProblem, Weights, rankings
from dpglm.typing import FloatMatrix, FloatVector

# Strength of the paper's |w|^2 per row, and the number of rows where none is declared. So strong a ridge
# weighs features by their mean margins: a weak one blows up features that hardly differ.
STRENGTH: Final = 0.1
ASSUMED_ROWS: Final = 10_000
# Of mu squared, or of a pure epsilon, for the prototypes.
PROTOTYPES_SHARE: Final = 0.6
PROTOTYPES: Final = 2
# Rows of a block, and the length of its margin, as a share of the root of the number of columns.
BLOCK_ROWS: Final = 10
BLOCK_RADIUS: Final = 0.16
PUBLIC_REFERENCE: Final = "the reference table is public: its rows are in no way those that are protected"


@rankings.register("fwell")
class FWELL(RankingMethod):
    """Margins between two released points of either class in each column, or rows of a public table."""

    name = "fwell"
    takes: ClassVar[frozenset[str]] = frozenset({"strength", "reference", "single_pass", "paper_exact"})

    def plan(self) -> PricedReleases:
        problem, privacy = self.problem, self.problem.privacy
        if privacy is None and problem.paper_exact:
            raise MethodError(
                "paper_exact=True with privacy=None",
                expected="the epsilon that is printed",
                remedy="Use privacy=1.0, or leave paper_exact out for FWELL without privacy.",
            )
        if privacy is None:
            return exact_fwell(_strength(problem), single_pass=problem.single_pass)
        if problem.paper_exact:
            return printed_fwell(privacy, _strength(problem), single_pass=problem.single_pass)
        if problem.single_pass:
            raise MethodError(
                "single_pass=True with a privacy budget",
                expected="privacy=None or paper_exact=True: the paper's single pass is not a minimiser",
                remedy="Leave single_pass out.",
            )
        if problem.reference is not None:
            minimiser, _ = margin_minimiser(problem, privacy)
            releases = (Mapped(minimiser, ReferenceMargins(*problem.reference)),)
            return budgeted_plan(releases, privacy, mu=privacy.mu, curve=True, more=(PUBLIC_REFERENCE,))
        minimiser, price = margin_minimiser(problem, privacy, share=PROTOTYPES_SHARE)
        pure = privacy.definition == "pure"
        sums = class_sums(problem.box.may_be_missing, price, privacy.relation, pure=pure)
        both = sums, Mapped(minimiser, PrototypeMargins(PROTOTYPES))
        return budgeted_plan(both, privacy, mu=privacy.mu, curve=True)

    def weights(self, plan: PricedReleases, ask: Ask) -> Weights:
        if plan.privacy is None:
            noiseless = self.problem.privacy is None  # of what is printed the noise depends on the rows
            return Weights(self.problem.by_feature(ask(plan.releases[0])), 0.0 if noiseless else None)
        at = None
        for sums in plan.of_kind(ColumnSums):
            at = prototypes(class_moments(sums, ask(plan.releases[0])))
        return released(self.problem, plan, ask(plan.releases[-1], at))

    def algorithm(self) -> str:
        problem = self.problem
        if problem.privacy is None:
            return (
                "FWELL: margins between near hits and near misses, and the minimiser of their logistic loss"
            )
        if problem.paper_exact:
            return "Private FWELL as printed"
        if problem.reference is not None:
            return "margins between near hits and near misses of a public table, then objective perturbation"
        return "prototypes of both classes, then objective perturbation on margins between them"


@rankings.register("fwell-block")
class BlockFWELL(RankingMethod):
    """Margins between near hits and near misses inside of blocks of ten rows; replace-one neighbours only."""

    name = "fwell-block"
    takes: ClassVar[frozenset[str]] = frozenset({"strength"})

    def plan(self) -> PricedReleases:
        problem = self.problem
        if problem.privacy is None:
            raise MethodError(
                "method='fwell-block' with privacy=None",
                expected="method='fwell', which is then the original: near hits among all rows",
                remedy="Use method='fwell'.",
            )
        minimiser, _ = margin_minimiser(problem, problem.privacy, per_row=BLOCK_ROWS)
        radius = BLOCK_RADIUS * float(np.sqrt(problem.box.size))
        blocks = OnBlocks(minimiser, BLOCK_ROWS, radius)
        return budgeted_plan((blocks,), problem.privacy, mu=problem.privacy.mu)

    def weights(self, plan: PricedReleases, ask: Ask) -> Weights:
        return released(self.problem, plan, ask(plan.releases[0]))

    def algorithm(self) -> str:
        return "objective perturbation on the mean margins of blocks of rows"


def margin_minimiser(
    problem: RankingProblem, privacy: Privacy, *, share: float = 0.0, per_row: int = 1
) -> tuple[PerturbedMinimiser, float]:
    """The minimiser of margin rows' shifted logistic loss, and the price of what has a ``share`` before it.

    Its ridge is the paper's, and never below what makes the release as private as its noise alone. A row of
    margins is made of ``per_row`` rows of the table.
    """
    target, size = Target.of(privacy), problem.box.size
    rows = (problem.box.schema.rows or ASSUMED_ROWS) / per_row
    ridge = 2.0 * _strength(problem) * max(rows, 1.0)
    pure = privacy.definition == "pure"
    least = max(ridge, STEPS[privacy.relation] / privacy.epsilon)
    scales = calibrate(
        Minimisers(
            (lambda scale: 1.0 / least) if pure else None,
            residual_share=RESIDUAL_SHARE,
            measured_share=share,
            ridge_grows=pure,
        ),
        target,
    )
    ridge = least * scales.ridge_factor if pure else max(ridge, scales.least_ridge)
    composes = scales.claimed_epsilon is None and privacy.mu is None
    deviation = NoiseLaw(scales.law, scales.score_scale, size).deviation
    minimiser = PerturbedMinimiser(
        family=Binomial().shifted(),
        ridge=ridge,
        law=scales.law,
        scale=scales.score_scale,
        tolerance=tolerance_at(deviation, size, ridge),
        residual_noise_scale=1.0,
        penalty=NoPenalty(),
        penalty_rows=1.0,
        mixing=identity(size),
        penalised=np.ones(size, dtype=np.bool_),
        claimed_epsilon=scales.claimed_epsilon,
        max_leverage=1.0 / ridge if composes else None,
        shared=scales.shared,
    )
    minimiser = replace(minimiser, residual_noise_scale=minimiser.residual_noise_for(scales.residual_price))
    return minimiser, scales.measured_price


def prototypes(moments: ClassMoments) -> FloatVector:
    """A standard deviation below and above the mean of the first class, then the second's; and units."""
    points = [
        np.clip(mean + sign * deviation, 0.0, 1.0)
        for mean, deviation in zip(moments.means, moments.deviations, strict=True)
        for sign in (-1.0, 1.0)
    ]
    return np.concatenate([*points, moments.units])


def identity(size: int) -> FloatMatrix:
    """The identity, shape (size, size), as a read-only view of 2 size - 1 numbers.

    Examples
    --------
    >>> identity(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    row = np.zeros(2 * size - 1)
    row[size - 1] = 1.0
    windows = np.lib.stride_tricks.sliding_window_view(row, size)
    return windows[::-1]


def _strength(problem: RankingProblem) -> float:
    return STRENGTH if problem.strength is None else problem.strength


def released(problem: RankingProblem, plan: PricedReleases, columns: FloatVector) -> Weights:
    """Weights of the features, with the noise that a weight of pure noise has at most."""
    (minimiser,) = plan.of_kind(PerturbedMinimiser)
    deviation = float(np.hypot(minimiser.deviation / minimiser.least_ridge, minimiser.residual_noise_scale))
    return Weights(problem.by_feature(columns), deviation)
