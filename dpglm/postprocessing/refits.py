"""Other penalties, other strengths and whole paths, from what was released: none of it costs privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties import Penalty, penalised_terms, penalties
from dpglm.glm.penalties.base import strength_of
from dpglm.inference.coefficients import (
    Coefficients,
    chosen_path,
    coefficients,
    of_scaled,
    on_user_scale,
    quadratic,
    scaling_of,
)
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.selection import benjamini_hochberg
from dpglm.inference.selection import refit as refit_on
from dpglm.postprocessing.intervals import p_values
from dpglm.postprocessing.record import FitRecord
from dpglm.registry import require_word
from dpglm.tables.table import ABSENT, Column, Summarised, Table, coefficient
from dpglm.typing import FloatMatrix, FloatVector, IntVector, is_intercept

if TYPE_CHECKING:
    import pandas as pd

MOST_TERMS = 60
FREE = "to numbers that were released before: no further privacy cost"


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientPath(Summarised):
    """Coefficients at each strength of a penalty, computed from released numbers alone.

    That of a fit without privacy is exact instead, and NOT PRIVATE.

    Attributes
    ----------
    penalty : str
        Name of the penalty.
    names : tuple of str
        The user's coefficients.
    strengths : ndarray, shape (k,)
        From strong to weak, sum units: the loss is a sum over rows.
    coefficients : ndarray, shape (k, p)
        On the original scale; zeros are exact.
    chosen : int
        Place with the least BIC, or, without privacy, of the strength of the fit.
    rule : str
        By which it was chosen.
    losses, errors : ndarray, shape (k,), or None
        Mean held-out loss and its standard error, where a fit without privacy was cross-validated.
    privacy : str
        What was promised.
    """

    penalty: str
    names: tuple[str, ...]
    strengths: FloatVector
    coefficients: FloatMatrix
    chosen: int
    rule: str = "least BIC"
    losses: FloatVector | None = None
    errors: FloatVector | None = None
    privacy: str = ""

    @property
    def counts(self) -> IntVector:
        """Number of coefficients that are not zero, the intercept left out, shape (k,)."""
        used = [not is_intercept(name) for name in self.names]
        return np.asarray((self.coefficients[:, used] != 0.0).sum(axis=1), dtype=np.int64)

    def to_frame(self) -> pd.DataFrame:
        """One row a strength, one column a coefficient."""
        import pandas as pd

        index = pd.Index(self.strengths, name="strength")
        return pd.DataFrame(self.coefficients, index=index, columns=list(self.names))

    def summary(self) -> Table:
        """Where each coefficient enters, the first one first, and its value at the chosen strength."""
        nonzero = self.coefficients != 0.0
        entered = np.where(nonzero.any(axis=0), nonzero.argmax(axis=0), len(self.strengths))
        order = np.argsort(entered, kind="stable")[:MOST_TERMS].tolist()
        rows = tuple(
            (
                self.names[j],
                coefficient(float(self.strengths[entered[j]])) if nonzero[:, j].any() else ABSENT,
                coefficient(float(self.coefficients[self.chosen, j])),
            )
            for j in order
        )
        first, last, best = (coefficient(float(self.strengths[k])) for k in (0, -1, self.chosen))
        more = len(self.names) - len(order)
        promise = "" if self._alarm else self.privacy
        notes = (f"{more} coefficients that enter last are not shown." if more else "", promise)
        return Table(
            title=f"Path of penalty {self.penalty}",
            columns=(Column("term", "left"), Column("enters at strength"), Column("chosen")),
            rows=rows,
            wide=(
                ("Strengths", f"{len(self.strengths)}, from {first} to {last}"),
                ("Chosen", f"{best}, {self.rule}"),
            ),
            notes=tuple(filter(None, notes)),
            alarm=self._alarm,
        )

    @property
    def _alarm(self) -> str:
        return self.privacy if self.privacy.startswith("NOT PRIVATE") else ""

    def __repr__(self) -> str:
        sizes = f"{len(self.names)} coefficients at {len(self.strengths)} strengths"
        return " ".join(filter(None, (f"<CoefficientPath of {self.penalty}: {sizes}>", self._alarm)))


def refit(record: FitRecord, penalty: str | Penalty | None, strength: float | None) -> FitRecord:
    """The fit with another penalty or strength; see :meth:`FitResult.refit`."""
    chosen = _penalty(record, penalty, strength)
    contrasts, size = _released(record, "refit"), _size(record)
    total = None if chosen.strength is None else chosen.strength * (size or 1.0)
    scaling = scaling_of(record.user_from_coded, record.names)
    fitted = coefficients(contrasts, scaling, chosen, total, size=size, unit=_unit(record))
    return _with(record, chosen.name, fitted)


def path(record: FitRecord, penalty: str | Penalty | None) -> CoefficientPath:
    """Coefficients over a grid of strengths; see :meth:`FitResult.path`."""
    if not record.guarantee.private and not math.isfinite(record.guarantee.epsilon):
        return _exact(record, penalty)
    chosen = _penalty(record, _sparse(record, penalty), None)
    if chosen.name == "none":
        raise MethodError("a path of penalty 'none'", expected="a penalty", remedy="Use path('l1').")
    scaling = scaling_of(record.user_from_coded, record.names)
    contrasts = _released(record, "path")
    unit = _unit(record)
    steps, index = chosen_path(contrasts, scaling, chosen, size=_size(record), unit=unit)
    users = np.array([on_user_scale(unit * scaled, scaling, contrasts) for scaled in steps.coefficients])
    return CoefficientPath(chosen.name, record.names, steps.strengths, users, index, privacy=record.promise)


def _exact(record: FitRecord, penalty: str | Penalty | None) -> CoefficientPath:
    """The path that a fit without privacy kept; there are no rows to find another one on."""
    name = record.penalty if penalty is None else _penalty(record, penalty, None).name
    known = name == record.penalty
    if record.exact_path is None or not known:
        raise MethodError(
            "a path of a fit without privacy that kept none" if known else "a path of another penalty",
            expected="the fit's own penalty, with a strength chosen by cross-validation",
            remedy="Fit again with strength='cv', or with method=dpglm.methods.NonPrivate(path=True).",
        )
    path = record.exact_path
    return CoefficientPath(
        record.penalty,
        record.names,
        path.whole * path.strengths,
        path.coefficients,
        path.chosen,
        f"one standard error, {path.folds} folds" if path.folds else "given",
        path.losses if path.folds else None,
        path.errors if path.folds else None,
        record.promise,
    )


def select(
    record: FitRecord, rule: Literal["bic", "fdr"], q: float, penalty: str | Penalty | None
) -> FitRecord:
    """A list of coefficients by BIC or by false discovery rate; see :meth:`FitResult.select`."""
    require_word("rule", rule, ("bic", "fdr"), "Use rule='fdr' for a list with few false discoveries.")
    if rule == "bic":
        return refit(record, _sparse(record, penalty), None)
    if penalty is not None:
        raise MethodError(
            "a penalty with rule='fdr'",
            expected="no penalty: the rule looks at tests of unpenalised estimates",
            remedy="Leave penalty out, or use rule='bic'.",
        )
    scaling = scaling_of(record.user_from_coded, record.names)
    tests = np.where(scaling.penalised, p_values(record), np.nan)
    listed = benjamini_hochberg(tests, q) | ~scaling.penalised
    contrasts = _released(record, "select")
    scaled = refit_on(*quadratic(contrasts, scaling), listed)
    return _with(record, f"none; list by FDR at {q:g}", of_scaled(scaled, None, scaling, contrasts))


def _sparse(record: FitRecord, penalty: str | Penalty | None) -> str | Penalty | None:
    """The penalty of a path: the fit's own for None, or "l1" if that does not select."""
    selects = record.penalty.split(";")[0] not in ("none", "l2")
    return "l1" if penalty is None and not selects else penalty


