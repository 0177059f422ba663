"""The table that ``print(fit.summary())`` shows."""

from __future__ import annotations

import math

from dpglm.papers.stacking.submodels import stack_facts
from dpglm.postprocessing.missing_intervals import (
    DEBIASED,
    PENALISED,
    approximation,
    gaps,
    models_text,
    no_intervals,
)
from dpglm.postprocessing.record import FitRecord, LedgerState
from dpglm.postprocessing.uncertainty import (
    debiased,
    intervals,
    p_values,
    penalised,
    selected,
    standard_errors,
)
from dpglm.tables.content import Column, Fact
from dpglm.tables.number import ABSENT, balance, budget, coefficient, count, p_value, share, statistic
from dpglm.tables.table import Table

HEADINGS = ("coef", "std err", "z", "P>|z|", "[0.025", "0.975]")
METHOD = "noise-aware GLS on the released curvature"


def summary(record: FitRecord) -> Table:
    """Facts, coefficients and the guarantee in words; see :meth:`FitResult.summary`."""
    errors, ends = standard_errors(record), intervals(record, 0.95)
    tests, kept, centre = p_values(record), selected(record), debiased(record)
    apart = record.contrasts is not None and penalised(record)
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
            "yes" if kept[j] else "no",
        )
        for j, name in enumerate(record.names)
    )
    headings = (
        HEADINGS[0] if record.stack is None else f"approx. {HEADINGS[0]}",
        *(("debiased",) if apart else ()),
        *HEADINGS[1:],
    )
    return Table(
        title=_title(record),
        columns=(Column("term", "left"), *map(Column, headings), Column("selected")),
        rows=rows,
        wide=(("Formula", record.formula), *stack_facts(record), *interval_facts(record)),
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
    """How intervals are made and which share of the budget pays for them; nothing without a curvature."""
    if record.contrasts is None:
        return ()
    paid = sum(line.share for line in record.spend_lines if "curvature" in line.release)
    price = f", {share(paid)} of the budget" if paid else ""
    return (("Intervals", f"95 %, {METHOD}{price}"),)


def count_notes(record: FitRecord) -> tuple[str, ...]:
    """What becomes of counts beyond the declared bound, and what their variance is taken to be."""
    bounds = record.mechanism.get("response_bounds")
    if record.link != "log" or not isinstance(bounds, list):
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
        ("Method", record.method),
        ("Goal", record.goal),
        ("Rows", "not released" if record.n_rows is None else count(record.n_rows)),
    )


def family_text(record: FitRecord) -> str:
    """Family and link; a margin loss has no link."""
    return f"{record.family} ({'margin loss' if record.link == 'margin' else f'{record.link} link'})"


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
    kind = "classifier" if record.link == "margin" else "regression"
    if record.stack is not None:
        kind += f", a stack of {models_text(record.stack)}"
    if record.private:
        return f"Differentially private {record.family} {kind}"
    return f"{record.family.capitalize()} {kind}, {record.alarm}"


def _not_kept(text: str) -> str:
    return text if text == ABSENT else f"{text} (not kept)"
