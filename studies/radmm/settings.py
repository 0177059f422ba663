"""What was run, in words: the head and the foot of the page."""

from __future__ import annotations

from dpglm.glm.families.margin import HuberSvm
from studies import real_tables
from studies.page import Section, Table
from studies.radmm import codings
from studies.radmm.grid import (
    DELTA,
    EPOCHS,
    ETAS_PRINTED,
    LONG,
    METHODS,
    RHO_PRINTED,
    RHO_SAMPLES,
    ROUNDS_NEEDED,
    ROUNDS_PRINTED,
    Grid,
)
from studies.radmm.summary import Fits
from studies.radmm.tables import BOUND, COLUMNS, FOLDS, RELEVANT, ROWS, ROWS_TEST
from studies.radmm.verdicts import RULE
from studies.study import Findings

DEFAULT = 'The default is `method="auto"` with `goal="predict"`, or with `goal="select"` where it says so.'


def measures() -> Section:
    """What the study is and how its measures are defined."""
    texts = [
        "The paper proposes two linearised ADMMs for L1 classification: ssADMM, whose gradients of random "
        "samples carry noise, and mpADMM, whose variables carry noise after every pass. Here are its four "
        "figures again, by the public functions of dpglm, whose claims are proved and audited. Every "
        f"private method has the same budget: (epsilon, {DELTA:g}), one row replaced.",
        "Fits use seeds and judge themselves on rows they have not seen, outside any mechanism: this is a "
        "study of public tables, and none of its numbers is private.",
        "The objective is the average loss of test rows plus strength times the l1 norm of the coefficients "
        "without the intercept, in the units of the clipped coding: columns less the middle of their "
        "declared bounds, divided by their width, rows of norm at most 1. A strength has the units of a "
        "method's own coding, so that objectives are compared between methods of one coding only. The paper "
        "evaluates on test rows, too, its columns scaled to [0, 1] by what the data show and rows of norm "
        "at most 1; the units are alike, not the same.",
        f"xi_k is the share of the {RELEVANT} relevant columns among the k largest absolute coefficients; "
        "one that is exactly zero does not count.",
        RULE,
    ]
    return Section("What is measured", texts)


def settings(fits: Fits, findings: Findings[Grid]) -> Section:
    """Repetitions, designs, options and times."""
    grid = findings.grid
    texts = [
        f"Repetitions, at most: on real tables {grid.real[0]} of {FOLDS} folds at default strengths, "
        f"{grid.real[1]} at given ones; on the simulation {grid.simulated[0]} tables drawn at default "
        f"strengths, {grid.simulated[1]} at given ones; of samples and long runs {grid.real[2]} and "
        f"{grid.simulated[2]}, for logistic regressions alone. One draw of noise each. The paper: 10 folds "
        "times 10 draws of noise, and 10 simulated tables.",
        f"Simulation: {grid.rows or ROWS:,} training rows and {(grid.rows or 2 * ROWS_TEST) // 2:,} test "
        f"rows, x ~ N(0, .5^|i-j|) in {COLUMNS} dimensions, coefficients .5, 1, ..., 5, then -.5, ..., -5, "
        f"then zeros, N(0, 1) added to the predictor; bounds of -{BOUND:g} to {BOUND:g} declared. The "
        "paper's figures are not legible in the copy at hand: the grid of epsilon is ours.",
        "Adult: all rows, all columns but fnlwgt and education-num, logarithms of capital gains and losses, "
        f"bounds and levels of the code book: {_size(fits, 'adult')}; the paper's version has n = 48,842 "
        f"and p = 124. IPUMS-BR: {_size(fits, 'ipums_br')}, one of each full block of dummies left out; the "
        "paper has n = 38,000 and p = 53. It has no code book, so its bounds are those seen in the file, "
        "which is not private.",
        f"The support vector machine is huberised with h = {HuberSvm().width:g}, as in the paper.",
        "Steps, eta and rho of private methods are dpglm's defaults where nothing else is said. dpglm's "
        "default coding is clipped; each iterative method runs in the coding with the better mean on the "
        "test rows of two folds or draws, which are part of the study: this favours it (last table). "
        f"{DEFAULT}",
        f"Besides: ssADMM on samples of fixed size, a root of the rows each, {EPOCHS} expected epochs, rho "
        f"{RHO_SAMPLES:g}, constant steps; ssADMM on all rows with {LONG} steps; mpADMM with eta 1, rho "
        f"{RHO_PRINTED:g} and {ROUNDS_NEEDED} steps, on the simulation; ssADMM on the same samples with the "
        "noise that the paper's equation (7) and Proposition 1 want, which is more than needed (see what "
        "samples cost). The paper's steps for samples, eta over the number of the epoch, are not among "
        "dpglm's schedules.",
        f"mpADMM as printed: {ROUNDS_PRINTED} and {ROUNDS_NEEDED} rounds, rho {RHO_PRINTED:g}, and eta "
        f"{' and '.join(f'{eta:g}' for eta in ETAS_PRINTED)}, which the paper does not give. No guarantee is "
        "offered for it. At eta <= 1 the printed noise suffices; above it does not: NOT PRIVATE.",
        f"{findings.minutes:.0f} minutes of fits. Again: `python -m studies run radmm`; it goes on where it "
        "was stopped. Every fit has its own seed.",
    ]
    seconds = [
        [METHODS[method].label, f"{mean:.2f}", str(len(kept))]
        for method in METHODS
        if (kept := [one["seconds"] for one in fits.results if one["method"] == method and "seconds" in one])
        for mean in [sum(kept) / len(kept)]
    ]
    caption = "Mean seconds of a fit, and number of fits; other work ran beside, and slowed the last ones."
    tables = [Table(caption, ["method", "seconds", "fits"], seconds)]
    if (compared := codings.table(findings.results)) is not None:
        tables.append(compared)
    return Section("Settings", texts, tables=tables)


def _size(fits: Fits, name: str) -> str:
    """Rows and columns of a real table, by its code book and by the fits."""
    if name not in fits.tables():
        return "absent"
    columns = max(one["columns"] for one in fits.results if one["table"] == name and "columns" in one)
    return f"n = {real_tables.table(name).rows:,} and p = {columns}"
