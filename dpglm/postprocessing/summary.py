"""Summary of a result: the printed table, its facts and its notes, from released numbers alone."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dpglm.glm.families.binomial import SHIFTED
from dpglm.inference.contrasts import IntervalDecision
from dpglm.postprocessing import declared
from dpglm.postprocessing.intervals import MOST_NAMES, caveats, intervals, p_values, selected, surprises
from dpglm.postprocessing.labels import shown_names
from dpglm.postprocessing.record import FitRecord, LedgerState
from dpglm.postprocessing.spending import ranked_before
from dpglm.postprocessing.uncertainty import hidden_notes, no_intervals
from dpglm.privacy.events import TRUST
from dpglm.tables import table
from dpglm.typing import BoolVector

HEADINGS = ("coef", "std err", "z", "P>|z|", "[0.025", "0.975]")
INFORMATION = "information matrix"  # name of its release in the spend
METHOD = "noise-aware GLS on the released information matrix"
EXACT = "maximum likelihood, from the exact information matrix"
DEBIASED_TITLE = "Debiased estimates, which no penalty shrinks, with tests and intervals"
PENALISED = (
    "Coefficients answer which terms to keep; debiased estimates, with tests and intervals, how large an "
    'effect is. conf_int(adjust="fcr") widens the intervals for a list of selected coefficients.'
)
DEBIASED = (
    "Coefficients with a standard error are not shrunk; those without one are drawn towards 0 by their prior "
    "scale."
)
DRAWN = "Coefficients without a standard error are drawn towards 0 by their prior scale."
OUTER = (
    "Ends lie further out than the standard error says away from zero, where noise hides how far a step "
    "goes, and for levels where responses get more alike."
)
OF_SLOPES = " Of slopes within levels both may. Where one is not reliable, its level may seem near even odds."
WIDE = "Intervals without a standard error rest mostly on the prior scale, and miss effects far beyond it."

LEAST_LOST: Final = 0.005  # rows that lose less weight than this share are not mentioned


def separated(record: FitRecord) -> bool:
    """Whether tests and intervals belong to other estimates than the coefficients of the fit."""
    return record.contrasts is not None and penalised(record)


def penalised(record: FitRecord) -> bool:
    """Whether the coefficients are those of a penalty, and not the debiased ones."""
    return record.penalty != "none"


def summary(record: FitRecord) -> table.Table:
    """Facts, coefficients and the guarantee in words; see :meth:`FitResult.summary`.

    Tests stand beside the estimates that they are about: those of a penalised fit in a table of their own.
    """
    chosen = selected(record)
    first = HEADINGS[0] if record.predictor is None else f"approx. {HEADINGS[0]}"
    names, apart = shown_names(record), separated(record)
    tested = [()] * len(record.names) if apart else _tested(record)
    rows = tuple(
        (name, table.coefficient(record.estimates[j]), *tested[j], "yes" if chosen[j] else "no")
        for j, name in enumerate(names)
    )
    headings = (first, *(() if apart else HEADINGS[1:]), "selected")
    part = () if record.part is None else record.part.facts(record)
    return table.Table(
        title=_title(record),
        columns=(table.Column("term", "left"), *map(table.Column, headings)),
        rows=rows,
        wide=(
            ("Formula", record.specification.formula),
            *declared.weight_facts(record.specification),
            *trust(record),
            *part,
            *interval_facts(record),
        ),
        left=model_facts(record),
        right=privacy_facts(record),
        notes=(
            *guarantee_notes(record),
            *((note,) if (note := approximation(record)) else ()),
            *declared.declared_notes(record),
            *link_notes(record),
            *declared.dispersion_notes(record),
            *scale_notes(record),
            *interval_notes(record),
        ),
        alarm=record.alarm,
        below=_debiased_table(record) if apart else None,
    )


def trust(record: FitRecord) -> tuple[table.Fact, ...]:
    """Who is trusted with what, where it is not one curator with all rows."""
    return tuple((fact.label, str(fact.value)) for fact in record.description.facts if fact.label == TRUST)


def _tested(record: FitRecord) -> list[tuple[str, ...]]:
    """Standard error, test and interval of each debiased estimate."""
    errors, ends = record.standard_errors, intervals(record, 0.95)
    tests, centre = p_values(record), record.debiased
    return [
        (
            table.coefficient(errors[j]),
            table.statistic(centre[j] / errors[j]),
            table.p_value(tests[j]),
            table.interval_end(ends[j, 0]),
            table.interval_end(ends[j, 1]),
        )
        for j in range(len(record.names))
    ]


def _debiased_table(record: FitRecord) -> table.Table:
    """The debiased estimates of a penalised fit, with their tests and intervals."""
    tested = _tested(record)
    return table.Table(
        title=DEBIASED_TITLE,
        columns=(table.Column("term", "left"), *map(table.Column, ("debiased", *HEADINGS[1:]))),
        rows=tuple(
            (name, table.coefficient(record.debiased[j]), *tested[j])
            for j, name in enumerate(shown_names(record))
        ),
    )


def interval_facts(record: FitRecord) -> tuple[table.Fact, ...]:
    """Of how many there are intervals, how they are made, and which share of the budget pays for them."""
    if record.contrasts is None:
        return ()
    lines = [line for line in record.spend_lines if line.release.startswith(INFORMATION)]
    paid = sum(line.share for line in lines) / max(len({line.part for line in lines}), 1)  # a budget a part
    price = f", {table.share(paid)} of the budget" if paid else ""
    if record.exact:
        return (("Intervals", f"95 %, {EXACT}"),)
    return (("Told", _told(record)), ("Intervals", f"95 %, {METHOD}{price}"))


def _told(record: FitRecord) -> str:
    """Of how many coefficients the fit tells, and what half of the others would take."""
    words = f"{int(record.reported.sum())} of {len(record.names)} coefficients"
    waiting = [decision.factor for decision in record.interval_decisions if not decision.reported]
    if not waiting:
        return words
    times = table.factor(float(np.median(waiting)))
    return f"{words}; half of the others would take {times} times the rows or epsilon"


def link_notes(record: FitRecord) -> tuple[str, ...]:
    """What coefficients of a shifted loss, and those of hazards, mean."""
    if record.link != SHIFTED:
        return declared.survival_notes(record)
    return (
        "Coefficients are those of a loss that is shifted for predictions, and no log odds: predict() gives "
        'probabilities, and a fit with goal="explain" log odds with intervals.',
    )


def scale_notes(record: FitRecord) -> tuple[str, ...]:
    """What rows and residuals far out lose, where rows are read in released standard deviations."""
    if record.scales is None:
        return ()
    notes: tuple[str, ...] = ()
    if record.scales.residual_cut is not None:
        cut = table.plain_number(record.scales.residual_cut)
        kind = "Pearson residuals" if record.link == "log" else "Residuals"
        notes = (
            f"{kind} beyond {cut} are read as {cut}. Where large ones are more frequent at one end of a "
            "number than at the other, its coefficient is that of the bulk of the rows.",
        )
    if record.scales.steepness > 1.0:
        times = table.plain_number(record.scales.at_even_odds)
        notes = (
            *notes,
            f"Noise outweighs sampling, so rows near even odds count more, up to {times} times. Where the "
            "model is wrong, coefficients are those of the rows that count.",
        )
    if (record.scales.weight_lost or 0.0) < LEAST_LOST:
        return notes
    lost = table.share(record.scales.weight_lost or 0.0)
    return (
        *notes,
        f"Rows with numbers far from their means count less: about {lost} of all weight is lost by that. "
        "Where the model is wrong, coefficients are those of the rows that count.",
    )


def interval_notes(record: FitRecord) -> tuple[str, ...]:
    """What intervals belong to, which coefficients have none, and why."""
    if record.contrasts is None:
        return (f"No standard errors, tests and intervals (-): {no_intervals(record)}.",)
    if record.exact:
        return ()
    unshrunk = DRAWN if surprises(record) else DEBIASED
    steep = any(term.product for term in record.contrasts.model.released.term_columns)
    outer = (OUTER + (OF_SLOPES if steep else ""),) if record.link == "logit" else ()
    return (PENALISED if penalised(record) else unshrunk, *outer, *caveats(record), *gaps(record))


def model_facts(record: FitRecord) -> tuple[table.Fact, ...]:
    """Family, penalty, method and rows, as label and text."""
    return (
        ("Family", family_text(record)),
        ("Penalty", record.penalty),
        ("Strength", strength_text(record)),
        ("Method", record.specification.method.name),
        ("Goal", record.specification.goal),
        (declared.rows_word(record), "not released" if record.n_rows is None else table.count(record.n_rows)),
    )


def family_text(record: FitRecord) -> str:
    """Family and link; a margin loss has no link."""
    link = "margin loss" if record.link == "margin" else f"{record.link} link"
    return f"{record.specification.family.name} ({link})"


def privacy_facts(record: FitRecord) -> tuple[table.Fact, ...]:
    """Epsilon, delta, mu, who is protected and the ledger, as label and text.

    A seeded fit shows the price it would have had as "not kept".
    """
    guarantee = record.guarantee
    not_private = "" if guarantee.private else " (not kept)"
    facts = []
    for label, value in (("epsilon", guarantee.epsilon), ("delta", guarantee.delta), ("mu", guarantee.mu)):
        text = table.budget(value) if math.isfinite(guarantee.epsilon) else table.ABSENT
        facts.append((label, text if text == table.ABSENT else f"{text}{not_private}"))
    for label, text in (("relation", guarantee.relation), ("unit", guarantee.unit)):
        facts.append((label, text if guarantee.private else table.ABSENT))
    if record.ledger is not None:
        facts.append(("ledger", ledger_text(record.ledger)))
        if (line := ranked_before(record.ledger, record.response.name)) is not None:
            facts.append(("selection", f"paid before (line {line})"))
    return tuple(facts)


def guarantee_notes(record: FitRecord) -> tuple[str, ...]:
    """The guarantee in one sentence, and its assumptions where the sentence does not name them."""
    sentence = record.guarantee.statement() if record.alarm else record.promise
    if not record.private:
        return (sentence,)
    left_out = [text for text in record.guarantee.assumptions if text not in sentence]
    return (sentence, f"Assumptions: {'; '.join(left_out)}.") if left_out else (sentence,)


def strength_text(record: FitRecord) -> str:
    """The penalty strength per row and of the whole sum, as far as they are public, else ``"-"``."""
    parts = [] if record.strength is None else [f"{table.coefficient(record.strength)} per row"]
    if record.strength_sum is not None:
        total = table.coefficient(record.strength_sum)
        parts.append(f"(sum {total})" if parts else f"{total} in all")
    return " ".join(parts) or table.ABSENT


def ledger_text(state: LedgerState) -> str:
    """What is left after this fit, rounded down."""
    left = f"{table.balance(state.remaining_epsilon)} of {table.budget(state.budget_epsilon)} left"
    if state.budget_delta > 0.0:
        left += f", delta {table.balance(state.remaining_delta)} of {table.budget(state.budget_delta)}"
    return f"{state.dataset}: {left}"


def _title(record: FitRecord) -> str:
    kind = "classifier" if record.link == "margin" else "regression"
    family = "discrete-time survival" if declared.is_survival(record) else record.specification.family.name
    if record.predictor is not None:
        kind += f", {record.predictor.title}"
    if record.private:
        return f"Differentially private {family} {kind}"
    return f"{family[:1].upper()}{family[1:]} {kind}, {record.alarm}"


def approximation(record: FitRecord) -> str:
    """What the coefficients beside a part that predicts are; empty for other fits."""
    if record.predictor is None:
        return ""
    return (
        f"Coefficients are a linear approximation of the log odds of {record.predictor.title}; "
        "predict() and submodels() use the stack itself."
    )


def gaps(record: FitRecord) -> tuple[str, ...]:
    """Sentences on the coefficients without a standard error, a reason each, and what repairs it."""
    if record.contrasts is None:
        return ()
    groups: dict[str, list[tuple[str, IntervalDecision]]] = {}
    for name, decision in zip(shown_names(record), record.interval_decisions, strict=True):
        if not decision.reported:
            groups.setdefault(decision.reason, []).append((name, decision))
    if not groups:
        return ()
    lines = [f"No standard error (-), {reason}: {_listed(group)}." for reason, group in groups.items()]
    repair = f"{WIDE} In brackets: how many times the rows, or the epsilon, a standard error would take."
    if (mergeable(record) & ~record.reported).any():
        repair += " Or merge the level with another by declaration."
    return (*lines, *hidden_notes(record), repair)


def mergeable(record: FitRecord) -> BoolVector:
    """Which coefficients are of levels of a factor with three levels or more, shape (p,)."""
    factors = np.zeros(len(record.names), dtype=np.bool_)
    for block in () if record.released is None else record.released.term_columns:
        factors[block.columns] = block.kind == "levels" and len(block.table) > 2
    if factors.any():
        used = record.user_from_coded != 0.0
        factors = np.asarray(used.any(axis=1) & ~used[:, ~factors].any(axis=1))
    return factors


def _listed(group: list[tuple[str, IntervalDecision]]) -> str:
    """Names with their factors, the last ones counted only."""
    most = MOST_NAMES if len(group) > MOST_NAMES + 1 else len(group)
    words = ", ".join(f"{name} ({_times(decision.factor)})" for name, decision in group[:most])
    rest = [decision.factor for _, decision in group[most:]]
    if not rest:
        return words
    ends = dict.fromkeys((_times(min(rest)), _times(max(rest))))
    return f"{words} and {len(rest)} more ({' to '.join(ends)})"


def _times(growth: float) -> str:
    return f"x {table.factor(growth)}"
