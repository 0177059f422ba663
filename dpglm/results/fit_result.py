"""What a fit gives back: released numbers, public facts and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dpglm.privacy.guarantee import Guarantee
from dpglm.results import tidy as frames
from dpglm.results.prediction import Prediction, predict
from dpglm.results.record import FitRecord, LedgerState, RowMap, SpendLine
from dpglm.results.summary import summary
from dpglm.results.uncertainty import covariance, intervals, p_values, standard_errors
from dpglm.tables.number import budget
from dpglm.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FitResult", "LedgerState", "RowMap", "SpendLine"]


class FitResult(FitRecord):
    """A fitted model: coefficients on the original scale of the variables, and what was promised.

    Everything here follows from released numbers and public facts, so it may be printed, copied, saved and
    used for predictions at no further cost. It holds no data and never did.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> fit = dpglm.fit("affair ~ age + religious", women, penalty="l2", privacy=1.0, seed=1)
    >>> list(fit.params.index)
    ['Intercept', 'age', 'religious']
    >>> fit.tidy()["term"].tolist(), fit.glance()["private"].item()
    (['Intercept', 'age', 'religious'], False)
    >>> fit.summary().alarm
    'NOT PRIVATE: seeded'
    >>> len(fit.predict(women.head(3)))
    3
    """

    @property
    def params(self) -> pd.Series[float]:
        """Coefficients on the original scale of the variables, labelled in formula order."""
        return self._series(self.estimates, "params")

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors: NaN, since no release pays for them yet.

        Classical ones need the Hessian of the private rows and forget the noise.
        """
        return self._series(standard_errors(self), "bse")

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values: NaN, for the same reason as :attr:`bse`."""
        return self._series(p_values(self), "pvalues")

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Interval ends, columns 0 (lower) and 1 (upper): NaN, for the same reason as :attr:`bse`.

        Parameters
        ----------
        level : float
            Coverage, between 0 and 1 (statsmodels asks for ``alpha = 1 - level`` instead).

        Raises
        ------
        MethodError
            ``level`` is not between 0 and 1.
        """
        import pandas as pd

        return frames.marked(pd.DataFrame(intervals(self, level), index=list(self.names)), self)

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the coefficients: NaN, for the same reason as :attr:`bse`."""
        import pandas as pd

        names = list(self.names)
        return frames.marked(pd.DataFrame(covariance(self), index=names, columns=names), self)

    @property
    def selected(self) -> tuple[str, ...]:
        """Names of the coefficients that the method selected and that are not exactly zero."""
        return tuple(name for name, kept in zip(self.names, frames.selected(self), strict=True) if kept)

    @property
    def nonzero(self) -> tuple[str, ...]:
        """Names of the coefficients that are not exactly zero, selected by the penalty or free of it."""
        return tuple(name for name, value in zip(self.names, self.estimates, strict=True) if value != 0.0)

    def predict(
        self, new: object, what: Literal["mean", "link", "class"] = "mean", *, interval: float | None = None
    ) -> Prediction:
        """One prediction per row of ``new``.

        Parameters
        ----------
        new : DataFrame, Arrow table or path
            Rows with the formula's variables; the response is not needed.
        what : {"mean", "link", "class"}
            Expected response (a probability for a binomial fit), linear predictor, or more probable level.
        interval : None
            Intervals need the curvature release.

        Returns
        -------
        Series or ndarray, shape (k,)
            With the frame's index where it has one. NaN where a row cannot be predicted, never an error.

        Raises
        ------
        MethodError
            An unknown ``what``, an interval, levels of a fit that is not binomial, or a result that lost its
            map from rows to columns.

        Examples
        --------
        >>> import dpglm
        >>> women = dpglm.load_data("fair")
        >>> fit = dpglm.fit("affair ~ age", women, penalty="none", privacy=None)
        >>> fit.predict(women.head(2), what="class").isin(["no", "yes"]).all().item()
        True
        """
        return predict(self, new, what=what, interval=interval)

    def summary(self) -> Table:
        """Model, price, coefficients and the guarantee in one table.

        Returns
        -------
        Table
            ``print()`` writes text, a notebook shows HTML; ``to_html()``, ``to_latex()``, ``to_markdown()``.
            ``-`` marks what was not released. The first line of a fit without a guarantee says NOT PRIVATE.
        """
        return summary(self)

    def tidy(self, *, exponentiate: bool = False) -> pd.DataFrame:
        """One row per coefficient, columns named as in R's broom.

        Parameters
        ----------
        exponentiate : bool
            Estimates and interval ends as ratios: odds ratios for a logit link.

        Returns
        -------
        DataFrame
            term, estimate, std_error, statistic, p_value, conf_low, conf_high, selected, sampling_se and
            privacy_se; NaN where absent.
        """
        return frames.tidy(self, exponentiate=exponentiate)

    def glance(self) -> pd.DataFrame:
        """One row for the fit: model, size, price.

        Returns
        -------
        DataFrame
            family, link, penalty, strength, method, goal, n_terms, n_selected, epsilon, delta, mu, relation,
            unit, nobs (NaN where the number of rows is private) and private. Without a guarantee, epsilon,
            delta and mu are NaN.
        """
        return frames.glance(self)

    def odds_ratios(self) -> pd.DataFrame:
        """Odds ratios, columns term, odds_ratio, conf_low, conf_high, selected.

        Raises
        ------
        MethodError
            The link is not the logit.
        """
        return frames.odds_ratios(self)

    @property
    def privacy(self) -> Guarantee:
        """What was promised: ``privacy.statement()`` says it in one sentence."""
        return self.guarantee

    @property
    def spend(self) -> pd.DataFrame:
        """One row per release: release, epsilon, delta, mu and share of the fit's budget."""
        return frames.spend(self)

    def __str__(self) -> str:
        return str(self.summary())

    def __repr__(self) -> str:
        kept = f"epsilon={budget(self.guarantee.epsilon)}, delta={budget(self.guarantee.delta)}"
        facts = ", ".join((repr(self.formula), self.family, self.penalty, self.method, self.alarm or kept))
        return f"<{type(self).__name__} {facts}>"

    def _repr_html_(self) -> str:
        return self.summary().to_html()

    def _series(self, values: Any, name: str) -> pd.Series[float]:
        import pandas as pd

        series = pd.Series(values.copy(), index=list(self.names), name=name)
        series.attrs["privacy"] = self.alarm or self.guarantee.statement()
        return series
