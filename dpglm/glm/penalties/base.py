"""What a penalty must say, its value and its prox, and the terms whose coefficients it acts on."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import ClassVar, Literal, Self, SupportsFloat, TypeAlias, cast

import numpy as np

from dpglm.errors import MethodError
from dpglm.registry import Registry
from dpglm.typing import LATER, BoolVector, FloatMatrix, FloatVector

TermKind: TypeAlias = Literal["intercept", "slope", "levels", "other"]


@dataclass(frozen=True)
class Penalty(ABC):
    """A penalty on the scaled coefficients, zero at zero, even, and growing with ``strength``.

    Parameters
    ----------
    strength : float or None
        Weight of the penalty, >= 0, per row (the objective is the *average* loss plus the penalty).
        None leaves the choice to the method, which never looks at the data for it.

    Raises
    ------
    MethodError
        If ``strength`` is not a finite number >= 0.

    Examples
    --------
    >>> penalties["l1"](strength=1.0).prox(np.array([-3.0, 0.5]), step=1.0)
    array([-2.,  0.])
    """

    strength: float | None = None

    name: ClassVar[str]
    convex: ClassVar[bool]

    def __post_init__(self) -> None:
        strength = self.strength
        if strength is not None and not (within(strength, 0.0, math.inf) and strength < math.inf):
            raise self.option_error(
                "strength",
                "a finite number >= 0, or None for the method's default",
                "Use strength=0.01, say, or leave it out.",
            )

    def option_error(self, option: str, expected: str, remedy: str) -> MethodError:
        """The refusal of an option's value."""
        value = getattr(self, option)
        return MethodError(
            f"{option}={value!r} for the {self.name} penalty", expected=expected, remedy=remedy
        )

    @property
    def weight(self) -> float:
        """The strength as a number; unset counts as zero."""
        return 0.0 if self.strength is None else self.strength

    def with_strength(self, strength: float) -> Self:
        """The same penalty with another strength."""
        return replace(self, strength=strength)

    def with_scale(self, curvature: FloatVector) -> Self:
        """The same penalty for a loss of this second derivative in each coefficient, shape (p,).

        Only penalties with a scale of their own that is left open (SCAD, MCP) differ from themselves.
        """
        return self

    def for_terms(self, terms: Sequence[Sequence[int]]) -> Self:
        """The same penalty for coefficients that belong together, as places among the penalised ones.

        Only a penalty that acts on groups, and was given none, differs from itself.
        """
        return self

    def require_size(self, size: int) -> None:
        """Check that the penalty fits this many penalised coefficients.

        Raises
        ------
        MethodError
            Weights, scales or groups for another number of them.
        """
        try:
            mapped = self.with_strength(1.0).with_scale(np.ones(size)).prox(np.zeros(size), 1.0)
            fits = mapped.shape == (size,)
        except MethodError:
            raise
        except ValueError:
            fits = False
        if not fits:
            raise MethodError(
                f"options of the {self.name} penalty for another number of coefficients",
                expected=f"one weight or scale for each of {size} penalised coefficients",
                remedy="Count the coefficients without the intercept, or leave the option out.",
            )

    @property
    def selects(self) -> bool:
        """Whether a strength is large enough to set a coefficient exactly to zero."""
        return math.isfinite(replace(self, strength=1.0).strength_max(np.ones(self.least_size)))

    @property
    def least_size(self) -> int:
        """Fewest coefficients that the penalty can be asked about."""
        return 1

    @abstractmethod
    def value(self, beta: FloatVector) -> float:
        """The penalty at ``beta``, shape (p,)."""

    @abstractmethod
    def prox(self, v: FloatVector, step: float) -> FloatVector:
        """The minimiser of ``|b - v|^2 / 2 + step * value(b)``, shape (p,); ``step`` >= 0.

        Of several minimisers the one nearest to zero.
        """

    @abstractmethod
    def strength_max(self, gradient_at_zero: FloatVector, step: float = 1.0) -> float:
        """Smallest strength from which on the prox keeps zero where it is, ``inf`` if there is none.

        That is the smallest for which ``prox(-step * gradient_at_zero, step)`` is zero. For a convex penalty
        zero is then the solution, whatever the step. For one that is not convex the step matters: at the step
        1/a, zero beats every point of the quadratic with this gradient and the second derivative a times the
        identity, so that for a loss with second derivatives of at most a zero is a stationary point, and for
        a single coefficient of second derivative a it is the global solution.

        ``gradient_at_zero``, shape (p,), is the gradient of the average loss at zero.
        """

    def values(self, betas: FloatMatrix, strengths: FloatVector) -> FloatVector:
        """``value`` of each row of ``betas``, shape (k, p), at its own strength, shape (k,)."""
        pairs = zip(betas, strengths, strict=True)
        return np.array(
            [self.with_strength(float(strength)).value(beta) for beta, strength in pairs], dtype=np.float64
        )

    def prox_rows(self, v: FloatMatrix, step: float, strengths: FloatVector) -> FloatMatrix:
        """``prox`` of each row of ``v``, shape (k, p), at its own strength, shape (k,)."""
        mapped = np.empty_like(v)
        for row, strength in enumerate(strengths):
            mapped[row] = self.with_strength(float(strength)).prox(v[row], step)
        return mapped

    def derivatives(self, beta: FloatVector) -> tuple[FloatVector, FloatMatrix] | None:
        """Gradient, shape (p,), and second derivative, shape (p, p), along the non-zero coefficients.

        Entries of zero coefficients mean nothing. None if the penalty does not know them: solvers then rely
        on the prox alone.
        """
        return None

    def l1_weights(self, size: int) -> FloatVector | None:
        """Weight of each ``|beta_j|``, shape (size,), if the penalty is a weighted L1 norm plus a ridge."""
        return None if self.l1_weight is None else np.full(size, self.l1_weight)

    @property
    def l1_weight(self) -> float | None:
        """Weight of ``sum |beta_j|`` where the penalty is that plus a ridge, else None."""
        return None

    @property
    def ridge_weight(self) -> float | None:
        """Weight of ``sum beta_j^2 / 2`` where the penalty is an L1 part plus that, else None."""
        return None


