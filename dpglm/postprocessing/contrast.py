"""Contrasts: differences and other linear functions of coefficients, of levels, and of rows of a grid."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpglm.errors import MethodError
from dpglm.postprocessing.functions import functions, require_information, signed_sum
from dpglm.postprocessing.grid import declaration, grid, row_map_of
from dpglm.postprocessing.labels import factors_of
from dpglm.postprocessing.margins import contrast_frame
from dpglm.postprocessing.record import FitRecord
from dpglm.typing import FloatMatrix, FloatVector

if TYPE_CHECKING:
    import pandas as pd

# One contrast: in words, in coded coefficients, shape (p,), and what offsets add to it.
Coded = tuple[str, FloatVector, float]
MOST_PAIRS: Final = 5_000


def contrast(record: FitRecord, what: object, *, level: float, exponentiate: bool) -> pd.DataFrame:
    """Linear functions with tests and intervals; see :meth:`FitResult.contrast`."""
    require_information(record, "a contrast")
    listed: Sequence[Any] = what if isinstance(what, list | tuple) else [what]
    found = [each for one in listed for each in _coded(record, one)]
    if not found:
        raise _contrast_error("no contrast")
    words, rows, known = zip(*found, strict=True)
    if not all(np.any(row) for row in rows):
        raise _contrast_error("a contrast in which nothing differs")
    estimates = functions(record, np.array(rows), np.array(known), level)
    return contrast_frame(record, list(words), estimates, exponentiate)


def _coded(record: FitRecord, what: object) -> list[Coded]:
    if hasattr(what, "itertuples"):
        return _pairs(record, what)
    if not isinstance(what, Mapping) or not what:
        raise _contrast_error(f"a contrast of type {type(what).__name__}")
    if len(what) == 1 and isinstance(next(iter(what.values())), Mapping):
        ((column, weights),) = what.items()
        return [_of_values(record, str(column), weights)]
    return [_of_coefficients(record, what)]


def _of_coefficients(record: FitRecord, weights: Mapping[Any, Any]) -> Coded:
    """Weights by name of a coefficient."""
    strangers = [str(name) for name in weights if name not in record.names]
    if strangers:
        raise MethodError(
            f"weights of {', '.join(strangers)}",
            expected=f"names of coefficients: {', '.join(record.names)}",
            remedy="Levels of a column are written {'job': {'a': 1, 'b': -1}}.",
        )
    values = np.zeros(len(record.names))
    for name, weight in weights.items():
        values[record.names.index(name)] = _weight(weight)
    return signed_sum(values, record.names), values @ record.user_from_coded, 0.0


def _of_values(record: FitRecord, column: str, weights: Mapping[Any, Any]) -> Coded:
    """Weights by value of one column: of means of the linear predictor over a grid of the other columns."""
    sizes = np.array([_weight(weight) for weight in weights.values()])
    row_map = row_map_of(record)
    declaration(record, column)
    rows, known = np.zeros(len(record.names)), 0.0
    for value, weight in zip(weights, sizes, strict=True):
        coded, offset = row_map.coded(grid(record, {column: value}, all_levels=True))
        rows = rows + weight * coded.mean(axis=0)
        known += weight * float(offset.mean())
    if abs(sizes.sum()) <= 1e-12 * np.abs(sizes).sum():
        known = 0.0 if abs(known) <= 1e-9 * np.abs(sizes).sum() else known
    return signed_sum(sizes, [f"{column}[{value}]" for value in weights]), _cleaned(rows), known


def _pairs(record: FitRecord, rows: Any) -> list[Coded]:
    """The first row of a grid minus the second, of each pair."""
    frame = rows.reset_index(drop=True)
    if not len(frame) >= 2 or len(frame) * (len(frame) - 1) // 2 > MOST_PAIRS:
        raise _contrast_error(f"a grid of {len(frame)} rows", f"2 rows or more, at most {MOST_PAIRS:,} pairs")
    differing = [name for name in frame.columns if frame[name].nunique(dropna=False) > 1]
    words = [", ".join(f"{name}={_plain(frame[name][at])}" for name in differing) for at in range(len(frame))]
    coded, offset = row_map_of(record).coded(frame)
    return [
        (f"({words[i]}) - ({words[j]})", _cleaned(coded[i] - coded[j]), float(offset[i] - offset[j]))
        for i, j in itertools.combinations(range(len(frame)), 2)
    ]


def _cleaned(row: FloatVector) -> FloatVector:
    """A difference of coded rows without what rounding leaves where they agree: separation is then seen."""
    return np.where(np.abs(row) <= 1e-12 * np.abs(row).max(initial=0.0), 0.0, row)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _weight(value: object) -> float:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not np.isfinite(value):  # type: ignore[call-overload]
        raise _contrast_error(f"a weight of type {type(value).__name__}", "finite numbers as weights")
    return float(value)  # type: ignore[arg-type]


def _contrast_error(found: str, expected: str = "weights by name, or rows of a grid") -> MethodError:
    return MethodError(
        found,
        expected=expected,
        remedy="Use {'age': 10}, {'job': {'a': 1, 'b': -1}} or fit.grid(job=['a', 'b']).",
    )


def terms_tested(record: FitRecord, kind: int) -> list[tuple[str, FloatMatrix]]:
    """Each term but the intercept with the restrictions that test it, shape (k, p), of the coefficients.

    Kind 3 restricts a term's own coefficients. Kind 2 tests a term in the model without the terms that
    contain it: restrictions are conjugate to those of the latter, in the covariance of the estimates.
    """
    if kind not in (2, 3):
        raise MethodError(f"type={kind!r}", expected="2 or 3", remedy="Use type=2, as car::Anova does.")
    size, found = len(record.names), []
    for name, places in record.terms:
        if name == "Intercept" or not places:
            continue
        own = np.eye(size)[list(places)]
        above = [at for other, others in record.terms if _contains(other, name) for at in others]
        if kind == 2 and above and record.contrasts is not None:
            joint = record.contrasts.covariance
            across = joint[np.ix_(list(places), above)]
            within = joint[np.ix_(above, above)]
            own = own - np.linalg.solve(within, across.T).T @ np.eye(size)[above]
        found.append((name, own))
    return found


def _contains(larger: str, term: str) -> bool:
    """Whether a term has all factors of another one, and more.

    Examples
    --------
    >>> _contains("age:C(job)", "age"), _contains("age", "age")
    (True, False)
    """
    return set(factors_of(term)) < set(factors_of(larger)) if larger != "Intercept" else False
