"""Data frames of a result, with names after R's broom: as Python spells them, or as R does."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.families.binomial import SHIFTED
from dpglm.postprocessing.exact_fit import criterion
from dpglm.postprocessing.functions import why
from dpglm.postprocessing.intervals import intervals, p_values, reliable, selected
from dpglm.postprocessing.labels import shown_names
from dpglm.postprocessing.record import FitRecord, Record
from dpglm.postprocessing.summary import separated
from dpglm.postprocessing.uncertainty import no_intervals, shares
from dpglm.registry import require_word
from dpglm.typing import FloatMatrix, FloatVector, IntVector

if TYPE_CHECKING:
    import pandas as pd

Marked = TypeVar("Marked", "pd.DataFrame", "pd.Series[float]")
Style: TypeAlias = Literal["dpglm", "broom"]

# What R's broom calls our columns, and the criteria of its glance.
BROOM: Final = {name: name.replace("_", ".") for name in ("std_error", "p_value", "conf_low", "conf_high")}
CRITERIA: Final = {"logLik": "llf", "AIC": "aic", "BIC": "bic"}
UNTESTED = "tests are about the debiased estimates: debiased=True"
PRICES = ("epsilon", "delta", "mu", "share")


def tidy(
    record: FitRecord, *, exponentiate: bool, debiased: bool = False, style: Style = "dpglm"
) -> pd.DataFrame:
    """One row per coefficient; see :meth:`FitResult.tidy`."""
    import pandas as pd

    # A row has one estimate: a test is never beside another one than its own.
    untested = separated(record) and not debiased
    absent = np.nan if untested else 1.0
    labels = shown_names(record)
    shown_labels = {"label": list(labels)} if labels != record.names else {}
    broom = is_broom(style)
    errors, ends, parts = record.standard_errors, intervals(record, 0.95), shares(record)
    shown = np.exp if exponentiate else np.array
    with np.errstate(over="ignore"):
        estimates, shown_ends = shown(record.debiased if debiased else record.estimates), shown(ends)
    frame = pd.DataFrame(
        {
            "term": list(record.names),
            **({} if broom else shown_labels),
            "estimate": estimates,
            "std_error": absent * errors,
            "statistic": absent * record.debiased / errors,
            "p_value": absent * p_values(record),
            "conf_low": absent * shown_ends[:, 0],
            "conf_high": absent * shown_ends[:, 1],
            **(shown_labels if broom else {}),
            "reliable": np.zeros(len(errors), dtype=np.bool_) if untested else reliable(record),
            **({} if debiased else {"selected": selected(record)}),
            "sampling_se": absent * parts[:, 0],
            "privacy_se": absent * np.hypot(parts[:, 1], parts[:, 2]),
            "adjustment_se": absent * parts[:, 3],
            "reason": [
                UNTESTED if untested else no_intervals(record) if record.predictor else why(decision)
                for decision in record.interval_decisions
            ],
        }
    )
    return marked(frame.rename(columns=BROOM if broom else {}), record)


def is_broom(style: object) -> bool:
    """Whether columns are named as in R."""
    remedy = "Use style='broom' for the column names of R's broom."
    expected = "'dpglm' (std_error) or 'broom' (std.error)"
    require_word("style", style, get_args(Style), remedy, expected=expected)
    return style == "broom"


def glance(record: FitRecord, style: Style = "dpglm") -> pd.DataFrame:
    """One row per fit; see :meth:`FitResult.glance`."""
    guarantee = record.guarantee
    row: dict[str, Any] = {
        "family": record.specification.family.name,
        "link": record.link,
        "penalty": record.penalty,
        "strength": record.strength,
        "method": record.specification.method.name,
        "goal": record.specification.goal,
        "n_terms": len(record.names),
        "n_selected": int(selected(record).sum()),
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "mu": guarantee.mu,
        "relation": guarantee.relation,
        "unit": guarantee.unit,
        "nobs": record.n_rows,
        "sigma": np.sqrt(record.dispersion) if record.link == "identity" else np.nan,
        "dispersion": record.dispersion,
        "private": guarantee.private,
    }
    # A frame may lose its other columns: an epsilon that was not kept must not be in it.
    if not guarantee.private:
        row |= dict.fromkeys(("epsilon", "delta", "mu", "relation", "unit"))
    criteria: dict[str, Any] = {}
    if is_broom(style):
        criteria = {name: criterion(record, ours) for name, ours in CRITERIA.items()}
        criteria["nobs"] = record.n_rows
    columns = {name: [value] for name, value in (criteria | row).items()}
    numbers = ("strength", "epsilon", "delta", "mu", "nobs", *(CRITERIA if criteria else ()))
    return _framed(columns, record, numbers)


# How to have odds ratios instead of a fit with this link.
_ODDS = {"margin": "Use family='binomial'.", SHIFTED: "Fit with goal='explain'."}


def odds_ratios(record: FitRecord, *, debiased: bool = False) -> pd.DataFrame:
    """Odds ratios with their intervals; see :meth:`FitResult.odds_ratios`."""
    if record.link != "logit":
        raise MethodError(
            f"odds ratios of a fit with the {record.link} link",
            expected="the logit link",
            remedy=_ODDS.get(record.link, "Use tidy(exponentiate=True) where ratios make sense."),
        )
    if record.predictor is not None:
        raise MethodError(
            f"odds ratios of {record.predictor.title}",
            expected="one model: the odds of a stack change by another factor at every row",
            remedy="Compare predict(new, what='link') at two rows; submodels() has the models' coefficients.",
        )
    frame = tidy(record, exponentiate=True, debiased=debiased).rename(columns={"estimate": "odds_ratio"})
    chosen = [] if debiased else ["selected"]
    return marked(frame[["term", "odds_ratio", "conf_low", "conf_high", *chosen]], record)


def spend(record: Record) -> pd.DataFrame:
    """One row per release; see `Result.spend`."""
    columns = {name: [getattr(line, name) for line in record.spend_lines] for name in ("release", *PRICES)}
    return _framed(columns, record, PRICES)


def _framed(columns: dict[str, list[Any]], record: Record, numbers: tuple[str, ...]) -> pd.DataFrame:
    """A frame whose columns ``numbers`` are doubles, NaN where absent."""
    import pandas as pd

    return marked(pd.DataFrame(columns).astype(dict.fromkeys(numbers, "float64")), record)


def by_term(record: FitRecord, values: FloatMatrix, columns: list[str] | None = None) -> pd.DataFrame:
    """One row of ``values`` per coefficient."""
    import pandas as pd

    return marked(pd.DataFrame(values, index=list(record.names), columns=columns), record)


def series(record: Record, values: FloatVector | IntVector, name: str) -> pd.Series[float]:
    """One value per name of the record."""
    import pandas as pd

    return marked(pd.Series(values.copy(), index=list(record.names), name=name), record)


def marked(frame: Marked, record: Record) -> Marked:
    """``frame`` with what was promised in its ``attrs``; a DataFrame that hides nothing when it is shown."""
    if frame.ndim == 2:
        frame = whole_frame()(frame)  # type: ignore[assignment]
    frame.attrs["privacy"] = record.promise
    return frame


@cache
def whole_frame() -> type[pd.DataFrame]:
    """DataFrames that show up to 20 columns, in blocks where lines are short, and whole sentences."""
    import pandas as pd

    shown = ("display.max_columns", 20, "display.max_colwidth", None)

    class Frame(pd.DataFrame):
        __repr__ = pd.option_context(*shown)(pd.DataFrame.__repr__)
        _repr_html_ = pd.option_context(*shown)(pd.DataFrame._repr_html_)  # type: ignore[attr-defined]

        @property
        def _constructor(self) -> type[pd.DataFrame]:
            return Frame

        def __reduce__(self) -> Any:  # a file holds a frame of pandas
            return pd.DataFrame, (), self.__getstate__()

    return Frame


def candidates(record: FitRecord) -> pd.DataFrame:
    """One row per candidate; see :meth:`FitResult.candidates`."""
    frame = None if record.part is None else record.part.candidates(record)
    if frame is None:
        raise MethodError(
            f"candidates of a fit by method {record.specification.method.name!r}, which had none",
            expected="what dpglm.tune gave back",
            remedy="Use tidy(), or choose among candidates with dpglm.tune(...).",
        )
    return frame


def submodels(record: FitRecord) -> pd.DataFrame:
    """One row per model and coefficient that it reads; see :meth:`FitResult.submodels`."""
    frame = None if record.part is None else record.part.submodels(record)
    if frame is None:
        raise MethodError(
            f"submodels of a fit by method {record.specification.method.name!r}, which is one model",
            expected="a stack of models",
            remedy="Use tidy(), or fit with method='pst-f'.",
        )
    return frame
