"""DLVP and DLP: fresh noise at each site in every round, or noise once for the minimiser over all sites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.inference.coefficients import Scaling
from dpglm.inference.expectation import EstimateNoise, ExpectedRows, noise_of_minimiser
from dpglm.mechanisms.gradient import Gradient
from dpglm.methods.base import Estimate, Problem, budgeted_plan, methods, require_positive
from dpglm.methods.iterated import gaussian_total, public_rows, require_steps
from dpglm.methods.joint import JointMethod, Party, ask_each
from dpglm.methods.output import Output
from dpglm.papers.dlr.consensus import LAST, ConsensusMethod, curvature, neighbourhoods, shares_of
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import NoisySums, Target, calibrate
from dpglm.privacy.events import TRUST, Fact, MethodDescription
from dpglm.typing import FloatMatrix

TRUSTED = (
    "each site its own curator only: epsilon per record against anyone who sees all messages, the other "
    "sites and the network included"
)


@methods.register("dlvp")
@dataclass(frozen=True)
class DLVP(ConsensusMethod):
    r"""Consensus ADMM of sites whose messages are private: variable perturbation of the DLR paper.

    With closed neighbourhoods N_j, f_j the loss of site j's rows over the number of *all* rows n, and the
    released sum :math:`\tilde g_j = n \nabla f_j(w_j) + N(0, \sigma^2 I)`, each round has

    .. math::

        Z_j^+ &= \sum_{i \in N_j} (c w_i - V_{ji}) / (\lambda / J + c |N_j|), \\
        w_j^+ &= w_j - \alpha_j [\tilde g_j / n + \sum_{i \in N_j} (c (w_j - Z_i^+) - V_{ij})], \\
        V_{ji}^+ &= V_{ji} + c (Z_j^+ - w_i^+).

    The gradient is all that a site's curator releases; the noisy w_j is the state, so that Z, V and the
    answer, the mean of the last w_j, are made of released numbers. One step a round: the printed noise is
    right for that alone. A record is at one site, so that all sites together cost it what one costs.

    Parameters
    ----------
    steps : int
        Rounds K. More need more noise in each.
    share : float
        Step size as a share of :math:`1 / (L_j / 2 + c |N_j|)`, in (0, 1]; L_j is the most that f_j can bend:
        R^2 / 4 times the share of rows, for the logistic loss. It is below the paper's bound and proved for
        linearised ADMM. Public numbers alone decide.
    clip : float
        Gradients of single rows longer than this are cut; at 1 losses with slopes in [-1, 1] are never cut.
    graph, c, coding
        As in `ConsensusMethod`.

    References
    ----------
    The DLR paper, Algorithm 3 and equations (8), (14) and (15). Its noise, of density
    :math:`\exp(-n \epsilon(k) |b| / (2 \alpha))` on w, is noise on the gradient; here that is Gaussian, and
    composed as such. ``mechanisms/gradient.md`` has the theorem used.

    Examples
    --------
    >>> DLVP(steps=50, graph={"north": ["south"], "south": ["north"]}).name
    'dlvp'
    """

    steps: int = 100
    share: float = 1.0
    clip: float = 1.0

    name: ClassVar[str] = "dlvp"

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        privacy = problem.require_budget(privacy, self.name)
        self.require_ridge(problem)
        require_steps(self.steps, "steps")
        require_positive(self.clip, "clip")
        _require_share(self.share)
        mu = gaussian_total(privacy, self.name)
        if problem.count_rows is None:  # rows are counted when they are read
            public_rows(problem, self.name)
        gradient = Gradient(problem.family, self.clip, self.clip)
        sums = NoisySums(gradient.sensitivity(privacy.relation), self.steps)
        scale = calibrate(sums, Target(privacy.relation, mu=mu)).score_scale
        gradient = replace(gradient, scale=scale)
        gradient.require_grid(len(problem.geometry.names))  # refused here, not after the charge
        return budgeted_plan(tuple(replace(gradient) for _ in range(self.steps)), privacy, mu=mu)

    def join(self, problem: Problem, parties: Mapping[str, Party]) -> Estimate:
        scaling = Scaling.of(problem.geometry)
        shares, rows = shares_of([party.problem for party in parties.values()], self.name)
        state = self.consensus(problem, neighbourhoods(self.graph, tuple(parties)), shares)
        steps = self.share / (LAST * curvature(problem, scaling) * shares + state.quadratic)
        asked = [(party.plan.of_kind(Gradient), party.ask) for party in parties.values()]
        for number in range(self.steps):
            drawn = state.centre()
            coded = state.w @ scaling.mixing.T
            questions = ((ask, own[number], at) for (own, ask), at in zip(asked, coded, strict=True))
            sums: FloatMatrix = np.array(ask_each(questions))
            slope = sums @ scaling.mixing / rows + state.quadratic[:, None] * state.w - drawn
            state.move(state.w - steps[:, None] * slope)
        return self.averaged(problem, state)

    def expected(self, problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> EstimateNoise:
        """Of a single holder of all rows: as many steps of gradient descent, each with its noise.

        J holders of as many rows have noise sqrt(J) times as large. What an early end shrinks is not in it.
        """
        mixing = Scaling.of(problem.geometry).mixing
        most = curvature(problem, Scaling.of(problem.geometry))
        drawn = self.consensus(problem, np.ones((1, 1)), np.ones(1)).quadratic[0]
        step = self.share / (LAST * most + drawn)
        bent, along = np.linalg.eigh(mixing.T @ rows.information @ mixing / rows.n)
        left = np.clip(1.0 - step * bent, -1.0, 1.0)
        both = np.minimum(np.outer(left, left), 1.0 - 1e-12)  # of a step's noise, a step later
        (scale,) = {release.scale for release in plan.of_kind(Gradient)}
        moved = (step * scale / rows.n) ** 2 * (along.T @ mixing.T @ mixing @ along)
        back = mixing @ along
        noise = back @ (moved * (1.0 - both**self.steps) / (1.0 - both)) @ back.T
        sampling = noise_of_minimiser(rows.information, 0.0, 0.0, rows.dispersion).sampling
        return EstimateNoise(sampling, noise)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        return MethodDescription(
            "consensus ADMM of sites with noisy gradients",
            plan.describe(),
            "in every round, to released numbers",
            plan.why(),
            facts=(
                Fact(TRUST, TRUSTED),
                Fact("Rounds", self.steps),
                Fact("Penalty weight c", self.c),
                Fact("Graph", "every site to every other" if self.graph is None else "given"),
                Fact("Share of the safe step", self.share),
            ),
        )


def _require_share(value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0.0 < value <= 1.0:  # type: ignore[operator]  # a number, as just checked
        raise MethodError(
            "share out of range", expected="a share of the safe step in (0, 1]", remedy="Use share=1.0."
        )


ALL_TRUSTED = (
    "all sites and their network, which see exact sums and iterates; only the final vector is protected"
)


@methods.register("dlp")
@dataclass(frozen=True)
class DLP(Output, JointMethod):
    """Output perturbation over a partitioned table: `Output` on the rows of all sites, with one noise.

    The DLR paper adds noise for the exact minimiser to what its iteration ends at. That need not be near the
    minimiser: a record then moves what is output by several times the sensitivity that the noise was set for,
    and the claim is false. Here sums over the rows of all sites are minimised until a certificate says how
    far the minimiser can be, and the noise hides that, too.

    One noise hides one row of all sites. Where a person may be at several sites it would not be enough, so
    that the schema has to say ``sites: disjoint``.

    Parameters
    ----------
    ridge, coding
        As in `Output`; the ridge is n lambda, in sum units over all sites.

    References
    ----------
    The DLR paper, Algorithm 2; ``mechanisms/output_perturbation.md`` for the theorem used.

    Examples
    --------
    >>> DLP(ridge=100.0).name
    'dlp'
    """

    name: ClassVar[str] = "dlp"
    reads_together: ClassVar[bool] = True

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        if problem.strength is not None and problem.count_rows is None:
            raise MethodError(
                "a strength per row with method='dlp' under add-remove, where the number of rows is private",
                expected="a penalty in sum units, over all sites",
                remedy="Use method=dpglm.methods.DLP(ridge=20.0), or relation='replace-one'.",
            )
        # What one site declares of its rows says nothing of those of all sites.
        return super().plan(replace(problem, rows=None, known_rows=None), privacy)

    def join(self, problem: Problem, parties: Mapping[str, Party]) -> Estimate:
        (party,) = parties.values()
        return self.solve(problem, party.plan, party.ask)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        return replace(super().describe(problem, plan), facts=(Fact(TRUST, ALL_TRUSTED),))
