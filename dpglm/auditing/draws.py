"""Outputs of a plan, drawn as a fit draws them: by its method, through a curator, on a given table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dpglm.auditing.neighbours import Neighbours, Table
from dpglm.curator.curator import Curator, PricedReleases
from dpglm.errors import MethodError
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import NoiseSource
from dpglm.methods.base import Method, Problem
from dpglm.typing import FloatMatrix, FloatVector

# A likelihood ratio beyond that is no better.
_FARTHEST = 1e3


class _Answered(Exception):  # ends a fit whose releases were all run; never leaves this file
    """All planned releases were run: what a method does with the answers costs nothing."""


@dataclass(frozen=True)
class Act:
    """What is repeated: a whole plan as its method asks for it, or one release of it ``alone`` at a point."""

    plan: PricedReleases
    problem: Problem
    method: Method
    alone: Release | None = None
    # How many numbers of each answer are looked at: as many as its first draws all have.
    widths: list[int] = field(default_factory=list, compare=False, repr=False)

    @property
    def releases(self) -> tuple[Release, ...]:
        """What is run, in order."""
        return self.plan.releases if self.alone is None else (self.alone,)

    @cached_property
    def _priced(self) -> PricedReleases:
        if self.alone is None:
            return self.plan
        # A bound for fewer releases may be a looser one somewhere: the curve is that of the whole plan.
        return PricedReleases((self.alone,), replace(self.plan.guarantee, curve=()), self.plan.privacy)

    def once(
        self, table: Table, noise: NoiseSource, at: FloatVector | None
    ) -> tuple[list[FloatVector], list[FloatVector | None]]:
        """Answers of all releases, drawn once, and the points that they were evaluated at.

        Raises
        ------
        MethodError
            The method does not ask for all that it planned.
        """
        curator = Curator(table, self._priced, noise)
        if self.alone is not None:
            return [curator.ask(self.alone, at)], [at]
        answers: list[FloatVector] = []
        points: list[FloatVector | None] = []

        def ask(release: Release, at: FloatVector | None = None) -> FloatVector:
            answers.append(curator.ask(release, at))
            points.append(at)
            if len(answers) == len(self.plan.releases):
                raise _Answered
            return answers[-1]

        try:
            self.method.solve(self.problem, self.plan, ask)
        except _Answered:
            return answers, points
        raise MethodError(
            f"method {self.method.name!r}, which did not ask for all of its planned releases",
            expected="a method that runs what it plans",
            remedy="Plan fewer releases, or ask for all of them.",
        )

    def draw(
        self, table: Table, noise: NoiseSource, count: int, pair: Neighbours, step: Callable[[], None]
    ) -> list[FloatMatrix]:
        """Answers of each release on one table of the pair, shapes (count, m).

        Of several releases one more follows, shape (count, 1): the log of the likelihood ratio of all answers
        for this pair, or of those whose law is known. The points that releases are evaluated at are made of
        earlier answers, so that it is a function of what leaves the curator.
        """
        drawn: list[list[FloatVector]] = []
        for _ in range(count):
            answers, points = self.once(table, noise, pair.at)
            if len(self.releases) > 1:
                answers.append(np.array([self._log_ratio(answers, points, pair)]))
            drawn.append(answers)
            step()
        listed = list(zip(*drawn, strict=True))
        if not self.widths:
            self.widths.extend(min(map(len, answers)) for answers in listed)
        return [
            np.array([_of_width(answer, width) for answer in answers])
            for answers, width in zip(listed, self.widths, strict=True)
        ]

    def _log_ratio(
        self, answers: list[FloatVector], points: list[FloatVector | None], pair: Neighbours
    ) -> float:
        total = 0.0
        with np.errstate(all="ignore"):
            for release, answer, at in zip(self.releases, answers, points, strict=True):
                point = None if at is None else at[None, :]
                ratio = release.log_ratio(answer[None, :], pair.first, pair.second, point)
                total += 0.0 if ratio is None else float(ratio[0])
        return float(np.clip(np.nan_to_num(total), -_FARTHEST, _FARTHEST))


def _of_width(answer: FloatVector, width: int) -> FloatVector:
    """The first numbers, or all of them and zeros."""
    return answer[:width] if len(answer) >= width else np.pad(answer, (0, width - len(answer)))
