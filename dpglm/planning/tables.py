"""Tables of a plan: what it releases, what that costs, and the precision to expect of its fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.inference.contrasts import IntervalDecision
from dpglm.methods.perturbed_objective import MOST
from dpglm.planning.expected_rows import EXPLAINED, OVERLAP
from dpglm.planning.spreads import EVEN, UNEVEN, undeclared, under
from dpglm.postprocessing.declared import weight_facts
from dpglm.privacy.events import ApproximateEvent, PerturbedEvent, PureEvent
from dpglm.report import coefficient_figures, plots
from dpglm.tables.table import ABSENT, Column, Fact, Table, budget, coefficient, count, factor, share

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dpglm.planning.expectation import Expectation
    from dpglm.spec.plan import Plan


MOST_NAMES = 6
PARTS = ("sampl.", "estim.", "inf.", "adj.")
HEADINGS = ("std err", "+- {level}", "detectable", "x non-private", *PARTS, "interval")
ORIENTATION = (
    "An orientation, not a promise: columns are taken to be spread as declared (undeclared ones: equal "
    "shares of levels, numbers with a sixth of their range as standard deviation), to overlap like normal "
    f"scores with correlation {OVERLAP:g}, and to explain {share(EXPLAINED)} of the response. Columns that "
    "nearly repeat each other have larger standard errors."
)
AS_RELEASED = (
    "An orientation, not a promise: columns are taken to be spread, to overlap and to explain the response "
    "as the profile released."
)
IF_EVEN = (
    "rows below hold if levels are equally frequent, and numbers have a sixth of their range as standard "
    "deviation, where nothing is declared"
)
NOTHING = (
    "This method combines several models: the precision of single coefficients is not known before the fit."
)


def summary(expected: Expectation) -> Table:
    """Facts, expected precision, and what would improve it; see :meth:`Expectation.summary`."""
    parts, total = expected.parts, expected.parts.sum(axis=1)
    sure, possible = expected.printed, expected.printed
    promise: tuple[Fact, ...] = ()
    if expected.has_intervals and undeclared(expected.model):
        uneven, even = (under(expected, spread).printed for spread in (UNEVEN, EVEN))
        sure, possible = tuple(map(min, uneven, even)), tuple(map(max, uneven, even))
        words = f"of {sum(sure)} to {sum(possible)} of {len(sure)} coefficients; {IF_EVEN}"
        promise = (("Intervals", words),)
    rows = tuple(
        (
            name,
            coefficient(expected.std_error[j]),
            coefficient(expected.half_width[j]),
            coefficient(expected.detectable[j]),
            ABSENT if expected.found is None else f"{expected.relative_width[j]:.2f}",
            *(ABSENT if expected.found is None else share(float(part / total[j])) for part in parts[j]),
            "yes" if sure[j] else "perhaps" if possible[j] else "no",
        )
        for j, name in enumerate(expected.names)
    )
    headings = (heading.format(level=f"{100 * expected.level:g} %") for heading in HEADINGS)
    rate = f"{expected.rate:g}" if expected.model.family.response_kind == "binary" else ABSENT
    facts = (("Rows", f"{count(expected.n)} expected"), ("Rate", rate))
    at_rows = replace(expected.plan, n=expected.n)
    notes = (*at_rows.advice, *_notes(expected), expected.plan.guarantee.statement())
    columns = (Column("term", "left"), *map(Column, headings))
    return _table(expected.plan, columns, rows, facts, notes, promise)


def price_table(plan: Plan) -> Table:
    """The releases of a plan for which no number of rows is known, and their price."""
    lines = release_lines(plan.releases)
    rows = tuple(
        (name, coefficient(scale), budget(epsilon), budget(mu)) for name, scale, epsilon, mu in lines
    )
    columns = (Column("release", "left"), Column("noise scale"), Column("epsilon"), Column("mu"))
    notes = (
        *plan.advice,
        "plan.expected(n=10_000) tells which precision to expect of that many rows.",
        plan.guarantee.statement(),
    )
    return _table(plan, columns, rows, (), notes)


def _table(
    plan: Plan,
    columns: tuple[Column, ...],
    rows: tuple[tuple[str, ...], ...],
    facts: tuple[Fact, ...],
    notes: tuple[str, ...],
    promise: tuple[Fact, ...] = (),
) -> Table:
    spec, guarantee = plan.specification, plan.guarantee
    return Table(
        title=f"Plan of a differentially private {spec.family.name} regression",
        columns=columns,
        rows=rows,
        wide=(
            ("Formula", spec.formula),
            *weight_facts(spec.to_document()),
            *promise,
            *_releases(plan.releases),
            ("Fingerprint", plan.fingerprint),
        ),
        left=(
            ("Family", f"{spec.family.name} ({plan.problem.family.link} link)"),
            ("Penalty", plan.problem.penalty.name),
            ("Method", spec.method.name),
            ("Goal", spec.goal),
            *facts,
        ),
        right=(
            ("epsilon", budget(guarantee.epsilon)),
            ("delta", budget(guarantee.delta)),
            ("mu", budget(guarantee.mu)),
            ("relation", guarantee.relation),
            ("unit", guarantee.unit),
        ),
        notes=notes,
    )


def release_lines(releases: PricedReleases) -> list[tuple[str, float, float | None, float | None]]:
    """Name, noise scale, epsilon and mu of each priced step; equal ones once."""
    lines: list[tuple[str, float, float | None, float | None]] = []
    if releases.privacy is None:
        return lines
    for release in releases.releases:
        costs = release.events(releases.privacy.relation)
        for (name, event), scale in zip(costs, release.noise_scales, strict=True):
            if isinstance(event, PureEvent | ApproximateEvent):
                lines.append((name, float(scale), event.epsilon, None))
            else:
                mu = event.total_mu if isinstance(event, PerturbedEvent) else getattr(event, "mu", None)
                lines.append((name, float(scale), None, mu))
    return list(dict.fromkeys(lines))


def _releases(releases: PricedReleases) -> tuple[Fact, ...]:
    lines = []
    for index, (name, scale, epsilon, mu) in enumerate(release_lines(releases)[:MOST_NAMES]):
        price = f"mu {budget(mu)}" if epsilon is None else f"epsilon {budget(epsilon)}"
        lines.append(("Releases" if not index else "and", f"{name}, noise {coefficient(scale)}, {price}"))
    return tuple(lines)


def _notes(expected: Expectation) -> tuple[str, ...]:
    if expected.found is None:
        return (NOTHING,)
    if expected.has_intervals:
        notes = [
            "detectable: the effect that a test at 5 % finds with power 80 %. x non-private: std err in "
            "units of that without privacy. Shares of the variance: sampling, noise of the estimate, noise "
            "of the information matrix, adjustment for the other coefficients.",
            *_gaps(expected),
        ]
    else:
        notes = [
            "No intervals: the whole budget goes to the estimate. std err is the expected spread of the "
            "estimates before their penalty; an effect below detectable will not be told from zero. "
            f"penalty='none' with an (epsilon, delta) budget and goal='explain' pays for intervals of "
            f"up to {MOST} coefficients."
        ]
    if expected.mergers:
        words = "; ".join(map(str, expected.mergers))
        notes.append(f"{words[0].upper()}{words[1:]}.")
    if expected.assumed_equal:
        notes.append(
            f"Equal shares of levels are assumed for {_listed(expected.assumed_equal)}: declare shares= in "
            "the schema to see what rare levels cost, and which to merge."
        )
    return (*notes, ORIENTATION if expected.drawn is None else AS_RELEASED)


def _gaps(expected: Expectation) -> list[str]:
    """A sentence for each reason why coefficients will probably have no standard error."""
    groups: dict[str, list[tuple[str, IntervalDecision]]] = {}
    for name, decision in zip(expected.names, expected.decisions, strict=True):
        if not decision.reported:
            groups.setdefault(decision.reason, []).append((name, decision))
    return [
        f"Probably no standard error, {why}: "
        + _listed([f"{name} (n or epsilon x {factor(decision.factor)})" for name, decision in group])
        + "."
        for why, group in groups.items()
    ]


def _listed(words: tuple[str, ...] | list[str]) -> str:
    most = len(words) if len(words) <= MOST_NAMES + 1 else MOST_NAMES
    rest = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + rest


Over: TypeAlias = Literal["n", "epsilon"]
# Values drawn over are the planned one times these.
GRID: Final = tuple(2.0**step for step in range(-3, 4))


def curve(expected: Expectation, over: Over, values: Sequence[float] | None) -> pd.DataFrame:
    """See `Expectation.curve`."""
    import pandas as pd

    rows = []
    for value in _values(expected, over, values):
        point = round(value) if over == "n" else float(value)
        other = expected.at(n=round(value)) if over == "n" else expected.at(epsilon=float(value))
        rows.append((point, *_precision(other)))
    columns = [over, "median", "worst", "median_relative", "printed", "intervals"]
    return pd.DataFrame(rows, columns=columns)


def plot_curve(expected: Expectation, over: Over, values: Sequence[float] | None, ax: Axes | None) -> Axes:
    """See `Expectation.plot`."""
    widths = curve(expected, over, values)
    figure = coefficient_figures.expected_figure(
        over,
        widths[over].to_numpy(dtype=np.float64),
        {"worst coefficient": widths["worst"].to_numpy(), "median": widths["median"].to_numpy()},
        planned=float(expected.n if over == "n" else expected.plan.guarantee.epsilon),
        scale=expected.model.family.link,
    )
    return plots.draw(figure, ax=ax)


def _precision(expected: Expectation) -> tuple[float, float, float, int, bool]:
    """Median and worst standard error, relative median, how many intervals, and whether any is paid for."""
    penalised = expected.model.coding.penalised
    slopes = penalised if penalised.any() else ~penalised
    errors = expected.std_error[slopes]
    return (
        float(np.median(errors)),
        float(errors.max()),
        float(np.median(errors / expected.classical[slopes])),
        int(np.sum(np.array(expected.printed)[slopes])),
        expected.has_intervals,
    )


def _values(expected: Expectation, over: str, values: Sequence[float] | None) -> Sequence[float]:
    if over not in ("n", "epsilon"):
        raise MethodError(
            f"over={over!r}" if isinstance(over, str) else f"over of type {type(over).__name__}",
            expected="'n' or 'epsilon'",
            remedy="Use over='n'.",
        )
    budget = expected.plan.specification.privacy
    if over == "epsilon" and (budget is None or budget.mu is not None):
        raise MethodError(
            "over='epsilon' of a budget declared as mu or rho",
            expected="a budget declared as epsilon",
            remedy="Use over='n', or plan with privacy=(1.0, 1e-6).",
        )
    planned = expected.n if over == "n" else expected.plan.guarantee.epsilon
    least = 1.0 if over == "n" else 1e-3
    given = values if np.iterable(values) else ()
    chosen = [max(planned * step, least) for step in GRID] if values is None else list(given)
    if not chosen or not all(
        isinstance(value, int | float | np.integer | np.floating) and least <= value <= 1e12
        for value in chosen
    ):
        raise MethodError(
            f"values of {over} out of range",
            expected=f"numbers from {least:g} to 1e12",
            remedy="Leave values out for an eighth to eight times what is planned.",
        )
    return chosen
