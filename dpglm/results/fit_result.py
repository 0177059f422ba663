"""Fit result: what a fit gives back, made of released numbers and public facts and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dpglm.glm.penalties import Penalty
from dpglm.postprocessing import refits, store, summary, uncertainty, wald
from dpglm.postprocessing.prediction import Prediction, auc, predict
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.refits import CoefficientPath
from dpglm.postprocessing.specification import SpecificationDocument
from dpglm.postprocessing.spending import LedgerState
from dpglm.postprocessing.wald import Restriction, WaldResult
from dpglm.privacy.description import MethodDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.report.page import render
from dpglm.report.plots import plot
from dpglm.tables.content import one_line
from dpglm.tables.number import budget
from dpglm.tables.table import Table
from dpglm.typing import FloatVector

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class FitResult:
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

    _record: FitRecord

    @property
    def formula(self) -> str:
        """The formula as given."""
        return self._record.specification.formula

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients, formula order."""
        return self._record.names

    @property
    def n_rows(self) -> int | None:
        """Number of rows where the relation makes it public, else None."""
        return self._record.n_rows

    @property
    def version(self) -> str:
        """Version of dpglm that made the fit."""
        return self._record.version

    @property
    def specification(self) -> SpecificationDocument:
        """All that was asked for: formula, schema, family, penalty, strength, goal, method and privacy.

        A refit keeps it: the penalty of its own estimates stands in :meth:`glance`.
        """
        return self._record.specification

    @property
    def description(self) -> MethodDescription:
        """The algorithm and its releases: sensitivity, noise and theorem of each."""
        return self._record.description

    @property
    def plan_fingerprint(self) -> str:
        """By which the plan is known that was charged and run; empty where there was none."""
        return self._record.plan_fingerprint

    @property
    def privacy(self) -> Guarantee:
        """What was promised: ``privacy.statement()`` says it in one sentence."""
        return self._record.guarantee

    @property
    def private(self) -> bool:
        """Whether the guarantee holds."""
        return self._record.private

    @property
    def spend(self) -> pd.DataFrame:
        """One row per release: release, epsilon, delta, mu and share of the fit's budget."""
        return summary.spend(self._record)

    @property
    def ledger(self) -> LedgerState | None:
        """The ledger right after this fit was charged; None where there was none."""
        return self._record.ledger

    @property
    def params(self) -> pd.Series[float]:
        """Coefficients on the original scale of the variables, labelled in formula order.

        Of a stack of models: a linear approximation of its log odds, where no model says anything.
        """
        return self._series(self._record.estimates, "params")

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of the debiased coefficients, noise of both releases included.

        They belong to the estimates that no penalty or prior shrinks (column ``debiased`` of :meth:`tidy`),
        for ``penalty="none"`` the coefficients themselves. NaN where a coefficient has no interval.
        """
        return self._series(uncertainty.standard_errors(self._record), "bse")

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of "the coefficient is zero", from the debiased estimates and :attr:`bse`."""
        return self._series(uncertainty.p_values(self._record), "pvalues")

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

        ends = uncertainty.intervals(self._record, level, adjust)
        return summary.marked(pd.DataFrame(ends, index=list(self.names)), self._record)

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the debiased coefficients; NaN in rows and columns of those without an interval."""
        import pandas as pd

        names, covariance = list(self.names), uncertainty.covariance(self._record)
        return summary.marked(pd.DataFrame(covariance, index=names, columns=names), self._record)

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
        return wald.wald_test(self._record, restriction)

    @property
    def selected(self) -> tuple[str, ...]:
        """Names of the coefficients that the method selected and that are not exactly zero."""
        flags = uncertainty.selected(self._record)
        return tuple(name for name, flag in zip(self.names, flags, strict=True) if flag)

    @property
    def nonzero(self) -> tuple[str, ...]:
        """Names of the coefficients that are not exactly zero, selected by the penalty or free of it."""
        estimates = self._record.estimates
        return tuple(name for name, value in zip(self.names, estimates, strict=True) if value != 0.0)

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
        return summary.summary(self._record)

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
        return summary.tidy(self._record, exponentiate=exponentiate)

    def glance(self) -> pd.DataFrame:
        """One row for the fit: model, size, price.

        Returns
        -------
        DataFrame
            family, link, penalty, strength, method, goal, n_terms, n_selected, epsilon, delta, mu, relation,
            unit, nobs (NaN where the number of rows is private) and private. Without a guarantee, epsilon,
            delta and mu are NaN.
        """
        return summary.glance(self._record)

    def refit(self, penalty: str | Penalty | None = None, *, strength: float | None = None) -> FitResult:
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
            The fit released no information matrix, or an unknown penalty.

        Examples
        --------
        >>> import dpglm
        >>> women = dpglm.load_data("fair")
        >>> fit = dpglm.fit("affair ~ age + religious", women, penalty="none", privacy=(4.0, 1e-6), seed=1)
        >>> fit.refit("l1/2").privacy == fit.privacy
        True
        """
        return FitResult(refits.refit(self._record, penalty, strength))

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
            The fit released no information matrix, or kept no path, or an unknown penalty.
        """
        return refits.path(self._record, penalty)

    def select(
        self, rule: Literal["bic", "fdr"] = "bic", *, q: float = 0.1, penalty: str | Penalty | None = None
    ) -> FitResult:
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
            The fit released no information matrix, or an unknown rule, rate or penalty.
        """
        return FitResult(refits.select(self._record, rule, q, penalty))

    def odds_ratios(self) -> pd.DataFrame:
        """Odds ratios, columns term, odds_ratio, debiased, conf_low, conf_high, selected.

        The interval is around ``debiased``, which no penalty shrinks.

        Raises
        ------
        MethodError
            The link is not the logit, or the fit is a stack, whose odds change by another factor at each row.
        """
        return summary.odds_ratios(self._record)

    def predict(
        self, new: object, what: Literal["mean", "link", "class"] = "mean", *, interval: float | None = None
    ) -> Prediction:
        """One prediction per row of ``new``.

        Parameters
        ----------
        new : DataFrame, Arrow table or path
            Rows with the formula's variables; the response is not needed.
        what : {"mean", "link", "class"}
            Expected response (a probability for a binomial fit), linear predictor, or more probable level. A
            support vector machine has levels, by the sign of its linear predictor, and no expected response.
        interval : float, optional
            Coverage of intervals of the expected response or linear predictor, such as 0.95: noise of both
            releases included, the spread of single responses not.

        Returns
        -------
        Series or ndarray, shape (k,)
            With the frame's index where it has one. NaN where a row cannot be predicted, never an error.
        DataFrame
            With ``interval``: columns prediction, conf_low and conf_high. The interval is around the debiased
            prediction, which no penalty shrinks; NaN where it fails the rule by which intervals are given.

        Raises
        ------
        MethodError
            An unknown ``what``, an interval of a fit without a released information matrix, as a stack is,
            levels of a fit whose response has none, an expected response of a margin loss, or a result that
            lost its map from rows to columns.

        Examples
        --------
        >>> import dpglm
        >>> women = dpglm.load_data("fair")
        >>> fit = dpglm.fit("affair ~ age", women, penalty="none", privacy=None)
        >>> fit.predict(women.head(2), what="class").isin(["no", "yes"]).all().item()
        True
        """
        return predict(self._record, new, what=what, interval=interval)

    def auc(self, new: object) -> float:
        """Area under the ROC curve on rows of the user's own: how well the fit ranks them.

        The chance that a row of the second level has the larger linear predictor than one of the first, ties
        counted half (Mann and Whitney).

        The rows must not be those of the fit, but of people who agreed to this use, or public. The number is
        computed from them exactly and without noise: no guarantee of this result covers it. On rows of the
        fit it would tell of these rows what the budget did not pay for, and be too large besides.

        Parameters
        ----------
        new : DataFrame or Arrow table
            Rows with the formula's variables and the response. Rows that cannot be predicted, and those whose
            response is neither of the two levels, are left out.

        Returns
        -------
        float
            Between 0 and 1; NaN where one of the levels has no row.

        Raises
        ------
        MethodError
            A fit whose response has no two levels, rows without the response or in a file, or a result that
            lost its map from rows to columns.

        Examples
        --------
        >>> import dpglm
        >>> women = dpglm.load_data("fair")
        >>> half, other = women.iloc[::2], women.iloc[1::2]
        >>> fit = dpglm.fit("affair ~ age + religious", half, penalty="l2", privacy=1.0, seed=1)
        >>> 0.5 < fit.auc(other) < 0.8
        True
        """
        return auc(self._record, new)

    def submodels(self) -> pd.DataFrame:
        """The models of a stack, one row per model and coefficient that it reads.

        Returns
        -------
        DataFrame
            model; term; estimate, on the original scale of the variables; weight, the model's coefficient in
            the meta model, or its vote.

        Raises
        ------
        MethodError
            The fit is one model.

        Examples
        --------
        >>> import dpglm
        >>> women = dpglm.load_data("fair")
        >>> fit = dpglm.fit("affair ~ age + religious", women, penalty="l2", privacy=1.0, seed=1)
        >>> fit.submodels()
        Traceback (most recent call last):
        dpglm.errors.MethodError: Found: submodels of a fit by method 'objective', which is one model
        Expected: a stack of models
        Remedy: Use tidy(), or fit with method='pst-f'.
        """
        return summary.submodels(self._record)

    def plot(
        self,
        kind: Literal["coef", "variance", "path", "spend", "tradeoff"] = "coef",
        *,
        ax: Axes | None = None,
        path: CoefficientPath | None = None,
    ) -> Axes:
        """Draw a figure of the fit with matplotlib.

        Parameters
        ----------
        kind : {"coef", "variance", "path", "spend", "tradeoff"}
            Coefficients with their intervals; what makes these wide; coefficients along a path of penalty
            strengths; the spend by release; the trade-off curve of the guarantee.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.
        path : CoefficientPath, optional
            What ``"path"`` draws, if not ``fit.path()``.

        Raises
        ------
        MethodError
            An unknown kind, an ``ax`` that is not one of matplotlib's, variances of a fit without standard
            errors, or a path of a fit without a information matrix.
        """
        return plot(self._record, kind, ax=ax, path=path)

    def to_html(self, *, choices: Mapping[str, str] | None = None) -> str:
        """The privacy report: one self-contained HTML page.

        Parameters
        ----------
        choices : mapping of str to str, optional
            The analyst's answers to the checklist of choices made outside the software.

        Raises
        ------
        MethodError
            Answers that are not a mapping of text to text.
        """
        return render(self._record, choices=choices)

    def report(self, path: str | PathLike[str], *, choices: Mapping[str, str] | None = None) -> Path:
        """Write the privacy report to a file, whole or not at all, and return its path.

        Raises
        ------
        StoreError
            The file cannot be written.
        MethodError
            Answers that are not a mapping of text to text.
        """
        return store.write_atomically(path, self.to_html(choices=choices))

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the result as versioned JSON, to be read by :func:`dpglm.load`, and return its path.

        Raises
        ------
        StoreError
            The file cannot be written.
        """
        store.save(self._record, path)
        return Path(path)

    def __str__(self) -> str:
        return str(self.summary())

    def __repr__(self) -> str:
        record, asked = self._record, self.specification
        price = f"epsilon={budget(self.privacy.epsilon)}, delta={budget(self.privacy.delta)}"
        facts = (
            repr(asked.formula),
            asked.family.name,
            record.penalty,
            asked.method.name,
            record.alarm or price,
        )
        return one_line(f"<FitResult {', '.join(facts)}>")

    def _repr_html_(self) -> str:
        return self.summary().to_html()

    def _series(self, values: FloatVector, name: str) -> pd.Series[float]:
        import pandas as pd

        series = pd.Series(values.copy(), index=list(self.names), name=name)
        series.attrs["privacy"] = self._record.promise
        return series
