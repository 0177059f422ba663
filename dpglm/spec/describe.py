"""`dpglm.describe`: a profile of a table, planned from public facts, charged and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, Self

from dpglm import __version__
from dpglm.curator.curator import Curator, PricedReleases
from dpglm.data.coding.column_table import ColumnTable, may_be_missing
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical
from dpglm.data.tables.sources import find_schema, open_source
from dpglm.errors import PrivacyError, SchemaError
from dpglm.ledger.ledger import Ledger
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.noise import NoiseSource
from dpglm.methods.base import budgeted_plan
from dpglm.postprocessing.codec import decode
from dpglm.postprocessing.profile import OVERALL, ProfiledColumn, ProfileRecord
from dpglm.postprocessing.record import LedgerState, parallel_lines
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import Target
from dpglm.privacy.events import MethodDescription
from dpglm.results.profile import Profile
from dpglm.spec.arguments import REQUIRED, Required, ledger_of, noise_of, privacy_of
from dpglm.spec.plan import hashed


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
    """

    schema: Schema
    columns: tuple[str, ...]
    by: str | None
    privacy: Privacy

    @classmethod
    def of(cls, schema: Schema, columns: Sequence[str] | None, by: str | None, privacy: Privacy) -> Self:
        """The plan of all declared columns, or of some of them.

        Raises
        ------
        SchemaError
            A column that is not declared, none at all, or groups by a number.
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
        if schema.unit is not None and privacy.unit == "one row":
            privacy = replace(privacy, unit=schema.unit)
        return cls(schema, names, by, privacy)

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

    @cached_property
    def release(self) -> ColumnSums:
        """The sums with the least noise that the budget allows."""
        relation = self.privacy.relation
        pure = self.privacy.delta == 0.0
        sums = ColumnSums(
            missing=tuple(may_be_missing(self.schema.variables[name]) for name in self.numbers),
            levels=tuple(len(self._factor(name).levels) for name in self.factors),
            groups=len(self.groups),
            count_rows=relation == "add-remove" or self.by is not None,
            law="laplace" if pure else "gaussian",
            scale=1.0,
        )
        price = self.privacy.epsilon if pure else Target.of(self.privacy).ideal_mu
        return sums.at_price(price, relation)

    @cached_property
    def priced(self) -> PricedReleases:
        """The release with its guarantee, which is the whole budget."""
        mu = None if self.privacy.delta == 0.0 else Target.of(self.privacy).ideal_mu
        return budgeted_plan((self.release,), self.privacy, mu=mu)

    @cached_property
    def description(self) -> MethodDescription:
        """What is released, with sensitivity, noise and theorem."""
        return MethodDescription(
            algorithm="counts, and first and second moments of numbers, each released once",
            releases=self.priced.describe(),
            why=self.priced.why(),
        )

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

    def run(self, data: object, *, ledger: Ledger | None, noise: NoiseSource) -> Profile:
        """Charge, then read the table; refusals come before the charge."""
        table = ColumnTable(open_source(data), self.schema, self.numbers, self.factors, self.by)
        guarantee = self.priced.guarantee if noise.private else self.priced.guarantee.seeded()
        state = None
        if ledger is not None:
            what = f"profile of {', '.join(self.columns)}" + (f" by {self.by}" if self.by else "")
            entry = ledger.charge(guarantee, what=what, plan=self.fingerprint)
            state = decode(LedgerState, ledger.state(at=entry))
        released = Curator(table, self.priced, noise).ask(self.release)
        public = self.privacy.relation == "replace-one"
        record = ProfileRecord(
            columns=tuple(map(self._profiled, (*self.numbers, *self.factors))),
            names=self.columns,
            schema=self.schema.to_dict(),
            by=self.by,
            groups=self.groups,
            counted=self.release.count_rows,
            released=released.reshape(len(self.groups), self.release.width),
            deviations=self.release.deviations,
            n_rows=table.row_count() if public else None,
            guarantee=guarantee,
            spend_lines=parallel_lines(self.priced.parallel(), guarantee),
            description=self.description,
            random_source="operating system" if noise.private else "seeded generator: NOT PRIVATE",
            ledger=state,
            version=__version__,
            plan_fingerprint=self.fingerprint,
        )
        return Profile(record)

    def _factor(self, name: str) -> Categorical:
        variable = self.schema.variables[name]
        assert isinstance(variable, Categorical), "checked when planned"
        return variable

    def _profiled(self, name: str) -> ProfiledColumn:
        variable = self.schema.variables[name]
        missing = may_be_missing(variable)
        if isinstance(variable, Categorical):
            either = missing or variable.other == "omit"
            return ProfiledColumn(name, either, levels=variable.labels)
        return ProfiledColumn(name, missing, variable.low, variable.high)


def describe(
    data: object,
    *,
    schema: Schema | Mapping[str, Any] | str | PathLike[str] | None = None,
    by: str | None = None,
    columns: Sequence[str] | None = None,
    privacy: float | tuple[float, float] | Privacy | Required = REQUIRED,
    ledger: Ledger | str | PathLike[str] | None = None,
    seed: int | None = None,
) -> Profile:
    """Sample characteristics under differential privacy: the "Table 1" that opens a paper.

    One release holds the number of rows, shares of levels, means and standard deviations of numbers. Exact
    ones beside a private fit would void its guarantee.

    Parameters
    ----------
    data : DataFrame, Arrow table, or path to a CSV or Parquet file
        Private rows.
    schema : Schema, dict or path, optional
        Public bounds and levels; looked for as `dpglm.fit` does.
    by : str, optional
        A column with levels: everything is told for each of them, and overall. Groups cost little: a row is
        in one of them.
    columns : sequence of str, optional
        What is described; by default all that the schema declares. Every column adds noise to the others.
    privacy : float, (epsilon, delta) or Privacy
        The budget, required.
    ledger : Ledger or path, optional
        Charged before any row is read; a path opens an existing ledger.
    seed : int, optional
        Repeatable noise for tests and simulations; the result is marked NOT PRIVATE.

    Returns
    -------
    Profile
        With ``summary()``, ``tidy()``, ``plot()``, ``report(path)``, ``means``, ``sds``, ``shares`` and more.

    Raises
    ------
    PrivacyError, SchemaError
        From public facts alone, before anything is charged or read.
    BudgetExceeded
        The ledger does not cover the profile; nothing was read.

    Notes
    -----
    A row without a value in a column counts for nothing there, and fully in the others, unless the schema
    declares what a missing value is read as. Numbers beyond their bounds are read as the bound.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> table = dpglm.describe(women, columns=["age", "educ"], by="affair", privacy=(1.0, 1e-6), seed=1)
    >>> table.groups
    ('no', 'yes')
    """
    budget = privacy_of(privacy)
    if budget is None:
        raise PrivacyError(
            "privacy=None for a profile", expected="a privacy budget", remedy="Use pandas' own describe()."
        )
    noise, opened = noise_of(seed), ledger_of(ledger)
    return ProfilePlan.of(find_schema(data, schema), columns, by, budget).run(
        data, ledger=opened, noise=noise
    )
