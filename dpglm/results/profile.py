"""Profile, SiteProfiles: what `dpglm.describe` gives back, made of released numbers and public facts."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Self

from dpglm.errors import MethodError
from dpglm.postprocessing import profile_tables, store
from dpglm.postprocessing.frames import BROOM, Style, is_broom
from dpglm.postprocessing.profile import OVERALL, ProfileRecord
from dpglm.privacy.guarantee import Guarantee
from dpglm.report.plots import SampleKind, plot_sample
from dpglm.report.sample import profile_subject
from dpglm.report.section import Subject
from dpglm.results.result import Named, Result
from dpglm.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from great_tables import GT
    from matplotlib.axes import Axes


class Profile(Result[ProfileRecord]):
    """Sample characteristics of a private table: rows, shares, means, standard deviations, quartiles.

    Standard errors hold sampling and the noise of the release. Margins are consistent: shares are at least 0
    and add up to 1, groups add up to the whole. It holds no data and never did.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> profile = dpglm.describe(women, columns=["age", "occupation"], privacy=1.0, seed=1)
    >>> profile.means.round(1).to_dict()
    {'age': 29.1}
    >>> float(profile.shares["occupation"].sum().round(9))
    1.0
    """

    @property
    def by(self) -> str | None:
        """The factor whose levels are groups."""
        return self._record.by

    @property
    def groups(self) -> tuple[str, ...]:
        """Labels of the groups; one, "overall", without ``by``."""
        return self._record.groups

    @property
    def n_rows(self) -> float:
        """Number of rows: estimated, or exact where the relation makes it public and there are no groups."""
        return self._record.of(OVERALL)["", "", "n"].value

    @property
    def means(self) -> pd.Series[float]:
        """Means of the numbers, overall."""
        return profile_tables.overall(self._record, "mean")

    @property
    def sds(self) -> pd.Series[float]:
        """Standard deviations of the numbers, overall."""
        return profile_tables.overall(self._record, "sd")

    @property
    def shares(self) -> pd.Series[float]:
        """Shares of levels, overall, by column and level."""
        return profile_tables.overall(self._record, "share")

    @property
    def quartiles(self) -> pd.DataFrame:
        """Columns q1, median and q3, a row for each number, overall.

        Raises
        ------
        MethodError
            A profile that was made without quartiles.
        """
        if self._record.classes is None:
            raise MethodError(
                "quartiles of a profile without them",
                expected="a profile of numbers that was made with quartiles=True",
                remedy="Use dpglm.describe(..., quartiles=True) with a number among its columns.",
            )
        return profile_tables.quartile_table(self._record)

    @property
    def correlations(self) -> pd.DataFrame:
        """Correlations of numbers and of indicators of levels, named as ``sex[F]``: a square table, overall.

        Of the rows that have a value in each column. As released: each within its error, and not made to fit
        each other. NaN where noise hides a column.

        Raises
        ------
        MethodError
            A profile that was made without correlations.
        """
        return self._correlations()[0]

    @property
    def correlation_errors(self) -> pd.DataFrame:
        """Standard errors of `correlations`, which hold sampling and noise; errors as there."""
        return self._correlations()[1]

    def _correlations(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        if self._record.products is None:
            raise MethodError(
                "correlations of a profile without them",
                expected="a profile of two columns or more that was made with correlations=True",
                remedy="Use dpglm.describe(..., correlations=True).",
            )
        return profile_tables.correlation_tables(self._record)

    def summary(self) -> Table:
        """The table of sample characteristics: a row for each number and level, a column for each group."""
        return profile_tables.summary(self._record)

    def plot(self, kind: SampleKind | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw a figure with matplotlib, on ``ax`` or on new axes.

        Parameters
        ----------
        kind : {"shares", "means", "quartiles", "tradeoff", "profile"}, optional
            Shares of levels with 95 % intervals, by group; means with their standard deviations and 95 %
            intervals, between declared bounds, by group; medians with quartiles, likewise; least type II
            error at each type I error of a test for one row; delta against epsilon. By default
            shares, or means where there are no levels.

        Raises
        ------
        MethodError
            Another kind, or one of what was not described or promised.
        """
        return plot_sample(self._record, kind, ax=ax)

    def _subject(self) -> Subject:
        return profile_subject(self._record)

    def to_gt(self) -> GT:
        """The table of :meth:`summary` as a ``great_tables.GT``; a MethodError where there is none."""
        return self.summary().to_gt()

    def __repr__(self) -> str:
        return f"<Profile of {len(self.names)} columns> {self._record.alarm}".rstrip()

    def tidy(self, *, style: Style = "dpglm") -> pd.DataFrame:
        """A row for each statistic: estimate, standard errors by source, and ends of a 95 % interval.

        ``style="broom"``: std.error, conf.low and conf.high, as R's broom has them.
        """
        frame = profile_tables.tidy(self._record)
        return frame.rename(columns=BROOM) if is_broom(style) else frame

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a profile written by :meth:`save`; a StoreError says what another file is."""
        return cls(store.read(path, ProfileRecord))


@dataclass(frozen=True, repr=False)
class SiteProfiles(Named[Profile]):
    """A :class:`dpglm.Profile` of each site, in the order of the sites, and one of all their rows.

    Parameters
    ----------
    profiles : mapping of str to Profile
        By site; at least one.
    pooled : Profile
        Of all sites: with the groups of ``by``, or else with the sites as groups. Its promise is that of all
        sites together.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> tables = {"north": women[:3000], "south": women[3000:]}
    >>> profiles = dpglm.describe(tables, columns=["age"], privacy=1.0, seed=1)
    >>> list(profiles), profiles.pooled.groups, profiles.pooled.n_rows
    (['north', 'south'], ('north', 'south'), 6366.0)
    >>> profiles["north"].privacy.epsilon, profiles.privacy.epsilon
    (1.0, 2.0)
    """

    pooled: Profile

    def __hash__(self) -> int:
        return hash((tuple(self), self.pooled))

    @property
    def privacy(self) -> Guarantee:
        """What all sites together promise a person; that of one site is ``profiles[site].privacy``."""
        return self.pooled.privacy

    def summary(self) -> Table:
        """The table of the pooled profile."""
        return self.pooled.summary()

    def __repr__(self) -> str:
        return f"<SiteProfiles: {', '.join(map(repr, self))}> {self.pooled._record.alarm}".rstrip()
