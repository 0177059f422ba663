"""What a fitted model says beyond its coefficients: tests, contrasts, means and predictions, all free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from dpglm.errors import NoAttribute
from dpglm.postprocessing import contrast, exact_fit, grid, margins, prediction, survival, wald
from dpglm.postprocessing.record import FitRecord
from dpglm.results.hints import hint
from dpglm.results.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from dpglm.postprocessing.prediction import Prediction
    from dpglm.postprocessing.wald import Restriction, WaldResult


class Effects(Result[FitRecord]):
    """Tests, contrasts, means on public grids and predictions of a fit.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> fit = dpglm.fit("affair ~ age + C(occupation)", women, privacy=(4.0, 1e-6), seed=1)
    >>> list(fit.anova()["term"])
    ['C(occupation)', 'age']
    >>> fit.margins("occupation").shape, fit.contrast({"age": 10})["contrast"].tolist()
    ((6, 7), ['10*age'])
    """

    def wald_test(self, restriction: Restriction) -> WaldResult:
        """Test of linear restrictions on the coefficients.

        Parameters
        ----------
        restriction : str, sequence of str, mapping, array or pair of arrays
            ``"age = educ, religious = 0"``; a name alone is restricted to 0, and that of a term,
            ``"C(job)"``, restricts all its coefficients. A mapping of expressions to values. A matrix R,
            shape (k, p) or (p,), of restrictions to 0, or a pair (R, q).

        The p-value is NaN, with a ``reason``, where a restriction fails the rule for intervals. That of one
        restriction agrees with its interval.
        """
        return wald.wald_test(self._record, restriction)

    def anova(self, type: Literal[2, 3] = 2) -> pd.DataFrame:
        """A Wald test for each term, noise included: term, statistic (chi-squared), df, p_value, reason.

        Parameters
        ----------
        type : {2, 3}
            2 tests a term in the model without the terms that contain it, as ``car::Anova`` of R. 3 tests a
            term's own coefficients in the whole model, as ``wald_test_terms`` of statsmodels; with
            interactions that depends on how levels are coded. Without interactions both are the same.

        A likelihood ratio would need a sum over the rows. The p-value is NaN, with a reason, where a
        coefficient of the term fails the rule for intervals.
        """
        return wald.anova(self._record, type)

    def grid(self, values: Mapping[str, object] | None = None, /, **columns: object) -> pd.DataFrame:
        """A public grid: all combinations of values of the columns that the formula reads.

        Parameters
        ----------
        values, **columns
            A value, a list of values, or None for all levels, by data column: ``grid(age=[30, 60],
            job=None)``; ``grid({"husband's job": None})`` for other names. Columns that are not named have
            their first level, their declared mean, or the middle of their declared bounds. No data are read.
            A value that is not declared is a MethodError.
        """
        return grid.grid(self._record, {**(values or {}), **columns})

    def contrast(self, what: Any, *, level: float = 0.95, exponentiate: bool = False) -> pd.DataFrame:
        """Linear functions of the coefficients with tests and intervals, noise included.

        Parameters
        ----------
        what : mapping, frame, or list of them
            Weights by coefficient: ``{"age": 10}``. Weights by value of one column, ``{"job": {"a": 1, "b":
            -1}}``: of linear predictors, the other columns as in `margins`. A frame of rows, such as
            ``grid(job=None)``: the linear predictor of each row minus that of each later one.
        level : float
            Coverage of the intervals; no allowance is made for several contrasts.
        exponentiate : bool
            Estimates and ends as ratios: odds ratios for a logit link.

        Returns
        -------
        DataFrame
            contrast, estimate, std_error, statistic, p_value, conf_low, conf_high, reliable, reason. Without
            a standard error the interval is wide and rests mostly on prior scales, as in `conf_int`.
        """
        return contrast.contrast(self._record, what, level=level, exponentiate=exponentiate)

    def margins(
        self,
        by: str | Sequence[str] | None = None,
        *,
        effect: str | None = None,
        at: Mapping[str, object] | None = None,
        grid: pd.DataFrame | None = None,
        what: Literal["mean", "link"] = "mean",
        level: float = 0.95,
    ) -> pd.DataFrame:
        """Means of responses, or average effects of a column, over a public grid.

        Parameters
        ----------
        by : str or sequence of str, optional
            Data columns: one mean for each combination of their values.
        effect : str, optional
            A data column: means of the effect of one unit of a number (a derivative), or of each level
            against the first one, instead of means of responses.
        at : mapping, optional
            Values of columns, as in `grid`; several values of a column have a row each, as those of ``by``.
            Over all other columns is averaged: levels weigh the same, and numbers have their declared mean,
            or the middle of their bounds.
        grid : DataFrame, optional
            Public rows of your own, in place of ``at``, averaged but for ``by``. Rows of people would need
            their consent.
        what : {"mean", "link"}
            Scale on which means are taken: expected responses (probabilities), or linear predictors.
        level : float
            Coverage of the intervals.

        Returns
        -------
        DataFrame
            The columns of ``by`` and ``at``, and effect and change; estimate, std_error, conf_low, conf_high,
            reliable and reason; of effects also statistic and p_value. By the delta method, with the
            covariance that `conf_int` uses; ends of means are computed on the scale of the link.
        """
        return margins.margins(self._record, by, effect=effect, at=at, rows=grid, what=what, level=level)

    def survival(
        self, rows: Mapping[str, object] | pd.DataFrame | None = None, *, level: float = 0.95
    ) -> pd.DataFrame:
        """Survival curves of a fit of ``Surv(time, event)``: no event up to the end of each period.

        Of ``family="ordinal"``: the probability of a level above each one.

        Parameters
        ----------
        rows : mapping or DataFrame, optional
            Values by data column, as in `grid`: ``{"arm": None, "age": [30, 60]}``, one curve for each
            combination; or public rows of your own. The time, or the ordinal response, and columns that are
            not read are left out.
        level : float
            Coverage of the interval at each point. It is not that of a whole curve: for k points, level = 1 -
            0.05 / k is enough.

        Returns
        -------
        DataFrame
            The columns of the grid and the time; estimate, std_error, conf_low, conf_high, reliable and
            reason. By the delta method on the scale log(-log(survival)), with the covariance that `conf_int`
            uses: the noise of all releases is in it.
        """
        return survival.survival(self._record, {} if rows is None else rows, level)

    def predict(
        self,
        new: object,
        what: Literal["mean", "link", "class"] = "mean",
        *,
        interval: float | None = None,
        se: bool = False,
    ) -> Prediction:
        """One prediction per row of new data: a Series with the frame's index where it has one.

        Parameters
        ----------
        new : DataFrame, Arrow table, path, or dict of scalars and lists
            Rows with the formula's variables. One that cannot be predicted gives NaN, never an error. A
            number beyond its bounds is read as the nearer one, as in the fit; of a dict a warning tells.
        what : {"mean", "link", "class"}
            Expected response (a probability for a binomial fit), linear predictor, or more probable level. A
            support vector machine has levels, by the sign of its linear predictor, and no expected response.
            ``family="ordinal"``: a frame with the probability of each level, ``"link"`` with the log odds at
            each stage, or the most probable level; `survival` has intervals.
        interval : float, optional
            Coverage, such as 0.95, of intervals around the debiased mean or link: noise of all releases
            included, the spread of single responses not. Then a frame: prediction, conf_low, conf_high.
        se : bool
            A frame of debiased predictions: mean, se, ci_lower, ci_upper (of coverage ``interval``, or .95)
            and reliable; where it is False, se is NaN and the interval wide, or a surprise, or out of bounds.
        """
        return prediction.predict(self._record, new, what=what, interval=interval, se=se)

    def auc(self, new: object) -> float:
        """Area under the ROC curve on rows of the user's own, which no guarantee of this result covers.

        Give a frame or Arrow table with the response, of people who agreed to this use or public. Of the rows
        of the fit the exact number would tell what the budget did not pay for, and be too large besides. Rows
        without a prediction or with neither level are left out; NaN without a row of each level.
        """
        return prediction.auc(self._record, new)

    def _criterion(self, name: str) -> float:
        value = exact_fit.criterion(self._record, name)
        if value is None:
            raise AttributeError(name)  # `__getattr__` is asked next, and says why
        return value

    @property
    def llf(self) -> float:
        """Log-likelihood of a fit with ``privacy=None`` and no penalty; no other has one."""
        return self._criterion("llf")

    @property
    def aic(self) -> float:
        """Akaike's criterion of a fit with ``privacy=None`` and no penalty, as statsmodels' GLM has it."""
        return self._criterion("aic")

    @property
    def bic(self) -> float:
        """Schwarz's criterion (``bic_llf``), without privacy and penalty; as R's, it counts periods."""
        return self._criterion("bic")

    def __getattr__(self, name: str) -> Any:
        """An AttributeError that says what there is in the place of a name of R or statsmodels."""
        exact = name in ("llf", "aic", "bic") and self._record.specification.privacy is None
        raise NoAttribute(hint(type(self).__name__, name, without_privacy=exact), name=name, obj=self)