@dataclass(frozen=True, eq=False)
class TermColumns:
    """Coded columns ``start`` to ``stop`` of a row: one term as a table of cells.

    All that is public about the geometry of rows.

    Parameters
    ----------
    label : str
        The term, for people.
    kind : {"intercept", "slope", "levels", "other"}
        "levels" is a main effect of a factor with two levels or more; "other" holds interactions, splines
        and bases of mixed columns.
    start, stop : int
        Place in the coded row.
    bound : float
        Largest squared norm of these columns in any coded row, in float32 as it is read.
    table : ndarray, shape (cells, stop - start)
        Coded values of each cell: the intercept's constant; a slope's value per declared range; the simplex
        corners of a factor's levels, one row a level (columns sum to 0, and ``table.T @ table`` is a multiple
        of the identity); the identity for "other".
    prior : ndarray, shape (stop - start,)
        Declared prior standard deviation of each coded coefficient.
    product : (int, int) or None
        Where the columns of a factor start, and that of a number, if these are a multiple of their products.
    """

    label: str
    kind: TermKind
    start: int
    stop: int
    bound: float
    table: FloatMatrix
    prior: FloatVector
    product: tuple[int, int] | None = field(default=None, metadata=LATER)

    @property
    def columns(self) -> slice:
        """Its place in a coded row."""
        return slice(self.start, self.stop)

    def by_level(self, factor: TermColumns, number: TermColumns) -> FloatMatrix:
        """Of their products: coded values per unit of the number's column, one row for each level."""
        return np.asarray(math.sqrt(self.bound / (factor.bound * number.bound)) * factor.table)


def strength_of(strength: float | Literal["cv"] | None, penalty: Penalty) -> float | Literal["cv"] | None:
    """The strength, said once: in the penalty object or beside it."""
    if strength is not None and penalty.strength is not None:
        raise MethodError(
            "a strength in the penalty object and in strength=",
            expected="one of the two",
            remedy="Leave strength= out.",
        )
    return strength if penalty.strength is None else penalty.strength


def within(value: object, least: float, most: float) -> bool:
    """Whether a value is a number between two others, both included."""
    return isinstance(value, Real) and least <= float(cast(SupportsFloat, value)) <= most


def not_below(penalty: Penalty, strength: float, gradient: FloatVector, step: float) -> float:
    """The strength, or the least above it for which rounding lets the prox keep zero where it is."""
    while penalty.with_strength(strength).prox(-step * gradient, step).any():
        strength = math.nextafter(strength, math.inf)
    return strength


def penalised_terms(
    terms: Sequence[tuple[str, Sequence[int]]], penalised: BoolVector
) -> tuple[tuple[int, ...], ...]:
    """Places of each term's coefficients among the penalised ones.

    Examples
    --------
    >>> penalised_terms([("Intercept", [0]), ("C(job)", [1, 2])], np.array([False, True, True]))
    ((0, 1),)
    """
    places = np.cumsum(penalised) - 1
    groups = [tuple(int(places[at]) for at in positions if penalised[at]) for _, positions in terms]
    return tuple(group for group in groups if group)


penalties: Registry[Penalty] = Registry("penalty", "dpglm.glm.penalties")
