"""Parts of a result: the exact path of a fit without privacy, and what the method of one paper adds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from dpglm.errors import MethodError
from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.interval_model import interval_model
from dpglm.inference.linear_model import LinearModel
from dpglm.postprocessing.codec import SelfCoded, decode, encode, store_error
from dpglm.privacy.guarantee import Guarantee
from dpglm.registry import Registry
from dpglm.typing import LATER, BoolVector, FloatMatrix, FloatVector

if TYPE_CHECKING:
    import pandas as pd

    from dpglm.postprocessing.record import FitRecord
    from dpglm.tables.table import Fact


@dataclass(frozen=True, eq=False)
class ExactPath:
    """Exact coefficients at each strength of a penalty, and held-out losses: NOT PRIVATE."""

    strengths: FloatVector  # (k,), falling, per row
    coefficients: FloatMatrix  # (k, p), zeros are exact
    chosen: int  # index of the strength of the fit
    folds: int  # of the cross-validation; 0 if none was run
    losses: FloatVector  # (k,), or (0,): means over the folds of held-out losses of a row, coded response
    errors: FloatVector  # their standard errors
    whole: float  # weight of all rows, > 0, by which a strength per row is one in sum units


@dataclass(frozen=True, eq=False)
class MeasuredScales:
    """Released means and standard deviations of numbers, in which rows were read.

    Parameters
    ----------
    names : tuple of str
        The numbers as the formula writes them, such as ``"np.log1p(gain)"``; k of them.
    means, deviations : ndarray, shape (k,)
        In the units of the formula; deviations are above 0. Noise and floors are in them: they scale a fit,
        and are no estimates to report.
    longer : float
        How many times the root mean square of a row, were its numbers uncorrelated, a row may measure before
        it counts less or is shortened, > 0.
    weight_lost : float or None
        Share of all weight that rows lose by that, from 0 to 1, as the released classes of length tell.
    shortened : bool
        Whether long rows are shortened, and not weighted.
    residual_cut : float or None
        Residuals beyond it are read as that large: in units of the response or, of counts, in Poisson
        standard deviations. None where none are cut.
    steepness : float
        Of the loss: above 1 rows near even odds count more, as noise outweighs sampling.

    Examples
    --------
    >>> import numpy as np
    >>> MeasuredScales(("age",), np.array([50.0]), np.array([12.0]), 1.2, 0.01, False).moments
    {'age': (50.0, 12.0)}
    """

    names: tuple[str, ...]
    means: FloatVector
    deviations: FloatVector
    longer: float
    weight_lost: float | None
    shortened: bool
    residual_cut: float | None = None
    steepness: float = field(default=1.0, metadata=LATER)

    @property
    def at_even_odds(self) -> float:
        """How many times as much rows at even odds count as those far from them."""
        return 2.0 - 1.0 / self.steepness

    def long_rows(self, norm: float) -> str:
        """What becomes of rows longer than ``norm``, in words."""
        how = f"rows longer than {norm:.4g}"
        return how if self.shortened else f"none; {how} count less"

    @property
    def moments(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation by name."""
        return dict(
            zip(self.names, zip(self.means.tolist(), self.deviations.tolist(), strict=True), strict=True)
        )


