"""What a release must say about itself before it may be run on rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.glm.penalties.elastic_net import NoPenalty
from dpglm.mechanisms.certificate import Certified, is_covered
from dpglm.mechanisms.finishing import finished
from dpglm.mechanisms.noise import Law, NoiseLaw, NoiseSource
from dpglm.mechanisms.whole_sums import WholeNumbers
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import minimise
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import Event, ReleaseDescription
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

if TYPE_CHECKING:
    from dpglm.mechanisms.noisy_sum import NoisySum

# What a guarantee takes for granted, in the words that travel with it.
CHOSEN = "bounds, levels, formula and penalty strength were chosen without looking at these data"
# The same of a release that knows neither a formula nor a penalty.
DECLARED = "bounds, levels, columns and groups were chosen without looking at these data"
CERTIFICATE = (
    "the solver reaches its tolerance on every table, and its certificate, in double precision, is right to "
    "within that tolerance"
)
TAIL = "pure epsilon is claimed up to an event of the noise whose probability is below 10^-80"
# A subgradient at the answer, in tolerances; .4 more are for noise and centre in double precision.
CERTIFIED = 1.6
# An offset beyond which a slope is 1 or 0 for the audit's purposes.
FAR = 1e3
# Why a noisy sum is private, and why everything after a release is free, for a reader of the report.
WHY_SUM = (
    "One row moves the sum by at most the sensitivity. Noise of that scale hides it, and releases compose."
)
WHY_AFTERWARDS = "Everything after the release works on released numbers only and costs nothing."
Covered: TypeAlias = Literal["nothing", "one row", "all rows"]


class Rows(Protocol):
    """Bounded rows x in blocks: coded, of norm at most 1, or of a weight w <= 1 with ``w |x|**2 <= 1``."""

    @property
    def size(self) -> int:
        """Number of coded columns."""

    def chunks(self) -> Iterable[RowChunk]:
        """The rows in order, at most a few thousand at a time, the same at each call."""

    def row_count(self) -> int:
        """Number of rows; public under replace-one, private under add-remove."""


@dataclass(frozen=True)
class WorstCase:
    """Two neighbouring tables that a release finds hard to hide, made from public facts.

    ``first`` and ``second`` hold rows in columns as chunks do; ``direction`` is the statistic of the output
    to look at; ``at`` is the released point for releases that need one.
    """

    first: RowChunk
    second: RowChunk
    direction: FloatVector
    at: FloatVector | None = None


def worst_case_rows(family: Family, relation: Relation, size: int) -> tuple[ArrayChunk, ArrayChunk]:
    """One row along the first of ``size`` columns, against none or its opposite; offsets keep slopes at 1."""
    axis = np.eye(size, 1, dtype=np.float32)
    if family.response_kind == "count":  # a response of 0 and a mean at the bound: slope 1, not -1
        first = ArrayChunk(axis, np.array([0.0]), np.array([FAR]))
        second = ArrayChunk(-axis, np.array([0.0]), np.array([FAR]))
    else:
        first = ArrayChunk(axis, np.array([1.0]), np.array([-FAR]))
        second = ArrayChunk(axis, np.array([0.0]), np.array([FAR]))
    if relation == "add-remove":
        second = ArrayChunk(np.zeros((size, 0), dtype=np.float32), np.zeros(0), np.zeros(0))
    return first, second


class Release(ABC):
    """A function of the rows whose output may leave the curator.

    Frozen; every parameter is public and fixed before rows are read; one out of its range is a MethodError.
    The proof beside the file, under the same name, cites the lines marked ``# proof: label``.
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
    def covers(self) -> Covered:
        """What of a person the claim is about, where a column tells whose a row is.

        ``"all rows"``, whose shares add up to at most 1; ``"one row"``, wherever it stands; or ``"nothing"``.
        """
        return "nothing"

    @property
    def weighs(self) -> bool:
        """Whether the claim is about rows that count less than one each, too: a person's only one may."""
        return self.covers == "all rows"

    @property
    def inside(self) -> Release:
        """The release itself, or the one that is run on mapped rows."""
        return self

    @property
    def options(self) -> tuple[Release, ...]:
        """Releases of one price, of which one is run in its place."""
        return (self,)

    @property
    def shortens(self) -> bool:
        """Whether rows that are too long for it are shortened, and do not count less."""
        return False

    @property
    def summed(self) -> NoisySum | None:
        """The release as a sum over rows plus noise, which holders can form together; None if it is none."""
        return None

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

        For audits, whose statistics need not be exact. ``answers`` has shape (k, m), ``at`` shape (k, p).
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


