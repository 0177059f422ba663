"""FeatureRanking: what `dpglm.rank_features` gives back, made of released numbers and public facts."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Self

from dpglm.postprocessing import frames, ranking, store
from dpglm.postprocessing.ranking import RankingRecord
from dpglm.report.plots import RankingKind, plot_ranking
from dpglm.report.ranking import ranking_subject
from dpglm.report.section import Subject
from dpglm.results.result import Result
from dpglm.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class FeatureRanking(Result[RankingRecord]):
    """Features by how well they tell the two levels of a response apart, and what was promised.

    It follows from released numbers and public facts, so all use of it is free, the choice of another k
    included. A fit of the selected features to the same rows has a price of its own.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> formula = "affair ~ age + yrs_married + religious + rate_marriage"
    >>> ranking = dpglm.rank_features(formula, women, k=1, privacy=(2.0, 1e-6), seed=1)
    >>> ranking.selected
    ('rate_marriage',)
    >>> ranking.formula
    'affair ~ rate_marriage'
    >>> int(ranking.ranks["rate_marriage"])
    1
    """

    @property
    def weights(self) -> pd.Series[float]:
        """Weight of each feature, in the order of the formula; of a factor the largest of its levels."""
        return frames.series(self._record, self._record.weights, "weight")

    @property
    def ranks(self) -> pd.Series[float]:
        """Rank of each feature, 1 for the largest weight, in the order of the formula."""
        return frames.series(self._record, self._record.ranks, "rank")

    @property
    def selected(self) -> tuple[str, ...]:
        """The k features of the largest weights, by rank; without a k those above the noise level."""
        return self._record.selected

    @property
    def formula(self) -> str:
        """The formula of a fit of the selected features."""
        return self._record.next_formula

    @property
    def noise_level(self) -> float:
        """What the noise of the release alone makes of the largest of all weights; below it nothing is told.

        Sampling error is not in it: with many rows, features that do not differ have weights above it, too. 0
        without privacy; NaN for ``method="objective"``, whose penalty sets noise to 0.
        """
        return self._record.noise_level

    @property
    def method(self) -> str:
        """Name of the method."""
        return self._record.method

    def summary(self) -> Table:
        """The features by rank, with weights, noise level, price and promise; the first thirty."""
        return ranking.summary(self._record)

    def tidy(self) -> pd.DataFrame:
        """A row for each feature, by rank: rank, feature, weight, above_noise, selected."""
        return ranking.tidy(self._record)

    def plot(self, kind: RankingKind = "weights", *, ax: Axes | None = None) -> Axes:
        """Draw a figure with matplotlib, on ``ax`` or on new axes.

        Parameters
        ----------
        kind : {"weights", "tradeoff", "profile"}
            The largest weights with the noise level; least type II error at each type I error of a test for
            one row; delta against epsilon.
        """
        return plot_ranking(self._record, kind, ax=ax)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a ranking written by :meth:`save`; a StoreError says what another file is."""
        return cls(store.read(path, RankingRecord))

    def _subject(self) -> Subject:
        return ranking_subject(self._record)

    def __repr__(self) -> str:
        alarm = f" {self._record.alarm}" if self._record.alarm else ""
        return f"<FeatureRanking of {len(self.names)} features, {self.method}>{alarm}"
