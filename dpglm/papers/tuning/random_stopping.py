"""Random stopping: the best of a random number of private fits, for twice the epsilon of one of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np

from dpglm.curator.curator import Curator, PricedReleases
from dpglm.mechanisms.base import CERTIFICATE, CHOSEN, TAIL, Release, Rows, WorstCase, release_error
from dpglm.mechanisms.exact_draws import below
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.rows import RowSubset
from dpglm.methods.base import Ask
from dpglm.papers.stacking.parts import APART, OnPart, Part
from dpglm.papers.tuning.held_out import HeldOutErrors
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.events import ApproximateEvent, Event, Fact, PureEvent, ReleaseDescription
from dpglm.typing import FloatVector

# An attempt is the last one with probability 1 in STOP, before runs are thinned.
STOP: Final = 128  # of which 256 is a multiple
# Expected number of attempts, rounded up: (STOP - 1) / log(STOP).
MEAN: Final = (STOP - 1) / math.log(STOP) * (1.0 + 1e-12)
# Epsilons of one attempt that all of them cost together.
PRICE: Final = 2.0
# Trials drawn at once.
_BLOCK: Final = 8192
SECRET = "nobody learns how many attempts were made, from the time that they took, say"
WHY = (
    "The number of attempts is random, follows a law that does not depend on the data, and stays secret: the "
    "best of them then costs twice the epsilon of one, and the expected number of attempts times its delta."
)


@dataclass(frozen=True, eq=False)
class Attempt:
    """One private fit and its error on rows that it did not read.

    Parameters
    ----------
    plan : PricedReleases
        Of the fit.
    errors : HeldOutErrors
        Of one model.
    solve : callable
        From a way to ask for the releases of ``plan`` to coded coefficients, shape (p,).
    """

    plan: PricedReleases
    errors: HeldOutErrors
    solve: Callable[[Ask], FloatVector]

    def budget(self, relation: Relation) -> tuple[float, float]:
        """Epsilon and delta of an attempt: a row is in the fit or in its error."""
        promised = self.plan.guarantee
        ((_, error),) = self.errors.events(relation)
        assert isinstance(error, PureEvent)
        return max(promised.epsilon, error.epsilon), promised.delta  # proof: parallel

    def run(self, training: Rows, held_out: Rows, noise: NoiseSource) -> tuple[float, list[FloatVector]]:
        """The noisy error, and what the releases of the fit answered."""
        curator, answers = Curator(training, self.plan, noise), []

        def ask(release: Release, at: FloatVector | None = None) -> FloatVector:
            answers.append(curator.ask(release, at))
            return answers[-1]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an attempt that is not chosen leaves no trace
            try:
                at = self.solve(ask)
            except Exception:  # proof: silence
                at = np.zeros(training.size)
        (error,) = self.errors.run(held_out, at, noise)
        return float(error), answers


@dataclass(frozen=True, eq=False)
class RandomStopping(Release):
    """The best of a random number of attempts, each at a candidate drawn at random.

    Parameters
    ----------
    attempts : tuple of Attempt
        One for each candidate.
    training, held_out : Part
        Different parts of one dealing of the rows.

    References
    ----------
    .. [1] Liu and Talwar (2019), "Private selection from private candidates", STOC.
    .. [2] Papernot and Steinke (2022), "Hyperparameter tuning with Renyi differential privacy", ICLR; the
       logarithmic distribution is their eta = 0.
    """

    attempts: tuple[Attempt, ...]
    training: Part
    held_out: Part

    name: ClassVar[str] = "best of a random number of fits"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN, CERTIFICATE, TAIL, SECRET)

    def __post_init__(self) -> None:
        apart = self.training.edges == self.held_out.edges and self.training.index != self.held_out.index
        if not (self.attempts and apart):  # proof: apart
            raise release_error("no attempts, or errors on rows that are fitted", "two parts of one dealing")

    @property
    def assumptions(self) -> tuple[str, ...]:
        of_fits = [text for attempt in self.attempts for text in attempt.plan.guarantee.assumptions]
        return tuple(dict.fromkeys([*of_fits, *self.attempts[0].errors.assumptions, SECRET]))

    @staticmethod
    def attempt_budget(privacy: Privacy) -> tuple[float, float]:
        """Epsilon and delta that each attempt may cost."""
        return privacy.epsilon / PRICE, privacy.delta / MEAN * (1.0 - 1e-9)

    def sensitivity(self, relation: Relation) -> float:
        """Of the error that decides."""
        return self.attempts[0].errors.sensitivity(relation)

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        OnPart(self.attempts[0].errors, self.held_out).events(relation)  # refused under add-remove
        budgets = [attempt.budget(relation) for attempt in self.attempts]
        epsilon = PRICE * max(epsilon for epsilon, _ in budgets)  # proof: twice
        delta = MEAN * max(delta for _, delta in budgets)  # proof: mean
        return ((self.name, ApproximateEvent(epsilon, delta) if delta else PureEvent(epsilon)),)

    def describe(self, relation: Relation) -> ReleaseDescription:
        errors = self.attempts[0].errors
        epsilon, delta = self.attempts[0].budget(relation)
        inner = dict.fromkeys(line.name for one in self.attempts for line in one.plan.describe())
        return ReleaseDescription(
            name=self.name,
            released="which candidate had the least noisy error, that error, and the releases of its fit",
            sensitivity=self.sensitivity(relation),
            noise="Laplace noise on the error; in each fit, the noise of its own releases",
            scale=errors.scale,
            theorem="random stopping, logarithmic distribution (random_stopping.md)",
            facts=(
                Fact("Candidates", len(self.attempts)),
                Fact("Epsilon and delta of one attempt", (epsilon, delta)),
                Fact("Expected number of attempts", MEAN),
                Fact("Releases of the fits", tuple(inner)),
                Fact("Rows held out", f"a part of {self.held_out.share:.3g} of the rows, dealt by place"),
            ),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        own = [step for attempt in self.attempts for step in attempt.plan.why().splitlines()[:-1]]
        return *dict.fromkeys(own), APART, WHY

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """Index of the best, its error, and its releases' answers as `packed`; one array."""
        assert at is None, "attempts are not made at a point"
        training = RowSubset(rows, self.training.holds)
        held_out = RowSubset(rows, self.held_out.holds)
        best: tuple[int, float, list[FloatVector]] | None = None
        drawn = below(noise.bytes, np.full(attempts_made(noise), len(self.attempts)))
        for index in drawn.tolist():
            error, answers = self.attempts[index].run(training, held_out, noise)
            if best is None or error < best[1]:  # proof: best
                best = index, error, answers
        assert best is not None, "at least one attempt is made"
        index, error, answers = best
        return np.concatenate([[index, error], packed(answers)])

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """Of the first candidate's first release, seen through the error of what comes out."""
        case = OnPart(self.attempts[0].plan.releases[0], self.training).worst_case(relation, size)
        return WorstCase(case.first, case.second, np.array([0.0, 1.0]))


