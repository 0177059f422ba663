"""At a glance: who is protected, at what price, and what is not protected."""

from __future__ import annotations

from collections.abc import Mapping

from dpglm.postprocessing.record import FitRecord
from dpglm.report.section import Section
from dpglm.report.wording import neighbours, no_promise, percent, price, shown
from dpglm.tables.number import balance, budget


def verdict(result: FitRecord, choices: Mapping[str, str]) -> Section:
    """The label on top of the page; for a result without privacy, the warning."""
    guarantee = result.guarantee
    if not guarantee.private:
        return Section("verdict", "At a glance", {"reason": no_promise(guarantee)})
    facts = [
        ("Who is protected", shown(guarantee.unit), f"against telling apart {neighbours(guarantee)}"),
        (
            "Price of this fit",
            price(guarantee),
            f"odds of a guess about one row grow by at most {_factor(result)}",
        ),
        ("Budget", *_budget(result)),
        (
            "Who had to be trusted",
            "one curator",
            "the process that ran this fit saw the raw rows; no reader did",
        ),
    ]
    open_facts = [
        "the schema, the formula and the method",
        "facts about the whole population: they are the purpose",
    ]
    if guarantee.relation == "replace-one":
        open_facts.insert(0, "the number of rows")
    return Section(
        "verdict",
        "At a glance",
        {"facts": facts, "open_facts": open_facts, "statement": shown(guarantee.statement(), 2000)},
    )


def _factor(result: FitRecord) -> str:
    guarantee = result.guarantee
    largest = guarantee.posterior(0.5)
    words = f"{coefficient_of_odds(largest)}"
    return words if guarantee.delta == 0 else f"{words}, up to the small chance that δ allows"


def coefficient_of_odds(largest: float) -> str:
    """How many times the odds grow from even odds to ``largest``.

    Examples
    --------
    >>> coefficient_of_odds(0.7310585786)
    'a factor of 2.72'
    """
    if largest > 1.0 - 1e-9:
        return "a factor beyond all use"
    return f"a factor of {largest / (1.0 - largest):.3g}"


def _budget(result: FitRecord) -> tuple[str, str]:
    ledger = result.ledger
    if ledger is None:
        return "no ledger was used", "other fits to the same data are not counted here"
    left = f"ε = {balance(ledger.remaining_epsilon)}"
    if ledger.budget_delta > 0:
        left += f", δ = {balance(ledger.remaining_delta)}"
    share = ledger.spent_epsilon / ledger.budget_epsilon if ledger.budget_epsilon else 1.0
    spent = f"of ε = {budget(ledger.budget_epsilon)} in ledger “{shown(ledger.dataset, 80)}”"
    return f"{left} left", f"{spent}; {percent(share)} spent"
