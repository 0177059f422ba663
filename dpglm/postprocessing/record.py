"""Fit record: what was asked for, released and spent, as plain values, typed, copied and locked.

The fields and their types are the format of a saved result, see :mod:`dpglm.postprocessing.codec`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, TypeVar

import numpy as np

from dpglm.errors import PrivacyError
from dpglm.inference.contrasts import Contrasts, IntervalDecision, interval_decisions
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.postprocessing.codec import MAX_COEFFICIENTS, MAX_DEPTH, encode, store_error, unsaved_error
from dpglm.postprocessing.parts import ExactPath, MeasuredScales, ResultPart, RowMap, linear_model
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import MethodDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.tables.charges import charge_table
from dpglm.tables.table import Summarised, Table, balance, budget, computed
from dpglm.typing import LATER, BoolVector, FloatMatrix, FloatVector
from dpglm.wide_maps import MOST_DENSE

Value = TypeVar("Value")
Goal = Literal["explain", "predict", "select"]
SPECIFICATION: Final = "dpglm-specification"  # format mark of a specification as JSON


@dataclass(frozen=True)
class Choice:
    """A registered class by name, with those of its options that differ from their defaults.

    Examples
    --------
    >>> Choice("elastic_net", {"l1_ratio": 0.9}).name
    'elastic_net'
    """

    name: str
    options: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", plain_copy(self.options, "options"))


@dataclass(frozen=True)
class SpecificationDocument:
    """All that was asked for, public and complete: a plan follows from it."""

    formula: str
    schema: Mapping[str, object]  # as `Schema.to_dict` writes it
    family: Choice
    penalty: Choice
    method: Choice  # that was used; never "auto"
    strength: float | Literal["cv"] | None  # as the user gave it, per row
    goal: Goal
    privacy: Privacy | None  # the budget with its unit; None without privacy
    weights: str | None = field(default=None, metadata=LATER)  # column of the rows' weights

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", plain_copy(self.schema, "schema"))

    @property
    def rows(self) -> int | None:
        """Number of rows as the schema declares it."""
        rows = self.schema.get("rows")
        return rows if isinstance(rows, int) else None

    def to_json(self) -> str:
        """The text of `dpglm.ModelSpec.to_json`."""
        document = asdict(self)
        if self.weights is None:
            del document["weights"]  # as before there were any
        # Of the columns of a schema the order says nothing; of groups in an option it does.
        document["schema"]["variables"] = dict(sorted(document["schema"]["variables"].items()))
        return json.dumps({"format": SPECIFICATION, **document}, indent=1)


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
class LedgerLine:
    """One line of a ledger."""

    what: str
    status: Literal["charged", "refused"]
    epsilon: float
    delta: float
    mu: float | None
    when: str | None = None  # ISO 8601, UTC
    plan: str = ""  # fingerprint of the plan that was charged


@dataclass(frozen=True)
class LedgerState(Summarised):
    """The ledger as it stood right after this result was charged."""

    dataset: str
    budget_epsilon: float
    budget_delta: float
    spent_epsilon: float
    spent_delta: float
    remaining_epsilon: float
    remaining_delta: float
    entries: tuple[LedgerLine, ...]

    def summary(self) -> Table:
        """Budget, balance and the latest charges as a table."""
        said = (
            ("Budget", budget(self.budget_epsilon), budget(self.budget_delta)),
            ("Spent", budget(computed(self.spent_epsilon)), budget(computed(self.spent_delta))),
            ("Left", balance(self.remaining_epsilon), balance(self.remaining_delta)),
        )
        facts = tuple((label, f"epsilon = {epsilon}, delta = {delta}") for label, epsilon, delta in said)
        return charge_table(self.dataset, facts, self.entries)


@dataclass(frozen=True)
class ResponseFacts:
    """The response: its column, with the levels coded 0 and 1, or the bounds beyond which it is clipped."""

    name: str
    levels: tuple[str, str] | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Record:
    """What every result is made of: its promise, its price, and how it was made.

    Arrays are copied and read-only, so that nothing here can hold on to a frame.
    """

    names: tuple[str, ...]  # of coefficients in formula order, or of columns in the user's
    guarantee: Guarantee
    spend_lines: tuple[SpendLine, ...]
    description: MethodDescription
    random_source: Literal["operating system", "seeded generator: NOT PRIVATE"]
    n_rows: int | None  # only where the relation makes it public
    ledger: LedgerState | None
    version: str
    plan_fingerprint: str = ""
    most_names: ClassVar[int] = MAX_COEFFICIENTS  # of a file

    def __post_init__(self) -> None:
        for item in fields(self):
            if item.compare:
                object.__setattr__(self, item.name, locked(getattr(self, item.name)))

    def __eq__(self, other: object) -> bool:
        """Equal in all that is saved; a number that is not finite equals itself."""
        return encode(self) == encode(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.names, self.version, self.plan_fingerprint))

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


@dataclass(frozen=True, eq=False, kw_only=True)
class FitRecord(Record):
    """What a :class:`~dpglm.results.fit_result.FitResult` is made of.

    A StoreError says that arrays or terms do not belong to ``names``.
    """

    most_names: ClassVar[int] = MOST_DENSE  # of a file: beyond, the map of the coefficients is no matrix
    specification: SpecificationDocument  # of the plan; a refit changes `penalty` only
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
    residual: float | None  # of a solver without noise
    terms: tuple[tuple[str, tuple[int, ...]], ...]  # formula terms and their coefficient positions
    response: ResponseFacts
    released: ScoreAndInformation | None = None  # what intervals and free refits are made of
    exact_path: ExactPath | None = None  # of a fit that was asked for without privacy, and of no other
    scales: MeasuredScales | None = None  # in which rows were read, where these were released
    part: ResultPart | None = None  # what the method's paper adds
    row_map: RowMap | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        size = len(self.names)
        shapes = dict.fromkeys(("estimates", "selected_mask", "coded"), (size,))
        for name, shape in {**shapes, "user_from_coded": (size, size)}.items():
            if np.shape(getattr(self, name)) != shape:
                raise store_error(f"{name} of another length than names", "one entry per name")
        if any(not 0 <= position < size for _, positions in self.terms for position in positions):
            raise store_error("terms of a coefficient that is not there", "one entry per name")
        if self.released is not None:
            # Half of twice a number is the number: a symmetric matrix stays as it is.
            information = 0.5 * (self.released.information + self.released.information.T)
            object.__setattr__(self, "released", replace(self.released, information=information))
        super().__post_init__()
        if self.exact and (self.private or math.isfinite(self.guarantee.epsilon)):
            raise PrivacyError(
                "an exact information matrix in a result with a privacy budget",
                expected="exact numbers in fits with privacy=None only",
                remedy="Leave released out.",
            )
        # Seeded noise carries no promise either, but its numbers are those of a private method.
        if self.exact_path is not None and (self.private or math.isfinite(self.guarantee.epsilon)):
            raise PrivacyError(
                "an exact path in a result with a privacy budget",
                expected="exact numbers in fits with privacy=None only",
                remedy="Leave exact_path out.",
            )

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
                contrasts = Contrasts(linear_model(self), self.user_from_coded)
                told = self.exact | np.isfinite(contrasts.signal)
                usable = np.isfinite(contrasts.deviations) & told
        except (np.linalg.LinAlgError, ValueError, ArithmeticError):
            return None
        return contrasts if usable.any() else None

    @cached_property
    def interval_decisions(self) -> tuple[IntervalDecision, ...]:
        """Whether each coefficient has a standard error, and why not."""
        if self.contrasts is None:
            return (IntervalDecision(False),) * len(self.names)
        with np.errstate(all="ignore"):
            return interval_decisions(self.contrasts)

    @cached_property
    def reported(self) -> BoolVector:
        """Which coefficients have a standard error, shape (p,)."""
        return np.array([decision.reported for decision in self.interval_decisions], dtype=np.bool_)

    @property
    def debiased(self) -> FloatVector:
        """Estimates that no penalty or prior shrinks, shape (p,); NaN where there is no standard error."""
        values = np.nan if self.contrasts is None else self.contrasts.estimates
        return np.where(self.reported, values, np.nan)

    @property
    def standard_errors(self) -> FloatVector:
        """Standard errors of the debiased estimates, shape (p,); NaN where too little was released."""
        return np.where(
            self.reported, np.nan if self.contrasts is None else self.contrasts.deviations, np.nan
        )

    @property
    def promise(self) -> str:
        """The guarantee, and what else the same charge released, in sentences, or the alarm."""
        return " ".join([super().promise, *([self.part.beside] if self.part and self.part.beside else [])])

    @property
    def exact(self) -> bool:
        """Whether standard errors are the classical ones, of a fit without privacy."""
        return self.released is not None and self.released.exact

    @property
    def dispersion(self) -> float:
        """Residual variance of a gaussian fit, variance over mean of counts; NaN where it is not released."""
        released = self.released
        if released is None or (self.link != "identity" and self.exact):
            return math.nan
        variance = released.dispersion / released.weighting
        if self.link == "identity" or released.exponential:
            return variance
        if self.link != "log" or self.response.bounds is None:
            return math.nan
        # Of counts in units of their bound; exactly that of Poisson counts where none was released.
        times = variance * self.response.bounds[1]
        return math.nan if math.isclose(times, 1.0, rel_tol=1e-9) else times

    @property
    def predictor(self) -> ResultPart | None:
        """The part that predicts in place of the coefficients, which are then an approximation of it."""
        return self.part if self.part is not None and self.part.predicts else None


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


def plain_copy(value: object, name: str, depth: int = 0) -> Any:
    """A copy made of dicts with text keys, lists and scalars, so that nothing can hold on to a frame."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        return {str(key): plain_copy(item, name, depth + 1) for key, item in value.items()}
    if depth < MAX_DEPTH and isinstance(value, list | tuple):
        return [plain_copy(item, name, depth + 1) for item in value]
    raise unsaved_error(value, name, depth)
