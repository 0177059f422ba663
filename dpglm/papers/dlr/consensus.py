"""Consensus ADMM over a graph of sites: the state of the DLR paper's equations (8), (11) and (15)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.inference.coefficients import Scaling
from dpglm.inference.expectation import expected_information
from dpglm.methods.base import Ask, Estimate, Problem, require_positive
from dpglm.methods.iterated import estimate, public_rows
from dpglm.methods.joint import JointMethod, Party
from dpglm.typing import FloatMatrix, FloatVector

Graph: TypeAlias = Mapping[str, Sequence[str]]


def neighbourhoods(graph: Graph | None, sites: tuple[str, ...]) -> FloatMatrix:
    """Which sites are in the closed neighbourhood of which: 0 or 1, symmetric, ones on the diagonal; (J, J).

    Parameters
    ----------
    graph : mapping of str to sequence of str, or None
        The neighbours of every site; a site is its own, whether it says so or not. None: all of all. Two
        sites without themselves in their neighbourhoods would never agree, which is why these are closed.
    sites : tuple of str
        In their order.

    Raises
    ------
    MethodError
        Other sites than these, an edge that only one end names, or sites that no path connects.

    Examples
    --------
    >>> neighbourhoods({"a": ["b"], "b": ["a", "c"], "c": ["b"]}, ("a", "b", "c")).sum(axis=1)
    array([2., 3., 2.])
    """
    size = len(sites)
    if graph is None:
        return np.ones((size, size))
    named = _checked(graph)
    strangers = [name for name in dict.fromkeys((*named, *sum(named.values(), ()))) if name not in sites]
    missing = [site for site in sites if site not in named]
    if strangers or missing:
        word = f"{strangers[0]!r}, which is no site" if strangers else f"no neighbours of site {missing[0]!r}"
        raise MethodError(
            f"a graph with {word}",
            expected=f"the neighbours of each of the {size} sites" if sites != ("",) else "tables by site",
            remedy='Write graph={"north": ["south"], "south": ["north"]}, or leave graph out.',
        )
    places = {site: place for place, site in enumerate(sites)}
    near = np.eye(size)
    for site, others in named.items():
        for other in others:
            if site not in (*named[other], other):
                raise MethodError(
                    f"a graph in which {site!r} has the neighbour {other!r}, and {other!r} not {site!r}",
                    expected="messages in both directions",
                    remedy=f"Add {site!r} to the neighbours of {other!r}.",
                )
            near[places[site], places[other]] = 1.0
    reached = np.eye(size)[0] > 0.0
    for _ in sites:
        reached = near @ reached > 0.0
    if not reached.all():
        raise MethodError(
            f"a graph without a path from site {sites[0]!r} to site {sites[int(np.argmin(reached))]!r}",
            expected="a connected graph: sites agree by their neighbours only",
            remedy="Add an edge between the two parts.",
        )
    return near


def _checked(graph: object) -> dict[str, tuple[str, ...]]:
    """The graph as plain texts."""
    if isinstance(graph, Mapping):
        lists = dict(graph)
        plain = all(isinstance(each, list | tuple) for each in lists.values())
        if plain and all(isinstance(name, str) for each in (lists, *lists.values()) for name in each):
            return {site: tuple(each) for site, each in lists.items()}
    raise MethodError(
        f"a graph of type {type(graph).__name__}, or with neighbours that are no list of names",
        expected="the names of the neighbours of every site",
        remedy='Write graph={"north": ["south"], "south": ["north"]}, or leave graph out.',
    )


def spectral_gap(near: FloatMatrix) -> float:
    """1 minus the square of the second largest eigenvalue, in absolute value, of the normalised graph.

    1 where everybody hears everybody: messages are averaged in one round; the smaller, the slower.

    Examples
    --------
    >>> round(spectral_gap(np.ones((5, 5))), 9)
    1.0
    """
    degrees: FloatVector = near.sum(axis=1)
    values = np.sort(np.abs(np.linalg.eigvalsh(near / np.sqrt(np.outer(degrees, degrees)))))
    return 1.0 - float(values[-2]) ** 2 if len(values) > 1 else 1.0


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

    def default_penalty(self, goal: str, family: Family) -> str:
        return "none" if goal == "explain" else "l2"

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
