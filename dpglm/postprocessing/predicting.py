"""What a result says of new rows, and the models that say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dpglm.papers.stacking.submodels import submodels
from dpglm.postprocessing.prediction import Prediction, predict
from dpglm.postprocessing.ranking import auc
from dpglm.postprocessing.record import FitRecord

if TYPE_CHECKING:
    import pandas as pd


class PredictingResult(FitRecord):
    """The part of a :class:`~dpglm.results.fit_result.FitResult` that is asked with new rows."""

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
            An unknown ``what``, an interval of a fit without a released curvature, as a stack is, levels of a
            fit whose response has none, an expected response of a margin loss, or a result that lost its map
            from rows to columns.

        Examples
        --------
        >>> import dpglm
        >>> women = dpglm.load_data("fair")
        >>> fit = dpglm.fit("affair ~ age", women, penalty="none", privacy=None)
        >>> fit.predict(women.head(2), what="class").isin(["no", "yes"]).all().item()
        True
        """
        return predict(self, new, what=what, interval=interval)

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
        return auc(self, new)

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
        >>> fit.chunks()
        Traceback (most recent call last):
        dpglm.errors.MethodError: Found: submodels of a fit by method 'objective', which is one model
        Expected: a stack of models
        Remedy: Use tidy(), or fit with method='pst-f'.
        """
        return submodels(self)
