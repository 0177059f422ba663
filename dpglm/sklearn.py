"""Estimators with the interface of scikit-learn: `dpglm.fit` behind ``fit(X, y)``, with declared columns.

One call of ``fit`` is one private fit, at the price ``privacy``. Cross-validation, a grid search and a
transformer that learns from rows read them, too, and `dpglm.fit` neither sees nor pays for that.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from dpglm.api import fit as private_fit
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric
from dpglm.data.tables.sources import declared
from dpglm.errors import SchemaError, shown
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.methods.base import Method
from dpglm.postprocessing.labels import quoted
from dpglm.postprocessing.record import Goal
from dpglm.privacy.budget import Privacy
from dpglm.results.fit_result import FitResult
from dpglm.spec.arguments import LedgerOption
from dpglm.typing import FloatMatrix, FloatVector

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError:
    raise ImportError("dpglm.sklearn needs scikit-learn: pip install 'dpglm[sklearn]'") from None

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DPGLMClassifier", "DPGLMRegressor"]


class _DPGLM(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What both estimators share: their parameters, and how X and y become one declared table."""

    _family: ClassVar[str]
    result_: FitResult
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def __init__(
        self,
        *,
        privacy: float | tuple[float, float] | Privacy | None,
        schema: Schema | Mapping[str, Any] | str | PathLike[str] | None = None,
        bounds: tuple[Any, Any] | None = None,
        target: Sequence[Any] | Mapping[str, Any] | None = None,
        family: str | Family | None = None,
        penalty: str | Penalty | None = None,
        strength: float | Literal["cv"] | None = None,
        goal: Goal = "predict",
        method: str | Method = "auto",
        ledger: LedgerOption = None,
        random_state: int | None = None,
    ) -> None:
        # scikit-learn clones an estimator by these attributes: all are checked by fit, before rows are read.
        self.privacy = privacy
        self.schema = schema
        self.bounds = bounds
        self.target = target
        self.family = family
        self.penalty = penalty
        self.strength = strength
        self.goal = goal
        self.method = method
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: object, y: object) -> Self:
        """Fit once, at the price of ``privacy``, charged to ``ledger`` before any row is read.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n, p)
            Private rows. Columns of an array are called x0, x1, ... in the schema.
        y : Series or array_like, shape (n,)
            Private responses; the schema declares them under the name of the Series, else as ``y``.

        Raises
        ------
        SchemaError
            Another shape, or an undeclared column. Otherwise as `dpglm.fit`: never because of a cell.
        """
        frame = self._frame(X, y, fitting=True)
        name = getattr(y, "name", None)
        name = name if isinstance(name, str) and name else "y"
        columns: list[str] = list(frame.columns)
        if name in columns:
            remedy = f"Give X.drop(columns={name!r}), or a Series y of another name."
            raise SchemaError(f"{name} in X and as y", expected="X without the response", remedy=remedy)
        schema = self._schema(X, frame, name)
        unit = None if schema.unit_column is None else schema.unit_column.column
        terms = [quoted(column) for column in columns if column != unit]
        result = private_fit(
            f"{quoted(name)} ~ {' + '.join(terms)}",
            frame.assign(**{name: _one_column(y, len(frame))}),
            schema=schema,
            family=self._family if self.family is None else self.family,
            penalty=self.penalty,
            strength=self.strength,
            privacy=self.privacy,
            goal=self.goal,
            method=self.method,
            ledger=self.ledger,
            seed=self.random_state,
            progress=False,
        )
        assert isinstance(result, FitResult), "one table"
        if self.random_state is not None and self.privacy is not None:
            # Elsewhere it is a habit, and predictions alone would not tell.
            alarm = f"NOT PRIVATE: {result.privacy.reason}. Leave random_state out where rows are private."
            warnings.warn(alarm, stacklevel=2)
        self.result_ = result
        return self

    def _schema(self, X: object, frame: pd.DataFrame, response: str) -> Schema:
        """The declaration of X and y: of the schema, and for what it does not declare of the parameters."""
        schema = declared(X) if self.schema is None else Schema.of(self.schema)
        known = {} if schema is None else dict(schema.variables)
        if self.bounds is not None:
            columns: list[str] = list(frame.columns)
            try:
                low, high = (np.broadcast_to(np.asarray(end, float), len(columns)) for end in self.bounds)
            except (TypeError, ValueError):
                raise SchemaError(
                    f"bounds={shown(self.bounds)}",
                    expected="(low, high): each a number, or one for each column of X",
                    remedy="Write bounds=(0, 100), or declare columns one by one with schema=.",
                ) from None
            ends = zip(columns, low.tolist(), high.tolist(), strict=True)
            known |= {name: Numeric(*pair) for name, *pair in ends if name not in known}
        if self.target is not None:
            known |= Schema.of({response: self.target}).variables
        return Schema(known) if schema is None else replace(schema, variables=known)

    def _frame(self, X: Any, y: object = "no_validation", *, fitting: bool = False) -> pd.DataFrame:
        """X as a frame with the names of its features; refused by its type and shape alone."""
        import pandas as pd

        table = X if isinstance(X, pd.DataFrame) or hasattr(X, "to_pandas") else _two_dimensions(X)
        validate_data(self, table, y, reset=fitting, skip_check_array=True)
        names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(self.n_features_in_)])
        if not len(names):
            raise SchemaError("X with 0 features", expected="a column or more", remedy="Give X columns.")
        frame = table.to_pandas() if hasattr(table, "to_pandas") else pd.DataFrame(table)
        return frame.set_axis(list(names), axis=1)

    def _coefficients(self) -> FloatVector:
        check_is_fitted(self, "result_")
        return np.asarray(self.result_.params, dtype=np.float64)

    def _predicted(self, X: object, what: Literal["mean", "link"]) -> FloatVector:
        check_is_fitted(self, "result_")
        return np.asarray(self.result_.predict(self._frame(X), what), dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A missing cell is what its declaration says; noise is drawn anew in each fit.
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.non_deterministic = self.random_state is None
        return tags


class DPGLMRegressor(RegressorMixin, _DPGLM):  # type: ignore[misc]
    """Linear or Poisson regression with differential privacy, as an estimator of scikit-learn.

    The parameters are those of `DPGLMClassifier`. ``target`` has the public bounds of y; ``family`` is
    ``"gaussian"``, the default, or ``"poisson"``.

    Attributes
    ----------
    coef_ : ndarray, shape (p,)
        Coefficients on the original scale, a column of levels has several; ``result_.names`` names them.
    intercept_ : float
    result_ : FitResult
    n_features_in_, feature_names_in_ : int, ndarray
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from dpglm.sklearn import DPGLMRegressor
    >>> X = np.random.default_rng(1).uniform(0, 10, (2000, 2))
    >>> model = DPGLMRegressor(privacy=(1.0, 1e-6), bounds=(0, 10), target=(0, 50))
    >>> model.fit(X, 3 * X[:, 0] + 5).coef_.shape, model.result_.private
    ((2,), True)
    """

    _family: ClassVar = "gaussian"

    @property
    def coef_(self) -> FloatVector:
        """Coefficients on the original scale, without the intercept."""
        return self._coefficients()[1:]

    @property
    def intercept_(self) -> float:
        """The intercept."""
        return float(self._coefficients()[0])

    def predict(self, X: object) -> FloatVector:
        """Expected response of each row, NaN where it cannot be predicted; shape (n,)."""
        return self._predicted(X, "mean")


class DPGLMClassifier(ClassifierMixin, _DPGLM):  # type: ignore[misc]
    """Logistic regression or a linear support vector machine with differential privacy, in scikit-learn.

    Each ``fit`` has the price ``privacy``, also those of a clone, in cross-validation or a grid search: with
    a ledger each is charged, and one that it does not cover is refused. Without one nobody adds them up.
    `dpglm.tune` chooses privately. A step of a pipeline that learns from the rows, such as StandardScaler,
    and a score on them void the guarantee; columns need no scaling here. ``fit`` cannot see either.

    Parameters
    ----------
    privacy : float, (epsilon, delta), Privacy or None
        Required, as in `dpglm.fit`. None is a fit without privacy, and says so.
    schema : Schema, dict or path, optional
        Public bounds or levels of the columns of X, and of y under the name of its Series, else ``y``. By
        default what `dpglm.declare` attached to X. A column that tells whose a row is is no feature.
    bounds : (low, high), optional
        Public bounds of the columns that the schema does not declare: numbers, or one for each column of X.
    target : list, tuple or dict, optional
        What the schema would declare of y: here the two classes, ``["no", "yes"]``, in sorted order.
    family : str or Family, optional
        ``"binomial"``, ``"huber_svm"`` or ``"softplus_hinge"``; the latter two have no probabilities.
    penalty, strength, goal, method
        As in `dpglm.fit`, but for the default ``goal="predict"``; ``"explain"`` has intervals in ``result_``.
    ledger : Ledger or path, optional
        Charged in each fit, before rows are read.
    random_state : int, optional
        Repeatable noise for tests; the result is then NOT PRIVATE, and a UserWarning says so.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
        As declared.
    coef_, intercept_ : ndarray, shape (1, p) and (1,)
        On the original scale, of ``classes_[1]``; a column of levels has several coefficients.
    result_ : FitResult
        With ``summary()``, ``privacy``, ``report(path)`` and all the rest.
    n_features_in_, feature_names_in_ : int, ndarray
        As in scikit-learn.

    Examples
    --------
    >>> import dpglm
    >>> from dpglm.sklearn import DPGLMClassifier
    >>> women = dpglm.load_data("fair")  # with its schema
    >>> model = DPGLMClassifier(privacy=(1.0, 1e-6))
    >>> X, y = women[["age", "religious", "rate_marriage"]], women["affair"]
    >>> model.fit(X, y).classes_.tolist(), model.predict_proba(X[:2]).shape
    (['no', 'yes'], (2, 2))
    """

    _family: ClassVar = "binomial"
    classes_: NDArray[Any]

    @property
    def coef_(self) -> FloatMatrix:
        """Coefficients on the original scale, without the intercept, in one row."""
        return self._coefficients()[None, 1:]

    @property
    def intercept_(self) -> FloatVector:
        """The intercept."""
        return self._coefficients()[:1]

    def _schema(self, X: object, frame: pd.DataFrame, response: str) -> Schema:
        schema = super()._schema(X, frame, response)
        schema.require([response])
        variable = schema.variables[response]
        levels = variable.levels if isinstance(variable, Categorical) else ()
        self.classes_ = np.array(levels)
        if len(levels) != 2 or not np.array_equal(np.unique(self.classes_), self.classes_):
            raise SchemaError(
                f"{response}: {shown(list(levels)) if levels else 'no levels'}",
                expected="two levels in sorted order, which are the classes in scikit-learn",
                remedy="Write target=['no', 'yes'], or use dpglm.fit, where the second level is the success.",
            )
        return schema

    def decision_function(self, X: object) -> FloatVector:
        """Linear predictor of each row, above 0 where ``classes_[1]`` is predicted; shape (n,)."""
        return self._predicted(X, "link")

    def predict_proba(self, X: object) -> FloatMatrix:
        """Probability of each class, shape (n, 2); a MethodError for a family without probabilities."""
        second = self._predicted(X, "mean")
        return np.column_stack([1.0 - second, second])

    def predict(self, X: object) -> NDArray[Any]:
        """More probable class of each row, shape (n,), NaN where it cannot be predicted."""
        scores = self.decision_function(X)
        labels: NDArray[Any] = self.classes_[(scores > 0.0).astype(int)]
        unknown = np.isnan(scores)
        if unknown.any():
            labels = labels.astype(np.float64 if labels.dtype.kind in "biuf" else object)
            labels[unknown] = np.nan
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _array(cells: object) -> NDArray[Any]:
    """Cells as an array; of none of our dimensions where they make none."""
    try:
        return np.asarray(cells)
    except Exception:  # lists of several lengths, say; its text may hold cells or their number
        return np.empty((0, 0, 0))


def _two_dimensions(X: object) -> NDArray[Any]:
    """X as an array of two dimensions; no message holds a cell or a number of rows."""
    array = _array(X)
    if array.ndim != 2 or np.iscomplexobj(array):
        raise SchemaError(
            f"X of type {type(X).__name__}",
            expected="a DataFrame, or an array of two dimensions with a row per person",
            remedy="Reshape your data: X.reshape(-1, 1) is one column. Of a sparse matrix give X.toarray(). "
            "Complex data not supported.",
        )
    return array


def _one_column(y: object, rows: int) -> NDArray[Any]:
    """Responses by place, shape (n,)."""
    array = _array(y)
    if array.ndim not in (1, 2) or array.shape[0] != rows or array.size != rows:
        raise SchemaError(
            f"y of type {type(y).__name__}, which does not fit X",
            expected="one response for each row of X",
            remedy="y should be a 1d array of as many entries as X has rows.",
        )
    return array if array.ndim == 1 else np.asarray(column_or_1d(array, warn=True))
