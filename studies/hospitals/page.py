"""Sections of the page: verdicts, the paper's table 2 for each network, and how it was run."""

from __future__ import annotations

from collections.abc import Sequence

from studies.centred import WHY
from studies.hospitals.claims import OWN, PAPER, claims, means
from studies.hospitals.figures import draw
from studies.hospitals.grid import (
    ALLOWED,
    DELTA,
    EPSILON,
    LAWS,
    METHODS,
    OF_PAPER,
    PRINTED,
    RIDGE,
    STRENGTH,
    Grid,
    K,
)
from studies.hospitals.paper_table import AREAS, MAIN
from studies.hospitals.summary import Areas
from studies.hospitals.tables import GUSTO_RANGES, HEART_RANGES, SOURCES, sizes
from studies.page import Section, Table, fraction
from studies.paired import COUNTED, MIXED, NOT, VERDICTS, Claim, Mean, mean_of
from studies.stacking.printed import STRENGTHS
from studies.study import Findings

REASONS = (
    "What the main hospital knows reaches a branch in one way: the ridge of each of the branch's models "
    "pulls to the source's coefficients. With a pure epsilon that ridge is the least that privacy needs, "
    "2 / epsilon in sums over rows, which a thousand rows outweigh: the branch mostly fits its own noise "
    "again, whatever the source was. With a delta the ridge is larger, and the source counts for more. "
    "'PPHTL, strong' pulls harder.",
    "Stacks at a branch have half of its rows for their models and the other half for the high-level "
    "model, which is pulled to the sum of all models' log odds: without that, noise would decide the "
    "sign of its weights. PPHTL has all rows and no high-level model. The main hospital's model as it is "
    "has the rows of the largest hospital and no noise of the branch's at all: it is the one to beat, "
    "and the paper does not show it at the branches.",
    "Rare outcomes (GUSTO: 7 of 100) are hard on all of this: a small branch has some dozens of deaths. "
    "All methods but the default read the same rows: centred columns, scaled to norm 1 where variables "
    "are uniform on their ranges, a quarter of it for the intercept. PLR is a stack of one group. The "
    "default reads rows that no declared row exceeds, and so as short as the declared bounds are wide.",
)


CHANGED = (
    f"The printed Algorithm 4 trains a model for each of its K = {K} groups of columns of the main "
    "hospital's rows, each with the whole epsilon. A patient there is in all of them and pays K epsilons; "
    "the claim is one. Here groups share one epsilon, or one Gaussian noise.",
    "Its models of a branch pull to the coefficients of models of rows of norm 1, though the branch's rows "
    "of group k have norm q_k. Here they pull to the same log odds.",
    "The paper tunes strengths on a third of each hospital's rows and divides rows by the longest one. Both "
    "read the rows. Here strengths follow from the budget, and bounds are declared.",
    "What 'as printed' has of ours, too, since the paper is silent on intercepts and tuning: answers are "
    "read less 1/2, columns are centred at the means of a hospital's rows, and strengths are chosen among "
    f"{', '.join(f'{one:g}' for one in STRENGTHS)}; those of the main hospital by the sum of its models.",
)


def sections(findings: Findings[Grid]) -> list[Section]:
    """Claims with their verdicts, reasons, a section for each network, all differences, how it was run."""
    areas = Areas(findings.results)
    said, own = claims(areas, PAPER), claims(areas, OWN)
    differences = [*(means(areas, *pair) for pair in (*PAPER, *OWN)), *_signs(areas)]
    return [
        _claims(findings, areas, said),
        _reasons(findings, areas, said, own),
        Section("What was changed against the paper, and why", CHANGED),
        *(_network(areas, table) for table in areas.tables()),
        Section("All differences", tables=differences),
        _settings(findings, areas.count()),
    ]