def _released(record: FitRecord, what: str) -> Contrasts:
    if record.predictor is not None:
        raise MethodError(
            f"{what} of {record.predictor.title}, which released no information matrix",
            expected="one model with a released information matrix",
            remedy="Fit again with method='objective' and goal='explain'.",
        )
    if record.contrasts is None:
        raise MethodError(
            f"{what} of a fit that released no information matrix",
            expected="goal='explain' with a budget that pays for an information matrix",
            remedy="Fit again with family='binomial': a margin loss has no information matrix to release."
            if record.link == "margin"
            else "Fit again with goal='explain' and penalty='none', or a larger budget; "
            "dpglm.plan tells what to expect.",
        )
    return record.contrasts


def _penalty(record: FitRecord, penalty: str | Penalty | None, strength: float | None) -> Penalty:
    """The penalty object with its strength."""
    name = record.penalty.split(";")[0] if penalty is None else penalty
    chosen = penalties[name]() if isinstance(name, str) else name
    if not isinstance(chosen, Penalty):
        raise MethodError(
            f"penalty of type {type(chosen).__name__}",
            expected="a name or an object of dpglm.penalties",
            remedy="Use penalty='l1/2'.",
        )
    penalised = np.array([not is_intercept(term) for term in record.names], dtype=np.bool_)
    chosen = chosen.for_terms(penalised_terms(record.terms, penalised))
    chosen.require_size(int(penalised.sum()))
    strength_of(strength, chosen)
    return chosen if strength is None else chosen.with_strength(strength)


def _unit(record: FitRecord) -> float:
    """What a response of 1 was divided by: half of the range of a number, which a constant centres."""
    bounds = record.response.bounds if record.specification.family.name == "gaussian" else None
    if bounds is None:
        return 1.0
    low, high = bounds
    return 0.5 * high - 0.5 * low if "Intercept" in record.names else max(abs(low), abs(high))


def _size(record: FitRecord) -> float | None:
    rows = record.specification.rows if record.n_rows is None else record.n_rows
    return float(rows) if isinstance(rows, int) and rows > 0 else None


def _with(record: FitRecord, penalty: str, refitted: Coefficients) -> FitRecord:
    rows = _size(record)
    per_row = None if refitted.strength is None or not rows else refitted.strength / rows
    return replace(
        record,
        penalty=penalty,
        strength=per_row,
        strength_sum=refitted.strength,
        estimates=refitted.estimates,
        coded=refitted.coded,
        selected_mask=refitted.selected,
        description=replace(record.description, penalty_applied=FREE),
    )
