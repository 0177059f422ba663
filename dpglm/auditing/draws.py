"""Outputs of a plan, drawn as a fit draws them: by its method, through a curator, on a given table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from dpglm.auditing.neighbours import Table
from dpglm.curator.curator import Curator, PricedReleases
from dpglm.errors import MethodError
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import NoiseSource
from dpglm.methods.base import Method, Problem
from dpglm.typing import FloatMatrix, FloatVector


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

    def once(self, table: Table, noise: NoiseSource, at: FloatVector | None) -> list[FloatVector]:
        """Answers of all releases, drawn once.

        Raises
        ------
        MethodError
            The method does not ask for all that it planned.
        """
        if self.alone is not None:
            # A bound for fewer releases may be a looser one somewhere: the curve is that of the whole plan.
            claim = replace(self.plan.guarantee, curve=())
            plan = PricedReleases((self.alone,), claim, self.plan.privacy)
            return [Curator(table, plan, noise).ask(self.alone, at)]
        curator = Curator(table, self.plan, noise)
        answers: list[FloatVector] = []

        def ask(release: Release, at: FloatVector | None = None) -> FloatVector:
            answers.append(curator.ask(release, at))
            if len(answers) == len(self.plan.releases):
                raise _Answered
            return answers[-1]

        try:
            self.method.solve(self.problem, self.plan, ask)
        except _Answered:
            return answers
        raise MethodError(
            f"method {self.method.name!r}, which did not ask for all of its planned releases",
            expected="a method that runs what it plans",
            remedy="Plan fewer releases, or ask for all of them.",
        )

    def draw(
        self, table: Table, noise: NoiseSource, count: int, at: FloatVector | None, step: Callable[[], None]
    ) -> list[FloatMatrix]:
        """Answers of each release, shapes (count, m)."""
        drawn: list[list[FloatVector]] = []
        for _ in range(count):
            drawn.append(self.once(table, noise, at))
            step()
        listed = list(zip(*drawn, strict=True))
        if not self.widths:
            self.widths.extend(min(map(len, answers)) for answers in listed)
        return [
            np.array([_of_width(answer, width) for answer in answers])
            for answers, width in zip(listed, self.widths, strict=True)
        ]


def _of_width(answer: FloatVector, width: int) -> FloatVector:
    """The first numbers, or all of them and zeros."""
    return answer[:width] if len(answer) >= width else np.pad(answer, (0, width - len(answer)))
