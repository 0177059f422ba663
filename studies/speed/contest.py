"""A contest: who takes turns, and which figures are made of what they measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from studies.speed.measure import Contestants, Seat, fresh

# What a turn measured: "cpu" and "wall" seconds; "megabytes", "passes", a "note", or why it was "refused".
Measured: TypeAlias = Mapping[str, Any]
Turns: TypeAlias = Mapping[str, Measured]
OWN, TABLES, PEER = Seat(), Seat("studies.speed.own_tables"), Seat("studies.speed.peers", peer=True)
# Of what is measured several times the least counts, but of memory the most.
MOST: Final = ("megabytes",)
UNITS: Final = {"cpu": "s", "wall": "s", "megabytes": "MB", "residual": ""}


@dataclass(frozen=True)
class Turn:
    """One thing that is measured.

    Parameters
    ----------
    name : str
        How figures and curves call it.
    do : str
        Task of the process; or the code of a fresh interpreter, where there is no seat.
    arguments : mapping
        Of the task; or words of the command line, under ``"words"``.
    seat : Seat or None
    """

    name: str
    do: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    seat: Seat | None = OWN

    def taken(self, contestants: Contestants) -> dict[str, Any]:
        """What it measures now."""
        if self.seat is None:
            return fresh(self.do, *self.arguments.get("words", ()))
        return contestants.ask(self.seat, self.do, **self.arguments)


@dataclass(frozen=True)
class Figure:
    """What dpglm needs, as a share of what another needs, or by itself.

    Parameters
    ----------
    what : str
        Row of the table.
    own, other : str
        Names of turns; no other: the figure is what was measured itself.
    goal : float or None
        The largest figure allowed; None where it is only shown.
    by : str
        What is compared: ``"cpu"`` or ``"wall"`` seconds, ``"megabytes"``, ``"residual"``.
    less : bool
        The difference from the other, not the share.
    passes : bool
        The other counts as often as dpglm read all rows.

    Examples
    --------
    >>> turns = {"fit": {"cpu": 1.0}, "peer": {"cpu": 4.0}}
    >>> figure = Figure("fit / peer", "fit", "peer", goal=0.3)
    >>> figure.value(turns), figure.verdict(figure.value(turns))
    (0.25, 'met')
    """

    what: str
    own: str
    other: str = ""
    goal: float | None = None
    by: str = "cpu"
    less: bool = False
    passes: bool = False

    def value(self, turns: Turns) -> float:
        """The figure; NaN where one of the two was refused."""
        names = [name for name in (self.own, self.other) if name]
        if any(self.by not in turns.get(name, {}) for name in names):
            return math.nan
        own, *others = (float(turns[name][self.by]) for name in names)
        if not others:
            return own
        other = others[0] * (float(turns[self.own]["passes"]) if self.passes else 1.0)
        return own - other if self.less else own / other

    def verdict(self, value: float) -> str:
        """Whether the goal is met; nothing is said where there is none."""
        if math.isnan(value):
            return "refused"
        if self.goal is None:
            return "-"
        return "met" if value <= self.goal else "MISSED"

    def text(self, value: float | None) -> str:
        """A figure or a goal with its unit: a ratio has none."""
        if value is None or math.isnan(value):
            return "-"
        unit = UNITS[self.by] if self.less or not self.other else ""
        number = f"{value:.0f}" if unit == "MB" else f"{value:.3g}" if value < 100.0 else f"{value:.0f}"
        return f"{number} {unit}".rstrip()


@dataclass(frozen=True)
class Contest:
    """Turns, one after the other, and figures of them."""

    turns: tuple[Turn, ...]
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Kind:
    """Contests of one kind, of any size.

    Parameters
    ----------
    build : callable
        Sizes to a contest.
    peers : tuple of str
        Packages of the peers' environment without which there is none.
    modules : tuple of str
        Packages of the project's own environment.
    data : str or None
        Real table.
    axis : str or None
        The size that a curve is drawn against.
    """

    build: Callable[..., Contest]
    peers: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    data: str | None = None
    axis: str | None = None


def best(rounds: Sequence[Turns]) -> dict[str, dict[str, Any]]:
    """The least of each number over the rounds, the most of memory; words are those of the last round.

    Examples
    --------
    >>> best([{"fit": {"cpu": 2.0, "megabytes": 10}}, {"fit": {"cpu": 1.0, "megabytes": 30}}])
    {'fit': {'cpu': 1.0, 'megabytes': 30}}
    """
    found: dict[str, dict[str, Any]] = {}
    for turns in rounds:
        for name, measured in turns.items():
            known = found.setdefault(name, {})
            for key, value in measured.items():
                choose = max if key in MOST else min
                known[key] = choose(known.get(key, value), value) if isinstance(value, float | int) else value
    return found
