"""Multinomial fits: a plan for each level but the first, one charge, and one result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from dpglm.curator.curator import PricedReleases
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical
from dpglm.data.tables.cells import label_of
from dpglm.errors import MethodError, PrivacyError, SchemaError
from dpglm.methods.base import budgeted_plan
from dpglm.postprocessing.equation import Equation
from dpglm.postprocessing.record import FitRecord, LedgerState
from dpglm.privacy.budget import Privacy
from dpglm.privacy.gdp import gdp_epsilon, gdp_mu
from dpglm.privacy.guarantee import Guarantee
from dpglm.results.fit_result import FitResult
from dpglm.results.level_fits import LevelFits
from dpglm.spec.arguments import bar_of, for_unit, is_sites, ledgers_of, noise_of, one_ledger
from dpglm.spec.charging import charged, with_row_map
from dpglm.spec.plan import Plan, hashed
from dpglm.spec.sites import site_seeds, solved
from dpglm.tables.table import Column, Summarised, Table, coefficient
from dpglm.wide_maps import MOST_DENSE

if TYPE_CHECKING:
    from dpglm.spec.arguments import LedgerOption
    from dpglm.spec.model_spec import ModelSpec

# Those whose promise is what their releases cost, each of which reads all rows of one table.
METHODS: Final = ("objective", "output", "nonprivate")
# Halvings of the range of what an equation may cost: to a percent with up to 13 levels.
SEARCHED: Final = 7
# Equations whose rows or shares differ may pay for different releases: less for each, until they fit.
MOST_TRIES: Final = 50


@dataclass(frozen=True, eq=False, repr=False)
class LevelPlan(Summarised):
    """The plans of all equations of a multinomial fit, which are charged in one line.

    Each equation is the plan of a logistic regression under a schema whose response has two levels, the
    baseline and another one: rows at other levels are rows without a response. See ``levels.md``.

    Examples
    --------
    >>> import dpglm
    >>> schema = {"job": ["office", "care", "mine"], "age": (18, 90)}
    >>> plan = dpglm.plan("job ~ age", schema, n=9000, family="multinomial", privacy=1.0)
    >>> list(plan.equations), plan.equations["mine"].guarantee.epsilon, plan.guarantee.epsilon
    (['care', 'mine'], 0.5, 1.0)
    """

    equations: Mapping[str, Plan]
    releases: PricedReleases  # of all equations

    @classmethod
    def of(
        cls,
        ask: Callable[..., ModelSpec],
        formula: str,
        schema: Schema,
        privacy: Privacy | None,
        n: int | None = None,
    ) -> LevelPlan:
        """The plan under a schema; ``ask`` is `ModelSpec.of` with all that the call says besides.

        ``n`` is the expected number of rows, by default what the schema declares.

        Raises
        ------
        SchemaError
            A response without three levels or more, or one whose missing values are a level.
        PrivacyError, FormulaError, MethodError
            As `dpglm.plan`.
        """
        model = parse(formula, schema)
        response, variable = model.response, _response(schema, model.response)
        if model.periods is not None:
            raise MethodError(
                "Surv(time, event) in a multinomial fit",
                expected="a column of levels left of ~",
                remedy="Leave family out: events in time have a logistic hazard.",
            )
        places = range(1, len(variable.levels))
        shares = variable.shares or (1.0 / len(variable.levels),) * len(variable.levels)

        def planned(place: int, own: Privacy | None) -> Plan:
            two = replace(schema, variables={**schema.variables, response: _between(variable, place)})
            part, rows = shares[0] + shares[place], schema.rows if n is None else n
            expected = None if rows is None else max(1, round(part * rows))
            asked = ask(formula, two, family="binomial", privacy=own)
            if asked.method.name not in METHODS:
                raise MethodError(
                    f"method={asked.method.name!r} in a multinomial fit",
                    expected=f"one of {', '.join(map(repr, METHODS))}",
                    remedy="Leave method out, or fit each level against the baseline by a call of its own.",
                )
            return asked.plan(n=expected)

        if privacy is None:
            plans = [planned(place, None) for place in places]
            return cls(dict(zip(variable.labels[1:], plans, strict=True)), plans[0].releases)
        budget = for_unit(privacy, schema)
        for own in shares_of(budget, len(places), partial(planned, 1)):
            plans = [planned(place, own) for place in places]
            try:
                return cls.priced(dict(zip(variable.labels[1:], plans, strict=True)), budget)
            except PrivacyError as error:
                refusal = error
        raise refusal

    @classmethod
    def priced(cls, plans: Mapping[str, Plan], budget: Privacy) -> LevelPlan:
        """Plans by level, and what they cost together; more than the budget is a PrivacyError."""
        releases = tuple(release for plan in plans.values() for release in plan.releases.releases)
        joint = budgeted_plan(releases, budget, mu=budget.mu, curve=True)  # proof: price
        # What the releases do not know, as that weights were made without other rows.
        assumed = [text for plan in plans.values() for text in plan.guarantee.assumptions]
        known = tuple(dict.fromkeys((*joint.guarantee.assumptions, *assumed)))
        return cls(plans, replace(joint, guarantee=replace(joint.guarantee, assumptions=known)))

    @property
    def guarantee(self) -> Guarantee:
        """What the fit will promise: what the releases of all equations cost together."""
        return self.releases.guarantee

    @property
    def what(self) -> str:
        """The words of a ledger's line."""
        first = next(iter(self.equations.values()))
        return f"{first.what[:-1]}, {len(self.equations)} equations of a multinomial fit]"

    @property
    def fingerprint(self) -> str:
        """A hash of the equations' fingerprints and of the guarantee, 64 hexadecimal digits."""
        prints = {level: plan.fingerprint for level, plan in self.equations.items()}
        return hashed({"equations": prints, "guarantee": self.guarantee.to_dict()})

    def fit(
        self,
        data: object,
        *,
        ledger: LedgerOption = None,
        key: str | None = None,
        seed: int | None = None,
        progress: bool | None = None,
    ) -> LevelFits:
        """Charge all equations at once, then run them on a table, as `Plan.fit` does.

        Raises
        ------
        SchemaError, BudgetExceeded, LedgerError
            As `Plan.fit`; nothing was read.
        """
        one_table(data)
        levels = tuple(self.equations)
        noises = dict(zip(levels, map(noise_of, site_seeds(seed, len(levels))), strict=True))
        opened = one_ledger(ledgers_of(ledger, key))
        steps = ["charge", *(f"equation {place + 1} of {len(levels)}" for place in range(len(levels)))]
        with bar_of(progress, steps) as step:
            runs = {
                level: plan._on(data, seeded=not noises[level].private)
                for level, plan in self.equations.items()
            }
            seeded = self.releases.privacy is not None and any(not each.private for each in noises.values())
            whole = self.guarantee.seeded() if seeded else self.guarantee
            step()

            def answer(state: LedgerState | None) -> dict[str, FitRecord]:
                records = solved(runs, noises, step, state)
                return {level: self._marked(record, whole) for level, record in records.items()}

            # Charge before reading: an interrupt from here on loses budget, never privacy.
            charges = [(whole, self.what, self.fingerprint)]
            records = charged(opened, key, charges, answer, sites=levels, kind=FitRecord)
        models = {level: plan.specification.coded_model for level, plan in self.equations.items()}
        fits = {level: FitResult(with_row_map(record, models[level])) for level, record in records.items()}
        return LevelFits(fits, whole)

    def _marked(self, record: FitRecord, whole: Guarantee) -> FitRecord:
        """The record of one equation, which says what all of them promise."""
        if record.part is not None:
            return record
        first = next(iter(self.equations.values())).specification.coded_model.response.levels
        assert first is not None
        return replace(record, part=Equation((first[0], *self.equations), whole, self.fingerprint))

    def summary(self) -> Table:
        """Standard errors to expect of each equation where a number of rows is known, and the price."""
        plans = self.equations
        names = next(iter(plans.values())).names
        known = all(plan.n is not None for plan in plans.values()) and len(names) <= MOST_DENSE
        errors = [plan.expected().std_error for plan in plans.values()] if known else []
        return Table(
            title=f"Expected standard errors of {len(plans)} equations of a multinomial fit",
            columns=(Column("term", "left"), *map(Column, plans if known else ())),
            rows=tuple((name, *(coefficient(error[j]) for error in errors)) for j, name in enumerate(names)),
            notes=(self.guarantee.statement(), "plan.equations[level] is the plan of one equation."),
        )

    def __repr__(self) -> str:
        return f"<LevelPlan: {', '.join(map(repr, self.equations))}: {self.guarantee.statement()}>"


