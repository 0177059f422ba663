"""Profile: what `dpglm.describe` gives back, made of released sums and public facts and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self

from dpglm.postprocessing import profile, store
from dpglm.postprocessing.profile import ProfileRecord
from dpglm.postprocessing.record import LedgerState
from dpglm.privacy.events import MethodDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Profile:
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

    _record: ProfileRecord

    @property
    def names(self) -> tuple[str, ...]:
        """The columns described."""
        return self._record.order

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
        return self._series("mean")

    @property
    def sds(self) -> pd.Series[float]:
        """Standard deviations of the numbers, overall."""
        return self._series("sd")

    @property
    def shares(self) -> pd.Series[float]:
        """Shares of levels, overall, by column and level."""
        frame = self.tidy()
        chosen = frame[(frame["statistic"] == "share") & (frame["group"] == profile.OVERALL)]
        series: pd.Series[float] = chosen.set_index(["column", "level"])["estimate"]
        return series.rename("share")

    def _series(self, statistic: str) -> pd.Series[float]:
        frame = self.tidy()
        chosen = frame[(frame["statistic"] == statistic) & (frame["group"] == profile.OVERALL)]
        series: pd.Series[float] = chosen.set_index("column")["estimate"]
        return series.rename(statistic)

    @property
    def privacy(self) -> Guarantee:
        """What was promised."""
        return self._record.guarantee

    @property
    def description(self) -> MethodDescription:
        """The release: sensitivity, noise and theorem."""
        return self._record.description

    @property
    def ledger(self) -> LedgerState | None:
        """The ledger right after this profile was charged; None where there was none."""
        return self._record.ledger

    @property
    def plan_fingerprint(self) -> str:
        """What identifies the plan that was charged and run."""
        return self._record.plan_fingerprint

    def summary(self) -> Table:
        """The table of sample characteristics: a row for each number and level, a column for each group."""
        return profile.summary(self._record)

    def __str__(self) -> str:
        return str(self.summary())

    def __repr__(self) -> str:
        alarm = f" {self._record.alarm}" if self._record.alarm else ""
        return f"<Profile of {len(self.names)} columns>{alarm}"

    def _repr_html_(self) -> str:
        return self.summary().to_html()

    def tidy(self) -> pd.DataFrame:
        """A row for each statistic: column, level, group, statistic, estimate, standard errors by source."""
        return profile.tidy(self._record)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the profile as JSON, whole or not at all; :meth:`load` reads it."""
        return store.save(self._record, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a profile written by :meth:`save`; a StoreError says what another file is."""
        return cls(store.read(path, ProfileRecord))
