"""Sections of the page: verdicts, figures, tables, and how it was run. All numbers come from results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from studies.centred import WHY
from studies.jobs import Result
from studies.page import Section, Table
from studies.paired import COUNTED, MIXED, NOT, VERDICTS, Claim
from studies.stacking import claims
from studies.stacking.figures import draw
from studies.stacking.grid import (
    DELTA,
    EPSILON,
    HOLDOUT,
    LAWS,
    METHODS,
    NOISELESS,
    PAPER,
    PRINTED,
    STRENGTH,
    Grid,
    K,
    cell,
)
from studies.stacking.printed import STRENGTHS
from studies.stacking.summary import Areas
from studies.stacking.tables import CLIP, DESIGNS
from studies.study import Findings

SHOWN = ("plr", "plr-units", "pst-s", "pst-f-u", "pst-f-w", "auto")
REASONS = (
    "Why groups of columns help with a pure epsilon only where weights do: K groups share epsilon, so "
    "that each has an epsilon / K for 1 / K of the columns. Noise in a column, in its own units, is that "
    "of one model of all columns; half of the rows and what columns know together are lost, and the "
    "high-level model costs noise of its own. Weights move epsilon to where the signal is: that is what "
    "pays. The paper's reason, that groups need fewer rows than one model, compares upper bounds.",
    "With a delta all groups share one Gaussian noise at the price of one model, but each needs a ridge "
    "of twice the squared noise. It shrinks every model towards the answer 1/2, and the high-level model has "
    "to read what is left through noise of its own. Its ridge pulls to the sum of all models' log odds; "
    "pulled to zero, noise would decide the sign of its weights.",
    "Parts of the rows (PST-S) have the whole epsilon each, and 1 / (2 K) of the rows: noise per row is "
    "2 K times that of one model.",
    "K = 1 is one model of all rows without a high-level model: nothing is lost to either, and the "
    "paper's dip at small K is not to be expected where its K = 1 keeps a high-level model on half of "
    "the rows.",
    "Steeper weights help where the signal lies in the first columns, as it does in principal "
    "components: what the paper calls not sensitive depends on how steep its choice is. When nearly all "
    "of the epsilon goes to C-0, the others answer at random, and the high-level model can at best leave "
    "C-0 alone: it costs its noise and gains next to nothing.",
)


CHANGED = (
    "Weights and principal components come from rows that were set apart as public; the paper reads them off "
    "the fitted rows, and says that this costs privacy.",
    "Strengths follow from the budget; the paper tunes them on a third of the training rows, which costs "
    "privacy that it does not count.",
    "Columns are divided by declared bounds; the paper divides rows by the longest one that it sees.",
    "Noise is what an exact minimiser needs, with the price of the solver's residual: the epsilon that the "
    "printed bound loses to the curvature is not lost (objective_perturbation.md). Noise with a delta is "
    "Gaussian.",
    "The high-level model reads answers scaled to length 1, and is pulled to the sum of the models' log odds "
    "instead of to 0.",
    "What 'as printed' has of ours, too, since the paper is silent on intercepts and tuning: answers are "
    "read less 1/2, columns are centred at the means of the fitted rows, and strengths are chosen among "
    f"{', '.join(f'{one:g}' for one in STRENGTHS)}.",
)


def sections(findings: Findings[Grid]) -> list[Section]:
    """Claims with their verdicts, reasons, then a section for each figure, then how it was run."""
    areas, grid = Areas(findings.results), findings.grid
    asked = _asked(areas, grid, claims.OWN)
    own = claims.beyond(areas, grid)
    titles = {1: "privacy", 2: "number of models", 3: "weights", 4: "ways to combine"}
    pictures = draw(areas, grid)
    parts = [
        _claims(findings, asked, _asked(areas, grid, (PRINTED,)), areas.count()),
        _reasons(findings, asked, own),
        Section("What was changed against the paper, and why", CHANGED),
    ]
    for number, title in titles.items():
        tables = _areas_by_epsilon(areas, grid) if number == 1 else []
        tables += _signs(areas, grid) if number == 1 else []
        tables += [claim.table() for claim in asked[number] if claim.cells]
        parts.append(Section(f"Figure {number}: {title}", [], [pictures[number]], tables))
    parts.append(Section("Questions of our own", [], tables=[claim.table() for claim in own if claim.cells]))
    return [*parts, _settings(findings, areas.count())]


def _asked(areas: Areas, grid: Grid, laws: Sequence[str]) -> dict[int, list[Claim]]:
    """Claims of each figure, for some kinds of budget."""
    return {
        1: claims.figure_1(areas, grid, laws),
        2: claims.figure_2(areas, grid, laws),
        3: claims.figure_3(areas, grid, laws),
        4: claims.figure_4(areas, laws),
    }


def _claims(
    findings: Findings[Grid],
    corrected: Mapping[int, Sequence[Claim]],
    printed: Mapping[int, Sequence[Claim]],
    repeats: int,
) -> Section:
    as_printed = {claim.statement: claim for claims_of in printed.values() for claim in claims_of}
    rows = []
    for number, claims_of in corrected.items():
        for claim in claims_of:
            other = as_printed[claim.statement]
            if claim.cells or other.cells:
                said = f"Figure {number}: {claim.statement}"
                rows.append((said, *other.row()[1:], *claim.row()[1:]))
    caption = (
        f"What the paper says, {repeats} repeats. {VERDICTS} There is one interval for each table, kind of "
        "budget and, in figure 1, epsilon. As printed: the paper's algorithms with all "
        "that they read off the rows, NOT PRIVATE, at the epsilon that they claim."
    )
    columns = ("claim", "as printed", "verdict", "corrected", "verdict")
    texts = [
        "The STACK paper splits rows (PST-S) or columns (PST-F) among private logistic models and stacks "
        "them under a private high-level model; with public weights of columns (PST-F(W)), or without "
        "(PST-F(U)). Here are its four figures again: as printed, and by the public functions of dpglm, "
        "whose claims are proved and audited. Corrected methods have the same budget at the same epsilon, "
        "one row replaced.",
        *findings.notes(),
    ]
    return Section("Claims", texts, tables=[Table(caption, columns, rows)])


def _reasons(findings: Findings[Grid], asked: Mapping[int, Sequence[Claim]], own: Sequence[Claim]) -> Section:
    said = [claim for claims_of in asked.values() for claim in claims_of if claim.cells]
    texts = []
    for word in (NOT, MIXED):
        names = [claim.statement for claim in said if claim.verdict == word]
        if names:
            texts.append(f"Corrected: {word}: {'; '.join(names)}.")
    texts += REASONS
    tables = []
    asked_here = [claim.row() for claim in own if claim.cells]
    if asked_here:
        columns = ("statement", "95 % intervals", "verdict")
        tables.append(Table(f"Questions of our own. {COUNTED}", columns, asked_here))
    if refusals := findings.refusals(lambda result: METHODS[result["method"]].label):
        tables.append(Table("Fits that dpglm refused.", ("method", "found", "fits"), refusals))
    return Section("What reproduces, what does not, and why", texts, tables=tables)


def _areas_by_epsilon(areas: Areas, grid: Grid) -> list[Table]:
    found = []
    for table in areas.tables():
        for law in (PRINTED, *LAWS):
            shown = PAPER if law == PRINTED else SHOWN
            rows = []
            for epsilon in grid.epsilons:
                means = [areas.mean(table, cell(method, law, epsilon)) for method in shown]
                texts = ["-" if one is None else f"{one.value:.3f} ({one.deviation:.3f})" for one in means]
                rows.append((f"{epsilon:g}", *texts))
            ceiling = areas.mean(table, cell("nonprivate"))
            without = "" if ceiling is None else f" Without privacy: {ceiling.value:.3f}."
            found.append(
                Table(
                    f"{DESIGNS[table].title}, {law}{' (NOT PRIVATE)' if law == PRINTED else ''}: mean area "
                    f"(standard deviation over repeats).{without}",
                    ("epsilon", *(METHODS[method].label for method in shown)),
                    rows,
                )
            )
    return found


def _signs(areas: Areas, grid: Grid) -> list[Table]:
    """How often the high-level model has a weight below 0, which turns a model's answers round."""
    methods = [name for name, entry in METHODS.items() if entry.stacks]
    rows = []
    for table in areas.tables():
        for law in LAWS:
            for method in methods:
                means = [
                    areas.mean(table, cell(method, law, epsilon), _negative) for epsilon in grid.epsilons
                ]
                texts = ["-" if one is None else f"{100.0 * one.value:.0f} %" for one in means]
                rows.append((f"{DESIGNS[table].title}, {law}, {METHODS[method].label}", *texts))
    caption = (
        "Weights of the high-level model below 0: half of them would be chance. Noise that turns a weight "
        "round turns the answers of a model round with it; areas below .5 come of that."
    )
    heads = [f"epsilon {epsilon:g}" for epsilon in grid.epsilons]
    return [Table(caption, ("", *heads), rows)]