def one_table(data: object) -> object:
    """The table; tables by site are refused."""
    if is_sites(data):
        raise MethodError(
            "tables by site for a multinomial fit",
            expected="one table",
            remedy="Fit each site by itself, and pool the equations with dpglm.pool.",
        )
    return data


def shares_of(privacy: Privacy, equations: int, planned: Callable[[Privacy], Plan]) -> Iterator[Privacy]:
    """Budgets of one of several equations, falling: the first that all of them together keep is used.

    A pure epsilon is divided, and so is the square of a mu. Of an (epsilon, delta), what an equation may cost
    is searched for: its releases and as many again, at the same delta, cost no more than epsilon. Where that
    delta is too large for it, both are divided.
    """
    if privacy.definition == "pure":
        yield replace(privacy, epsilon=privacy.epsilon / equations)
        return
    whole = gdp_mu(privacy.epsilon, privacy.delta) if privacy.mu is None else privacy.mu
    mu = whole / math.sqrt(equations)
    if privacy.mu is not None:
        yield replace(privacy, epsilon=gdp_epsilon(mu, privacy.delta), mu=mu)
        return

    def fits(epsilon: float) -> bool:
        releases = planned(replace(privacy, epsilon=epsilon)).releases.releases * equations
        try:
            budgeted_plan(releases, privacy, mu=None)
        except PrivacyError:
            return False
        return True

    low, high = privacy.epsilon / equations, privacy.epsilon
    high = min(high, max(gdp_epsilon(mu, privacy.delta), low))
    if not fits(low):  # a large delta for each does not compose to the same delta; sums of both always do
        yield replace(privacy, epsilon=low, delta=privacy.delta / equations)
        return
    for _ in range(SEARCHED):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    for _ in range(MOST_TRIES):
        yield replace(privacy, epsilon=low)
        low *= 0.9


