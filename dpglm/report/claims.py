"""What a result may say of itself, in words that its report and its exports share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from dpglm.postprocessing.record import FitRecord, Record
from dpglm.privacy.guarantee import Guarantee
from dpglm.report.section import Subject
from dpglm.tables.table import budget, computed, count

DEFINITIONS: Final = {
    "pure": "pure ε-differential privacy",
    "approximate": "(ε, δ)-differential privacy",
    "gdp": "Gaussian differential privacy",
    "zcdp": "zero-concentrated differential privacy",
}


def neighbours(guarantee: Guarantee) -> str:
    """What neighbouring tables are."""
    words = "a row exchanged for another" if guarantee.relation == "replace-one" else "a row more or less"
    if guarantee.persons:
        words = words.replace("a row", "all rows of a person")
    return f"{words} ({guarantee.relation})"


def unprotected(record: Record, subject: Subject) -> str:
    """What is public, and so has no protection."""
    public = ["the schema", subject.public]
    if record.guarantee.relation == "replace-one":
        public.insert(0, f"the number of {'persons' if record.guarantee.persons else 'rows'}")
    return ", ".join(public)


def composition(record: Record) -> str:
    """What else was spent on these data, as far as a ledger and the fit say."""
    part = record.part if isinstance(record, FitRecord) else None
    return f"{spent(record)}. {part.beside}" if part is not None and part.beside else spent(record)


def spent(record: Record) -> str:
    """What a ledger says of the charge and of others."""
    ledger = record.ledger
    if ledger is None:
        return "no ledger: other releases from these data are not counted"
    return (
        f"ledger {ledger.dataset}: ε = {budget(computed(ledger.spent_epsilon))} of "
        f"{budget(ledger.budget_epsilon)} spent after this charge; charges add up"
    )


def accuracy(*records: Record) -> str:
    """How many numbers have a standard error."""
    fits = [record for record in records if isinstance(record, FitRecord)]
    if not fits:
        return "standard errors hold the noise of the releases"
    given = sum(int(np.count_nonzero(fit.reported)) for fit in fits)
    names = sum(len(fit.names) for fit in fits)
    return f"{given} of {names} coefficients have a standard error, which holds the noise"


def looked_at(record: Record) -> str:
    """Which columns are declared to have been bounded by looking at the data."""
    schema: Mapping[str, Any] = getattr(record, "schema", {})
    if isinstance(record, FitRecord):
        schema = record.specification.schema
    columns = schema.get("variables", {})
    looked = [
        name for name, facts in columns.items() if isinstance(facts, Mapping) and facts.get("looked_at_data")
    ]
    if looked:
        return f"bounds or levels of {', '.join(looked)} were read off the data, which ε does not cover"
    return f"none of {count(len(columns))} columns is declared to have been bounded by looking at the data"
