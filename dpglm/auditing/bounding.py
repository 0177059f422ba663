"""One bound: some draws choose tables, statistic and events, the others are counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from dpglm.auditing.draws import Act
from dpglm.auditing.lower_bound import EVENTS, Bound, Statistic, better, chosen_events, counted
from dpglm.auditing.neighbours import Neighbours
from dpglm.auditing.ratio import log_ratio
from dpglm.auditing.statistic import along, flat, learned
from dpglm.mechanisms.noise.source import NoiseSource
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import FloatMatrix, FloatVector

# Fewest draws on each table for each pair of tables: below it nothing can be learned.
LEAST = 20
# How much surer than of a known statistic the draws have to be of a learned one.
_CAUTION = 1.3
NONE: Final[Mapping[str, Statistic]] = MappingProxyType({})


@dataclass(frozen=True)
class Found:
    """A bound and where it comes from: the pair of tables and the statistics of its events."""

    bound: Bound
    tables: str
    statistics: tuple[str, ...]


def bounded(
    act: Act,
    pairs: Sequence[Neighbours],
    claim: Guarantee,
    noise: NoiseSource,
    *,
    trials: int,
    failure: float,
    known: Mapping[str, Statistic] = NONE,
    step: Callable[[], None] = lambda: None,
) -> Found:
    """Draw, choose, draw again and count.

    Parameters
    ----------
    act : Act
        What is drawn.
    pairs : sequence of Neighbours
        Tables to try; half of the draws, split evenly, choose the pair that promises most. For a single
        pair a quarter chooses statistic and events.
    claim : Guarantee
        What is promised of what is drawn.
    noise : NoiseSource
    trials : int
        Draws on each table, the choice included.
    failure : float
        The bound is wrong with at most this probability.
    known : mapping of str to callable
        Further statistics of all outputs side by side, chosen without any draw.
    step : callable
        Called at each draw.
    """
    each = _pilot(len(pairs), trials)
    fresh = trials - each * len(pairs)
    best = None
    for pair in pairs:
        fit = each // 2
        outputs = [act.draw(table, noise, each, pair.at, step) for table in (pair.first, pair.second)]
        first, second = (np.concatenate(answers, axis=1) for answers in outputs)
        sizes = [answers.shape[1] for answers in outputs[0]]
        given = {**known, **known_statistics(act, pair, first, sizes)}
        with np.errstate(all="ignore"):
            trained = learned(first[:fit], second[:fit])
        level = failure / (2 * EVENTS)
        choice = better(
            chosen_events(given, first, second, claim, level, fresh),
            chosen_events(trained, first[fit:], second[fit:], claim, level, fresh, _CAUTION),
        )
        promise = choice[0][0] if choice else -math.inf
        if best is None or promise > best[0]:
            events = tuple(dict.fromkeys(event for _, event in choice))
            best = promise, pair, {**trained, **given}, events
    assert best is not None, "at least one pair of tables"
    _, pair, statistics, events = best
    first, second = (
        np.concatenate(act.draw(table, noise, fresh, pair.at, step), axis=1)
        for table in (pair.first, pair.second)
    )
    bound = counted(events, statistics, first, second, claim, failure)
    return Found(bound, pair.label, tuple(dict.fromkeys(event.statistic for event in events)))


def _pilot(pairs: int, trials: int) -> int:
    """Draws on each table of each pair that choose and are not counted."""
    return max(trials // 4 if pairs == 1 else trials // (2 * pairs), LEAST)


def known_statistics(
    act: Act, pair: Neighbours, outputs: FloatMatrix, sizes: Sequence[int]
) -> dict[str, Statistic]:
    """Statistics of all outputs side by side that no draw has chosen."""
    found: dict[str, Statistic] = {}
    if pair.direction is not None:
        found["direction"] = along(pair.direction)
        if len(sizes) > 1 and set(sizes) == {len(pair.direction)}:
            found["direction, summed"] = along(np.tile(pair.direction, len(sizes)))
    edges = np.cumsum(sizes)[:-1]

    def ratio(z: FloatMatrix) -> FloatVector:
        with np.errstate(all="ignore"):
            known = log_ratio(act.releases, np.split(z, edges, axis=1), pair.first, pair.second, pair.at)
        assert known is not None, "tried on one output"
        return flat(known)

    split = np.split(outputs[:1], edges, axis=1)
    if act.releases and log_ratio(act.releases, split, pair.first, pair.second, pair.at) is not None:
        found["likelihood ratio"] = ratio
    return found