def attempts_made(noise: NoiseSource) -> int:
    """A number k >= 1 of probability proportional to (1 - 1/STOP)^k / k, exactly.

    A geometric draw is kept with probability 1 / k, else another one is made.

    Examples
    --------
    >>> from dpglm.mechanisms.noise import SeededNoise
    >>> attempts_made(SeededNoise(1)) >= 1
    True
    """
    before = 0
    while True:
        trials = np.frombuffer(noise.bytes(_BLOCK), dtype=np.uint8)
        stops = np.flatnonzero(trials % STOP == 0)
        counts = np.diff(stops, prepend=-1 - before)  # proof: geometric
        kept = counts[below(noise.bytes, counts) == 0]  # proof: kept
        if len(kept):
            return int(kept[0])
        before = _BLOCK - 1 - int(stops[-1]) if len(stops) else before + _BLOCK


def packed(answers: list[FloatVector]) -> FloatVector:
    """How many answers, their lengths, and then the answers."""
    lengths = [len(answers), *map(len, answers)]
    return np.concatenate([np.array(lengths, dtype=np.float64), *answers])


def unpacked(values: FloatVector) -> list[FloatVector]:
    """The answers that `packed` put together.

    Examples
    --------
    >>> unpacked(packed([np.ones(2), np.zeros(1)]))
    [array([1., 1.]), array([0.])]
    """
    count = int(values[0])
    edges = np.cumsum([1 + count, *values[1 : 1 + count]]).astype(np.int64)
    return [values[start:stop] for start, stop in pairwise(edges.tolist())]
