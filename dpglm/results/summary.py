"""The table that ``print(fit.summary())`` shows."""

from __future__ import annotations

import math

from dpglm.results.record import FitRecord, LedgerState
from dpglm.results.tidy import selected
from dpglm.results.uncertainty import intervals, p_values, standard_errors
from dpglm.tables.content import Column, Fact
from dpglm.tables.number import ABSENT, balance, budget, coefficient, count, p_value, statistic
from dpglm.tables.table import Table

HEADINGS = ("coef", "std err", "z", "P>|z|", "[0.025", "0.975]")
WHY_ABSENT = (
    "Standard errors, tests and intervals are not in this version (-): "
    "honest ones need a second private release."
)
NOT_COMPUTED = "Standard errors, tests and intervals are not computed in this version (-)."


def summary(record: FitRecord) -> Table:
    """Facts, coefficients and the guarantee in words; see :meth:`FitResult.summary`."""
    errors, ends = standard_errors(record), intervals(record, 0.95)
    tests, kept = p_values(record), selected(record)
    rows = tuple(
        (
            name,
            coefficient(record.estimates[j]),
            coefficient(errors[j]),
            statistic(record.estimates[j] / errors[j]),
            p_value(tests[j]),
            coefficient(ends[j, 0]),
            coefficient(ends[j, 1]),
            "yes" if kept[j] else "no",
        )
        for j, name in enumerate(record.names)
    )
    return Table(
        title=_title(record),
        columns=(Column("term", "left"), *map(Column, HEADINGS), Column("selected")),
        rows=rows,
        wide=(("Formula", record.formula),),
        left=model_facts(record),
        right=privacy_facts(record),
        notes=(*guarantee_notes(record), WHY_ABSENT if record.private else NOT_COMPUTED),
        alarm=record.alarm,
    )


def model_facts(record: FitRecord) -> tuple[Fact, ...]:
    """Family, penalty, method and rows, as label and text."""
    return (
        ("Family", f"{record.family} ({record.link} link)"),
        ("Penalty", record.penalty),
        ("Strength", strength_text(record)),
        ("Method", record.method),
        ("Goal", record.goal),
        ("Rows", "not released" if record.n_rows is None else count(record.n_rows)),
    )


def privacy_facts(record: FitRecord) -> tuple[Fact, ...]:
    """Epsilon, delta, mu, who is protected and the ledger, as label and text.

    A seeded fit shows the price it would have had as "not kept".
    """
    guarantee = record.guarantee
    numbers = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "mu": guarantee.mu}
    words = {"relation": guarantee.relation, "unit": guarantee.unit, "theorem": guarantee.theorem or ABSENT}
    if guarantee.private:
        facts = [(label, budget(value)) for label, value in numbers.items()]
    elif math.isfinite(guarantee.epsilon):
        facts = [(label, _not_kept(budget(value))) for label, value in numbers.items()]
    else:
        facts = [(label, ABSENT) for label in numbers]
    facts += [(label, text if guarantee.private else ABSENT) for label, text in words.items()]
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
    parts = [] if record.strength is None else [f"{coefficient(record.strength)} a row"]
    whole = record.mechanism.get("strength_sum")
    if isinstance(whole, int | float) and not isinstance(whole, bool):
        parts.append(f"(sum {coefficient(whole)})" if parts else f"{coefficient(whole)} in all")
    return " ".join(parts) or ABSENT


def ledger_text(state: LedgerState) -> str:
    """What is left after this fit, rounded down."""
    left = f"{balance(state.remaining_epsilon)} of {budget(state.budget_epsilon)} left"
    if state.budget_delta > 0.0:
        left += f", delta {balance(state.remaining_delta)} of {budget(state.budget_delta)}"
    return f"{state.dataset}: {left}"


def _title(record: FitRecord) -> str:
    if record.private:
        return f"Differentially private {record.family} regression"
    return f"{record.family.capitalize()} regression, {record.alarm}"


def _not_kept(text: str) -> str:
    return text if text == ABSENT else f"{text} (not kept)"
