"""Profile: what `dpglm.describe` gives back, made of released sums and public facts and nothing else."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Self

from dpglm.postprocessing import profile, store
from dpglm.postprocessing.profile import ProfileRecord
from dpglm.report.plots import SampleKind, plot_sample
from dpglm.report.sample import profile_subject
from dpglm.report.section import Subject
from dpglm.results.result import Result
from dpglm.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from great_tables import GT
    from matplotlib.axes import Axes


class Profile(Result[ProfileRecord]):
    """Sample characteristics of a private table: numbers of rows, shares, means and standard deviations.

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
        return self._record.of(profile.OVERALL)["", "", "n"].value

    @property
    def means(self) -> pd.Series[float]:
        """Means of the numbers, overall."""
        return profile.overall(self._record, "mean")

    @property
    def sds(self) -> pd.Series[float]:
        """Standard deviations of the numbers, overall."""
        return profile.overall(self._record, "sd")

    @property
    def shares(self) -> pd.Series[float]:
        """Shares of levels, overall, by column and level."""
        return profile.overall(self._record, "share")

    def summary(self) -> Table:
        """The table of sample characteristics: a row for each number and level, a column for each group."""
        return profile.summary(self._record)

    def plot(self, kind: SampleKind | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw a figure with matplotlib, on ``ax`` or on new axes.

        Parameters
        ----------
        kind : {"shares", "means", "tradeoff", "profile"}, optional
            Shares of levels with 95 % intervals, by group; means with their standard deviations and 95 %
            intervals, between declared bounds, by group; least type II error at each type I error of a test
            for one row; delta against epsilon. By default shares, or means where there are no levels.

        Raises
        ------
        MethodError
            Another kind, or one of what was not described or promised.
        """
        return plot_sample(self._record, kind, ax=ax)

    def _subject(self) -> Subject:
        return profile_subject(self._record)

    def to_gt(self) -> GT:
        """The table of :meth:`summary` as a `great_tables.GT`; a MethodError where that is not installed."""
        return self.summary().to_gt()

    def __repr__(self) -> str:
        alarm = f" {self._record.alarm}" if self._record.alarm else ""
        return f"<Profile of {len(self.names)} columns>{alarm}"

    def tidy(self) -> pd.DataFrame:
        """A row for each statistic: column, level, group, statistic, estimate, standard errors by source."""
        return profile.tidy(self._record)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a profile written by :meth:`save`; a StoreError says what another file is."""
        return cls(store.read(path, ProfileRecord))
