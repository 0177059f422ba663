"""What a formula says once it is read against a schema: public, frozen, without any data."""

from __future__ import annotations

from dataclasses import dataclass

from dpglm.data.formula.expressions import Expression
from dpglm.data.formula.factors import Factor
from dpglm.typing import FloatMatrix


@dataclass(frozen=True, eq=False)
class Usage:
    """One factor inside a term: its place in ``Model.factors`` and its columns there.

    ``table``, shape (levels, columns), gives the value of each column at each level (a contrast matrix); None
    for a numeric factor, whose one column is its value.
    """

    factor: int
    table: FloatMatrix | None

    @property
    def size(self) -> int:
        """Number of columns."""
        return 1 if self.table is None else int(self.table.shape[1])


@dataclass(frozen=True, eq=False)
class Subterm:
    """Columns that are all products of the same factors, the first factor varying fastest.

    No factor at all is the intercept.
    """

    usages: tuple[Usage, ...]

    @property
    def size(self) -> int:
        """Number of columns."""
        size = 1
        for usage in self.usages:
            size *= usage.size
        return size


@dataclass(frozen=True, eq=False)
class Term:
    """One term of the formula with the columns ``start`` to ``stop`` of the design."""

    name: str
    start: int
    subterms: tuple[Subterm, ...]

    @property
    def stop(self) -> int:
        """One past the last column."""
        return self.start + sum(subterm.size for subterm in self.subterms)

    @property
    def order(self) -> int:
        """Number of factors of the largest product."""
        return max(len(subterm.usages) for subterm in self.subterms)


@dataclass(frozen=True, eq=False)
class Model:
    """A formula read against a schema; made by `parse`.

    Parameters
    ----------
    formula : str
        As the user wrote it, on one line.
    response : str
        Name of the response column.
    names : tuple of str
        Names of the user's columns, exactly as patsy gives them, in the order of the design.
    terms : tuple of Term
        The terms in the order of the design.
    factors : tuple of Factor
        Each function of a row that the terms use, once.
    offsets : tuple of Expression
        What is added to the linear predictor with coefficient 1, each clipped to its bounds.

    Examples
    --------
    See `dpglm.data.formula.parse.parse`.
    """

    formula: str
    response: str
    names: tuple[str, ...]
    terms: tuple[Term, ...]
    factors: tuple[Factor, ...]
    offsets: tuple[Expression, ...]

    @property
    def size(self) -> int:
        """Number of the user's columns."""
        return len(self.names)

    @property
    def intercept(self) -> bool:
        """Whether there is a constant column."""
        return any(not subterm.usages for term in self.terms for subterm in term.subterms)

    @property
    def columns(self) -> tuple[str, ...]:
        """The data columns needed besides the response, in order of first mention."""
        needed = [name for factor in self.factors for name in factor.columns]
        needed += [name for offset in self.offsets for name in offset.column_names()]
        return tuple(dict.fromkeys(needed))