def _response(schema: Schema, name: str) -> Categorical:
    """The declared levels of a response, at least three."""
    schema.require([name])
    variable = schema.variables[name]
    if not isinstance(variable, Categorical) or len(variable.levels) < 3:
        raise SchemaError(
            f"the response {name} without three levels or more",
            expected="levels, the baseline first",
            remedy=f"Write in the schema:\n  {name}: {{levels: [BASELINE, OTHER, ...]}}\nor use "
            "family='binomial' for two levels.",
        )
    if variable.missing != "omit" or variable.other not in (None, "omit"):
        raise SchemaError(
            f"the response {name} with missing or undeclared values that are read as a level",
            expected="missing: omit, and no other: rows at other levels are rows without a response",
            remedy="Leave missing and other out of the schema, or code these rows as a level of their own.",
        )
    return variable


def _between(variable: Categorical, place: int) -> Categorical:
    """The response of one equation: the baseline and the level at ``place``, others missing codes."""
    kept = variable.levels[0], variable.levels[place]
    others = [level for level in variable.levels if level not in kept]
    spelled = [text for text, level in variable.aliases.items() if level in others]
    shares = None if variable.shares is None else (variable.shares[0], variable.shares[place])
    return replace(  # proof: missing
        variable,
        levels=kept,
        missing_codes=(*variable.missing_codes, *map(label_of, others), *spelled),
        aliases={text: level for text, level in variable.aliases.items() if level in kept},
        level_labels={level: text for level, text in variable.level_labels.items() if level in kept},
        ordered=False,
        shares=None if shares is None else tuple(share / sum(shares) for share in shares),
    )
