"""DLA: exact answers of sites, consensus ADMM over these, and a ridge by cross-validation: NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.glm.penalties.elastic_net import L2
from dpglm.inference.coefficients import Scaling
from dpglm.mechanisms.base import Release, Rows
from dpglm.mechanisms.folds import fold, mean_loss
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.unclaimed import UnclaimedRelease
from dpglm.methods.base import Estimate, Problem, methods
from dpglm.methods.iterated import require_steps, require_whole
from dpglm.methods.joint import Party
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import minimise
from dpglm.papers.dlr.consensus import Consensus, ConsensusMethod, neighbourhoods, shares_of
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.events import TRUST, Fact, MethodDescription, ReleaseDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import FloatMatrix, FloatVector

# Largest residual of a site's own minimiser, sum units.
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class _Local(UnclaimedRelease):
    """An exact answer of one site, on all of its rows or on those in or out of a fold: NOT PRIVATE.

    Parameters
    ----------
    family : Family
    mixing : ndarray, shape (p, p)
        Coded from scaled coefficients.
    folds, start : int
        Row i is held out where i = start modulo folds; no fold where folds is 0.
    """

    family: Family
    mixing: FloatMatrix
    folds: int = 0
    start: int = 0

    def describe(self, relation: Relation) -> ReleaseDescription:
        return self.exactly(f"{self.name} of a site, itself")

    def rows(self, rows: Rows, *, held: bool) -> Rows:
        """The rows of the fold, or all others; all of them where there are no folds."""
        return rows if self.folds == 0 else fold(rows, self.folds, self.start, held=held)


class LocalMinimiser(_Local):
    """The minimiser of a site's loss, plus ``quadratic / 2 |w|^2 - drawn'w``, in scaled coefficients w."""

    name: ClassVar[str] = "local minimiser"

    @staticmethod
    def request(start: FloatVector, drawn: FloatVector, quadratic: float) -> FloatVector:
        """What the release is asked at, sum units: a point near the answer and the public terms."""
        return np.concatenate([start, drawn, [quadratic]])

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        assert at is not None, "public terms"
        size = rows.size
        own = self.rows(rows, held=False)
        return minimise(
            ChunkLoss(own.chunks, self.family, size=size, row_count=own.row_count()),
            linear=np.asarray(-np.linalg.solve(self.mixing.T, at[size : 2 * size]), dtype=np.float64),
            ridge=0.0,
            mixing=self.mixing,
            penalty=L2(strength=float(at[-1])),
            start=at[:size],
            tolerance=TOLERANCE,
        ).gamma


class HeldOutLoss(_Local):
    """The sum of losses of a site's held-out rows at scaled coefficients, and the number of these rows."""

    name: ClassVar[str] = "held-out loss"

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        assert at is not None, "coefficients"
        held = self.rows(rows, held=True)
        count = held.row_count()
        return np.array([count * mean_loss(self.family, held, self.mixing @ at), count])


TRUSTED = "every site and the network: messages are exact, and may reveal rows"
# Copies that move no more than this in a round, and are no farther from their centres, have agreed.
AGREED: Final = 1e-10
# Ridges that are compared, per row, and rounds for each in a fold, begun where the one before ended.
STRENGTHS: Final[tuple[float, ...]] = tuple(np.geomspace(1.0, 1e-4, 9).tolist())
FOLD_ROUNDS: Final = 40