def _claims(findings: Findings[Grid], areas: Areas, said: Sequence[Claim]) -> Section:
    texts = [
        "A main hospital fits a private model and hands over a file; each branch fits its own model, "
        f"which starts from that file. Both spend epsilon {EPSILON:g}, pure or with delta {DELTA:g}, on "
        "their own patients; a patient of both pays both. The paper's hospitals are not public: here are "
        "three other networks: as printed, and by the public functions of dpglm. Areas under ROC curves, on "
        "rows of the branch that no fit has seen.",
        *findings.notes(),
    ]
    as_printed = {claim.statement: claim for claim in claims(areas, PAPER, (PRINTED,))}
    rows = [
        (one.statement, *as_printed.get(one.statement, Claim("", "", [])).row()[1:], *one.row()[1:])
        for one in said
    ]
    caption = (
        f"What the paper says of its table 2, {areas.count()} repeats. {VERDICTS} There is one interval for "
        "each branch of each network, and corrected for each kind of budget; branches of a network share the "
        "main hospital's model, so that they go together more than chance has it. As printed: with all that "
        "is read off the rows, and K epsilons at the main hospital, NOT PRIVATE."
    )
    columns = ("claim", "as printed", "verdict", "corrected", "verdict")
    return Section("Claims", texts, tables=[Table(caption, columns, rows)])


def _reasons(findings: Findings[Grid], areas: Areas, said: Sequence[Claim], own: Sequence[Claim]) -> Section:
    texts = []
    for word in (NOT, MIXED):
        names = [claim.statement for claim in said if claim.verdict == word]
        if names:
            texts.append(f"Corrected: {word}: {'; '.join(names)}.")
    texts += [*_winners(areas), *REASONS]
    columns = ("statement", "branches", "verdict")
    caption = f"Questions of our own, by branch, network and kind of budget. {COUNTED}"
    tables = [Table(caption, columns, [one.row() for one in own])]
    if refusals := findings.refusals(lambda result: METHODS[result["method"]]):
        tables.append(Table("Refused by dpglm.", ("method", "found", "jobs"), refusals))
    return Section("What reproduces, what does not, and why", texts, tables=tables)


def _winners(areas: Areas) -> list[str]:
    """The best of what a branch may do, in words."""
    found = []
    for table in areas.tables():
        for law in LAWS:
            means = {
                method: one.value for method in ALLOWED if (one := areas.mean(table, law, method)) is not None
            }
            if not means:
                continue
            ranked = sorted(means, key=lambda method: -means[method])
            order = ", ".join(f"{METHODS[method]} {means[method]:.3f}" for method in ranked)
            found.append(f"{SOURCES[table].title}, {law}: {order}.")
    return found


def _network(areas: Areas, table: str) -> Section:
    source, known = SOURCES[table], sizes(table)
    (main, (rows, share)), *_ = known.items()
    texts = [
        f"Outcome: {source.outcome}. Main hospital: {main}, {rows:,} rows, {100 * share:.1f} % of them "
        f"positive. Weights: {source.provenance}.",
        "Importance, in order: "
        + ", ".join(f"{name} {weight:.3f}" for name, weight in source.importance.items())
        + ".",
    ]
    tables = []
    for law in LAWS:
        lines = [_line(areas, table, law, None, "mean of branches", "")]
        for site in areas.sites(table):
            size, positive = known[site]
            lines.append(_line(areas, table, law, site, site, f"{size:,}, {100 * positive:.0f} %"))
        mains = [areas.main(table, law, method) for method in METHODS]
        lines.append(("main hospital", f"{rows:,}", *(_cell(one, False) for one in mains)))
        tables.append(
            Table(
                f"{source.title}, {law}: mean area ± standard deviation over repeats. * the best of what "
                "a branch may do, and what is not worse by the paired 95 % interval. At the main hospital "
                "PST-H has votes of its models, no high-level model: where positive rows are few and ridges "
                "strong, nearly all models vote no everywhere, and the area is .5.",
                ("site", "rows, positive", *(name.replace("(", " (") for name in METHODS.values())),
                lines,
            )
        )
    tables.append(_as_printed(areas, table))
    return Section(source.title, texts, [draw(areas, table)], tables)


