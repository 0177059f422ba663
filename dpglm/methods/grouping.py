"""Groups of columns and their public weights, as a user says them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from dpglm.errors import MethodError
from dpglm.inference.stack import MOST_MODELS
from dpglm.methods.base import Geometry
from dpglm.typing import FloatVector

Groups: TypeAlias = int | Mapping[str, Sequence[str]]
Importance: TypeAlias = Mapping[str, float]
# Groups where none are given.
GROUPS = 5


def column_groups(
    geometry: Geometry, groups: Groups | None, seed: int
) -> tuple[tuple[str, ...], list[list[int]]]:
    """Names of groups, and the places of their columns; the intercept is in none.

    Raises
    ------
    MethodError
        Columns in two groups or in none, names that are not there, or more groups than columns.
    """
    columns = np.flatnonzero(np.asarray(geometry.penalised)).tolist()
    if isinstance(groups, Mapping):
        return _named(geometry, groups, columns)
    count = min(GROUPS, len(columns)) if groups is None else groups
    whole = isinstance(count, int) and not isinstance(count, bool)
    if not (whole and 1 <= count <= min(len(columns), MOST_MODELS)):
        raise MethodError(
            "groups out of range",
            expected=f"a whole number from 1 to {min(len(columns), MOST_MODELS)}, one a column at most",
            remedy="Use groups=5, or name them: groups={'blood': ['hb', 'wbc'], 'person': ['age']}.",
        )
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise MethodError("split_seed", expected="a whole number >= 0", remedy="Leave split_seed out.")
    order = np.random.default_rng(seed).permutation(columns)
    dealt = [sorted(part.tolist()) for part in np.array_split(order, count)]
    return tuple(f"group {place + 1}" for place in range(count)), dealt


def _named(
    geometry: Geometry, groups: Mapping[str, Sequence[str]], columns: list[int]
) -> tuple[tuple[str, ...], list[list[int]]]:
    known = places_of(geometry)
    found: list[list[int]] = []
    taken: dict[int, str] = {}
    if not 1 <= len(groups) <= MOST_MODELS:
        raise MethodError(
            f"{len(groups)} groups", expected=f"1 to {MOST_MODELS}", remedy="Name at least one group."
        )
    for name, members in groups.items():
        if not isinstance(name, str) or isinstance(members, str) or not isinstance(members, Sequence):
            raise MethodError(
                "groups of another kind",
                expected="names of groups to lists of terms or columns",
                remedy="Use groups={'blood': ['hb', 'wbc'], 'person': ['age']}.",
            )
        own: list[int] = []
        for member in members:
            if member not in known:
                raise MethodError(
                    f"{member!r} in group {name!r}",
                    expected=f"terms or columns of the formula: {_listed(known)}",
                    remedy="Name columns as the summary does.",
                )
            own += known[member]
        for place in own:
            if place in taken or own.count(place) > 1:
                raise MethodError(
                    f"column {geometry.names[place]!r} in two groups, or twice in group {name!r}",
                    expected="each column in one group",
                    remedy="Leave it out of one of them.",
                )
        if not own:
            raise MethodError(
                f"group {name!r} without a column", expected="at least one", remedy="Leave it out."
            )
        taken |= dict.fromkeys(own, name)
        found.append(sorted(own))
    missing = [geometry.names[place] for place in columns if place not in taken]
    if missing:
        raise MethodError(
            f"columns in no group: {', '.join(map(repr, missing[:5]))}",
            expected="each column in one group",
            remedy="Add them to a group, or leave their term out of the formula.",
        )
    return tuple(groups), found


def places_of(geometry: Geometry) -> dict[str, list[int]]:
    """Places of penalised columns by column name, and by term."""
    penalised = np.asarray(geometry.penalised)
    found: dict[str, list[int]] = {}
    for block in geometry.blocks:
        found.setdefault(block.label, []).extend(
            place for place in range(block.start, block.stop) if penalised[place]
        )
    found = {label: places for label, places in found.items() if places}
    return found | {name: [place] for place, name in enumerate(geometry.names) if penalised[place]}


def public_shares(
    geometry: Geometry,
    names: Sequence[str],
    positions: Sequence[Sequence[int]],
    importance: Importance | None,
    provenance: str | None,
) -> FloatVector:
    """Shares q_k >= 0 of the groups, which add up to 1, shape (K,).

    Raises
    ------
    MethodError
        Weights without provenance, of things that are neither groups nor columns, missing or negative ones.
    """
    if importance is None:
        if provenance is not None:
            raise MethodError(
                "provenance without importance", expected="both or none", remedy="Leave provenance out."
            )
        return np.full(len(names), 1.0 / len(names))
    if not isinstance(provenance, str) or not provenance.strip() or not provenance.isprintable():
        raise MethodError(
            "importance without provenance",
            expected="where the weights come from; weights read off these rows would not be public",
            remedy="Say provenance='expert', 'literature: ...' or 'public data: ...'.",
        )
    if not isinstance(importance, Mapping) or not all(map(_is_weight, importance.values())):
        raise MethodError(
            "importance of another kind",
            expected="names of groups, terms or columns to finite numbers >= 0",
            remedy="Use importance={'blood': 2.0, 'person': 1.0}.",
        )
    if set(importance) == set(names):
        weights = np.array([float(importance[name]) for name in names])
    else:
        weights = _by_column(geometry, positions, importance)
    if not weights.sum() > 0.0:
        raise MethodError(
            "importance of 0 throughout", expected="a weight above 0", remedy="Leave importance out."
        )
    return np.asarray(weights / weights.sum())


def _by_column(geometry: Geometry, positions: Sequence[Sequence[int]], importance: Importance) -> FloatVector:
    known = places_of(geometry)
    weights = np.full(len(geometry.names), np.nan)
    for name, weight in importance.items():
        if name not in known:
            raise MethodError(
                f"importance of {name!r}",
                expected=f"the names of all groups, or terms and columns: {_listed(known)}",
                remedy="Name columns as the summary does.",
            )
        weights[known[name]] = float(weight) / len(known[name])
    missing = [geometry.names[place] for own in positions for place in own if np.isnan(weights[place])]
    if missing:
        raise MethodError(
            f"no importance for {', '.join(map(repr, missing[:5]))}",
            expected="a weight for each column, or for each group",
            remedy="Give them one; 0 leaves a group out.",
        )
    return np.array([weights[list(own)].sum() for own in positions])


def _is_weight(value: object) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return number and 0.0 <= float(value) < 1e100  # type: ignore[arg-type]


def _listed(known: Mapping[str, object]) -> str:
    shown = ", ".join(map(repr, list(known)[:10]))
    return shown + (", ..." if len(known) > 10 else "")
