"""Prices of releases one by one, as a result shows them, and what was paid for before it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from dpglm.postprocessing.record import LedgerState, SpendLine
from dpglm.privacy.events import Event, GaussianEvent, PointEvent, SampledGaussianEvent
from dpglm.privacy.guarantee import Guarantee

# How the ledger's line of a ranking of features begins.
RANKED = "ranking of features: "


def parallel_lines(
    parts: Sequence[Sequence[tuple[str, Event]]], guarantee: Guarantee
) -> tuple[SpendLine, ...]:
    """Prices of releases on each part of the rows, as a plan tells them; no row is in two parts."""
    if len(parts) == 1:
        return spend_lines(parts[0], guarantee)
    return tuple(
        replace(line, release=f"{line.release}, part {part} of the rows", part=part)
        for part, costs in enumerate(parts, start=1)
        for line in spend_lines(costs, guarantee)
    )


def spend_lines(costs: Sequence[tuple[str, Event]], guarantee: Guarantee) -> tuple[SpendLine, ...]:
    """Prices in the order of the releases, and shares of the epsilons, or of mu squared where these add up.

    Equal releases share a line: their epsilons and deltas add, mu adds in squares. On random samples they
    have no price one by one.

    Examples
    --------
    >>> from dpglm.privacy.events import GaussianEvent
    >>> whole = Guarantee(2.254, 1e-6, "gdp", "replace-one", "one row", mu=0.5)
    >>> (line,) = spend_lines([("gradient", GaussianEvent(0.25))] * 4, whole)
    >>> line.release, line.mu, line.share
    ('gradient, 4 times', 0.5, 1.0)
    """
    counts = Counter(costs)
    total = math.fsum(times * _mu(event) ** 2 for (_, event), times in counts.items())
    lines = []
    for (name, event), times in counts.items():
        label = name if times == 1 else f"{name}, {times} times"
        if isinstance(event, PointEvent):
            delta = times * event.delta
            epsilon = times * event.epsilon
            lines.append(SpendLine(label, epsilon, delta, None, epsilon / guarantee.epsilon))
            continue
        price: float | None = math.sqrt(times) * _mu(event)
        if isinstance(event, SampledGaussianEvent):
            label, price = f"{label} on {event.rate:.2g} of the rows", None
        lines.append(SpendLine(label, None, None, price, times * _mu(event) ** 2 / total))
    return tuple(lines)


def _mu(event: Event) -> float:
    """What adds in squares; 0 for a single point of a privacy profile."""
    if isinstance(event, PointEvent):
        return 0.0
    return event.mu if isinstance(event, GaussianEvent) else event.total_mu


def ranked_before(state: LedgerState | None, response: str) -> int | None:
    """The last line of the ledger, from 1 on, that paid for a ranking for this response; None without one."""
    found = None
    for number, entry in enumerate(() if state is None else state.entries, start=1):
        ranked = entry.what.removeprefix(RANKED)
        if entry.status == "charged" and ranked != entry.what and ranked.startswith(f"{response} ~ "):
            found = number
    return found
