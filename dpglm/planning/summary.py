"""The table that ``print(dpglm.plan(...).summary())`` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpglm.curator.priced_releases import PricedReleases
from dpglm.data.coding.expected_rows import OVERLAP
from dpglm.inference.contrasts import IntervalDecision
from dpglm.methods.estimate_and_information import MOST
from dpglm.planning.study import EXPLAINED
from dpglm.privacy.composition import ApproximateEvent, PerturbedEvent, PureEvent
from dpglm.tables.content import Column, Fact
from dpglm.tables.number import ABSENT, budget, coefficient, count, factor, share
from dpglm.tables.table import Table

if TYPE_CHECKING:
    from dpglm.planning.study_plan import StudyPlan

MOST_NAMES = 6
HEADINGS = (
    "std err",
    "+- {level}",
    "detectable",
    "x non-private",
    "sampl.",
    "estim.",
    "curv.",
    "adj.",
    "interval",
)
ORIENTATION = (
    "An orientation, not a promise: columns are taken to be spread as declared (undeclared ones: equal "
    "shares of levels, numbers with a sixth of their range as standard deviation), to overlap like normal "
    f"scores with correlation {OVERLAP:g}, and to explain {share(EXPLAINED)} of the response. Columns that "
    "nearly repeat each other have larger standard errors."
)


def summary(found: StudyPlan) -> Table:
    """Facts, expected precision, and what would improve it; see :meth:`StudyPlan.summary`."""
    study, expected = found.study, found.expected
    total = expected.parts.sum(axis=1)
    rows = tuple(
        (
            name,
            coefficient(found.std_error[j]),
            coefficient(found.half_width[j]),
            coefficient(found.detectable[j]),
            f"{found.relative_width[j]:.2f}",
            *(share(float(part / total[j])) for part in expected.parts[j]),
            "yes" if expected.printed[j] else "no",
        )
        for j, name in enumerate(found.names)
    )
    headings = (heading.format(level=f"{100 * found.level:g} %") for heading in HEADINGS)
    guarantee = found.guarantee
    return Table(
        title=f"PricedReleases of a differentially private {study.family.name} regression",
        columns=(Column("term", "left"), *map(Column, headings)),
        rows=rows,
        wide=(("Formula", study.formula), *_releases(study.plan)),
        left=(
            ("Family", f"{study.family.name} ({study.family.link} link)"),
            ("Penalty", study.penalty.name),
            ("Method", study.method.name),
            ("Goal", study.goal),
            ("Rows", f"{count(study.n)} expected"),
            ("Rate", f"{study.rate:g}" if study.family.binary else ABSENT),
        ),
        right=(
            ("epsilon", budget(guarantee.epsilon)),
            ("delta", budget(guarantee.delta)),
            ("mu", budget(guarantee.mu)),
            ("relation", guarantee.relation),
            ("unit", guarantee.unit),
            ("theorem", guarantee.theorem or ABSENT),
        ),
        notes=(*_notes(found), guarantee.statement()),
    )


def release_lines(plan: PricedReleases) -> list[tuple[str, float, float | None, float | None]]:
    """Name, noise scale, epsilon and mu of each priced step; equal ones once."""
    lines: list[tuple[str, float, float | None, float | None]] = []
    assert plan.privacy is not None
    for release in plan.releases:
        costs = release.events(plan.privacy.relation)
        for (name, event), scale in zip(costs, release.noise_scales, strict=True):
            if isinstance(event, PureEvent | ApproximateEvent):
                lines.append((name, float(scale), event.epsilon, None))
            else:
                mu = event.total_mu if isinstance(event, PerturbedEvent) else getattr(event, "mu", None)
                lines.append((name, float(scale), None, mu))
    return list(dict.fromkeys(lines))


def _releases(plan: PricedReleases) -> tuple[Fact, ...]:
    lines = []
    for place, (name, scale, epsilon, mu) in enumerate(release_lines(plan)):
        price = f"mu {budget(mu)}" if epsilon is None else f"epsilon {budget(epsilon)}"
        lines.append(("Releases" if not place else "and", f"{name}, noise {coefficient(scale)}, {price}"))
    return tuple(lines)


def _notes(found: StudyPlan) -> tuple[str, ...]:
    notes = []
    if not found.has_intervals:
        notes.append(
            "No intervals: the whole budget goes to the estimate, and std err is the expected spread of the "
            "estimates before their penalty. penalty='none' with an (epsilon, delta) budget and "
            f"goal='explain' pays for intervals of up to {MOST} coefficients."
        )
    else:
        notes.append(
            "detectable: the effect that a test at 5 % finds with power 80 %. x non-private: std err in "
            "units of that without privacy. Shares of the variance: sampling, noise of the estimate, noise "
            "of the curvature, adjustment for the other coefficients."
        )
        notes += _gaps(found)
    if found.has_intervals and found.mergers:
        words = "; ".join(map(str, found.mergers))
        notes.append(f"{words[0].upper()}{words[1:]}.")
    if found.assumed_equal:
        notes.append(
            f"Equal shares of levels are assumed for {_listed(found.assumed_equal)}: declare shares= in the "
            "schema to see what rare levels cost, and which to merge."
        )
    return (*notes, ORIENTATION)


def _gaps(found: StudyPlan) -> list[str]:
    """A sentence for each reason why coefficients will probably have no interval."""
    groups: dict[str, list[tuple[str, IntervalDecision]]] = {}
    for name, verdict in zip(found.names, found.expected.interval_decisions, strict=True):
        if not verdict.reported:
            groups.setdefault(verdict.reason, []).append((name, verdict))
    return [
        f"Probably no interval, {why}: "
        + _listed([f"{name} (n or epsilon x {factor(verdict.factor)})" for name, verdict in group])
        + "."
        for why, group in groups.items()
    ]


def _listed(words: tuple[str, ...] | list[str]) -> str:
    most = len(words) if len(words) <= MOST_NAMES + 1 else MOST_NAMES
    rest = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + rest
