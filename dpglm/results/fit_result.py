"""Fit result: what a fit gives back, made of released numbers and public facts and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dpglm.glm.penalties import Penalty
from dpglm.postprocessing import between_sites, frames, intervals, refits, restriction, uncertainty
from dpglm.postprocessing.record import SpecificationDocument
from dpglm.postprocessing.summary import summary as printed
from dpglm.report import plots, result_sections
from dpglm.report.exports import export
from dpglm.results.effects import Effects
from dpglm.results.plug_in import PlugIn
from dpglm.tables.table import Table, budget, one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dpglm.postprocessing.refits import CoefficientPath
    from dpglm.report.exports import ExportKind
    from dpglm.report.plots import Kind
    from dpglm.report.section import Subject


class FitResult(Effects, PlugIn):
    """A fitted model: coefficients on the original scale of the variables, and what was promised.

    It follows from released numbers and public facts, so all use of it is free. It holds no data.

    Standard errors, tests and intervals belong to the *debiased* estimates, which no penalty or prior
    shrinks, and include the noise of all releases. They are NaN where the released numbers carry no useful
    interval, and the foot of :meth:`summary` says why. Without a released information matrix there are none,
    and no paths and refits either.

    Raises
    ------
    MethodError
        By a method whose argument is unknown, or that needs what the fit did not release: an information
        matrix for refits, paths and lists, a logit link and one model for odds ratios, a stack for submodels,
        two levels for the area under the curve.
    StoreError
        By ``report`` and ``save``: the file cannot be written.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> fit = dpglm.fit("affair ~ age + religious", women, penalty="none", privacy=(4.0, 1e-6), seed=1)
    >>> list(fit.params.index), fit.private
    (['Intercept', 'age', 'religious'], False)
    >>> fit.wald_test("age = 0, religious = 0").df, fit.predict(women.head(3)).shape
    (2, (3,))
    >>> fit.refit("l1/2").privacy == fit.privacy  # free, and so is all the rest
    True
    >>> 0.5 < fit.auc(women) < 0.8
    True
    >>> fit.tidy(style="broom").columns[:5].tolist()
    ['term', 'estimate', 'std.error', 'statistic', 'p.value']
    """

    @property
    def specification(self) -> SpecificationDocument:
        """All that was asked for; a refit keeps it, and has its own penalty in :meth:`glance`."""
        return self._record.specification

    @property
    def formula(self) -> str:
        """The formula as given."""
        return self._record.specification.formula

    @property
    def n_rows(self) -> int | None:
        """Number of rows where the relation makes it public, else None."""
        return self._record.n_rows

    @property
    def params(self) -> pd.Series[float]:
        """Coefficients on the original scale; of a stack, a linear approximation of its log odds."""
        return frames.series(self._record, self._record.estimates, "params")

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of the debiased estimates (those of ``tidy(debiased=True)``)."""
        return frames.series(self._record, self._record.standard_errors, "bse")

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of "the coefficient is zero", from the debiased estimates and :attr:`bse`."""
        return frames.series(self._record, intervals.p_values(self._record), "pvalues")

    def conf_int(self, level: float = 0.95, *, adjust: Literal["fcr"] | None = None) -> pd.DataFrame:
        """Interval ends, columns 0 (lower) and 1 (upper), around the debiased estimates.

        Valid whatever was selected: the estimates exist before anything is. In a logistic fit the end away
        from zero may lie further out than the standard error says, and so does that of a level where
        responses get more alike: near separation at infinity, see ``docs/methods.md``. Of slopes within
        levels, and what goes with them, both ends may; in linear regression that of a strong effect away
        from zero may. The interval of a coefficient without a standard error is wide and rests mostly on the
        prior scale: ``tidy()`` calls it not ``reliable``.

        Parameters
        ----------
        level : float
            Coverage, between 0 and 1 (statsmodels asks for ``alpha = 1 - level`` instead).
        adjust : {None, "fcr"}
            ``"fcr"``: intervals for the selected coefficients that have a standard error, wide enough that
            the expected share of them that miss is at most ``1 - level`` (Benjamini and Yekutieli 2005,
            JASA 100(469)).
        """
        return frames.by_term(self._record, intervals.intervals(self._record, level, adjust))

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the debiased estimates, shape (p, p)."""
        return frames.by_term(self._record, uncertainty.covariance(self._record), list(self.names))

    @property
    def selected(self) -> tuple[str, ...]:
        """Names of the coefficients that the method selected and that are not exactly zero."""
        flags = intervals.selected(self._record)
        return tuple(name for name, flag in zip(self.names, flags, strict=True) if flag)

    @property
    def nonzero(self) -> tuple[str, ...]:
        """Names of the coefficients that are not exactly zero, selected by the penalty or free of it."""
        estimates = self._record.estimates
        return tuple(name for name, value in zip(self.names, estimates, strict=True) if value != 0.0)

    def summary(self) -> Table:
        """Model, price, coefficients and the guarantee in one table; ``-`` marks what was not released.

        A penalised fit with a released information matrix has a second table: the debiased estimates, with
        their tests and intervals. Printed it is text, in a notebook HTML; ``to_html()``, ``to_latex()`` and
        ``to_markdown()`` write it.
        """
        return printed(self._record)

    def tidy(
        self, *, exponentiate: bool = False, debiased: bool = False, style: frames.Style = "dpglm"
    ) -> pd.DataFrame:
        """One row per coefficient, columns named as in R's broom; all of a row is about one estimate.

        Parameters
        ----------
        exponentiate : bool
            Estimates and interval ends as ratios: odds ratios for a logit link.
        debiased : bool
            The debiased estimates, which no penalty shrinks, with their tests and intervals. A penalised fit
            has none beside its own coefficients; without a penalty they are the same.
        style : {"dpglm", "broom"}
            ``"broom"``: the column names of R's broom, std.error, p.value, conf.low and conf.high, for what
            reads these; our other columns follow.

        Returns
        -------
        DataFrame
            term, estimate, std_error, statistic, p_value, conf_low, conf_high; reliable, whether there is a
            standard error, of an estimate within two prior scales unless the fit is logistic (other intervals
            rest mostly on prior scales); selected (of the fit's own coefficients); sampling_se, privacy_se
            and adjustment_se, whose squares add up to that of std_error; and reason, why there is no standard
            error. NaN where absent.
        """
        return frames.tidy(self._record, exponentiate=exponentiate, debiased=debiased, style=style)

    def glance(self, *, style: frames.Style = "dpglm") -> pd.DataFrame:
        """One row for the fit: model, size, price; epsilon, delta and mu are NaN without a guarantee.

        family, link, penalty, strength, method, goal, n_terms, n_selected, epsilon, delta, mu, relation,
        unit, nobs (NaN where the number of rows is private), sigma, dispersion and private. Sigma is the
        residual standard error of a gaussian fit, and dispersion its square; of counts, the variance over the
        mean. Both are of rows and residuals that count, and NaN where they were not released.
        ``style="broom"``: logLik, AIC, BIC and nobs first, as in R; criteria are NaN unless ``privacy=None``
        and there is no penalty.
        """
        return frames.glance(self._record, style)

    def odds_ratios(self, *, debiased: bool = False) -> pd.DataFrame:
        """Odds ratios, columns term, odds_ratio, conf_low, conf_high, selected; ``debiased`` as in `tidy`."""
        return frames.odds_ratios(self._record, debiased=debiased)

    def submodels(self) -> pd.DataFrame:
        """The models of a stack, one row per model and coefficient: model, term, estimate, weight."""
        return frames.submodels(self._record)

    def candidates(self) -> pd.DataFrame:
        """What `dpglm.tune` chose among, one row each: candidate, error, noise_sd, chosen.

        Mean squared errors on rows held out, NaN where none was released.
        """
        return frames.candidates(self._record)

    def heterogeneity(self) -> pd.DataFrame:
        """How the sites of a pooled fit differ, one row per coefficient.

        Returns
        -------
        DataFrame
            term; sites, which have a standard error of their own; Cochran's q, df and p_value; i_squared, the
            share of the spread of their estimates that noise and sampling do not explain. With random
            effects tau, the standard deviation between sites by REML, that of the intercept at the mean of
            the columns; and pred_low and pred_high, the 95 % prediction interval of another site.
        """
        return between_sites.heterogeneity_frame(self._record)

    def leave_one_out(self) -> pd.DataFrame:
        """A pooled fit without each of its sites: without, term, estimate, std_error, conf_low, conf_high.

        With random effects the variances between sites stay those of all sites.
        """
        return between_sites.leave_one_out(self._record)

    def refit(
        self,
        penalty: str | Penalty | None = None,
        *,
        strength: float | None = None,
        drop: str | Sequence[str] | None = None,
        merge: Mapping[str, Mapping[Any, Sequence[Any]]] | None = None,
    ) -> FitResult:
        """The same fit with another penalty or strength, or a submodel: same guarantee and spend, no price.

        Parameters
        ----------
        penalty : str or Penalty, optional
            Any penalty, convex or not; None keeps the present one, and is no penalty for a submodel.
        strength : float, optional
            Per row where the number of rows is public, of the whole sum otherwise; None chooses by BIC.
        drop : str or sequence of str, optional
            Terms to leave out, each with the terms that contain it; the name of a data column leaves out all
            terms that read it.
        merge : mapping, optional
            Levels that become one: ``{"job": {"other": ["x", "y"]}}``. The result predicts for either.

        A submodel of a linear regression is exact. That of another model is refused, by a MethodError, where
        it is too far from the fit; the error says how far, and what can be dropped. Its `specification` is
        that of the submodel.
        """
        if drop is None and merge is None:
            return FitResult(refits.refit(self._record, penalty, strength))
        record = restriction.submodel(self._record, drop, merge)
        if penalty is not None or strength is not None:
            record = refits.refit(record, penalty, strength)
        return FitResult(record)

    def path(self, penalty: str | Penalty | None = None) -> CoefficientPath:
        """Coefficients over 100 strengths of a penalty.

        Parameters
        ----------
        penalty : str or Penalty, optional
            None is the fit's own, or "l1" if that does not select. Without privacy the fit's own only: the
            path that was kept when its strength was cross-validated, with held-out losses.
        """
        return refits.path(self._record, penalty)

    def select(
        self, rule: Literal["bic", "fdr"] = "bic", *, q: float = 0.1, penalty: str | Penalty | None = None
    ) -> FitResult:
        """A list of coefficients of this fit, free of charge; it needs an information matrix.

        ``dpglm.fit(goal="select")`` spends the budget on a sparse model instead. `dpglm.rank_features` ranks
        columns before a fit, also by effects that are not linear.

        Parameters
        ----------
        rule : {"bic", "fdr"}
            The penalised fit of least BIC; or the coefficients whose tests Benjamini and Hochberg's procedure
            rejects, fitted again without the others.
        q : float
            False discovery rate of ``"fdr"``.
        penalty : str or Penalty, optional
            For ``"bic"``; None is the fit's own, or "l1" if that does not select.
        """
        return FitResult(refits.select(self._record, rule, q, penalty))

    def plot(
        self,
        kind: Kind = "coef",
        name: str | None = None,
        *,
        ax: Axes | None = None,
        path: CoefficientPath | None = None,
        grid: pd.DataFrame | None = None,
    ) -> Axes:
        """Draw a figure with matplotlib, on ``ax`` or on new axes.

        Parameters
        ----------
        kind : {"coef", "variance", "path", "spend", "tradeoff", "profile", "sites", "effects", "survival"}
            Coefficients with 95 % intervals, without the intercept; the parts of their variances;
            coefficients against the strength of a penalty, along ``path`` or :meth:`path`; the spend by
            release; least type II error at each type I error of a test for one row; delta against epsilon;
            one coefficient by site, of a pooled fit; average effects of all columns on the mean response, or
            the mean response over the values of one column, as `margins` has them; survival curves.
        name : str, optional
            For ``"sites"`` a coefficient, the first slope by default; for ``"effects"`` a data column.
        grid : DataFrame, optional
            For ``"effects"``: public rows to average over, as for `margins`; for ``"survival"``: a curve for
            each row, ``fit.grid(arm=None)``, at most 8.

        Effects of numbers are per round step, a power of ten of at most a third of the declared range.
        """
        return plots.plot(self._record, kind, name, ax=ax, path=path, grid=grid)

    def export(self, kind: ExportKind, path: str | PathLike[str], *, facts: object = None) -> Path:
        """Write what is filed or printed elsewhere, whole or not at all, and return the path.

        Parameters
        ----------
        kind : {"registry", "ro-crate", "dpia", "methods"}
            A record for the registry of deployments of differential privacy (JSON); a Five Safes RO-Crate
            with report, result and plan (zip); paragraphs for an assessment of data protection (text); a
            paragraph with citations for a journal (text).
        path : str or path
            Of the new file.
        facts : mapping, path or Ledger, optional
            As for :meth:`report`. What people did not state is "not stated"; nothing is approved.

        A MethodError for a result that is NOT PRIVATE, and for a pooled one.
        """
        return export.export([self._record], kind, path, facts)

    def _subject(self) -> Subject:
        return result_sections.fit_subject(self._record)

    def __repr__(self) -> str:
        record, asked = self._record, self.specification
        price = f"epsilon={budget(self.privacy.epsilon)}, delta={budget(self.privacy.delta)}"
        facts = (asked.family.name, record.penalty, asked.method.name, record.alarm or price)
        return one_line(f"<FitResult {asked.formula!r}, {', '.join(facts)}>")
