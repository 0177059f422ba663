"""Which rare levels to merge by declaration, so that what is left can be told apart from noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from dpglm.data.formula.model import LevelFactor
from dpglm.data.schema.variables import Categorical
from dpglm.data.tables.cells import label_of
from dpglm.errors import DpglmError
from dpglm.inference.expectation import LikelyFits
from dpglm.planning.expected_rows import expected_shares
from dpglm.tables.table import coefficient
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

if TYPE_CHECKING:
    from dpglm.planning.expectation import Expectation

# Pools that turn out too small once their levels are merged grow by one level, this many times.
_ROUNDS: Final = 3


@dataclass(frozen=True)
class Merger:
    """Levels of one variable to declare as one.

    Examples
    --------
    >>> print(Merger("job", ("clerk", "nurse"), 0.9, 0.4, True))
    merge levels clerk and nurse of job: expected standard error 0.4000 instead of 0.9000
    """

    variable: str
    levels: tuple[str, ...]
    before: float  # expected standard error of the worst of them against the reference level
    after: float  # that of the merged one
    printed: bool  # whether the merged level will probably have a standard error

    def __str__(self) -> str:
        words = f"{', '.join(self.levels[:-1])} and {self.levels[-1]}"
        gain = f"expected standard error {coefficient(self.after)} instead of {coefficient(self.before)}"
        still = "" if self.printed else ", which is still too much for an interval"
        return f"merge levels {words} of {self.variable}: {gain}{still}"


def proposals(expected: Expectation) -> tuple[Merger, ...]:
    """Mergers of the rarest declared levels of each factor that has levels without an interval.

    Pools are found on the linear model to expect, as weighted means of levels, and then computed again with
    the levels merged. Factors without declared shares, with two levels or in an interaction are left alone,
    and so are reference levels.
    """
    if not expected.has_intervals:
        return ()
    pools = {
        name: found
        for name, rows in _main_effects(expected).items()
        if name in factors(expected, shares=True) and (found := _pools(expected, name, rows))
    }
    if not pools:
        return ()
    for _ in range(_ROUNDS):
        merged = _merged(expected, pools)
        if merged is None:
            return ()
        mergers = tuple(_mergers(expected, merged, pools))
        grown = {name: _grown(expected, name, lists, mergers) for name, lists in pools.items()}
        if grown == pools:
            break
        pools = grown
    return tuple(merger for merger in mergers if merger.after < merger.before)


def factors(expected: Expectation, *, shares: bool) -> tuple[str, ...]:
    """Columns with three levels or more, with declared shares or without."""
    model = expected.model
    variables = ((name, model.schema.variables[name]) for name in model.coding.columns)
    return tuple(
        name
        for name, variable in variables
        if isinstance(variable, Categorical)
        and (variable.shares is not None) == shares
        and len(variable.levels) > 2
    )


def _factor(expected: Expectation, name: str) -> Categorical:
    variable = expected.model.schema.variables[name]
    assert isinstance(variable, Categorical)
    return variable


def _main_effects(expected: Expectation) -> dict[str, FloatMatrix]:
    """Coefficients of levels against the first one, shape (levels, p), of columns that no other term uses."""
    model = expected.model.coding.model
    uses = [
        {
            name
            for subterm in term.subterms
            for usage in subterm
            for name in model.factors[usage.factor].expression.columns
        }
        for term in model.terms
    ]
    effects = {}
    for term, used in zip(model.terms, uses, strict=True):
        usages = term.subterms[0]
        table = usages[0].table if len(usages) == 1 else None
        if len(term.subterms) != 1 or not isinstance(table, np.ndarray) or not term.order:
            continue
        factor = model.factors[usages[0].factor]
        alone = sum(bool(used & others) for others in uses) == 1
        if isinstance(factor, LevelFactor) and factor.expression.op == "column" and alone:
            against = table - table[0]
            assert isinstance(expected.found, LikelyFits)
            users = expected.found.rows[term.start : term.stop]
            effects[factor.expression.name] = against @ users
    return effects


def _precision(expected: Expectation, rows: FloatMatrix) -> tuple[FloatVector, BoolVector]:
    """Standard errors of linear functions, and whether they will probably have a standard error."""
    assert isinstance(expected.found, LikelyFits)
    contrasts = replace(expected.found, rows=rows)
    printed = np.array([decision.reported for decision in contrasts.decisions], dtype=np.bool_)
    return expected.model.response.unit * contrasts.deviations, printed


def _pools(expected: Expectation, name: str, rows: FloatMatrix) -> list[list[int]]:
    """Levels to merge, rarest first: each pool is the smallest that will probably have a standard error."""
    shares = expected_shares(_factor(expected, name))
    _, alone = _precision(expected, rows[1:])
    printed = np.concatenate([[True], alone])
    order = [int(level) for level in np.argsort(shares, kind="stable") if level > 0]
    # A frequent level that needs no merging is not spoilt by rare ones.
    order = [level for level in order if not printed[level] or shares[level] < 1.0 / len(shares)]
    pools: list[list[int]] = []
    while order:
        if printed[order[0]]:
            order = order[1:]
            continue
        weighted = np.cumsum(shares[order, None] * rows[order], axis=0)
        means = weighted / np.cumsum(shares[order])[:, None]
        _, passed = _precision(expected, means)
        long_enough = np.flatnonzero(passed & (np.arange(len(order)) > 0))
        count = int(long_enough[0]) + 1 if len(long_enough) else len(order)
        if count == 1 or (not len(long_enough) and pools):
            pools[-1:] = [[*(pools[-1] if pools else []), *order[:count]]]
        else:
            pools.append(order[:count])
        order = order[count:]
    return [pool for pool in pools if len(pool) > 1]


def _merged(expected: Expectation, pools: dict[str, list[list[int]]]) -> Expectation | None:
    """The same with these levels merged; None where its formula names one of them."""
    spec = expected.plan.specification
    variables, products = dict(expected.model.schema.variables), spec.products
    for name, lists in pools.items():
        variable = _factor(expected, name)
        shares = expected_shares(variable)
        places = {level: pool[0] for pool in lists for level in pool}
        representatives = [level for level in range(len(shares)) if places.get(level, level) == level]
        new = {level: _joined(variable, lists, level) for level in representatives}
        total = dict.fromkeys(representatives, 0.0)
        for level, share in enumerate(shares):
            total[places.get(level, level)] += float(share)
        if len(representatives) < 2:
            return None
        merged = Categorical(tuple(new.values()), effect=variable.effect, shares=tuple(total.values()))
        variables[name] = merged
        if products is not None:
            joins = [representatives.index(places.get(level, level)) for level in range(len(shares))]
            products = products.merged(name, merged.labels, joins)
    spec = replace(spec, schema=replace(expected.model.schema, variables=variables), products=products)
    try:
        other = replace(expected, plan=spec.plan(n=expected.n))
        other.parts  # noqa: B018  # computed here, where a formula that names a level is refused
    except DpglmError:
        return None
    return other


def _joined(variable: Categorical, lists: Sequence[Sequence[int]], level: int) -> str:
    pool = next((pool for pool in lists if pool[0] == level), (level,))
    return " or ".join(label_of(variable.levels[number]) for number in pool)


def _mergers(
    expected: Expectation, merged: Expectation, pools: dict[str, list[list[int]]]
) -> Iterator[Merger]:
    """What the mergers bring, by the two linear models."""
    before, after = _main_effects(expected), _main_effects(merged)
    for name, lists in pools.items():
        old, new = _factor(expected, name), _factor(merged, name)
        for pool in lists:
            position = new.labels.index(_joined(old, [pool], pool[0]))
            errors, printed = _precision(merged, after[name][position : position + 1])
            single, _ = _precision(expected, before[name][pool])
            names = tuple(old.labels[level] for level in pool)
            yield Merger(name, names, float(single.max()), float(errors[0]), bool(printed[0]))


def _grown(
    expected: Expectation, name: str, lists: list[list[int]], mergers: Sequence[Merger]
) -> list[list[int]]:
    """The pools of one variable; those without an interval take up the next rarest level that is free."""
    variable = _factor(expected, name)
    taken = {0, *(level for pool in lists for level in pool)}
    order = np.argsort(expected_shares(variable), kind="stable")
    free = [int(level) for level in order if int(level) not in taken]
    failed = {merger.levels for merger in mergers if merger.variable == name and not merger.printed}
    grown = []
    for pool in lists:
        again = tuple(variable.labels[level] for level in pool) in failed and len(free) > 1
        grown.append([*pool, free.pop(0)] if again else pool)
    return grown
