"""The plan of a profile: what it releases and what that costs, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Final, Literal, Self

from dpglm.curator.curator import PricedReleases
from dpglm.data.coding.column_table import may_be_missing
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric
from dpglm.errors import SchemaError
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.column_vectors import ColumnVectors
from dpglm.mechanisms.mapped import Mapped
from dpglm.mechanisms.moments import SecondMoments
from dpglm.mechanisms.number_classes import NumberClasses
from dpglm.methods.base import budgeted_plan
from dpglm.postprocessing.correlations import ProfiledColumn
from dpglm.postprocessing.profile import OVERALL
from dpglm.postprocessing.quartiles import EDGES, ROUND_SHARES
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import Target
from dpglm.privacy.events import MethodDescription
from dpglm.privacy.gdp import SAFETY
from dpglm.spec.arguments import for_unit
from dpglm.spec.plan import hashed

# Weights of products of columns: of X'X, of sums, and twice of the number of rows.
PRODUCT_WEIGHTS: Final = (1.0, 0.4, 0.04, 0.2)
# A profile keeps a number for each two coordinates.
MOST_COORDINATES: Final = 300


@dataclass(frozen=True, eq=False)
class ProfilePlan:
    """What a profile releases and what that costs, from public facts alone.

    Parameters
    ----------
    schema : Schema
    columns : tuple of str
        What is described, in the user's order.
    by : str or None
        The factor whose levels are groups.
    privacy : Privacy
    quartiles : bool
        Whether numbers are counted in classes, too.
    correlations : bool
        Whether products of columns are summed, too.
    """

    schema: Schema
    columns: tuple[str, ...]
    by: str | None
    privacy: Privacy
    quartiles: bool = False
    correlations: bool = False

    @classmethod
    def of(
        cls,
        schema: Schema,
        columns: Sequence[str] | None,
        by: str | None,
        privacy: Privacy,
        *,
        quartiles: bool = False,
        correlations: bool = False,
    ) -> Self:
        """The plan of all declared columns, or of some of them.

        Raises
        ------
        SchemaError
            A column that is not declared, none at all, too many to correlate, or groups by a number.
        """
        if columns is not None and (isinstance(columns, str) or not all(isinstance(c, str) for c in columns)):
            raise SchemaError(
                "columns that are not a list of text",
                expected="names of declared columns",
                remedy='Write columns=["age", "sex"].',
            )
        names = tuple(dict.fromkeys(schema.variables if columns is None else columns))
        names = tuple(name for name in names if name != by)
        schema.require(names if by is None else (by, *names))
        factor = None if by is None else schema.variables[by]
        if factor is not None and not isinstance(factor, Categorical):
            raise SchemaError(
                f"groups by the number {by}", expected="a column with levels", remedy="Leave by out."
            )
        if factor is not None and OVERALL in factor.labels:
            raise SchemaError(
                f"groups by {by}, of which a level is called {OVERALL!r}",
                expected="another name, since all rows together are called that",
                remedy="Rename the level in the schema and in the table.",
            )
        if not names:
            raise SchemaError("no column to describe", expected="at least one", remedy="Leave columns out.")
        privacy = for_unit(privacy, schema)
        numbers = any(isinstance(schema.variables[name], Numeric) for name in names)
        planned = cls(schema, names, by, privacy, quartiles and numbers)
        several = correlations and len(planned.correlated) > 1
        if several and planned.vectors.size > MOST_COORDINATES:
            raise SchemaError(
                f"correlations of {planned.vectors.size} numbers and levels beside the first",
                expected=f"at most {MOST_COORDINATES}",
                remedy="Describe fewer columns, or without correlations.",
            )
        return replace(planned, correlations=several)

    @property
    def factors(self) -> tuple[str, ...]:
        """Columns with levels, in order."""
        return tuple(name for name in self.columns if isinstance(self.schema.variables[name], Categorical))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns with bounds, in order."""
        return tuple(name for name in self.columns if name not in self.factors)

    @property
    def groups(self) -> tuple[str, ...]:
        """Labels of the groups; one without ``by``."""
        return (OVERALL,) if self.by is None else self._factor(self.by).labels

    @property
    def part(self) -> float:
        """What each of sums, quartiles and products has of mu squared, or of a pure epsilon."""
        return 1.0 / (1 + self.quartiles + self.correlations)

    @property
    def correlated(self) -> tuple[str, ...]:
        """Columns whose products are summed: numbers, groups and factors."""
        return (*self.numbers, *(() if self.by is None else (self.by,)), *self.factors)

    @cached_property
    def release(self) -> ColumnSums:
        """The sums with the least noise that their share of the budget allows."""
        return self._priced_sums(
            self.part,
            missing=tuple(may_be_missing(self.schema.variables[name]) for name in self.numbers),
            levels=tuple(len(self._factor(name).levels) for name in self.factors),
            count_rows=not self.privacy.rows_are_public or self.by is not None,
        )

    @cached_property
    def rounds(self) -> tuple[Mapped, ...]:
        """Counts of numbers in classes, each between edges that follow from the releases before."""
        numbers = len(self.numbers)
        return tuple(
            Mapped(
                self._priced_sums(
                    self.part * share,
                    missing=(),
                    levels=(EDGES + 1,) * numbers,
                    count_rows=False,  # the sums before told it
                ),
                NumberClasses(numbers, EDGES + 1, number),
            )
            for number, share in enumerate(ROUND_SHARES if self.quartiles else (), start=1)
        )

    @cached_property
    def vectors(self) -> ColumnVectors:
        """How columns become vectors whose products are summed."""
        levels = tuple(len(self._factor(name).levels) for name in self.correlated[len(self.numbers) :])
        return ColumnVectors(len(self.numbers), levels, grouped=self.by is not None)

    @cached_property
    def moments(self) -> SecondMoments:
        """Of all columns together, with the least noise that their share of the budget allows."""
        sums = SecondMoments(self.vectors.span, "gaussian", 1.0, *PRODUCT_WEIGHTS)
        law: Literal["gamma", "gaussian"] = "gamma" if self.privacy.delta == 0.0 else "gaussian"
        scale = sums.sensitivity(self.privacy.relation) / self._price(self.part) * (1.0 + SAFETY)
        return replace(sums, law=law, scale=scale)

    @cached_property
    def products(self) -> tuple[Mapped, ...]:
        """The release of these moments, where they are asked for."""
        return (Mapped(self.moments, self.vectors),) if self.correlations else ()

    def _price(self, share: float) -> float:
        """A share of mu squared, or of a pure epsilon, as a mu or an epsilon."""
        if self.privacy.delta == 0.0:
            return share * self.privacy.epsilon
        return math.sqrt(share) * Target.of(self.privacy).ideal_mu

    def _priced_sums(
        self, share: float, *, missing: tuple[bool, ...], levels: tuple[int, ...], count_rows: bool
    ) -> ColumnSums:
        """Sums at a share of mu squared, or of a pure epsilon."""
        law: Literal["laplace", "gaussian"] = "laplace" if self.privacy.delta == 0.0 else "gaussian"
        sums = ColumnSums(missing, levels, len(self.groups), count_rows, law, scale=1.0)
        return sums.at_price(self._price(share), self.privacy.relation)

    @cached_property
    def priced(self) -> PricedReleases:
        """The releases with their guarantee, which is the whole budget."""
        mu = None if self.privacy.delta == 0.0 else Target.of(self.privacy).ideal_mu
        return budgeted_plan((self.release, *self.rounds, *self.products), self.privacy, mu=mu)

    @cached_property
    def description(self) -> MethodDescription:
        """What is released, with sensitivity, noise and theorem."""
        algorithm = "counts, and first and second moments of numbers, each released once"
        if self.quartiles:
            algorithm += "; numbers counted in classes, in rounds that close in on their quartiles"
        if self.correlations:
            algorithm += "; products of columns, released once for their correlations"
        return MethodDescription(algorithm, releases=self.priced.describe(), why=self.priced.why())

    @cached_property
    def fingerprint(self) -> str:
        """A hash of schema, columns, release and guarantee, 64 hexadecimal digits."""
        content = {
            "schema": self.schema.to_dict(),
            "columns": self.columns,
            "by": self.by,
            "description": asdict(self.description),
            "guarantee": self.priced.guarantee.to_dict(),
        }
        return hashed(content)

    @property
    def what(self) -> str:
        """The words of a ledger's line."""
        return f"profile of {', '.join(self.columns)}" + (f" by {self.by}" if self.by else "")

    def _factor(self, name: str) -> Categorical:
        variable = self.schema.variables[name]
        assert isinstance(variable, Categorical), "checked when planned"
        return variable

    def profiled(self, name: str) -> ProfiledColumn:
        """What a profile holds of a column beside its numbers."""
        variable = self.schema.variables[name]
        missing = may_be_missing(variable)
        if isinstance(variable, Categorical):
            either = missing or variable.other == "omit"
            return ProfiledColumn(name, either, levels=variable.labels)
        return ProfiledColumn(name, missing, variable.low, variable.high)