class ResultPart(SelfCoded):
    """What a paper's method adds, such as a stack of submodels; a frozen dataclass registered in `parts`.

    Its fields are saved by name. The rest of the package knows it through the registry alone. One that the
    report shows has a ``section`` too, see :class:`dpglm.report.section.ReportedPart`.
    """

    name: ClassVar[str]
    # Whether `link` predicts in place of the coefficients, which are then an approximation.
    predicts: ClassVar[bool] = False

    def to_fields(self) -> dict[str, Any]:
        """The name of the part and its fields."""
        return {"part": self.name} | {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def of_fields(cls, values: Mapping[str, Any], name: str) -> Self:
        """The registered part that ``values`` name."""
        word = values.get("part")
        try:
            kind = parts[word] if isinstance(word, str) else None
        except MethodError:
            kind = None
        if kind is None or not issubclass(kind, cls):
            raise store_error(f"{name} of an unknown name", ", ".join(parts))
        rest = {key: item for key, item in values.items() if key != "part"}
        return decode(kind, rest, name)

    def __eq__(self, other: object) -> bool:
        """Equal in all that is saved."""
        if not isinstance(other, ResultPart):
            return NotImplemented
        return bool(encode(self) == encode(other))

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def deals_rows(self) -> bool:
        """Whether rows are dealt to parts that are paid for once, because no row is in two of them."""
        return False

    @property
    def site_guarantees(self) -> tuple[Guarantee, ...]:
        """What each of several sites promised by itself; none where there was one curator."""
        return ()

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is, as in "a stack of 3 models"."""

    def link(self, coded: FloatMatrix) -> FloatVector:
        """The linear predictor of coded rows, shape (n, p) to (n,), where the part predicts."""
        raise NotImplementedError

    def interval_model(self, record: FitRecord) -> LinearModel:
        """The linear model that intervals rest on, of a record with released numbers."""
        assert record.released is not None
        return interval_model(record.released)

    def check(self, record: FitRecord) -> None:
        """Refuse a saved record that this part does not belong to, with a `store_error`."""

    def facts(self, record: FitRecord) -> tuple[Fact, ...]:
        """Lines of the summary, as label and text."""
        return ()

    @property
    def beside(self) -> str:
        """What the same charge released besides, and what all of it promises; a sentence, or empty."""
        return ""

    @property
    def paid_with(self) -> tuple[str, Guarantee] | None:
        """Fingerprint and price of the charge of this and other results; None where it has one of its own."""
        return None

    def no_intervals(self) -> str:
        """Why there are no standard errors, as a sentence can go on; empty where the part changes nothing."""
        return ""

    def submodels(self, record: FitRecord) -> pd.DataFrame | None:
        """One row per model and coefficient, for a part that holds several models."""
        return None

    def candidates(self, record: FitRecord) -> pd.DataFrame | None:
        """One row per candidate, for a part that says what was chosen among several."""
        return None


def linear_model(record: FitRecord) -> LinearModel:
    """The linear model that intervals of a record with released numbers rest on."""
    assert record.released is not None
    return interval_model(record.released) if record.part is None else record.part.interval_model(record)


parts: Registry[ResultPart] = Registry("part of a result", "dpglm.papers")


class TimePeriods(Protocol):
    """The column of a time, and the periods that it counts, in order; or an ordinal response, and stages."""

    @property
    def column(self) -> str: ...
    @property
    def values(self) -> tuple[Any, ...]: ...
    @property
    def stages(self) -> bool: ...


class RowMap(Protocol):
    """The public map from rows to coded columns; lives in the data room, handed in from above."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The data columns that it reads."""

    @property
    def term_columns(self) -> tuple[TermColumns, ...]:
        """The coded columns, with declared prior scales."""

    @property
    def periods(self) -> TimePeriods | None:
        """The periods of discrete-time survival, or stages of ordered levels; None for another response."""

    def submodel(
        self,
        drop: Sequence[str],
        merge: Mapping[str, Mapping[Any, Sequence[Any]]],
        moments: Mapping[str, tuple[float, float]],
        longer: float,
    ) -> Any:
        """The coding of a submodel, its schema and its place in the whole model."""

    def coded(self, frame: object, stage: int | None = None) -> tuple[FloatMatrix, FloatVector]:
        """Coded rows, shape (k, p), NaN in rows that cannot be predicted, and offsets, shape (k,).

        At a ``stage`` of an ordinal response, by its place, where one is given.
        """

    def beyond(self, frame: object, stage: int | None = None) -> Mapping[str, BoolVector]:
        """Which values of each column lie beyond its bounds and are read as the nearer one, shape (k,)."""

    def predictors(self, frame: object, coded: FloatVector) -> tuple[FloatVector, FloatVector]:
        """Coded rows of a very wide design times coded coefficients, and offsets, shapes (k,)."""
