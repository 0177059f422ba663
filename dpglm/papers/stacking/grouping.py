"""Groups of terms and their public weights, as a user says them; and how their coded columns are loaded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from dpglm.errors import MethodError
from dpglm.inference.expectation import expected_information
from dpglm.methods.base import Geometry
from dpglm.papers.stacking.stack import MOST_MODELS
from dpglm.typing import FloatMatrix, FloatVector, IntVector

Groups: TypeAlias = int | Mapping[str, Sequence[str]]
Importance: TypeAlias = Mapping[str, float]
# Groups where none are given.
GROUPS = 5
# Of the squared norm of a typical row, what the intercept has.
INTERCEPT = 0.25


def column_groups(geometry: Geometry, groups: Groups | None, seed: int) -> dict[str, list[str]]:
    """Terms of each group by its name; the intercept is in none.

    Raises
    ------
    MethodError
        Terms in two groups or in none, names that are not there, or more groups than terms.
    """
    known = terms_of(geometry)
    if isinstance(groups, Mapping):
        return _named(known, groups)
    count = min(GROUPS, len(known)) if groups is None else groups
    is_integer = isinstance(count, int) and not isinstance(count, bool)
    if not (is_integer and 1 <= count <= min(len(known), MOST_MODELS)):
        raise MethodError(
            "groups out of range",
            expected=f"a whole number from 1 to {min(len(known), MOST_MODELS)}, one a term at most",
            remedy="Use groups=5, or name them: groups={'blood': ['hb', 'wbc'], 'person': ['age']}.",
        )
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise MethodError("split_seed", expected="a whole number >= 0", remedy="Leave split_seed out.")
    order = np.random.default_rng(seed).permutation(len(known))
    labels = list(known)
    dealt = np.array_split(order, count)
    return {
        f"group {number}": [labels[index] for index in sorted(part.tolist())]
        for number, part in enumerate(dealt, start=1)
    }


def plain_list(members: object) -> object:
    """A sequence of names as a list; anything else as it is, to be refused by name."""
    sequence = isinstance(members, Sequence) and not isinstance(members, str)
    return list(members) if sequence else members  # type: ignore[call-overload]


def _named(known: Mapping[str, IntVector], groups: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    if not 1 <= len(groups) <= MOST_MODELS:
        raise MethodError(
            f"{len(groups)} groups", expected=f"1 to {MOST_MODELS}", remedy="Name at least one group."
        )
    taken: set[str] = set()
    for name, members in groups.items():
        if not isinstance(name, str) or isinstance(members, str) or not isinstance(members, Sequence):
            raise MethodError(
                "groups of another kind",
                expected="names of groups to lists of terms",
                remedy="Use groups={'blood': ['hb', 'wbc'], 'person': ['age']}.",
            )
        if not members:
            raise MethodError(
                f"group {name!r} without a term", expected="at least one", remedy="Leave it out."
            )
        for member in members:
            if member not in known:
                raise MethodError(
                    f"{member!r} in group {name!r}",
                    expected=f"terms of the formula: {_listed(known)}",
                    remedy="Name terms as the formula does.",
                )
            if member in taken:
                raise MethodError(
                    f"term {member!r} in two groups, or twice in group {name!r}",
                    expected="each term in one group",
                    remedy="Leave it out of one of them.",
                )
            taken.add(member)
    missing = [label for label in known if label not in taken]
    if missing:
        raise MethodError(
            f"terms in no group: {', '.join(map(repr, missing[:5]))}",
            expected="each term in one group",
            remedy="Add them to a group, or leave them out of the formula.",
        )
    return {name: list(members) for name, members in groups.items()}


def terms_of(geometry: Geometry) -> dict[str, IntVector]:
    """Places of coded columns by term; the intercept is none.

    Raises
    ------
    MethodError
        A formula without a term.
    """
    columns: dict[str, list[int]] = {}
    for block in geometry.term_columns:
        if block.kind != "intercept":
            columns.setdefault(block.label, []).extend(range(block.start, block.stop))
    if not columns:
        raise MethodError(
            "a stack of models of the intercept alone",
            expected="a formula with at least one term",
            remedy="Use method='auto', or add a term.",
        )
    return {label: np.array(places, dtype=np.intp) for label, places in columns.items()}


def loadings_of(
    geometry: Geometry, groups: Sequence[Sequence[str]], weights: FloatVector, *, together: bool
) -> FloatMatrix:
    """Factors of the coded columns by which a row of typical length gets norm 1, shape (K, p).

    A typical row is one of uniform variables on their declared ranges. The intercept has a share of 1/4 of
    its squared norm. ``together``: all groups of a row together have norm 1, one group in proportion to its
    weight; otherwise each group has.
    """
    known = terms_of(geometry)
    square = np.diagonal(expected_information(geometry.term_columns, 1.0))
    free = [block for block in geometry.term_columns if block.kind == "intercept"]
    loadings = np.zeros((len(groups), len(square)))
    share = (1.0 - INTERCEPT) if free else 1.0
    for row, members in enumerate(groups):
        columns = np.concatenate([known[member] for member in members])
        loadings[row, columns] = weights[row]
        if not together:
            loadings[row] *= np.sqrt(share / (np.square(loadings[row]) @ square))
    if together:
        loadings *= np.sqrt(share / (np.square(loadings) @ square).sum())
    for block in free:
        models = len(groups) if together else 1
        loadings[:, block.columns] = np.sqrt(INTERCEPT / models / square[block.columns])
    return loadings


def public_shares(
    groups: Mapping[str, Sequence[str]], importance: Importance | None, provenance: str | None
) -> FloatVector:
    """Shares q_k >= 0 of the groups, which add up to 1, shape (K,).

    Raises
    ------
    MethodError
        Weights without provenance, of things that are neither groups nor terms, missing or negative ones.
    """
    if importance is None:
        if provenance is not None:
            raise MethodError(
                "provenance without importance", expected="both or none", remedy="Leave provenance out."
            )
        return np.full(len(groups), 1.0 / len(groups))
    if not isinstance(provenance, str) or not provenance.strip() or not provenance.isprintable():
        raise MethodError(
            "importance without provenance",
            expected="where the weights come from; weights read off these rows would not be public",
            remedy="Say provenance='expert', 'literature: ...' or 'public data: ...'.",
        )
    if not isinstance(importance, Mapping) or not all(map(_is_weight, importance.values())):
        raise MethodError(
            "importance of another kind",
            expected="names of groups or terms to finite numbers >= 0",
            remedy="Use importance={'blood': 2.0, 'person': 1.0}.",
        )
    if set(importance) == set(groups):
        weights = np.array([float(importance[name]) for name in groups])
    else:
        weights = _by_term(list(groups.values()), importance)
    if not weights.sum() > 0.0:
        raise MethodError(
            "importance of 0 throughout", expected="a weight above 0", remedy="Leave importance out."
        )
    return np.asarray(weights / weights.sum())


def _by_term(groups: Sequence[Sequence[str]], importance: Importance) -> FloatVector:
    members = [member for own in groups for member in own]
    for name in importance:
        if name not in members:
            raise MethodError(
                f"importance of {name!r}",
                expected=f"the names of all groups, or of all terms: {_listed(members)}",
                remedy="Name terms as the formula does.",
            )
    missing = [member for member in members if member not in importance]
    if missing:
        raise MethodError(
            f"no importance for {', '.join(map(repr, missing[:5]))}",
            expected="a weight for each term, or for each group",
            remedy="Give them one; 0 for all terms of a group leaves it out.",
        )
    return np.array([sum(float(importance[member]) for member in own) for own in groups])


def _is_weight(value: object) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return number and 0.0 <= float(value) < 1e100  # type: ignore[arg-type]


def _listed(known: Collection[str]) -> str:
    shown = ", ".join(map(repr, list(known)[:10]))
    return shown + (", ..." if len(known) > 10 else "")
