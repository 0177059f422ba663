"""Privacy spend: what each release takes of the budget, and the ledger that was charged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dpglm.privacy.events import ApproximateEvent, Event, PerturbedEvent, PureEvent, SampledGaussianEvent
from dpglm.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class SpendLine:
    """One release: what it was and what it cost."""

    release: str  # "perturbed minimiser", "solver residual"
    epsilon: float | None
    delta: float | None
    mu: float | None
    share: float  # of the fit's budget, 0..1
    part: int = 0  # of the rows that were dealt, 1, 2, ...: no row is in two of them; 0 reads all rows


@dataclass(frozen=True)
class LedgerLine:
    """One line of a ledger."""

    what: str
    status: Literal["charged", "refused"]
    epsilon: float
    delta: float
    mu: float | None
    when: str | None = None  # ISO 8601, UTC
    plan: str = ""  # fingerprint of the plan that was charged


@dataclass(frozen=True)
class LedgerState:
    """The ledger as it stood right after this fit was charged."""

    dataset: str
    budget_epsilon: float
    budget_delta: float
    spent_epsilon: float
    spent_delta: float
    remaining_epsilon: float
    remaining_delta: float
    entries: tuple[LedgerLine, ...]


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
    total = math.fsum(times * (_mu(event) or 0.0) ** 2 for (_, event), times in counts.items())
    lines = []
    for (name, event), times in counts.items():
        label = name if times == 1 else f"{name}, {times} times"
        mu = _mu(event)
        if isinstance(event, PureEvent | ApproximateEvent):
            delta = times * event.delta if isinstance(event, ApproximateEvent) else 0.0
            epsilon = times * event.epsilon
            lines.append(SpendLine(label, epsilon, delta, None, epsilon / guarantee.epsilon))
            continue
        assert mu is not None, "an event that is no point has a mu"
        price: float | None = math.sqrt(times) * mu
        if isinstance(event, SampledGaussianEvent):
            label, price = f"{label} on {event.rate:.2g} of the rows", None
        lines.append(SpendLine(label, None, None, price, times * mu**2 / total))
    return tuple(lines)


def _mu(event: Event) -> float | None:
    """What adds in squares, if anything does."""
    if isinstance(event, PerturbedEvent | SampledGaussianEvent):
        return event.total_mu
    return getattr(event, "mu", None)
