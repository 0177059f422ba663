"""Notes on what a schema declares: whose a row is, what it counts, and how cells are read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.labels import LABELLED, shown_names
from dpglm.postprocessing.record import FitRecord, SpecificationDocument
from dpglm.privacy.guarantee import Guarantee
from dpglm.tables.table import Fact, coefficient
from dpglm.typing import ROWS_OF

_SURV = re.compile(r"\bSurv\s*\([^~]*~")
# Of their mean: what is cut off of Poisson counts leaves more of their variance.
LITTLE_DISPERSION = 0.8
_SPELLINGS = ("decimal", "thousands", "infinite", "strip", "ignore_case", "aliases")


def declared_notes(record: FitRecord) -> tuple[str, ...]:
    """What a reader of the numbers should know of the declarations."""
    labels = (LABELLED,) if shown_names(record) != record.names else ()
    return (
        *labels,
        *inspected_notes(record),
        *person_notes(record),
        *weight_notes(record),
        *reading_notes(record),
    )


def is_survival(record: FitRecord) -> bool:
    """Whether the response is ``Surv(time, event)``."""
    return _SURV.search(record.specification.formula) is not None


def is_ordinal(record: FitRecord) -> bool:
    """Whether the response is levels in their order, fitted by continuation ratios."""
    return record.specification.family.name == "ordinal"


def rows_word(record: FitRecord) -> str:
    """What the rows of a fit are called: of periods or stages a person has several."""
    return "Stages" if is_ordinal(record) else "Periods" if is_survival(record) else "Rows"


def survival_notes(record: FitRecord) -> tuple[str, ...]:
    """What coefficients of a fit of discrete times, or of ordered levels, are."""
    if is_ordinal(record):
        levels = levels_in_order(record)
        return (
            f"Coefficients are log odds of being above a level of {record.response.name}, of those at it or "
            f"above it: a positive one means higher levels, towards {levels[-1]}. predict() gives the "
            "probability of each level, survival() that of the levels above each one, with intervals.",
        )
    if not is_survival(record):
        return ()
    return (
        "Coefficients are log odds of the hazard: the probability of the event in a period, of those at risk "
        "in it. survival() gives survival curves, predict() hazards.",
    )


def dispersion_notes(record: FitRecord) -> tuple[str, ...]:
    """The residual standard error; or where counts are cut, and what their variance is taken to be."""
    bounds = record.response.bounds
    if record.link == "identity" and record.released is not None:
        return (f"Residual standard error: {coefficient(math.sqrt(record.dispersion))}.",)
    if record.link != "log" or bounds is None:
        return ()
    high = f"{bounds[1]:,.10g}"
    clipped = f"Counts above the declared bound of {high} are read as {high}"
    if record.contrasts is None:
        return (f"{clipped}.",)
    times = "" if math.isnan(record.dispersion) else f"{coefficient(record.dispersion)} (released) times "
    note = f"{clipped}; standard errors take the variance of a count to be {times}its mean."
    if not record.dispersion < LITTLE_DISPERSION:
        return (note,)
    return (
        note,
        "Counts vary less than Poisson counts do, as where many reach their bound. Effects are then not "
        "those with a larger bound, and intervals may miss them.",
    )


def levels_in_order(record: FitRecord) -> list[Any]:
    """The levels of an ordinal response, the lowest first."""
    columns: Any = record.specification.schema["variables"]
    return list(columns[record.response.name]["levels"])


def inspected_notes(record: FitRecord) -> tuple[str, ...]:
    """Which columns of the formula have bounds or levels that were read off the data."""
    columns: Any = record.specification.schema.get("variables", {})
    inspected = [
        name
        for name, facts in columns.items()
        if facts.get("looked_at_data")
        and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", record.specification.formula)
    ]
    if not inspected or not record.private:
        return ()
    return _listed(
        "Warning: the guarantee does not cover bounds or levels that were read off the data", inspected
    )


def check_unit(schema: Mapping[str, object], guarantee: Guarantee) -> None:
    """Refuse a promise about persons whom the schema does not tell, and one about rows where it does."""
    unit = schema.get("unit")
    persons = isinstance(unit, Mapping)
    if isinstance(unit, Mapping):
        column, name, rows = unit.get("column"), unit.get("name", ""), unit.get("rows", 1)
        if not (isinstance(column, str) and column and isinstance(name, str) and type(rows) is int):
            raise store_error(
                "a unit without the column that tells whose a row is", "unit: {column: patient_id}"
            )
        words = f"{name} ({ROWS_OF}{column})" if name else f"{ROWS_OF}{column}"
    if not guarantee.private and guarantee.reason != "seeded":
        return
    if guarantee.persons != persons or (guarantee.unit != words if persons else ROWS_OF in guarantee.unit):
        raise store_error(
            "a guarantee for another unit than the schema's", "the unit that the schema declares"
        )


def person_notes(record: FitRecord) -> tuple[str, ...]:
    """What rows of one person count for."""
    unit = record.specification.schema.get("unit")
    if not isinstance(unit, Mapping) or unit.get("rows") == 1:
        return ()
    alike = "Rows weigh the same" if unit.get("weights") == "row" else "Persons weigh the same"
    return (
        f"{alike}; standard errors hold however much the rows of a person depend on one another: they count "
        "as one observation.",
    )


def weight_facts(specification: SpecificationDocument) -> tuple[Fact, ...]:
    """The weights of rows: their column, and which weight is a full one."""
    if specification.weights is None:
        return ()
    columns: Any = specification.schema["variables"]
    high = columns[specification.weights]["bounds"][1]
    return (("Weights", f"{specification.weights} / {high:.10g}, at most 1"),)


def weight_notes(record: FitRecord) -> tuple[str, ...]:
    """What rows with weights count for, and what standard errors take the variance of their score to be."""
    column, released = record.specification.weights, record.released
    if column is None:
        return ()
    note = f"Rows count by {column}, those without a weight not at all"
    if released is None:
        return (f"{note}.",)
    if released.weighting < 1.0:
        part = f"{'' if released.exact else 'released '}share of {coefficient(released.weighting)}"
        return (
            f"{note}. Standard errors take the variance of the weighted score to be that of a score "
            f"without weights times one {part}, the same for all coefficients.",
        )
    return (
        f"{note}. No variance of the weighted score could be told from noise: standard errors take it to be "
        "as large as weights allow, so that intervals are too long rather than too short.",
    )


def reading_notes(record: FitRecord) -> tuple[str, ...]:
    """Which values stand for missing ones, what dates are as numbers, and where spellings were declared."""
    columns: Any = record.specification.schema.get("variables", {})
    dated = [
        f"{name} ({facts['date'].get('unit', 'days')} since {facts['date'].get('origin')})"
        for name, facts in columns.items()
        if isinstance(facts.get("date"), Mapping)
    ]
    spelled = [
        f"{name} ({', '.join(kind for kind in _SPELLINGS if facts.get(kind))})"
        for name, facts in columns.items()
        if any(facts.get(kind) for kind in _SPELLINGS)
    ]
    coded = [
        f"{name} ({', '.join(map(str, facts['missing_codes'][:8]))})"
        for name, facts in columns.items()
        if facts.get("missing_codes")
    ]
    return (
        *_listed("Declared codes count as missing", coded),
        *_listed("Dates are numbers", dated),
        *_listed("Cells are read by declared spellings", spelled),
    )


def _listed(words: str, columns: Sequence[str]) -> tuple[str, ...]:
    more = f" and {len(columns) - 8} more columns" if len(columns) > 8 else ""
    return (f"{words}: {', '.join(columns[:8])}{more}.",) if columns else ()
