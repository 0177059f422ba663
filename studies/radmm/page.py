"""Sections of the page: figures, bars, prices, and what reproduces. All numbers come from results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from dpglm.papers.radmm.gradient_descent import STEPS as DEFAULT_STEPS
from studies.jobs import Result
from studies.page import Section, Table
from studies.paired import UNEXAMINED
from studies.radmm import claims, figures, means
from studies.radmm.fits import TOPS
from studies.radmm.grid import (
    FAMILIES,
    ITERATIVE,
    METHODS,
    NOISELESS,
    ROUNDS_NEEDED,
    ROUNDS_PRINTED,
    SELECT,
    SELECTING,
    STRENGTHS,
    Grid,
)
from studies.radmm.means import share, titled, without_privacy
from studies.radmm.prices import accounting_sections
from studies.radmm.settings import DEFAULT, measures, settings
from studies.radmm.summary import Cell, Fits
from studies.radmm.tables import COLUMNS, REAL
from studies.radmm.verdicts import Claim
from studies.study import Findings


def sections(findings: Findings[Grid]) -> list[Section]:
    """Claims with their verdicts first; measures, reasons, figures, prices, differences, settings."""
    results, fits = findings.results, Fits(findings.results)
    said = claims.on_real_tables(fits) + claims.on_simulation(fits)
    said = [claim for claim in said if claim.verdict != UNEXAMINED]
    ours = [claim for claim in claims.beyond(fits) if claim.verdict != UNEXAMINED]
    notes = findings.notes()
    parts = [
        Section("", notes) if notes else None,
        _claims(said),
        measures(),
        _ours(ours),
        _changes(fits),
        _real(fits),
        _simulated(fits),
        _steps(fits, results),
        *accounting_sections(results),
        _differences([*said, *ours]),
        settings(fits, findings),
    ]
    return [part for part in parts if part is not None]


def _real(fits: Fits) -> Section | None:
    pictures = [
        one
        for number, (family, title) in enumerate(FAMILIES.items(), start=1)
        for one in figures.real_tables(fits, family, number, title)
    ]
    if not pictures:
        return None
    tables = []
    for name, family in product(REAL, FAMILIES):
        where, without = titled(name, family), without_privacy(fits, name, family)
        tables += [
            means.table(
                fits,
                (name, family),
                [*ITERATIVE, "auto"],
                "accuracy",
                f"Accuracy, {where} (standard error over folds).{without}",
            ),
            means.table(
                fits,
                (name, family),
                ITERATIVE,
                "objective",
                f"Objective, {where} (standard error over folds). It compares methods of one coding.",
                STRENGTHS,
            ),
        ]
    return Section("Figures 1 and 2: Adult and IPUMS-BR", [], pictures, _there(tables))


def _simulated(fits: Fits) -> Section | None:
    pictures = figures.simulated(fits)
    if not pictures:
        return None
    where = ("simulated", "binomial")
    methods = [*ITERATIVE, figures.TUNED, *(name + SELECT for name in SELECTING), "auto", "select"]
    without = without_privacy(fits, *where)
    captions = {"accuracy": f"Accuracy on the simulation (standard error over draws).{without}"}
    captions |= {f"xi{k}": f"xi_{k} on the simulation (standard error over draws)." for k in TOPS}
    tables = [means.table(fits, where, methods, measure, caption) for measure, caption in captions.items()]
    text = (
        "Algorithm 2 of the paper returns x of the last step with its noise, in which no coefficient is "
        "zero, and so does mpADMM as printed here. The methods of dpglm return z: a proximal step at the "
        "mean of released steps. It is sparse, and is computed from what was released alone."
    )
    count = Table(
        f"Mean number of coefficients of {COLUMNS} that are not zero, default strengths, simulation.",
        ["epsilon", *(METHODS[method].label for method in methods)],
        [
            [f"{epsilon:g}", *(_count(fits, method, epsilon) for method in methods)]
            for epsilon in fits.epsilons()
        ],
    )
    return Section("Figures 3 and 4: the simulation", [text], pictures, [*_there(tables), count])


def _there(tables: Iterable[Table | None]) -> list[Table]:
    return [one for one in tables if one is not None]


def _claims(said: Sequence[Claim]) -> Section:
    caption = (
        "Sentences of the paper's section 5: the number of cells in which they hold, the number in which "
        "their contrary does, and the mean differences of cells, least to largest (the rule: What is "
        "measured; all intervals: All differences). As printed: ssADMM with the noise of equation (7), or "
        f"mpADMM with the printed noise and {ROUNDS_NEEDED} rounds, as it has not arrived after "
        f"{ROUNDS_PRINTED}; rivals are as built here."
    )
    lines = [(claim.statement, claim.as_printed, claim.evidence, claim.verdict) for claim in said]
    return Section("Claims", tables=[Table(caption, ("claim", "as printed", "corrected", "verdict"), lines)])


def _ours(ours: Sequence[Claim]) -> Section:
    caption = "Statements of our own, counted in the same way."
    lines = [(claim.statement, claim.evidence, claim.verdict) for claim in ours]
    table = Table(caption, ["statement", "here", "verdict"], lines)
    return Section("Questions of our own", [DEFAULT], tables=[table])


def _differences(counted: Sequence[Claim]) -> Section:
    text = (
        "The difference in each cell behind the counts, with its 95 % interval. Where a method stands "
        "against several, it is the difference to the one that comes nearest by its mean."
    )
    return Section("All differences", [text], tables=_there(claim.differences() for claim in counted))


def _changes(fits: Fits) -> Section:
    texts = [
        "Why numbers differ from the paper's: noise is calibrated to exact prices of gradients of all rows "
        "instead of bounds for samples; mpADMM has the noise that its steps need; ADMM-objP draws fresh "
        "noise in every iteration and adds noise for the residual of an inexact minimiser, without which its "
        "claim fails, and has a delta as all methods here, where the paper's is pure; the answer is a sparse "
        "z averaged over the last three quarters of the steps; bounds are declared, not read off the data.",
        "ADMM-objP of the support vector machine has no Gaussian proof. It runs under the theorem for losses "
        "that are not logistic, which needs an epsilon and adds the price of its Jacobians "
        "(dpglm/mechanisms/objective_perturbation.md).",
        "The default is one perturbed minimiser. Nearly all of its budget is spent once, on the answer, "
        "instead of on every step on the way to it.",
    ]
    refusals = [
        [METHODS[method].label, "; ".join(sorted(where)), text]
        for (method, text), where in fits.refusals().items()
    ]
    tables = [Table("Fits that were refused.", ["method", "where", "found"], refusals)] if refusals else []
    return Section("What was changed against the paper", texts, tables=tables)


def _steps(fits: Fits, results: Sequence[Result]) -> Section | None:
    """Accuracy of ssADMM on all rows by its number of steps, where noise does not matter."""
    looked = [one for one in results if one["study"] == "steps" and "accuracy" in one]
    if not looked:
        return None
    counts = sorted({one["steps"] for one in looked})
    by = {(one["table"], one["family"], one["steps"]): one["accuracy"] for one in looked}
    lines = []
    for name, family in dict.fromkeys((one["table"], one["family"]) for one in looked):
        ceiling = fits.ceiling(Cell(name, family, STRENGTHS[0], None), "accuracy")
        lines.append(
            [
                titled(name, family),
                *(share(by[name, family, count]) if (name, family, count) in by else "-" for count in counts),
                "-" if ceiling is None else share(ceiling.value),
            ]
        )
    text = (
        "A method that reads all rows pays nothing for more steps but time: the noise in the mean of its "
        "gradients stays. Where accuracy still rises with the number of steps without noise, curves that are "
        "flat in epsilon are those of a method that has not arrived, not of one that noise holds back."
    )
    caption = (
        f"Accuracy of ssADMM by its number of steps at epsilon {NOISELESS:g}, strength {STRENGTHS[0]:g}, one "
        f"fold or draw; its default is {DEFAULT_STEPS} steps."
    )
    columns = ["table", *(f"{count} steps" for count in counts), "no privacy"]
    return Section("How far steps go", [text], tables=[Table(caption, columns, lines)])


def _count(fits: Fits, method: str, epsilon: float) -> str:
    mean = fits.mean(method, Cell("simulated", "binomial", None, epsilon), "nonzero")
    return "-" if mean is None else f"{mean.value:.1f}"
