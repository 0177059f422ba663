"""Figures of a run: the best of the rounds, what single rounds say, and whether goals are met."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from studies.jobs import Result
from studies.speed.contest import Figure, Turns, best
from studies.speed.rows import KINDS, contest, key

# Entries of a result that are no part of its job.
_FOUND = ("turns", "machine", "seconds")


@dataclass(frozen=True)
class Line:
    """A row of the table.

    Parameters
    ----------
    figure : Figure
    value : float
        Of the best of all rounds; NaN where one of the two was refused.
    rounds : tuple of float
        Of each round by itself.
    turns : mapping
        The best of what each contestant measured.
    """

    figure: Figure
    value: float
    rounds: tuple[float, ...]
    turns: Turns

    @property
    def verdict(self) -> str:
        """Of the best of all rounds."""
        return self.figure.verdict(self.value)

    @property
    def spread(self) -> str:
        """The least and the largest of single rounds."""
        known = [value for value in self.rounds if not math.isnan(value)]
        if len(known) < 2:
            return "-"
        return f"{self.figure.text(min(known))} to {self.figure.text(max(known))}"

    def seconds(self, name: str) -> str:
        """CPU seconds of a contestant; wall seconds too, where they are compared."""
        measured = self.turns.get(name, {})
        if "cpu" not in measured:
            return "-"
        wall = f" (wall {measured['wall']:.3g})" if self.figure.by == "wall" else ""
        passes = f" ({measured['passes']:.3g} passes)" if self.figure.passes and "passes" in measured else ""
        return f"{measured['cpu']:.3g}{wall}{passes}"


def contests(results: Sequence[Result]) -> list[list[Result]]:
    """Results with those of one contest together, in the order in which they come."""
    found: dict[str, list[Result]] = {}
    for result in results:
        job = {name: value for name, value in result.items() if name not in _FOUND}
        found.setdefault(key(job), []).append(result)
    return list(found.values())


def table(results: Sequence[Result]) -> list[Line]:
    """A line for each figure of each contest that was run."""
    found = []
    for rounds in contests(results):
        job = {name: value for name, value in rounds[0].items() if name not in _FOUND}
        turns = [one["turns"] for one in rounds]
        for figure in contest(job).figures:
            values = tuple(figure.value(one) for one in turns)
            found.append(Line(figure, figure.value(best(turns)), values, best(turns)))
    return found


@dataclass(frozen=True)
class Point:
    """What one contestant needed at one size."""

    curve: str
    size: float
    cpu: float
    wall: float


def points(results: Sequence[Result], axis: str) -> list[Point]:
    """The points of all curves against an axis, by size."""
    found = []
    for rounds in contests(results):
        if KINDS[rounds[0]["row"]].axis == axis:
            for name, measured in best([one["turns"] for one in rounds]).items():
                if "cpu" in measured:
                    size = float(rounds[0][axis])
                    found.append(Point(name, size, float(measured["cpu"]), float(measured["wall"])))
    return sorted(found, key=lambda point: point.size)


def refused(results: Sequence[Result]) -> list[tuple[str, str, str]]:
    """Contestants that gave no figure: the contest, the contestant, and why."""
    found: dict[tuple[str, str], str] = {}
    for result in results:
        for name, measured in result["turns"].items():
            if "refused" in measured:
                found[_about(result), name] = str(measured["refused"])
    return [(about, name, why) for (about, name), why in found.items()]


def notes(results: Sequence[Result]) -> list[str]:
    """What contestants say of themselves: a contest, and a sentence."""
    said = {
        f"{_about(result)}: {measured['note']}": None
        for result in results
        for measured in result["turns"].values()
        if "note" in measured
    }
    return list(said)


def machines(results: Sequence[Result]) -> list[dict[str, Any]]:
    """What the results were measured with: one entry, unless something changed between rounds."""
    found: list[dict[str, Any]] = []
    for result in results:
        if result["machine"] not in found:
            found.append(result["machine"])
    return found


def _about(result: Result) -> str:
    sizes = [
        f"{name} {value:,}" if type(value) is int else f"{name} {value}"
        for name, value in result.items()
        if name not in (*_FOUND, "row", "round")
    ]
    return ", ".join([str(result["row"]), *sizes])
