"""Wald tests of linear restrictions on the user's coefficients, which patsy reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.linalg import eigh
from scipy.special import ndtr

from dpglm.errors import MethodError
from dpglm.inference.contrasts import Contrasts, interval_decisions, wald
from dpglm.postprocessing.contrast import terms_tested
from dpglm.postprocessing.frames import marked
from dpglm.postprocessing.functions import require_information, signed_sum, term_positions
from dpglm.postprocessing.intervals import outer_ends
from dpglm.postprocessing.outer_ends import SHORT
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.uncertainty import no_intervals
from dpglm.tables.table import Column, Summarised, Table, p_value, statistic
from dpglm.typing import FloatMatrix, FloatVector

if TYPE_CHECKING:
    import pandas as pd

Restriction: TypeAlias = (
    "str | Sequence[str] | Mapping[str, float] | FloatVector | FloatMatrix | tuple[Any, Any]"
)


@dataclass(frozen=True)
class WaldResult(Summarised):
    """A Wald test.

    Attributes
    ----------
    statistic : float
        Squared distance from the restrictions in units of the covariance of the debiased estimates.
    df : int
        Number of restrictions: degrees of freedom of the chi-squared distribution.
    p_value : float
        NaN, with ``statistic``, where a restriction fails the rule by which intervals are given; of a term,
        where all its directions do.
    restrictions : tuple of str
        What was tested.
    reason : str
        Why there is no p-value, or in how many directions a term was tested; empty where all was tested.
    privacy : str
        What was promised.
    """

    statistic: float
    df: int
    p_value: float
    restrictions: tuple[str, ...]
    reason: str
    privacy: str

    def summary(self) -> Table:
        """The test as a table."""
        words = ", ".join(self.restrictions)
        untested = "No test (-): " if math.isnan(self.p_value) else ""
        told = (f"{untested}{self.reason}.",) if self.reason else ()
        return Table(
            title="Wald test",
            columns=(Column("restrictions", "left"), Column("chi2"), Column("df"), Column("P>chi2")),
            rows=((words, statistic(self.statistic), str(self.df), p_value(self.p_value)),),
            notes=(*told, in_short(self.privacy)),
            alarm=self.privacy if self.privacy.startswith("NOT PRIVATE") else "",
        )


def in_short(promise: str) -> str:
    """The budget of a promise, without what it means; all of a text that promises nothing."""
    budget, meaning, _ = promise.partition(": no set of results")
    return f"{budget}; fit.summary() says what that means." if meaning else promise


def wald_test(record: FitRecord, hypothesis: object) -> WaldResult:
    """Test of linear restrictions; see :meth:`FitResult.wald_test`."""
    if isinstance(hypothesis, str) and (places := term_positions(record, hypothesis.strip())):
        return term_test(record, np.eye(len(record.names))[list(places)])
    rows, values, words = restrictions(hypothesis, record.names)
    statistic_value = p = float("nan")
    if record.contrasts is None:
        reason = no_intervals(record)
    else:
        model, coded = record.contrasts.model, rows @ record.user_from_coded
        contrasts = Contrasts(model, coded)
        with np.errstate(all="ignore"):
            decisions = interval_decisions(contrasts)
        failed = [
            f"{word}: {decision.reason}"
            for word, decision in zip(words, decisions, strict=True)
            if not decision.reported
        ]
        reason = "; ".join(failed)
        if not failed:
            statistic_value, p = wald(model, coded, values, SHORT if len(rows) > 1 else 0.0)
            if len(rows) == 1:
                statistic_value, p = _as_interval(record, contrasts, values, statistic_value, p)
    return WaldResult(statistic_value, len(rows), p, words, reason, record.promise)


def term_test(record: FitRecord, rows: FloatMatrix) -> WaldResult:
    """Test that all functions ``rows``, shape (k, p), of the coefficients are 0, as far as they were told.

    Whether a term is told must not depend on how its levels are coded: a rare first level would hide all
    others. Where a restriction fails the rule for intervals, the directions of the k functions are tested
    that pass it: principal ones, of variance against prior variance. If all functions are 0, so are these.
    """
    whole = wald_test(record, rows)
    if record.contrasts is None or not whole.reason or len(rows) == 1:
        return whole
    model, coded = record.contrasts.model, rows @ record.user_from_coded
    with np.errstate(all="ignore"):
        prior = (coded * model.released.prior_variance) @ coded.T
        scale = np.sqrt(np.diag(prior))
        covariance = Contrasts(model, coded).covariance / np.outer(scale, scale)
        if not np.isfinite(covariance).all():
            return whole
        _, vectors = eigh(covariance, prior / np.outer(scale, scale))
        directions = vectors.T / scale
        decisions = interval_decisions(Contrasts(model, directions @ coded))
        told = directions[[decision.reported for decision in decisions]]
        if not len(told):
            return whole
        statistic_value, p = wald(model, told @ coded, np.zeros(len(told)), SHORT)
    reason = f"tested in {len(told)} of {len(rows)} directions; too little was released of the others"
    return WaldResult(statistic_value, len(told), p, whole.restrictions, reason, record.promise)


def anova(record: FitRecord, kind: int) -> pd.DataFrame:
    """A test of each term; see :meth:`FitResult.anova`."""
    import pandas as pd

    require_information(record, "anova")
    tests = [(name, term_test(record, rows)) for name, rows in terms_tested(record, kind)]
    frame = pd.DataFrame(
        {
            "term": [name for name, _ in tests],
            "statistic": np.array([test.statistic for _, test in tests], dtype=np.float64),
            "df": np.array([test.df for _, test in tests], dtype=np.int64),
            "p_value": np.array([test.p_value for _, test in tests], dtype=np.float64),
            "reason": [test.reason for _, test in tests],
        }
    )
    return marked(frame, record)


def _as_interval(
    record: FitRecord, contrasts: Contrasts, values: FloatVector, statistic_value: float, p: float
) -> tuple[float, float]:
    """Statistic and p-value of one restriction, less where the interval is longer for it.

    The p-value is then 1 less the level of the smallest interval that contains the value.
    """
    near = outer_ends(record, contrasts)
    if near is None:
        return statistic_value, p
    reach = float(near.reach_of(contrasts.estimates, values)[0])
    if reach == abs(float(values[0] - contrasts.estimates[0])):
        return statistic_value, p
    z = reach / float(contrasts.deviations[0])
    return z * z, float(2.0 * ndtr(-z))


def restrictions(
    hypothesis: object, names: tuple[str, ...]
) -> tuple[FloatMatrix, FloatVector, tuple[str, ...]]:
    """Rows R, shape (k, p), and values q, shape (k,), of ``R @ coefficients = q``; each restriction in words.

    The rows are linearly independent.

    Examples
    --------
    >>> names = ("age", "educ", "job[T.clerk]")
    >>> rows, values, _ = restrictions("age = educ, 2*job[T.clerk] - age = 1", names)
    >>> rows.tolist(), values.tolist()
    ([[1.0, -1.0, 0.0], [-1.0, 0.0, 2.0]], [0.0, 1.0])
    """
    if isinstance(hypothesis, str):
        rows, values = _equations(hypothesis, names)
    elif isinstance(hypothesis, Mapping):
        rows, values = _mapped(hypothesis, names)
    elif (
        isinstance(hypothesis, Sequence) and hypothesis and all(isinstance(text, str) for text in hypothesis)
    ):
        rows, values = _equations(list(hypothesis), names)
    else:
        rows, values = _arrays(hypothesis, len(names))
    if not len(rows):
        raise _restriction_error("no restriction")
    if not np.isfinite(rows).all() or not np.isfinite(values).all():
        raise _restriction_error("a restriction with a number that is not finite")
    with np.errstate(over="ignore"):
        lengths = np.sqrt((rows**2).sum(axis=1))
    if not lengths.all():
        raise _restriction_error("a restriction without a coefficient")
    if np.linalg.matrix_rank(rows / lengths[:, None]) < len(rows):
        raise _restriction_error("restrictions that follow from each other, or contradict each other")
    # As a reader would write them: ``age - 2*educ = 0.5``.
    texts = (f"{signed_sum(row, names)} = {value:g}" for row, value in zip(rows, values, strict=True))
    return rows, values, tuple(texts)


def _equations(text: str | list[str], names: tuple[str, ...]) -> tuple[FloatMatrix, FloatVector]:
    """Rows and values of restrictions in words."""
    from patsy import DesignInfo, PatsyError

    try:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            constraint = DesignInfo(list(names)).linear_constraint(text)
    except (PatsyError, ValueError, IndexError, OverflowError):
        raise _restriction_error(f"{text!r}, which is no restriction on these coefficients") from None
    return np.asarray(constraint.coefs), np.asarray(constraint.constants).ravel() + 0.0  # -0.0 becomes 0.0


def _mapped(hypothesis: Mapping[Any, Any], names: tuple[str, ...]) -> tuple[FloatMatrix, FloatVector]:
    """Rows and values of expressions with the values that they are restricted to."""
    texts = []
    for left, value in hypothesis.items():
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not isinstance(left, str) or not is_number:
            raise _restriction_error("a mapping of something else than text to numbers")
        texts.append(f"{left} = {float(value)!r}")
    rows, values = _equations(texts, names)
    if len(rows) != len(texts):
        raise _restriction_error("a mapping with a key that is no single expression")
    return rows, values


def _arrays(hypothesis: object, size: int) -> tuple[FloatMatrix, FloatVector]:
    pair = isinstance(hypothesis, tuple) and len(hypothesis) == 2 and np.ndim(hypothesis[0]) > 0
    try:
        rows = np.atleast_2d(np.asarray(hypothesis[0] if pair else hypothesis, dtype=np.float64))  # type: ignore[index]
        values = np.asarray(hypothesis[1] if pair else np.zeros(len(rows)), dtype=np.float64)  # type: ignore[index]
    except (TypeError, ValueError):
        raise _restriction_error(f"a restriction of type {type(hypothesis).__name__}") from None
    if rows.ndim != 2 or rows.shape[1] != size or not len(rows):
        raise _restriction_error(f"a matrix of shape {rows.shape} for {size} coefficients")
    if values.size not in (1, len(rows)):
        raise _restriction_error(f"{values.size} values for {len(rows)} restrictions")
    return rows, np.broadcast_to(values.ravel(), len(rows)).astype(np.float64)


def _restriction_error(found: str) -> MethodError:
    return MethodError(
        found,
        expected="linear restrictions on the coefficients of this fit",
        remedy='Use a text such as "age = 0" or "age = educ, religious = 0", or a matrix, one row each.',
    )