@methods.register("dla")
@dataclass(frozen=True)
class DLA(ConsensusMethod):
    r"""Consensus ADMM of sites that send exact numbers, marked NOT PRIVATE wherever it is shown.

    As `DLVP` without noise, but for w: every round each site minimises its own loss exactly,

    .. math:: w_j^+ = \mathrm{argmin}\, f_j(w)
              + \sum_{i \in N_j} (\tfrac c2 |w - Z_i^+|^2 - V_{ij}'(w - Z_i^+)).

    The paper takes M gradient steps towards it; its proof of convergence is for the exact one. Ends at the
    minimiser of :math:`\frac1n \sum \mathrm{loss} + \frac\lambda2 |w|^2` over the rows of all sites.

    Parameters
    ----------
    rounds : int
        Most rounds; it ends before where all copies agree. How far they are then from that is the residual.
    folds : int
        Of the cross-validation that chooses the ridge where ``strength`` is ``"cv"``, or not given with
        ``penalty="l2"``: rows are dealt to folds by their place at each site, all sites fit without a fold
        together, and the sums of held-out losses over sites and folds are compared. The least one is taken.
        The paper compares mean squared errors; losses are what `NonPrivate` compares.
    graph, c, coding
        As in `ConsensusMethod`.

    References
    ----------
    The DLR paper, Algorithm 1, equations (8), (10) and (11), and the appendix for convergence and for
    cross-validation.

    Examples
    --------
    >>> DLA(rounds=200).name
    'dla'
    """

    rounds: int = 1000
    folds: int = 5

    name: ClassVar[str] = "dla"

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        if privacy is not None:
            raise MethodError(
                "method='dla' with a privacy budget",
                expected="privacy=None: its messages are exact",
                remedy="Use method='dlvp' for a private fit, or say privacy=None.",
            )
        self.require_ridge(problem)
        require_steps(self.rounds, "rounds")
        require_whole("folds", self.folds, 2, 1000, "Use folds=5.")
        family, mixing = problem.family, Scaling.of(problem.geometry).mixing
        releases: list[Release] = []
        for start in range(self.folds) if searched(problem) else ():
            held = HeldOutLoss(family, mixing, self.folds, start)
            local = LocalMinimiser(family, mixing, self.folds, start)
            for _ in STRENGTHS:
                releases += [*(replace(local) for _ in range(FOLD_ROUNDS)), replace(held)]
        releases += [LocalMinimiser(family, mixing) for _ in range(self.rounds)]
        return PricedReleases(tuple(releases), Guarantee.none("no privacy was asked for"), None)

    def join(self, problem: Problem, parties: Mapping[str, Party]) -> Estimate:
        sites = _Sites(self, problem, parties)
        if searched(problem):
            problem = replace(problem, strength=self._chosen(problem, sites))
        state = self.consensus(problem, sites.near, sites.shares)
        apart = np.inf
        for _ in range(self.rounds):
            apart = sites.round(state, sites.counts)
            if apart <= AGREED:
                break
        return replace(self.averaged(problem, state), residual=float(apart))

    def _chosen(self, problem: Problem, sites: _Sites) -> float:
        """The ridge of the least held-out loss over all sites and folds."""
        lost = np.zeros(len(STRENGTHS))
        for start in range(self.folds):
            counts = sites.counts - np.array([len(range(start, int(n), self.folds)) for n in sites.counts])
            before: Consensus | None = None
            for place, strength in enumerate(STRENGTHS):
                tried = replace(problem, strength=strength)
                state = self.consensus(tried, sites.near, counts / counts.sum())
                if before is not None:
                    state = state.resumed(before)
                for _ in range(FOLD_ROUNDS):
                    sites.round(state, counts)
                lost[place] += sites.held_out(state.w.mean(axis=0))
                before = state
        return float(STRENGTHS[int(np.argmin(lost))])

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        chosen = f"{self.folds}-fold cross-validation over the sites" if searched(problem) else "given"
        return MethodDescription(
            "consensus ADMM of sites without noise",
            plan.describe(),
            "in every round, to exact numbers",
            facts=(
                Fact(TRUST, TRUSTED),
                Fact("Most rounds", self.rounds),
                Fact("Penalty weight c", self.c),
                Fact("Graph", "every site to every other" if self.graph is None else "given"),
                Fact("Penalty strength chosen by", chosen),
            ),
        )


def searched(problem: Problem) -> bool:
    """Whether the ridge is chosen by cross-validation."""
    return problem.penalty.name == "l2" and problem.strength in (None, "cv")


class _Sites:
    """All sites in a round: each is asked for its next release."""

    def __init__(self, method: DLA, problem: Problem, parties: Mapping[str, Party]) -> None:
        self.near = neighbourhoods(method.graph, tuple(parties))
        self.shares, rows = shares_of([party.problem for party in parties.values()], method.name)
        self.counts: FloatVector = np.round(self.shares * rows)
        self._asked: list[tuple[Iterator[Release], Party]] = [
            (iter(party.plan.releases), party) for party in parties.values()
        ]

    def round(self, state: Consensus, counts: FloatVector) -> float:
        """Equations (8), (10) and (11), on so many rows of each site; how far the sites are from agreeing."""
        rows = float(counts.sum())
        drawn = state.centre()
        w = [
            party.ask(next(releases), LocalMinimiser.request(start, rows * pull, rows * float(quadratic)))
            for (releases, party), start, pull, quadratic in zip(
                self._asked, state.w, drawn, state.quadratic, strict=True
            )
        ]
        return state.move(np.array(w))

    def held_out(self, w: FloatVector) -> float:
        """The sum of held-out losses of all sites."""
        return float(sum(party.ask(next(releases), w)[0] for releases, party in self._asked))
