"""Joint methods: one model of several data holders, each with its own curator, noise and permit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self, runtime_checkable

from dpglm.curator.curator import PricedReleases
from dpglm.mechanisms.base import Release
from dpglm.methods.base import Ask, Estimate, Method, Problem
from dpglm.typing import FloatVector


@runtime_checkable
class AskElsewhere(Ask, Protocol):
    """How a method gets at rows in another process."""

    def begin(self, release: Release, at: FloatVector) -> None:
        """Send the question; a call with the same arguments waits for its answer."""


@dataclass(frozen=True)
class Party:
    """A data holder as a joint method sees it: public facts, its planned releases, and how to ask for them.

    ``problem`` has the holder's own number of rows where that is public, or the one that it declared.
    """

    problem: Problem
    plan: PricedReleases
    ask: Ask


class JointMethod(Method):
    """A method that makes one model of what several holders release, and of nothing else.

    ``plan`` is made for one holder; all holders have the same releases. One table is a single holder.
    """

    # Whether one curator reads the rows of all holders: sums over them cross as they are. There is one noise
    # for all, so that a person must be with one holder only.
    reads_together: ClassVar[bool] = False
    # Whether these sums cross under masks, so that only the noisy total of all holders can be read. The plan
    # is then one for all rows: a declared number of rows is that of all holders.
    masks: ClassVar[bool] = False
    # How many holders a plan is for, where its noise depends on that.
    sites: int | None = None

    @property
    def at_site(self) -> Self:
        """The method as each of several holders runs it; options for one table alone are a MethodError."""
        return self

    def among(self, sites: int) -> Self:
        """The method as each of so many holders runs it."""
        return self.at_site

    def require_sites(self, sites: tuple[str, ...]) -> None:
        """Refuse names of holders that the options do not fit, by a MethodError; reads nothing."""

    @abstractmethod
    def join(self, problem: Problem, parties: Mapping[str, Party]) -> Estimate:
        """Ask each party for its planned releases, and make one estimate of all answers.

        ``problem`` is that of all rows: its numbers of rows are sums over the parties.
        """

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        return self.join(problem, {"": Party(problem, plan, ask)})


def ask_each(questions: Iterable[tuple[Ask, Release, FloatVector]]) -> list[FloatVector]:
    """What each of several holders answers; those in other processes work side by side."""
    asked = list(questions)
    for ask, release, at in asked:
        if isinstance(ask, AskElsewhere):
            ask.begin(release, at)
    return [ask(release, at) for ask, release, at in asked]
