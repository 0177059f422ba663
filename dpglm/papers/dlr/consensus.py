"""Consensus ADMM over a graph of sites: the state of the DLR paper's equations (8), (11) and (15)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.inference.coefficients import Scaling
from dpglm.inference.expectation import expected_information
from dpglm.methods.base import Ask, Estimate, Problem, require_positive
from dpglm.methods.iterated import estimate, public_rows
from dpglm.methods.joint import JointMethod, Party
from dpglm.papers.dlr.graph import Graph, neighbourhoods, spectral_gap
from dpglm.typing import FloatMatrix, FloatVector

# Of a default c: the least ratio of curvatures that is believed, and the least spectral gap.
_FLATTEST, _SLOWEST = 1e-4, 1e-6
LAST: Final = 0.5  # of the curvature of a loss, beside that of the quadratic, in the proved step


class Consensus:
    r"""Copies w_j of J sites, centres Z_j of their neighbourhoods N_j, and sums of the multipliers V_ji.

    Minimises :math:`\sum_j f_j(w_j) + \sum_j h(Z_j)` subject to :math:`Z_j = w_i` for i in N_j, with
    :math:`h(Z) = \frac{1}{2J} \sum_k \lambda_k Z_k^2`. Of the multipliers only sums over neighbourhoods are
    needed: of those of a site's own constraints, and of those of its copy in others'. All begin at 0.
    """

    def __init__(self, near: FloatMatrix, ridge: FloatVector, c: float) -> None:
        self._near, self._ridge, self._c = near, ridge / len(near), c
        self._degrees: FloatMatrix = near.sum(axis=1)[:, None]
        self.w, self.Z, self._own, self._others = np.zeros((4, len(near), len(ridge)))

    def resumed(self, other: Consensus) -> Consensus:
        """This state, begun where one with another ridge ended."""
        self.w, self.Z = other.w, other.Z
        self._own, self._others = other._own, other._others
        return self

    @property
    def quadratic(self) -> FloatVector:
        """c |N_j|: what a site's copy is drawn to its neighbours' centres by, shape (J,)."""
        return self._c * self._degrees[:, 0]

    def centre(self) -> FloatMatrix:
        """Equation (8), the centres; and what each site's copy is drawn to, times the quadratic; (J, p)."""
        drawn = self._c * (self._near @ self.w) - self._own
        self.Z = drawn / (self._ridge + self._c * self._degrees)
        return self._c * (self._near @ self.Z) + self._others

    def move(self, w: FloatMatrix) -> float:
        """Equations (11) and (15) at new copies; how far copies are from centres and from what they were."""
        before, self.w = self.w, w
        self._own = self._own + self._c * (self._degrees * self.Z - self._near @ w)
        self._others = self._others + self._c * (self._near @ self.Z - self._degrees * w)
        return float(max(np.abs(w - before).max(), np.abs(w - self.Z).max()))


@dataclass(frozen=True)
class ConsensusMethod(JointMethod):
    """What DLA and DLVP share: a graph, c, a ridge and no other penalty.

    Parameters
    ----------
    graph : mapping of str to list of str, or None
        The neighbours of every site; None: all of all.
    c : float or None
        Penalty weight of ADMM, for the *average* loss. None: from public numbers alone, the curvature that
        the loss may have, the one that declared bounds let expect, and the graph.
    coding : {"clipped", "centred"}
        Centred columns divided by the norm of a typical row, longer ones cut, or by a bound, none cut.
    """

    graph: Graph | None = None
    c: float | None = None
    coding: Literal["centred", "clipped"] = "centred"

    def require_sites(self, sites: tuple[str, ...]) -> None:
        neighbourhoods(self.graph, sites)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        # One holder has no neighbours: an audit draws it alone, whatever the graph.
        return replace(self, graph=None).join(problem, {"": Party(problem, plan, ask)})

    def require_ridge(self, problem: Problem) -> None:
        """Refuse what the paper's equations do not hold for, by a MethodError from public facts."""
        require_positive(self.c, "c")
        if problem.penalty.name not in ("none", "l2"):
            raise MethodError(
                f"penalty {problem.penalty.name!r} with method={self.name!r}",
                expected="a ridge or none: the consensus is derived for these",
                remedy="Use penalty='l2', or method='dp-admm', which takes any penalty.",
            )
        if problem.family.curvature_max is None:
            raise MethodError(
                f"family {problem.family.name!r} with method={self.name!r}",
                expected="a loss of bounded curvature, for which a step is known to be safe",
                remedy="Use family='binomial' or 'huber_svm'.",
            )

    def consensus(self, problem: Problem, near: FloatMatrix, shares: FloatVector) -> Consensus:
        """The state before the first round on a graph; ``shares`` are those of the rows, shape (J,)."""
        scaling = Scaling.of(problem.geometry)
        ridge = np.where(scaling.penalised, ridge_per_row(problem), 0.0)
        c = self.c if self.c is not None else _default_c(problem, scaling, near, shares)
        return Consensus(near, ridge, c)

    def averaged(self, problem: Problem, state: Consensus) -> Estimate:
        """The mean of the copies of all sites, with the ridge that was used."""
        ridge = ridge_per_row(problem) if problem.penalty.name == "l2" else None
        return estimate(Scaling.of(problem.geometry), state.w.mean(axis=0), ridge)


def ridge_per_row(problem: Problem) -> float:
    """lambda, the ridge of the average loss: what was given; otherwise none."""
    given = problem.strength if isinstance(problem.strength, float) else 0.0
    return float(problem.penalty.with_strength(given).ridge_weight or 0.0)


def curvature(problem: Problem, scaling: Scaling) -> float:
    """The most that the average loss can bend in scaled coefficients, rows having norm at most 1."""
    most = problem.family.curvature_max
    assert most is not None, "checked when the method planned"
    return most * float(np.linalg.norm(scaling.mixing, 2)) ** 2


def shares_of(problems: Sequence[Problem], name: str) -> tuple[FloatVector, float]:
    """The share of all rows that each site has, shape (J,), and their number, from public numbers of rows."""
    rows = np.array([public_rows(problem, name) for problem in problems])
    return rows / rows.sum(), float(rows.sum())


def _default_c(problem: Problem, scaling: Scaling, near: FloatMatrix, shares: FloatVector) -> float:
    """About where rounds are fewest: between the largest and the least curvature, more on a sparse graph."""
    most, size = problem.family.curvature_max or 1.0, curvature(problem, scaling)
    expected = expected_information(problem.geometry.term_columns, most)
    least = float(np.linalg.eigvalsh(scaling.mixing.T @ expected @ scaling.mixing)[0])
    flat = math.sqrt(min(1.0, max(_FLATTEST, (least + ridge_per_row(problem)) / size)))
    far = math.sqrt(max(spectral_gap(near), _SLOWEST))
    return flat * size * float(shares.max()) / (float(near.sum(axis=1).min()) * far)
