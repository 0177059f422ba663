"""Fit record: released numbers and public facts, typed, copied and locked.

The fields and their types are the format of a saved result, see :mod:`dpglm.postprocessing.codec`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from dpglm.errors import PrivacyError, StoreError
from dpglm.inference.contrasts import Contrasts, IntervalDecision, interval_decisions
from dpglm.inference.linear_model import interval_model
from dpglm.inference.path import ExactPath
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.postprocessing.codec import encode
from dpglm.postprocessing.parts import ResultPart
from dpglm.postprocessing.specification import SpecificationDocument
from dpglm.postprocessing.spending import LedgerState, SpendLine
from dpglm.privacy.description import MethodDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

Value = TypeVar("Value")


class RowMap(Protocol):
    """The public map from rows to coded columns; lives in the data room, handed in from above."""

    def coded(self, frame: object) -> tuple[FloatMatrix, FloatVector]:
        """Coded rows, shape (k, p), NaN in rows that cannot be predicted, and offsets, shape (k,)."""


@dataclass(frozen=True)
class ResponseFacts:
    """The response: its column, with the levels coded 0 and 1, or the bounds beyond which it is clipped."""

    name: str
    levels: tuple[str, str] | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class FitRecord:
    """What a :class:`~dpglm.results.fit_result.FitResult` is made of.

    Arrays are copied and read-only, and mappings become plain values, so that nothing here can hold on to a
    frame.

    Raises
    ------
    StoreError
        Arrays or terms that do not belong to ``names``.
    """

    specification: SpecificationDocument  # of the plan; a refit changes `penalty` only
    names: tuple[str, ...]  # the user's coefficients, formula order
    link: str
    penalty: str  # of these estimates
    strength: float | None  # of the penalty per row, where the number of rows is public
    strength_sum: float | None  # of the penalty, sum units, where it is public
    estimates: FloatVector  # (p,) on the original scale
    selected_mask: BoolVector  # (p,)
    coded: FloatVector  # (p,) theta, as released
    user_from_coded: FloatMatrix  # (p, p): estimates = user_from_coded @ coded
    row_norm: float  # coded rows are divided by it, so that their norm is at most 1
    rows_clipped: str  # which rows are shortened to it, in words
    norm_factor: float | None  # by which rows were scaled further, where that was released
    residual: float | None  # of a solver without noise
    terms: tuple[tuple[str, tuple[int, ...]], ...]  # formula terms and their coefficient positions
    response: ResponseFacts
    guarantee: Guarantee
    spend_lines: tuple[SpendLine, ...]
    description: MethodDescription
    random_source: Literal["operating system", "seeded generator: NOT PRIVATE"]
    n_rows: int | None  # only where the relation makes it public
    ledger: LedgerState | None
    version: str
    plan_fingerprint: str = ""
    released: ScoreAndInformation | None = None  # what intervals and free refits are made of
    exact_path: ExactPath | None = None  # of a fit that was asked for without privacy, and of no other
    part: ResultPart | None = None  # what the method's paper adds
    row_map: RowMap | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        size = len(self.names)
        for name, shape in (
            ("estimates", (size,)),
            ("selected_mask", (size,)),
            ("coded", (size,)),
            ("user_from_coded", (size, size)),
        ):
            if np.shape(getattr(self, name)) != shape:
                raise _shape_error(f"{name} of another length than names")
        if any(not 0 <= position < size for _, positions in self.terms for position in positions):
            raise _shape_error("terms of a coefficient that is not there")
        for item in fields(self):
            if item.compare:
                object.__setattr__(self, item.name, locked(getattr(self, item.name)))
        # Seeded noise carries no promise either, but its numbers are those of a private method.
        if self.exact_path is not None and (self.private or math.isfinite(self.guarantee.epsilon)):
            raise PrivacyError(
                "an exact path in a result with a privacy budget",
                expected="exact numbers in fits with privacy=None only",
                remedy="Leave exact_path out.",
            )
        object.__setattr__(self, "names", tuple(self.names))
        if self.released is not None:
            # Half of twice a number is the number: a symmetric matrix stays as it is.
            information = 0.5 * (self.released.information + self.released.information.T)
            object.__setattr__(self, "released", locked(replace(self.released, information=information)))

    def __eq__(self, other: object) -> bool:
        """Equal in all that is saved; a number that is not finite equals itself."""
        if not isinstance(other, FitRecord):
            return NotImplemented
        return bool(encode(self) == encode(other))

    def __hash__(self) -> int:
        return hash((self.specification.formula, self.names, self.specification.method.name, self.version))

    @cached_property
    def contrasts(self) -> Contrasts | None:
        """The user's coefficients in the released linear model; None without an information matrix.

        None, too, where numbers are so large or so small that arithmetic fails: an exception would be one
        that depends on data.
        """
        if self.released is None:
            return None
        try:
            with np.errstate(all="ignore"):
                contrasts = Contrasts(interval_model(self.released), self.user_from_coded)
                usable = np.isfinite(contrasts.deviations) & np.isfinite(contrasts.signal)
        except (np.linalg.LinAlgError, ValueError, ArithmeticError):
            return None
        return contrasts if usable.any() else None

    @cached_property
    def interval_decisions(self) -> tuple[IntervalDecision, ...]:
        """Whether each coefficient has an interval, and why not."""
        if self.contrasts is None:
            return (IntervalDecision(False),) * len(self.names)
        with np.errstate(all="ignore"):
            return interval_decisions(self.contrasts)

    @property
    def predictor(self) -> ResultPart | None:
        """The part that predicts in place of the coefficients, which are then an approximation of it."""
        return self.part if self.part is not None and self.part.predicts else None

    @property
    def private(self) -> bool:
        """Whether the guarantee holds."""
        return self.guarantee.private

    @property
    def alarm(self) -> str:
        """``"NOT PRIVATE: reason"``, or nothing for a private result; part of every output."""
        return "" if self.guarantee.private else f"NOT PRIVATE: {self.guarantee.reason or 'no guarantee'}"

    @property
    def promise(self) -> str:
        """The guarantee in one sentence, or the alarm."""
        return self.alarm or self.guarantee.statement()


def locked(value: Value) -> Value:
    """A copy whose arrays are read-only doubles or booleans, in dataclasses of dataclasses too."""
    copy: Any = value
    if isinstance(value, np.ndarray):
        copy = np.array(value, dtype=np.bool_ if value.dtype == np.bool_ else np.float64)
        copy.setflags(write=False)
    elif isinstance(value, tuple):
        copy = tuple(locked(item) for item in value)
    elif is_dataclass(value) and not isinstance(value, type):
        changed = {
            item.name: locked(getattr(value, item.name))
            for item in fields(value)
            if item.init and isinstance(getattr(value, item.name), np.ndarray | tuple)
        }
        copy = replace(value, **changed) if changed else value
    elif isinstance(value, np.generic):
        copy = value.item()
    return copy  # type: ignore[no-any-return]


def _shape_error(found: str) -> StoreError:
    return StoreError(
        f"{found} in the result", expected="one entry per name", remedy="Save the result again from the fit."
    )
