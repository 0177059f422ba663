"""Sections of the page: figures, bars, prices, and what reproduces. All numbers come from results."""

from __future__ import annotations

from collections.abc import Sequence

from dpglm.papers.radmm.gradient_descent import STEPS as DEFAULT_STEPS
from studies.jobs import Result
from studies.page import Section, Table
from studies.radmm import claims, figures
from studies.radmm.claims import share
from studies.radmm.grid import (
    FAMILIES,
    ITERATIVE,
    METHODS,
    NOISELESS,
    SELECT,
    SELECTING,
    STRENGTHS,
    Grid,
)
from studies.radmm.prices import accounting_sections
from studies.radmm.settings import introduction, settings
from studies.radmm.summary import Cell, Fits
from studies.radmm.tables import COLUMNS, TITLES
from studies.study import Findings

COUNTED = (
    "A cell is a table, a loss, a strength and an epsilon; methods are compared fold by fold, or draw by "
    "draw, and differ where the 95 % interval of the mean difference does not contain 0."
)


def sections(findings: Findings[Grid]) -> list[Section]:
    """Claims with their verdicts, reasons, the figures, prices, and how it was run."""
    results, fits = findings.results, Fits(findings.results)
    parts = [
        introduction(findings),
        _claims(fits),
        _reasons(fits),
        _real(fits),
        _simulated(fits),
        _steps(fits, results),
        *accounting_sections(results),
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
    methods = [*ITERATIVE, "auto"]
    tables = [
        Table(
            f"Accuracy at default strengths, {TITLES[name]}, {title} (standard error over folds)"
            + _without(fits, name, family),
            ["epsilon", *(METHODS[method].label for method in methods)],
            lines,
        )
        for name in fits.tables()
        if name != "simulated"
        for family, title in FAMILIES.items()
        if (lines := claims.ranked(fits, name, family, methods, "accuracy"))
    ]
    return Section("Figures 1 and 2: Adult and IPUMS-BR", [], pictures, tables)


def _simulated(fits: Fits) -> Section | None:
    pictures = figures.simulated(fits)
    if not pictures:
        return None
    methods = [*ITERATIVE, *(name + SELECT for name in SELECTING), "auto", "select"]
    names = {"accuracy": "Accuracy", "xi20": "xi_20", "xi40": "xi_40"}
    columns = ["epsilon", *(METHODS[method].label for method in methods)]
    tables = [
        Table(
            f"{name} at default strengths, simulation (standard error over draws)"
            + (_without(fits, "simulated", "binomial") if measure == "accuracy" else ""),
            columns,
            claims.ranked(fits, "simulated", "binomial", methods, measure),
        )
        for measure, name in names.items()
    ]
    tables.append(
        Table(
            f"Mean number of coefficients of {COLUMNS} that are not zero, default strengths, simulation",
            columns,
            [
                [line[0], *(_count(fits, method, float(line[0])) for method in methods)]
                for line in claims.ranked(fits, "simulated", "binomial", methods, "nonzero")
            ],
        )
    )
    text = (
        "The paper returns x of the last step: a step along a noisy gradient, or a variable with noise of "
        "its own, in which no coefficient is zero with positive probability. Here z is returned, a proximal "
        "step, which is post-processing of the same releases and sparse."
    )
    return Section("Figures 3 and 4: the simulation", [text], pictures, tables)


def _claims(fits: Fits) -> Section:
    said = claims.on_real_tables(fits) + claims.on_simulation(fits)
    lines = [
        (claim.statement, claim.printed, claim.evidence, claim.verdict)
        for claim in said
        if claim.verdict != "not asked"
    ]
    caption = (
        f"Sentences of the paper's section 5. {COUNTED} A sentence reproduces where it holds in more than "
        "half of the cells, and does not where its contrary holds in half of them."
    )
    columns = ("claim", "as printed", "corrected", "verdict")
    return Section("Claims", tables=[Table(caption, columns, lines)])


def _reasons(fits: Fits) -> Section:
    tables = [
        Table(
            f"Questions of our own. {COUNTED}",
            ["statement", "here", "verdict"],
            [claim.row for claim in claims.beyond(fits) if claim.verdict != "not asked"],
        ),
    ]
    texts = [
        "Why numbers differ from the paper's: noise is calibrated to exact prices of gradients of all rows "
        "instead of bounds for samples; mpADMM has the noise that its steps need; ADMM-objP draws fresh "
        "noise in every iteration and adds noise for the residual of an inexact minimiser, without which its "
        "claim fails; the answer is a sparse z averaged over the last three quarters of the steps; bounds "
        "are declared, not read off the data.",
        "The default is one perturbed minimiser, or an estimate and the information matrix at it. The "
        "budget is spent once, on the answer, instead of on every step on the way to it.",
    ]
    refusals = [
        [METHODS[method].label, "; ".join(sorted(where)), text]
        for (method, text), where in fits.refusals().items()
    ]
    if refusals:
        tables.append(Table("Fits that were refused", ["method", "where", "found"], refusals))
    else:
        texts.append(
            "No fit was refused. ADMM-objP of the support vector machine has no Gaussian proof; it runs "
            "under the theorem for losses that are not logistic, which needs an epsilon and adds the price "
            "of its Jacobians (dpglm/mechanisms/objective_perturbation.md)."
        )
    return Section("Why, and what was changed against the paper", texts, tables=tables)


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
                f"{TITLES[name]}, {FAMILIES[family]}",
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


def _without(fits: Fits, name: str, family: str) -> str:
    cell = Cell(name, family, None, None)
    ceiling, majority = fits.ceiling(cell, "accuracy"), fits.ceiling(cell, "majority")
    if ceiling is None or majority is None:
        return ""
    text = f". Without privacy, strength {STRENGTHS[0]:g}: {share(ceiling.value)}"
    truth = fits.ceiling(cell, "truth") if name == "simulated" else None
    text += f"; majority class: {share(majority.value)}"
    return text if truth is None else text + f"; true coefficients: {share(truth.value)}"


def _count(fits: Fits, method: str, epsilon: float) -> str:
    mean = fits.mean(method, Cell("simulated", "binomial", None, epsilon), "nonzero")
    return "-" if mean is None else f"{mean.value:.1f}"