def _as_printed(areas: Areas, table: str) -> Table:
    """The printed methods branch by branch, and the paper's own numbers where its network is simulated."""
    sites, beside = areas.sites(table), table == "cohort"
    rows = []
    for place, site in enumerate([None, *sites]):
        cells = [_cell(areas.mean(table, PRINTED, method, site), False) for method in OF_PAPER]
        if beside:
            numbers = [AREAS[method] for method in OF_PAPER]
            cells += [fraction(mean_of(one).value if site is None else one[place - 1]) for one in numbers]
        rows.append((site or "mean of branches", *cells))
    heads = [METHODS[method] for method in OF_PAPER]
    told = [f"{head}, the paper's" for head in heads] if beside else []
    note = (
        f" The paper's numbers are of its own sixteen branches, whose sizes the simulated ones have; its "
        f"PLR at the main hospital has {MAIN:g}."
        if beside
        else ""
    )
    return Table(f"{SOURCES[table].title}, as printed (NOT PRIVATE).{note}", ("site", *heads, *told), rows)


def _line(areas: Areas, table: str, law: str, site: str | None, label: str, size: str) -> tuple[str, ...]:
    best = areas.best(table, law, ALLOWED, site)
    cells = [_cell(areas.mean(table, law, method, site), method in best) for method in METHODS]
    return (label, size, *cells)


def _cell(one: Mean | None, best: bool) -> str:
    if one is None:
        return "-"
    spread = "" if one.deviation != one.deviation else f" ±{fraction(one.deviation)}"
    return f"{fraction(one.value)}{spread}{' *' if best else ''}"


def _signs(areas: Areas) -> list[Table]:
    """How often a branch's high-level model has a weight below 0."""
    stacks = ("pst-h-w", "pst-h-u")
    rows = [
        (
            f"{SOURCES[table].title}, {law}",
            *("-" if not runs else f"{100.0 * sum(runs) / len(runs):.0f} %" for runs in found),
        )
        for table in areas.tables()
        for law in LAWS
        for found in [
            [
                [one["negative"] for one in areas.runs(table, law, method).values() if "negative" in one]
                for method in stacks
            ]
        ]
    ]
    caption = (
        "Weights of branches' high-level models below 0, which turn a model's answers round: half would "
        "be chance."
    )
    return [Table(caption, ("", *(METHODS[method] for method in stacks)), rows)]


def _settings(findings: Findings[Grid], repeats: int) -> Section:
    ranges = {**GUSTO_RANGES, **{f"{name} (heart)": pair for name, pair in HEART_RANGES.items()}}
    texts = [
        "Every site is split in halves, to fit and to test, each with its share of positive rows; a "
        f"repeat is a new split and new noise, {repeats} of them. Intervals are Student's t of "
        "paired differences; halves of different repeats overlap, so that they are about these tables "
        "and a little too short.",
        f"Stacks have K = {K} groups: by weight in order (W), or columns dealt at random, dealt again "
        "for every repeat (U). The main hospital's models read all rows of its half, without a high-level "
        "model, as in the paper's Algorithm 4; the branch's are a PST-F with half of the rows for its "
        "high-level model. PPHTL is our reading: one model of all columns, its "
        f"ridge pulling to the main hospital's PLR; 'strong' has a ridge of {RIDGE:g} in sums over rows "
        "instead of the least that privacy needs, a number chosen on one split: a hint, not "
        "a test.",
        "default(target) is method='auto', goal='predict', at each branch. PLR(main) is the main "
        "hospital's model as it is. PLR(pooled) has all sites' rows in one fit, which no one may run, "
        "and spends the same epsilon; no privacy(pooled) is the same without noise, strength "
        f"{STRENGTH:g} per row. No tuning anywhere.",
        WHY
        + " Clinical ranges that the study declares, values beyond them read as the bound: "
        + "; ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in ranges.items())
        + ".",
        "GUSTO-I: sho and ant are left out (computed from Killip and miloc). Heart disease: empty cells "
        "are levels of their own, so that they tell sites apart; 123 to 303 patients per site, 8 of "
        "Switzerland's 123 without disease: areas there hardly mean anything. The simulated cohort: "
        "dpglm/data/tables/datasets.py.",
        f"{findings.minutes:.0f} minutes of fits from fixed seeds (seeded noise is itself NOT PRIVATE). "
        "Again: `python -m studies run hospitals`; it goes on where it was stopped.",
    ]
    return Section("How it was run", texts)
