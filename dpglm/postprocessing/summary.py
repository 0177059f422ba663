"""Summary of a result: the printed table, and data frames with the column names of R's broom."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpglm.errors import MethodError
from dpglm.postprocessing.record import FitRecord, LedgerState
from dpglm.postprocessing.uncertainty import (
    DEBIASED,
    PENALISED,
    approximation,
    debiased,
    gaps,
    intervals,
    no_intervals,
    p_values,
    penalised,
    reason,
    selected,
    shares,
    standard_errors,
)
from dpglm.tables.table import (
    ABSENT,
    Column,
    Fact,
    Table,
    balance,
    budget,
    coefficient,
    count,
    p_value,
    share,
    statistic,
)
from dpglm.typing import FloatMatrix, FloatVector

if TYPE_CHECKING:
    import pandas as pd

Marked = TypeVar("Marked", "pd.DataFrame", "pd.Series[float]")

HEADINGS = ("coef", "std err", "z", "P>|z|", "[0.025", "0.975]")
INFORMATION = "information matrix"  # name of its release in the spend
PRICES = ("epsilon", "delta", "mu", "share")
METHOD = "noise-aware GLS on the released information matrix"


def summary(record: FitRecord) -> Table:
    """Facts, coefficients and the guarantee in words; see :meth:`FitResult.summary`."""
    errors, ends = standard_errors(record), intervals(record, 0.95)
    tests, chosen, centre = p_values(record), selected(record), debiased(record)
    apart = record.contrasts is not None and penalised(record)
    part = () if record.part is None else record.part.facts(record)
    rows = tuple(
        (
            name,
            coefficient(record.estimates[j]),
            *((coefficient(centre[j]),) if apart else ()),
            coefficient(errors[j]),
            statistic(centre[j] / errors[j]),
            p_value(tests[j]),
            coefficient(ends[j, 0]),
            coefficient(ends[j, 1]),
            "yes" if chosen[j] else "no",
        )
        for j, name in enumerate(record.names)
    )
    headings = (
        HEADINGS[0] if record.predictor is None else f"approx. {HEADINGS[0]}",
        *(("debiased",) if apart else ()),
        *HEADINGS[1:],
    )
    return Table(
        title=_title(record),
        columns=(Column("term", "left"), *map(Column, headings), Column("selected")),
        rows=rows,
        wide=(("Formula", record.specification.formula), *part, *interval_facts(record)),
        left=model_facts(record),
        right=privacy_facts(record),
        notes=(
            *guarantee_notes(record),
            *((note,) if (note := approximation(record)) else ()),
            *count_notes(record),
            *interval_notes(record),
        ),
        alarm=record.alarm,
    )


def interval_facts(record: FitRecord) -> tuple[Fact, ...]:
    """How intervals are made, and which share of the budget pays for them; nothing without them."""
    if record.contrasts is None:
        return ()
    paid = sum(line.share for line in record.spend_lines if line.release.startswith(INFORMATION))
    price = f", {share(paid)} of the budget" if paid else ""
    return (("Intervals", f"95 %, {METHOD}{price}"),)


def count_notes(record: FitRecord) -> tuple[str, ...]:
    """What becomes of counts beyond the declared bound, and what their variance is taken to be."""
    bounds = record.response.bounds
    if record.link != "log" or bounds is None:
        return ()
    high = f"{bounds[1]:,.10g}"
    clipped = f"Counts above the declared bound of {high} are read as {high}"
    if record.contrasts is None:
        return (f"{clipped}.",)
    return (f"{clipped}; standard errors take the variance of a count to be its mean.",)


def interval_notes(record: FitRecord) -> tuple[str, ...]:
    """What intervals belong to, which coefficients have none, and why."""
    if record.contrasts is None:
        return (f"No standard errors, tests and intervals (-): {no_intervals(record)}.",)
    return (PENALISED if penalised(record) else DEBIASED, *gaps(record))


def model_facts(record: FitRecord) -> tuple[Fact, ...]:
    """Family, penalty, method and rows, as label and text."""
    return (
        ("Family", family_text(record)),
        ("Penalty", record.penalty),
        ("Strength", strength_text(record)),
        ("Method", record.specification.method.name),
        ("Goal", record.specification.goal),
        ("Rows", "not released" if record.n_rows is None else count(record.n_rows)),
    )


def family_text(record: FitRecord) -> str:
    """Family and link; a margin loss has no link."""
    link = "margin loss" if record.link == "margin" else f"{record.link} link"
    return f"{record.specification.family.name} ({link})"


def privacy_facts(record: FitRecord) -> tuple[Fact, ...]:
    """Epsilon, delta, mu, who is protected and the ledger, as label and text.

    A seeded fit shows the price it would have had as "not kept".
    """
    guarantee = record.guarantee
    not_private = "" if guarantee.private else " (not kept)"
    facts = []
    for label, value in (("epsilon", guarantee.epsilon), ("delta", guarantee.delta), ("mu", guarantee.mu)):
        text = budget(value) if math.isfinite(guarantee.epsilon) else ABSENT
        facts.append((label, text if text == ABSENT else f"{text}{not_private}"))
    for label, text in (("relation", guarantee.relation), ("unit", guarantee.unit)):
        facts.append((label, text if guarantee.private else ABSENT))
    if record.ledger is not None:
        facts.append(("ledger", ledger_text(record.ledger)))
    return tuple(facts)


def guarantee_notes(record: FitRecord) -> tuple[str, ...]:
    """The guarantee in one sentence, and its assumptions where the sentence does not name them."""
    sentence = record.guarantee.statement()
    if not record.private:
        return (sentence,)
    left_out = [text for text in record.guarantee.assumptions if text not in sentence]
    return (sentence, f"Assumptions: {'; '.join(left_out)}.") if left_out else (sentence,)


def strength_text(record: FitRecord) -> str:
    """The penalty strength per row and of the whole sum, as far as they are public, else ``"-"``."""
    parts = [] if record.strength is None else [f"{coefficient(record.strength)} per row"]
    if record.strength_sum is not None:
        total = coefficient(record.strength_sum)
        parts.append(f"(sum {total})" if parts else f"{total} in all")
    return " ".join(parts) or ABSENT


def ledger_text(state: LedgerState) -> str:
    """What is left after this fit, rounded down."""
    left = f"{balance(state.remaining_epsilon)} of {budget(state.budget_epsilon)} left"
    if state.budget_delta > 0.0:
        left += f", delta {balance(state.remaining_delta)} of {budget(state.budget_delta)}"
    return f"{state.dataset}: {left}"


def _title(record: FitRecord) -> str:
    kind = "classifier" if record.link == "margin" else "regression"
    if record.predictor is not None:
        kind += f", {record.predictor.title}"
    if record.private:
        return f"Differentially private {record.specification.family.name} {kind}"
    return f"{record.specification.family.name.capitalize()} {kind}, {record.alarm}"


def tidy(record: FitRecord, *, exponentiate: bool) -> pd.DataFrame:
    """One row per coefficient; see :meth:`FitResult.tidy`."""
    import pandas as pd

    errors, ends, parts = standard_errors(record), intervals(record, 0.95), shares(record)
    centre = debiased(record)
    shown = np.exp if exponentiate else np.array
    with np.errstate(over="ignore"):
        estimates, debiased_estimates, shown_ends = shown(record.estimates), shown(centre), shown(ends)
    frame = pd.DataFrame(
        {
            "term": list(record.names),
            "estimate": estimates,
            "std_error": errors,
            "statistic": centre / errors,
            "p_value": p_values(record),
            "conf_low": shown_ends[:, 0],
            "conf_high": shown_ends[:, 1],
            "selected": selected(record),
            "debiased": debiased_estimates,
            "sampling_se": parts[:, 0],
            "privacy_se": np.hypot(parts[:, 1], parts[:, 2]),
            "adjustment_se": parts[:, 3],
            "reason": [
                no_intervals(record) if record.predictor else reason(decision)
                for decision in record.interval_decisions
            ],
        }
    )
    return marked(frame, record)


def glance(record: FitRecord) -> pd.DataFrame:
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
        "private": guarantee.private,
    }
    # A frame may lose its other columns: an epsilon that was not kept must not be in it.
    if not guarantee.private:
        row |= dict.fromkeys(("epsilon", "delta", "mu", "relation", "unit"))
    columns = {name: [value] for name, value in row.items()}
    return _framed(columns, record, ("strength", "epsilon", "delta", "mu", "nobs"))


def odds_ratios(record: FitRecord) -> pd.DataFrame:
    """Odds ratios with their intervals; see :meth:`FitResult.odds_ratios`."""
    if record.link != "logit":
        raise MethodError(
            f"odds ratios of a fit with the {record.link} link",
            expected="the logit link",
            remedy="Use family='binomial'."
            if record.link == "margin"
            else "Use tidy(exponentiate=True) where ratios make sense.",
        )
    if record.predictor is not None:
        raise MethodError(
            f"odds ratios of {record.predictor.title}",
            expected="one model: the odds of a stack change by another factor at every row",
            remedy="Compare predict(new, what='link') at two rows; submodels() has the models' coefficients.",
        )
    frame = tidy(record, exponentiate=True).rename(columns={"estimate": "odds_ratio"})
    return marked(frame[["term", "odds_ratio", "debiased", "conf_low", "conf_high", "selected"]], record)


def spend(record: FitRecord) -> pd.DataFrame:
    """One row per release; see :attr:`FitResult.spend`."""
    columns = {name: [getattr(line, name) for line in record.spend_lines] for name in ("release", *PRICES)}
    return _framed(columns, record, PRICES)


def _framed(columns: dict[str, list[Any]], record: FitRecord, numbers: tuple[str, ...]) -> pd.DataFrame:
    """A frame whose columns ``numbers`` are doubles, NaN where absent."""
    import pandas as pd

    return marked(pd.DataFrame(columns).astype(dict.fromkeys(numbers, "float64")), record)


def by_term(record: FitRecord, values: FloatMatrix, columns: list[str] | None = None) -> pd.DataFrame:
    """One row of ``values`` per coefficient."""
    import pandas as pd

    return marked(pd.DataFrame(values, index=list(record.names), columns=columns), record)


def series(record: FitRecord, values: FloatVector, name: str) -> pd.Series[float]:
    """One value per coefficient."""
    import pandas as pd

    return marked(pd.Series(values.copy(), index=list(record.names), name=name), record)


def marked(frame: Marked, record: FitRecord) -> Marked:
    """``frame`` with what was promised in its ``attrs``."""
    frame.attrs["privacy"] = record.promise
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
