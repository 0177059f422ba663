"""The fields of a result: released numbers and public facts, copied and locked."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dpglm.errors import PrivacyError, StoreError
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.empirical import interval_model
from dpglm.inference.exact_path import ExactPath
from dpglm.inference.interval_decision import IntervalDecision, interval_decisions
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.papers.stacking.stack import Stack
from dpglm.postprocessing.released_fields import locked, same
from dpglm.privacy.description import MethodDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

NO_DESCRIPTION = MethodDescription("", ())
MAX_DEPTH = 32  # of nested lists and mappings in schema and mechanism; a schema needs 4


class RowMap(Protocol):
    """The public map from rows to coded columns; lives in the data room, handed in from above."""

    def coded(self, frame: object) -> tuple[FloatMatrix, FloatVector]:
        """Coded rows, shape (k, p), NaN in rows that cannot be predicted, and offsets, shape (k,)."""


@dataclass(frozen=True)
class SpendLine:
    """One release: what it was and what it cost."""

    release: str  # "perturbed minimiser", "solver residual"
    epsilon: float | None
    delta: float | None
    mu: float | None
    share: float  # of the fit's budget, 0..1
    part: int = 0  # of the rows that were dealt, 1, 2, ...: no row is in two of them; 0 reads all rows


@dataclass(frozen=True)
class LedgerState:
    """The ledger as it stood right after this fit was charged."""

    dataset: str
    budget_epsilon: float
    budget_delta: float
    spent_epsilon: float
    spent_delta: float
    remaining_epsilon: float
    remaining_delta: float
    entries: tuple[Mapping[str, Any], ...]  # when, what, status ("charged"|"refused"), epsilon, delta, mu

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", tuple(plain(entry, "ledger") for entry in self.entries))


@dataclass(frozen=True, eq=False)
class FitRecord:
    """Fields of a :class:`FitResult`, without its tables.

    Arrays are copied and read-only; ``schema``, ``mechanism`` and ledger entries become plain dicts, lists
    and scalars, so that nothing in a result can hold on to a frame.
    """

    formula: str
    family: str
    link: str
    penalty: str
    strength: float | None  # per row where n is public; else None (see mechanism["strength_sum"])
    method: str
    goal: str
    names: tuple[str, ...]  # user's coefficients, formula order
    estimates: FloatVector  # (p,) on the original scale
    selected_mask: BoolVector  # (p,)
    coded: FloatVector  # (p,) theta, as released
    user_from_coded: FloatMatrix  # (p, p): estimates = user_from_coded @ coded
    terms: tuple[tuple[str, tuple[int, ...]], ...]  # formula terms and their coefficient positions
    guarantee: Guarantee
    spend_lines: tuple[SpendLine, ...]
    schema: Mapping[str, Any]  # Schema.to_dict()
    mechanism: Mapping[str, Any]  # public facts of the release, JSON scalars, ordered
    n_rows: int | None  # only where the relation makes it public
    ledger: LedgerState | None
    version: str
    released: ScoreAndInformation | None = None  # what intervals and free refits are made of
    exact_path: ExactPath | None = None  # of a fit that was asked for without privacy, and of no other
    description: MethodDescription = NO_DESCRIPTION  # how the method works, public
    stack: Stack | None = None  # several models that predict together; estimates are then an approximation
    row_map: RowMap | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        size = len(self.names)
        for name, shape, kind in (
            ("estimates", (size,), np.float64),
            ("selected_mask", (size,), np.bool_),
            ("coded", (size,), np.float64),
            ("user_from_coded", (size, size), np.float64),
        ):
            array = np.array(getattr(self, name), dtype=kind)
            assert array.shape == shape, f"{name} has shape {array.shape}, not {shape}"
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "names", tuple(self.names))
        terms = tuple(
            (term, tuple(int(position) for position in positions)) for term, positions in self.terms
        )
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "spend_lines", tuple(self.spend_lines))
        for name in ("schema", "mechanism"):
            object.__setattr__(self, name, plain(getattr(self, name), name))
        if self.released is not None:
            assert self.released.size == size, "one released coordinate per coefficient"
            object.__setattr__(self, "released", locked(self.released))
        if self.exact_path is not None:
            assert self.exact_path.coefficients.shape[1] == size, "one coefficient each along the path"
            # Seeded noise carries no promise either, but its numbers are those of a private method.
            if self.guarantee.private or math.isfinite(self.guarantee.epsilon):
                raise PrivacyError(
                    "an exact path in a result with a privacy budget",
                    expected="exact numbers in fits with privacy=None only",
                    remedy="Leave exact_path out.",
                )

        if self.stack is not None:
            assert self.stack.coefficients.shape[1] == size, "one coefficient each in every model of a stack"
            assert self.released is None, "a stack has no released linear model"
            assert self.link == "logit", "a stack gives log odds"

    def __eq__(self, other: object) -> bool:
        """Equal in every field but the row map, arrays to the last bit, an absent number equal to itself."""
        if not isinstance(other, FitRecord):
            return NotImplemented
        return all(
            _same(getattr(self, one.name), getattr(other, one.name))
            for one in fields(FitRecord)
            if one.compare
        )

    def __hash__(self) -> int:
        return hash((self.formula, self.names, self.method, self.version))

    @cached_property
    def contrasts(self) -> Contrasts | None:
        """The user's coefficients estimated from the released linear model; None without a curvature.

        None, too, where numbers are so large or so small that arithmetic fails: an exception would be one
        that depends on data.
        """
        if self.released is None:
            return None
        try:
            with np.errstate(all="ignore"):
                found = Contrasts(interval_model(self.released), self.user_from_coded)
                usable = np.isfinite(found.deviations) & np.isfinite(found.signal)
        except (np.linalg.LinAlgError, ValueError, ArithmeticError):
            return None
        return found if usable.any() else None

    @cached_property
    def interval_decisions(self) -> tuple[IntervalDecision, ...]:
        """Whether each coefficient has an interval, and why not."""
        if self.contrasts is None:
            return (IntervalDecision(False),) * len(self.names)
        with np.errstate(all="ignore"):
            return interval_decisions(self.contrasts)

    @property
    def private(self) -> bool:
        """Whether the guarantee holds."""
        return self.guarantee.private

    @property
    def alarm(self) -> str:
        """``"NOT PRIVATE: reason"``, or nothing for a private result; part of every output."""
        return "" if self.guarantee.private else f"NOT PRIVATE: {self.guarantee.reason or 'no guarantee'}"


def plain(value: object, name: str, *, depth: int = 0) -> Any:
    """A copy of ``value`` made of dicts with text keys, lists and scalars only.

    Raises
    ------
    StoreError
        ``value`` holds something that JSON cannot keep, such as a frame or a function.

    Examples
    --------
    >>> plain({"levels": ("no", "yes"), "scale": np.float64(0.5)}, "mechanism")
    {'levels': ['no', 'yes'], 'scale': 0.5}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if depth < MAX_DEPTH:
        if isinstance(value, Mapping):
            return {str(key): plain(item, name, depth=depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item, name, depth=depth + 1) for item in value]
        if isinstance(value, np.ndarray):
            return plain(value.tolist(), name, depth=depth + 1)
    raise StoreError(
        f"{name} with a value of type {type(value).__name__}"
        + (" nested too deep" if depth >= MAX_DEPTH else ""),
        expected="text, numbers, lists and mappings of them",
        remedy=f"Describe it in {name} in words or numbers.",
    )


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, ScoreAndInformation) and isinstance(other, ScoreAndInformation):
        return same(one, other)
    # The text of a float is exact, and that of NaN equals itself.
    return repr(one) == repr(other) if isinstance(one, dict | LedgerState | float) else one == other