def _negative(one: Result) -> float:
    return float(one.get("negative", 0.0))  # a stack of one model has no weight


def _settings(findings: Findings[Grid], repeats: int) -> Section:
    real = [
        f"{one.title}: {one.public:,} rows are set apart as public, {one.train:,} of the others fitted, "
        f"{one.test:,} tested"
        for one in DESIGNS.values()
        if one.public
    ]
    texts = [
        f"{'; '.join(real)}. The principal components ({findings.grid.columns}) come from two thirds of "
        "the public rows, the standard deviations from the other third: columns are cut at "
        f"{CLIP:g} of them, rounded upwards to two digits, and their squares are the weights of "
        "PST-F(W). Components of the "
        "fitted rows themselves, as the paper takes them, are NOT PRIVATE, and so are weights read off "
        "them; the paper says so of its weights. That some rows of these tables are public is an "
        "assumption of this study.",
        "Documents are logarithms of word counts times logarithms of inverse frequencies in public "
        "documents, scaled to length 1; their vocabulary was chosen on all of them. The simulated main "
        "hospital is "
        'dpglm.load_data("cohort") with the weights of its simulated doctors. ' + WHY,
        f"A repeat is a new split and new noise; {repeats} of them. Intervals are Student's t of paired "
        "differences; splits of one table overlap, so that intervals are about this table and a little "
        "too short. There is one per cell and no correction for their number.",
        f"K = {K} and half of the rows for the high-level model ({HOLDOUT:g}) unless said otherwise; "
        f"delta = {DELTA:g}; figures 2 to 4 at epsilon {EPSILON:g}. No tuning: ridges are the least that "
        "privacy needs, where the paper tunes on validation rows, which costs privacy that it does not "
        f"count. Without privacy: strength {STRENGTH:g} per row. 'PLR, component units' declares all "
        "components with the bounds of the first, which keeps their own units: one model, to which large "
        "components come first without any weights. 'Default' is method='auto', goal='predict'. Epsilon "
        f"{NOISELESS:g} shows what is left without noise to speak of.",
        "Single models in figure 4 and votes are post-processing of what was released. The best single "
        "model is chosen by its test area, which favours it.",
        f"{findings.minutes:.0f} minutes of fits from fixed seeds (seeded noise is itself NOT PRIVATE). "
        "Again: `python -m studies run stacking`; it goes on where it was stopped.",
    ]
    return Section("How it was run", texts)
