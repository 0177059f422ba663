"""Advice before the charge: where public facts say that a fit will tell about few coefficients."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from dpglm.data.schema.unit import weight_of
from dpglm.data.schema.variables import Categorical, Numeric
from dpglm.errors import DpglmError, PlanningAdvice
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.perturbed_objective import MOST, releases_information
from dpglm.planning.expectation import Expectation
from dpglm.planning.spreads import USUAL, undeclared, under
from dpglm.privacy.budget import STEPS, Privacy
from dpglm.privacy.gdp import gdp_mu
from dpglm.tables.table import budget, count, factor

if TYPE_CHECKING:
    from dpglm.ledger.ledger import Charge, Ledger
    from dpglm.spec.plan import Plan

# The delta that is proposed beside an epsilon.
DELTA: Final = 1e-6
# A fit tells about few coefficients if fewer than this share have a standard error.
FEW: Final = 0.5
# Where no number of rows is declared, a call is silent if it reaches that share with this many rows. At
# (1, 1e-6) half of the coefficients of fair, randhie and GUSTO take up to 5,700 rows. Pure epsilon 1 takes
# 7,000 on fair, which has 6,366 rows, and gives intervals to 3 of 17 coefficients there.
ROWS: Final = 6000
# Declared bounds are wide from this many declared standard deviations on; a factor is large from this many
# levels on; and a budget is much less noisy from this factor on.
WIDE, LARGE, WORTH = 10.0, 8, 1.2
# Rows this many times above the noise need no closer look: of 380 random plans, those with advice reached 17.
CLEAR: Final = 60.0
IF_USUAL: Final = ", if levels and numbers are spread as usual"
DECLARE: Final = "declare shares= of levels, mean= and sd= of numbers, for a plan that tells what costs most"


def advice(plan: Plan) -> tuple[str, ...]:
    """At most three sentences on a plan whose fit will tell about few coefficients; none for others.

    They follow from the plan alone: schema, formula, budget and the number of rows that it expects. Plans of
    another goal, of a family without likelihood, of a method with options or of a penalty that selects get
    none: they were not meant to give intervals, or their author knows.
    """
    spec, problem = plan.specification, plan.problem
    by_default = spec.method.name in ("objective", "moments") and spec.method == type(spec.method)()
    asked = spec.goal == "explain" and by_default
    if spec.privacy is None or not asked or not problem.family.likelihood or problem.penalty.selects:
        return ()
    if _clear(plan):
        return ()
    try:
        sentences = _sentences(plan, spec.privacy)
    except DpglmError:  # numbers out of all proportion; the fit itself says so, or copes
        return ()
    return tuple(sentence for sentence in sentences if sentence)


def advised(plan: Plan, ledger: Ledger | Mapping[str, Ledger] | None, *, seeded: bool) -> Plan:
    """The plan, after a warning to the caller of the verb that asks where there is advice and no refusal."""
    guarantee = plan.guarantee.seeded() if seeded else plan.guarantee
    if plan.advice and admitted(ledger, (guarantee, plan.what, plan.fingerprint)):
        warnings.warn(" ".join(plan.advice), PlanningAdvice, stacklevel=3)
    return plan


def admitted(ledger: Ledger | Mapping[str, Ledger] | None, charge: Charge) -> bool:
    """Whether every ledger takes a charge as far as it knows now; the run itself says why one does not."""
    ledgers = ledger.values() if isinstance(ledger, Mapping) else [ledger]
    try:
        return all(each is None or each.admits([charge]) for each in ledgers)
    except DpglmError:
        return False


def _clear(plan: Plan) -> bool:
    """Whether rows stand so far above the noise of the estimate that nearly every coefficient is told."""
    minimisers = plan.releases.of_kind(PerturbedMinimiser)
    measured = plan.releases.on_mapped_rows
    model = plan.specification.coded_model
    spreads = [_spread(model.schema.variables[name], measured) for name in model.coding.columns]
    order = max(len(name.split(":")) for name, _ in model.coding.terms)
    weight = weight_of(model.schema.unit_column, ROWS if plan.n is None else plan.n)
    rows = weight * min(spreads, default=1.0) ** order
    paid = len(plan.releases.releases) > 1 and len(minimisers) == 1
    return paid and rows > CLEAR * minimisers[0].deviation * len(plan.names)


def _spread(variable: Numeric | Categorical, measured: bool) -> float:
    """Variance on the declared range, in units of a uniform one; twice the share of the rarest level.

    Where scales are measured, what is declared of a number makes no difference.
    """
    if isinstance(variable, Categorical):
        return 2.0 * min(variable.shares or (1.0 / len(variable.levels),))
    if variable.sd is None or measured:
        return 1.0 / 3.0
    return 12.0 * (variable.sd / (variable.high - variable.low)) ** 2


def _sentences(plan: Plan, privacy: Privacy) -> tuple[str, ...]:
    size = len(plan.names)
    better = _approximate(privacy)
    if size > MOST:
        paid = plan.specification.method.name == "moments"
        return () if paid else (*_without_intervals(plan, better), _remedies(_levels(plan)))
    rows = ROWS if plan.n is None else plan.n
    expected = under(Expectation(plan, rows, 0.5), USUAL)
    found = sum(expected.printed)
    if found >= FEW * size:
        return ()
    remedies = _remedies([*_bounds(expected), *_levels(plan)])
    if not expected.has_intervals:
        return (*_without_intervals(plan, better), remedies)
    usual = IF_USUAL if undeclared(expected.model) else ""
    unit = expected.model.schema.unit_column
    counted = "rows" if unit is None or unit.weights == "row" else "persons"
    growth = float(np.median([decision.factor for decision in expected.decisions]))
    less_noise = _less_noise(plan, better)
    if plan.n is None:
        needed = f"at least {_about(rows * growth)} {counted}{usual}"
        return f"Intervals for half of the {size} coefficients take {needed}.", less_noise, remedies
    first = f"Expect intervals for {found} of {size} coefficients in {count(rows)} {counted}{usual}."
    more = f"Half of them would take {factor(growth)} times the {counted} or epsilon."
    if not found:
        more += " goal='predict' spends all on predictions."
    return first, less_noise or more, remedies


def _approximate(privacy: Privacy) -> Privacy | None:
    """The same epsilon with a delta, for budgets that have none or are declared in mu or rho."""
    if privacy.definition == "approximate":
        return None
    return Privacy(privacy.epsilon, privacy.delta or DELTA, privacy.relation, privacy.unit)


def _without_intervals(plan: Plan, better: Privacy | None) -> tuple[str, str]:
    """What is said of a plan whose whole budget goes to the estimate."""
    size = len(plan.names)
    first = f"No standard errors or intervals: this budget does not pay for those of {size} coefficients."
    if better is not None and releases_information(plan.problem, better):
        return first, f"{_call(better)} would pay for them."
    return first, f"An epsilon with a delta pays for those of {MOST} at most."


def _less_noise(plan: Plan, better: Privacy | None) -> str:
    """What a delta would change, roughly: half of a Gaussian budget for the score."""
    minimisers = plan.releases.of_kind(PerturbedMinimiser)
    if better is None or not minimisers:
        return ""
    deviation = minimisers[0].deviation
    gaussian = STEPS[better.relation] / (math.sqrt(0.5) * gdp_mu(better.epsilon, better.delta))
    if deviation <= WORTH * gaussian:
        return ""
    times = factor(deviation / gaussian)
    return f"{_call(better)} would add {times} times less noise, which is worth as many times the rows."


def _call(privacy: Privacy) -> str:
    return f"privacy=({budget(privacy.epsilon)}, {budget(privacy.delta)})"


def _about(rows: float) -> str:
    """Two significant digits: no more is known."""
    return count(int(float(f"{rows:.2g}"))) if math.isfinite(rows) else "more than any"


def _bounds(expected: Expectation) -> Iterator[str]:
    """Wide bounds of numbers without an interval, and what half of them would give; or what to declare.

    Where scales are measured, wide bounds cost next to nothing.
    """
    measured = expected.plan.releases.on_mapped_rows
    variables = {name: expected.model.schema.variables[name] for name in expected.model.coding.columns}
    widths = {
        name: (variable.high - variable.low) / variable.sd
        for name, variable in variables.items()
        if isinstance(variable, Numeric) and variable.sd is not None and name in expected.names
    }
    sampling, private = expected.parts[:, 0], expected.parts[:, 1:].sum(axis=1)
    for name in sorted(widths, key=lambda name: -widths[name])[:2]:
        at = expected.names.index(name)
        if not measured and widths[name] >= WIDE and not expected.printed[at]:
            halved = math.sqrt(sampling[at] + private[at] / 4.0) / expected.classical[at]
            now = factor(float(expected.relative_width[at]))
            yield f"tighten {name} to half its range ({now} to {factor(halved)} times the non-private error)"
    if undeclared(expected.model):
        yield DECLARE


def _levels(plan: Plan) -> Iterator[str]:
    """The factor with the most levels."""
    model = plan.specification.coded_model
    variables = {name: model.schema.variables[name] for name in model.coding.columns}
    sizes = {name: len(v.levels) for name, v in variables.items() if isinstance(v, Categorical)}
    largest = max(sizes, key=lambda name: sizes[name], default="")
    if sizes.get(largest, 0) >= LARGE:
        yield f"merge levels of {largest}, which has {sizes[largest]}"


def _remedies(words: Iterable[str]) -> str:
    joined = "; ".join(words)
    return f"Most would help, where public knowledge allows: {joined}." if joined else ""
