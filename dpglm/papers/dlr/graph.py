"""Who sends messages to whom: closed neighbourhoods of a connected graph of sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from dpglm.errors import MethodError
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
