"""What a release must say about itself before it may be run on rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.mechanisms.noise.source import NoiseSource
from dpglm.optim.rows import RowChunk
from dpglm.privacy.budget import Relation
from dpglm.privacy.description import ReleaseDescription
from dpglm.privacy.events import Event
from dpglm.typing import FloatMatrix, FloatVector

# What a guarantee takes for granted, in the words that travel with it.
CHOSEN = "bounds, levels, formula and penalty strength were chosen without looking at these data"
SUMS = "rounding moves a sum over rows by at most a ten-thousandth of a row (proved up to 10^7 rows)"
CERTIFICATE = (
    "the solver reaches its tolerance on every table, and its certificate, in double precision, is right to "
    "within that tolerance"
)
TAIL = "pure epsilon is claimed up to events of the noise whose probability is below 10^-18"
IDEAL_NOISE = "noise of the K-norm mechanism is computed in double precision (idealized numerics)"
# Laws of noise, in words.
LAWS = {"gamma": "density proportional to exp(-|b| / scale)", "gaussian": "Gaussian, N(0, scale^2 I)"}


class Rows(Protocol):
    """Bounded rows, as the data room makes them: coded, of norm at most 1, in blocks."""

    @property
    def size(self) -> int:
        """Number of coded columns."""

    def chunks(self) -> Iterable[RowChunk]:
        """The rows, at most a few thousand at a time."""

    def row_count(self) -> int:
        """Number of rows; public under replace-one, private under add-remove."""


@dataclass(frozen=True)
class WorstCase:
    """Two neighbouring tables that a release finds hard to hide, made from public facts.

    ``first`` and ``second`` hold rows in columns as blocks do, with responses and offsets; ``direction`` is
    the statistic of the output to look at; ``at`` is the released point for releases that need one.
    """

    first: RowChunk
    second: RowChunk
    direction: FloatVector
    at: FloatVector | None = None


class Release(ABC):
    """A function of the rows whose output may leave the curator.

    Frozen; every parameter is public and fixed before rows are read. The proof lies beside the file under the
    same name and cites the lines marked ``# proof: label``.
    """

    name: ClassVar[str]
    # All that any claim of this release takes for granted; the proof lists the same.
    premises: ClassVar[tuple[str, ...]]
    # Whether any rows may stand for the unit vectors of `worst_case`.
    turns: ClassVar[bool] = False

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the claim of this very release takes for granted."""
        return self.premises

    @property
    def reads(self) -> tuple[tuple[float, ...], int] | None:
        """Which part of the rows, dealt by place (edges of shares, index); None reads all of them."""
        return None

    @abstractmethod
    def sensitivity(self, relation: Relation) -> float:
        """Largest change that one neighbour makes to what the noise hides, Euclidean norm."""

    @abstractmethod
    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        """What running the release costs: named events, to be composed."""

    @abstractmethod
    def describe(self, relation: Relation) -> ReleaseDescription:
        """What leaves the curator, its sensitivity, noise and theorem."""

    def why(self, relation: Relation) -> tuple[str, ...]:
        """Why the claim holds, step by step, for a reader of the report."""
        return ()

    @property
    def noise_scales(self) -> tuple[float, ...]:
        """Scale of the noise behind each event, in their order."""
        return (self.describe("replace-one").scale,)

    def profile(self, epsilons: FloatVector, relation: Relation) -> FloatVector | None:
        """A bound on delta at each epsilon where the release knows more than its events say, else None."""
        return None

    def log_ratio(
        self, answers: FloatMatrix, first: Rows, second: Rows, at: FloatMatrix | None
    ) -> FloatVector | None:
        """How much likelier answers are on the first table, in logarithms, shape (k,), where a law is known.

        For audits, whose statistics need not be exact. ``answers`` has shape (k, m); ``at`` holds the
        released point of each, shape (k, p), for releases that are evaluated somewhere.
        """
        return None

    @abstractmethod
    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """Compute and perturb. Only the curator calls this.

        ``at`` is a point that was released before, for releases that are evaluated somewhere.
        """

    @abstractmethod
    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """Neighbouring tables for the audit, with ``size`` coded columns."""


class UnclaimedRelease(Release):
    """A release that promises nothing: no private plan has it."""

    premises: ClassVar[tuple[str, ...]] = ()

    def sensitivity(self, relation: Relation) -> float:
        return math.inf

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        raise AssertionError(f"{self.name} has no price: it is never part of a private plan")

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        raise AssertionError(f"{self.name} makes no claim to be audited")


def release_error(found: str, expected: str) -> MethodError:
    """For numbers of a release that no method gives it."""
    return MethodError(found, expected=expected, remedy="Let a method calibrate the release.")


def require_positive(release: Release, *names: str) -> None:
    """Refuse fields that are not positive finite numbers.

    Raises
    ------
    MethodError
        Names the first one.
    """
    for name in names:
        value = getattr(release, name)
        if not 0.0 < value < math.inf:
            raise release_error(f"{name}={value!r}", f"{name} > 0, finite")


def require_public_rows(relation: Relation, penalty_rows: float | None) -> None:
    """Refuse a penalty per row of a private number of rows.

    Raises
    ------
    MethodError
        Under add-remove without a public number.
    """
    if relation == "add-remove" and penalty_rows is None:
        raise MethodError(
            "a penalty per row under add-remove, where the number of rows is private",
            expected="a public number of rows",
            remedy="Declare it, Schema(..., rows=10000), leave strength out, or use replace-one.",
        )


def require_convex(penalty: Penalty, where: str) -> None:
    """Refuse a penalty whose minimiser may jump.

    Raises
    ------
    MethodError
        It is not convex.
    """
    if not penalty.convex:
        raise MethodError(
            f"penalty {penalty.name!r} in {where}",
            expected="a convex penalty: a global minimiser of another one may jump",
            remedy="Use penalty='l1', 'l2', 'elastic_net' or 'none'.",
        )


def require_bounded_slopes(family: Family, where: str, *, curvature: bool = True) -> None:
    """Refuse a family whose slopes lie in no interval of length 1, or whose curvature exceeds 1.

    Raises
    ------
    MethodError
        The proofs do not cover it.
    """
    most = family.curvature_max
    if family.slope_range != 1.0 or (curvature and (most is None or most > 1.0)):
        also = ", whose curvature is at most 1" if curvature else ""
        raise MethodError(
            f"family {family.name!r} in {where}",
            expected=f"a loss with slopes in an interval of length 1{also}",
            remedy="Use family='binomial', 'poisson' or 'huber_svm'.",
        )