class NoisyRelease(Release):
    """A release whose change by a neighbour is hidden by noise of one law.

    Its ``scale``, > 0, is the law's own: the standard deviation of a coordinate of Gaussian noise, or that of
    noise of density exp(-norm / scale), the law "gamma".
    """

    @property
    @abstractmethod
    def noise_law(self) -> NoiseLaw:
        """Law, scale and dimension of the noise."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        if self.noise_law.law == "gamma":
            return self.premises
        return tuple(premise for premise in self.premises if premise != TAIL)

    @property
    def deviation(self) -> float:
        """Standard deviation of each coordinate of the noise."""
        return self.noise_law.deviation


@dataclass(frozen=True, eq=False)
class PenalisedMinimiser(NoisyRelease):
    """A minimiser of weighted losses of bounded rows, a ridge and a convex penalty, sum units.

    Parameters
    ----------
    family : Family
        Keeps slopes of a row in an interval of length 1 that holds 0.
    ridge : float or ndarray, shape (p,)
        Public, > 0.
    law, scale
        Of the noise.
    tolerance : float
        Certified Euclidean norm of the smallest subgradient at the solver's answer.
    penalty : Penalty
        Convex, on the scaled coefficients gamma.
    penalty_rows : float or None
        Multiplies the penalty's strength, which is per row; None takes the table's own number of rows, which
        is public under replace-one only.
    mixing : ndarray, shape (p, p)
        Public invertible map from scaled coefficients to coded ones.
    penalised : ndarray of bool, shape (p,)
        Which scaled coefficients the penalty sees.
    """

    family: Family
    ridge: float | FloatVector
    law: Law
    scale: float
    tolerance: float
    penalty: Penalty
    penalty_rows: float | None
    mixing: FloatMatrix
    penalised: BoolVector

    @property
    def noise_law(self) -> NoiseLaw:
        return NoiseLaw(self.law, self.scale, len(self.mixing))

    def require_bounds(self, where: str, *, curvature: bool) -> None:
        """Refuse what no proof covers by a MethodError."""
        if not self.penalty.convex:
            raise MethodError(
                f"penalty {self.penalty.name!r} in {where}",
                expected="a convex penalty: a global minimiser of another one may jump",
                remedy="Use penalty='l1', 'l2', 'elastic_net' or 'none'.",
            )
        require_bounded_slopes(self.family, where, curvature=curvature)
        require_positive(self, "scale", "tolerance")
        ridge = np.asarray(self.ridge, dtype=np.float64)
        if ridge.ndim > 1 or ridge.size == 0 or not np.all((ridge > 0.0) & (ridge < math.inf)):
            raise release_error("a ridge", "ridge > 0, finite, a number or a vector")

    @property
    def assumptions(self) -> tuple[str, ...]:
        proved = (CERTIFICATE,) if self._finishes else ()
        return tuple(premise for premise in super().assumptions if premise not in proved)

    @property
    def _finishes(self) -> bool:
        """Whether the solver's last steps are proved to end, for this family and penalty."""
        return is_covered(self.family, self.penalty, int(self.penalised.sum()))

    def certified_minimum(self, rows: Rows, linear: FloatVector) -> FloatVector | WholeNumbers:
        """The minimiser with a linear term, shape (p,), to a subgradient of at most 2 tolerances.

        Zeros, in silence, for a linear term that is no number; and where no proof says that the solver ends,
        when it does not.
        """
        if not np.isfinite(linear).all():
            return np.zeros(rows.size)
        count = rows.row_count() if self.penalty_rows is None else self.penalty_rows
        penalty = self.penalty.with_strength(self.penalty.weight * count)
        minimum = minimise(
            ChunkLoss(rows.chunks, self.family, size=rows.size, row_count=rows.row_count()),
            linear=linear,
            ridge=self.ridge,
            # Without a penalty scaled coefficients have no part in it, and finding many takes long.
            mixing=None if isinstance(self.penalty, NoPenalty) else self.mixing,
            penalty=penalty,
            penalised=self.penalised,
            tolerance=self.tolerance,
        )
        if not self._finishes:
            return minimum.theta if minimum.certified else np.zeros(rows.size)
        terms = linear, self.ridge, self.mixing, penalty, self.penalised
        objective = Certified.of(rows.chunks, self.family, *terms)
        found = minimum.theta if objective.mixing is None else minimum.gamma
        enough = CERTIFIED * self.tolerance
        if objective.residual(found) <= enough:  # a bound, and not what the solver says
            return objective.theta(found)[0]
        return finished(objective, found, enough)

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        first, second = worst_case_rows(self.family, relation, size)
        return WorstCase(first, second, np.eye(size)[0])


def release_error(found: str, expected: str) -> MethodError:
    """For numbers of a release that no method gives it."""
    return MethodError(found, expected=expected, remedy="Let a method calibrate the release.")


def require_positive(release: Release, *names: str) -> None:
    """Refuse fields that are not positive finite numbers by a MethodError."""
    for name in names:
        value = getattr(release, name)
        if not 0.0 < value < math.inf:
            raise release_error(f"{name}={value!r}", f"{name} > 0, finite")


def require_public_rows(relation: Relation, penalty_rows: float | None) -> None:
    """Refuse a penalty per row of a private number of rows by a MethodError."""
    if relation == "add-remove" and penalty_rows is None:
        raise MethodError(
            "a penalty per row under add-remove, where the number of rows is private",
            expected="a public number of rows",
            remedy="Declare it, Schema(..., rows=10000), leave strength out, or use replace-one.",
        )


def require_bounded_slopes(family: Family, where: str, *, curvature: bool = True) -> None:
    """Refuse a family whose slopes lie in no interval of length 1, or whose curvature exceeds 1."""
    most = family.curvature_max
    if family.slope_range != 1.0 or (curvature and (most is None or most > 1.0)):
        also = ", whose curvature is at most 1" if curvature else ""
        raise MethodError(
            f"family {family.name!r} in {where}",
            expected=f"a loss with slopes in an interval of length 1{also}",
            remedy="Use family='binomial', 'poisson' or 'huber_svm'.",
        )
