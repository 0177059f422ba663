"""The guarantee in full, for a statistician: parameters, groups, curves, and what is outside it."""

from __future__ import annotations

from collections.abc import Mapping

from dpglm.postprocessing.record import FitRecord
from dpglm.report.figures import profile_figure, trade_off_figure
from dpglm.report.section import Rows, Section
from dpglm.report.wording import neighbours, no_promise, percent, shown
from dpglm.tables.number import ABSENT, budget, count

GROUPS = (1, 2, 5)
RATES = (0.01, 0.05, 0.1)
DEFINITIONS = {
    "pure": "pure ε-differential privacy",
    "approximate": "(ε, δ)-differential privacy",
    "gdp": "Gaussian differential privacy (μ-GDP)",
    "zcdp": "zero-concentrated differential privacy (ρ-zCDP)",
}


def full_guarantee(result: FitRecord, choices: Mapping[str, str]) -> Section:
    """Parameters, group privacy, power of tests, curves, assumptions, unprotected quantities."""
    guarantee = result.guarantee
    title = "The guarantee in full"
    if not guarantee.private:
        return Section("guarantee", "No guarantee", {"private": False, "reason": no_promise(guarantee)})
    facts = [
        ("Definition", DEFINITIONS.get(guarantee.definition, guarantee.definition)),
        ("ε", budget(guarantee.epsilon)),
        ("δ", budget(guarantee.delta)),
    ]
    if guarantee.mu is not None:
        facts.append(("μ", budget(guarantee.mu)))
    if guarantee.rho is not None:
        facts.append(("ρ", budget(guarantee.rho)))
    facts += [
        ("Relation", f"{guarantee.relation}: {neighbours(guarantee)}"),
        ("Unit", shown(guarantee.unit)),
        ("Theorem", shown(guarantee.theorem or ABSENT)),
    ]
    rows = "public" if guarantee.relation == "replace-one" else "private, and nowhere in this report"
    if result.n_rows is not None:
        rows = f"{count(result.n_rows)}, public"
    content = {
        "private": True,
        "facts": facts,
        "groups": _groups(result),
        "rates": Rows(
            "Power of a test for one row",
            ("false alarms", "power, at most"),
            tuple(
                (f"{rate:.0%}".replace("%", " %"), percent(guarantee.true_positive_rate(rate)))
                for rate in RATES
            ),
            numeric=(0, 1),
        ),
        "trade_off": trade_off_figure(guarantee),
        "profile": profile_figure(guarantee),
        "assumptions": [shown(words) for words in guarantee.assumptions],
        "unprotected": [
            ("Number of rows", rows),
            ("Schema", "public: names, bounds, levels, rules for missing values"),
            (
                "Formula, family, penalty, method",
                "public, and assumed to be chosen without looking at these data",
            ),
            ("Population", "what is true of many rows can be learnt, also about people who took no part"),
        ],
    }
    return Section("guarantee", title, content)


def _groups(result: FitRecord) -> Rows:
    """Group privacy: what the guarantee says about several rows at once."""
    guarantee = result.guarantee
    with_mu = guarantee.mu is not None
    rows: list[tuple[str, ...]] = []
    for size in GROUPS:
        epsilon, delta = guarantee.group(size)
        line = (f"{size}", budget(_clean(epsilon)), budget(delta))
        rows.append(line if guarantee.mu is None else (*line, budget(_clean(size * guarantee.mu))))
    return Rows(
        "Group privacy",
        ("rows of one group", "ε", "δ", "μ") if with_mu else ("rows of one group", "ε", "δ"),
        tuple(rows),
        numeric=(0, 1, 2, 3),
    )


def _clean(value: float) -> float:
    """A product without the last two digits, which are its rounding."""
    return float(f"{value:.14g}")
