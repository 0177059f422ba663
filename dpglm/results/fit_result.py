"""What a fit gives back: released numbers, public facts and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from dpglm.glm.penalties import Penalty
from dpglm.postprocessing import tidy as frames
from dpglm.postprocessing.predicting import PredictingResult
from dpglm.postprocessing.record import LedgerState, RowMap, SpendLine
from dpglm.postprocessing.refits import CoefficientPath, path, refit, select
from dpglm.postprocessing.restrictions import Restriction
from dpglm.postprocessing.summary import summary
from dpglm.postprocessing.uncertainty import (
    covariance,
    intervals,
    p_values,
    selected,
    standard_errors,
)
from dpglm.postprocessing.wald import WaldResult, wald_test
from dpglm.privacy.guarantee import Guarantee
from dpglm.tables.content import one_line
from dpglm.tables.number import budget
from dpglm.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FitResult", "LedgerState", "RowMap", "SpendLine"]


class FitResult(PredictingResult):
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
        """Coefficients on the original scale of the variables, labelled in formula order.

        Of a stack of models: a linear approximation of its log odds, where no model says anything.
        """
        return self._series(self.estimates, "params")

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of the debiased coefficients, noise of both releases included.

        They belong to the estimates that no penalty or prior shrinks (column ``debiased`` of :meth:`tidy`),
        for ``penalty="none"`` the coefficients themselves. NaN where a coefficient has no interval.
        """
        return self._series(standard_errors(self), "bse")

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of "the coefficient is zero", from the debiased estimates and :attr:`bse`."""
        return self._series(p_values(self), "pvalues")

    def conf_int(self, level: float = 0.95, *, adjust: Literal["fcr"] | None = None) -> pd.DataFrame:
        """Interval ends, columns 0 (lower) and 1 (upper), around the debiased estimates.

        Valid whatever was selected: the estimates exist before anything is. NaN where the released numbers
        carry no useful interval; the foot of :meth:`summary` says why, and what repairs it.

        Parameters
        ----------
        level : float
            Coverage, between 0 and 1 (statsmodels asks for ``alpha = 1 - level`` instead).
        adjust : {None, "fcr"}
            ``"fcr"``: intervals for the selected coefficients alone, wide enough that the expected share of
            them that miss is at most ``1 - level``; the others are NaN.

        Raises
        ------
        MethodError
            ``level`` is not between 0 and 1, or an unknown ``adjust``.

        References
        ----------
        .. [1] Benjamini and Yekutieli (2005), "False discovery rate-adjusted multiple confidence intervals
           for selected parameters", JASA 100(469).
        """
        import pandas as pd

        ends = intervals(self, level, adjust)
        return frames.marked(pd.DataFrame(ends, index=list(self.names)), self)

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the debiased coefficients; NaN in rows and columns of those without an interval."""
        import pandas as pd

        names = list(self.names)
        return frames.marked(pd.DataFrame(covariance(self), index=names, columns=names), self)

    def wald_test(self, restriction: Restriction) -> WaldResult:
        """Test of linear restrictions on the coefficients, from released numbers: free, like everything here.

        Parameters
        ----------
        restriction : str, sequence of str, mapping, array or pair of arrays
            ``"age = educ, religious = 0"``; a name alone is restricted to 0. A mapping of expressions to
            values. A matrix R, shape (k, p) or (p,), of restrictions to 0, or a pair (R, q).

        Returns
        -------
        WaldResult
            ``statistic``, ``df``, ``p_value``. NaN, with a ``reason``, where a restriction fails the rule by
            which intervals are given.

        Raises
        ------
        MethodError
            What cannot be read, an unknown name, or restrictions that follow from each other.

        Examples
        --------
        >>> import dpglm
        >>> women = dpglm.load_data("fair")
        >>> fit = dpglm.fit("affair ~ age + religious", women, penalty="none", privacy=(4.0, 1e-6), seed=1)
        >>> fit.wald_test("age = 0, religious = 0").df
        2
        """
        return wald_test(self, restriction)

    @property
    def selected(self) -> tuple[str, ...]:
        """Names of the coefficients that the method selected and that are not exactly zero."""
        return tuple(name for name, kept in zip(self.names, selected(self), strict=True) if kept)

    @property
    def nonzero(self) -> tuple[str, ...]:
        """Names of the coefficients that are not exactly zero, selected by the penalty or free of it."""
        return tuple(name for name, value in zip(self.names, self.estimates, strict=True) if value != 0.0)

    def summary(self) -> Table:
        """Model, price, coefficients and the guarantee in one table.

        Returns
        -------
        Table
            ``print()`` writes text, a notebook shows HTML; ``to_html()``, ``to_latex()``, ``to_markdown()``.
            For a penalised fit the column ``debiased`` holds the estimates that standard errors and intervals
            belong to. ``-`` marks what was not released; the foot says why, and what repairs it. That of a
            stack lists its models, and says that its coefficients are an approximation. The first line of a
            fit without a guarantee says NOT PRIVATE.
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
            term, estimate, std_error, statistic, p_value, conf_low, conf_high, selected; then debiased, the
            estimate that error, test and interval belong to; sampling_se, privacy_se and adjustment_se, whose
            squares add up to that of std_error; and reason, why there is no interval. NaN where absent.
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

    def refit(self, penalty: str | Penalty | None = None, *, strength: float | None = None) -> Self:
        """The same fit with another penalty or strength, from what was released: free, as often as you like.

        Parameters
        ----------
        penalty : str or Penalty, optional
            Any penalty, convex or not; None keeps the present one.
        strength : float, optional
            Per row where the number of rows is public, of the whole sum otherwise; None chooses by BIC.

        Returns
        -------
        FitResult
            With the same guarantee and spend; intervals stay, since they belong to unpenalised estimates.

        Raises
        ------
        MethodError
            The fit released no curvature, or an unknown penalty.

        Examples
        --------
        >>> import dpglm
        >>> women = dpglm.load_data("fair")
        >>> fit = dpglm.fit("affair ~ age + religious", women, penalty="none", privacy=(4.0, 1e-6), seed=1)
        >>> fit.refit("l1/2").privacy == fit.privacy
        True
        """
        return refit(self, penalty, strength)

    def path(self, penalty: str | Penalty | None = None) -> CoefficientPath:
        """Coefficients over 100 strengths of a penalty, from what was released: free.

        A fit without privacy gives the exact path that it kept when its strength was cross-validated, with
        the held-out losses; NOT PRIVATE like the fit.

        Parameters
        ----------
        penalty : str or Penalty, optional
            None is the fit's own, or "l1" if that does not select. Without privacy the fit's own only.

        Returns
        -------
        CoefficientPath
            ``strengths``, ``coefficients`` on the original scale, ``counts``, ``chosen`` by ``rule``,
            ``losses`` and ``errors`` of a cross-validation, ``to_frame()``.

        Raises
        ------
        MethodError
            The fit released no curvature, or kept no path, or an unknown penalty.
        """
        return path(self, penalty)

    def select(
        self, rule: Literal["bic", "fdr"] = "bic", *, q: float = 0.1, penalty: str | Penalty | None = None
    ) -> Self:
        """A list of coefficients, from what was released: free.

        Parameters
        ----------
        rule : {"bic", "fdr"}
            The penalised fit of least BIC; or the coefficients whose tests Benjamini and Hochberg's procedure
            rejects, fitted again without the others.
        q : float
            False discovery rate of ``"fdr"``.
        penalty : str or Penalty, optional
            For ``"bic"``; None is the fit's own, or "l1" if that does not select.

        Raises
        ------
        MethodError
            The fit released no curvature, or an unknown rule, rate or penalty.
        """
        return select(self, rule, q, penalty)

    def odds_ratios(self) -> pd.DataFrame:
        """Odds ratios, columns term, odds_ratio, debiased, conf_low, conf_high, selected.

        The interval is around ``debiased``, which no penalty shrinks.

        Raises
        ------
        MethodError
            The link is not the logit, or the fit is a stack, whose odds change by another factor at each row.
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
        return one_line(f"<{type(self).__name__} {facts}>")

    def _repr_html_(self) -> str:
        return self.summary().to_html()

    def _series(self, values: Any, name: str) -> pd.Series[float]:
        import pandas as pd

        series = pd.Series(values.copy(), index=list(self.names), name=name)
        series.attrs["privacy"] = self.alarm or self.guarantee.statement()
        return series
