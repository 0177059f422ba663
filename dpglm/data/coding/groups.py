"""Groups of coded columns: how they are made from what a row says, and how long they can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dpglm.data.formula.model import Model
from dpglm.errors import FormulaError
from dpglm.typing import FloatMatrix, FloatVector

# Rows are divided by a little more than their bound: rounding to float32 moves a norm by less than 2^-22, and
# a float32 sum of squares can then tell that a row is bounded.
SLACK: Final = 1.0 + 2.0**-14
_SHORTEST: Final = 1e-140
# Prior standard deviation of the constant, log-odds in the middle of all declared ranges.
PRIOR_INTERCEPT: Final = 5.0


@dataclass(frozen=True, eq=False)
class Part:
    """One factor of a product: ``(value - shift) * scale``, or ``table.T`` at the level or on the basis."""

    factor: int
    shift: float = 0.0
    scale: float = 1.0
    table: FloatMatrix | None = None

    @property
    def size(self) -> int:
        """Number of rows it makes."""
        return 1 if self.table is None else int(self.table.shape[1])


@dataclass(frozen=True, eq=False)
class Product:
    """Products of parts, the first varying fastest, times ``scale``; then ``mixing.T`` of them, if given.

    ``prior`` is the declared prior scale of a coefficient of these products, before ``scale``.
    """

    parts: tuple[Part, ...]
    scale: float
    mixing: FloatMatrix | None = None
    prior: float = 1.0


@dataclass(frozen=True, eq=False)
class Group:
    """Coded columns ``start`` to ``stop`` that belong together.

    Parameters
    ----------
    label : str
        The factors of the product, or the term.
    role : str
        ``"intercept"``, ``"slope"``, ``"binary"``, ``"levels"``, ``"spline"`` or ``"interaction"``.
    start, stop : int
        Its coded columns.
    share : float
        Public norm share a of its columns.
    bound : float
        The largest squared norm of its part of a row, before the division by ``row_norm``.
    products : tuple of Product
        How the columns are made from what a row says; the sum of these.
    """

    label: str
    role: str
    start: int
    stop: int
    share: float
    bound: float
    products: tuple[Product, ...]


@dataclass(frozen=True, eq=False)
class Layout:
    """Coded rows before the maps are made of them.

    Parameters
    ----------
    to_coded : ndarray, shape (p, p)
        Coded coefficients from the user's, for rows that are not yet divided by their norm.
    norm : float
        What rows are divided by.
    groups : tuple of Group
        The coded columns in order.
    """

    to_coded: FloatMatrix
    norm: float
    groups: tuple[Group, ...]


def require_lengths(lengths: FloatVector, formula: str) -> None:
    """Refuse columns whose lengths, or their squares, a double cannot hold.

    Raises
    ------
    FormulaError
        Told from the formula and the declared bounds.
    """
    if not ((lengths > _SHORTEST) & (lengths < 1.0 / _SHORTEST)).all():
        raise FormulaError(
            f"columns or products that are too large or too small for a number in {formula!r}",
            expected=f"declared ranges whose products lie between {_SHORTEST:g} and {1.0 / _SHORTEST:g}",
            remedy="Declare the columns in other units, or write scale(x, center=0, by=1e9).",
        )


def prior_of(model: Model, subset: tuple[int, ...]) -> float:
    """Declared prior scale of the product of the factors at these places: the largest of theirs."""
    return max((model.factors[place].prior for place in subset), default=PRIOR_INTERCEPT)


def label_of(model: Model, subset: tuple[int, ...]) -> str:
    """Names of the factors at these places."""
    return ":".join(model.factors[place].name for place in subset) or "Intercept"


def role_of(model: Model, subset: tuple[int, ...]) -> str:
    """What the product of the factors at these places is."""
    if len(subset) > 1:
        return "interaction"
    return model.factors[subset[0]].role if subset else "intercept"
