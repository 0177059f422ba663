"""What is run: a method at a strength and an epsilon, on a fold or a draw of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from dpglm.methods.base import Method
from dpglm.papers.dpsc.dpsc import DPSC
from dpglm.papers.radmm.admm import DPADMM, DPSGD, MPADMM, SSADMM
from studies.jobs import Job, key_of
from studies.radmm.tables import REAL

DELTA = 1e-8
EPSILONS, ACCOUNTED = (0.1, 0.5, 2.0), (0.1, 0.25, 0.5, 1.0, 2.0)
STRENGTHS = (1e-4, 1e-3)
FAMILIES = {"binomial": "logistic regression", "huber_svm": "huberised SVM"}
EPOCHS, RHO_SAMPLES, RHO_PRINTED, ROUNDS_PRINTED = 5, 0.25, 0.5, 20
# After 20 rounds of its steps mpADMM is still at the majority class, with noise or without.
ROUNDS_NEEDED = 200
ETAS_PRINTED = (1.0, 5.0)
LONG = 200
# Of the names of methods with goal="select".
SELECT = "-select"
# Hardly any noise: the best that a number of steps can give.
NOISELESS, STEPS = 1000.0, (30, 100, 300)
# The paper's n and m of Adult; it gives no noise and no number of steps: 4 C and five epochs are ours.
PAPER_ROWS, PAPER_SAMPLE = 48_842, 221
ACCOUNTED_STEPS, ACCOUNTED_NOISE = EPOCHS * PAPER_SAMPLE, 4.0


@dataclass(frozen=True)
class Entry:
    """A method of the study.

    Parameters
    ----------
    label : str
        As figures call it.
    goal : {"explain", "predict", "select"}
    default : bool
        Whether it runs at its own default strength.
    given : tuple of float
        Strengths per row at which it runs.
    share : {"all", "few"}
        Number of repetitions: see `Grid`.
    simulated_only : bool
    """

    label: str
    goal: Literal["explain", "predict", "select"] = "explain"
    default: bool = True
    given: tuple[float, ...] = STRENGTHS
    share: Literal["all", "few"] = "all"
    simulated_only: bool = False


METHODS = {
    "ssadmm": Entry("ssADMM"),
    "mpadmm": Entry("mpADMM"),
    "dpsgd": Entry("DP-SGD"),
    "dp-admm": Entry("DP-ADMM, 2 parties"),
    "dpsc": Entry("ADMM-objP (dpsc)"),
    "auto": Entry("default", goal="predict"),
    "select": Entry("default, to select", goal="select", given=(), simulated_only=True),
    "ssadmm-select": Entry("ssADMM, to select", goal="select", given=(), simulated_only=True),
    "mpadmm-select": Entry("mpADMM, to select", goal="select", given=(), simulated_only=True),
    "dpsgd-select": Entry("DP-SGD, to select", goal="select", given=(), simulated_only=True),
    "samples": Entry("ssADMM, samples", default=False, given=STRENGTHS[:1], share="few"),
    "long": Entry(f"ssADMM, {LONG} steps", default=False, given=STRENGTHS[:1], share="few"),
    "samples-printed": Entry(
        "ssADMM, samples, noise as printed", default=False, given=STRENGTHS[:1], share="few"
    ),
    "printed-1-20": Entry("mpADMM printed, eta 1, 20 rounds (no guarantee)", default=False),
    "printed-5-20": Entry("mpADMM printed, eta 5, 20 rounds (NOT PRIVATE)", default=False),
    "printed-1-200": Entry("mpADMM printed, eta 1, 200 rounds (no guarantee)", default=False),
    "printed-5-200": Entry("mpADMM printed, eta 5, 200 rounds (NOT PRIVATE)", default=False),
    "mpadmm-eta1": Entry(f"mpADMM, eta 1, {ROUNDS_NEEDED} steps", simulated_only=True),
    "nonprivate": Entry("no privacy", default=False),
}
SELECTING = ("ssadmm", "mpadmm", "dpsgd")
ITERATIVE = ("ssadmm", "mpadmm", "dpsgd", "dp-admm", "dpsc")
# The two codings that iterative methods have; each runs in the one that is better for it on a table.
CODINGS = ("clipped", "centred")
CODED_AT = 1.0
Coding = Literal["clipped", "centred"]
# The coding of a method on a table, for a family; by default the first.
Codings = Mapping[tuple[str, str, str], Coding]


@dataclass(frozen=True)
class Grid:
    """How much is run.

    Parameters
    ----------
    epsilons : tuple of float
    real, simulated : tuple of int
        Repetitions at default strengths, at given strengths, and of slow methods.
    rows : int or None
        Most training rows.
    accounted : tuple of float
        Epsilons at which the noise of samples is calibrated.
    steps : tuple of int
        Numbers of steps of ssADMM that are looked at without noise.
    coded : int
        Folds or draws on which codings are compared, at default strengths.
    """

    epsilons: tuple[float, ...]
    real: tuple[int, int, int]
    simulated: tuple[int, int, int]
    rows: int | None
    accounted: tuple[float, ...]
    steps: tuple[int, ...]
    coded: int = 0


FULL = Grid(
    EPSILONS, real=(5, 10, 3), simulated=(5, 10, 10), rows=None, accounted=ACCOUNTED, steps=STEPS, coded=2
)
QUICK = Grid((1.0,), real=(1, 1, 0), simulated=(1, 1, 0), rows=1500, accounted=(), steps=())


def coding_jobs(grid: Grid, tables: Sequence[str]) -> list[Job]:
    """Fits of every iterative method in both codings."""
    return [
        {
            "study": "coding",
            "table": name,
            "family": family,
            "method": method,
            "coding": coding,
            "strength": None,
            "epsilon": CODED_AT,
            "draw": draw,
            "rows": grid.rows,
        }
        for name in tables
        for draw in range(grid.coded)
        for family in _families(name)
        for method in _coded(name)
        for coding in CODINGS
    ]


def _coded(table: str) -> tuple[str, ...]:
    """Methods that have a coding to choose, on a table."""
    selecting = () if table in REAL else tuple(name + SELECT for name in SELECTING)
    return (*ITERATIVE, *selecting)


def jobs(grid: Grid, tables: Sequence[str], chosen: Codings | None = None) -> list[Job]:
    """All jobs but those above, in codings that were chosen or else the first.

    Those of one fold come after the other, so that a run that is stopped has whole repetitions.
    """
    chosen = {} if chosen is None else chosen
    found: list[Job] = [{"study": "paper"}]
    found += [
        {"study": "noise", "sampling": kind, "epsilon": epsilon}
        for epsilon, kind in product(grid.accounted, ("fixed", "poisson"))
    ]
    fits = [job for name in tables for job in _of_table(grid, name, chosen)]
    fits.sort(key=lambda job: (job["draw"], _slow(job)))
    return found + fits + [job for name in tables for job in _of_steps(grid, name, chosen)]


def _of_steps(grid: Grid, name: str, chosen: Codings) -> Iterable[Job]:
    for family, steps in product(_families(name), grid.steps):
        yield {
            "study": "steps",
            "table": name,
            "family": family,
            "steps": steps,
            "coding": chosen.get(("ssadmm", name, family), CODINGS[0]),
            "strength": STRENGTHS[0],
            "epsilon": NOISELESS,
            "draw": 0,
            "rows": grid.rows,
        }


def _families(name: str) -> tuple[str, ...]:
    return tuple(FAMILIES) if name in REAL else ("binomial",)


def _of_table(grid: Grid, name: str, chosen: Codings) -> Iterable[Job]:
    repetitions = grid.real if name in REAL else grid.simulated
    for (method, entry), family in product(METHODS.items(), _families(name)):
        if (entry.simulated_only and name in REAL) or (entry.share == "few" and family != "binomial"):
            continue
        epsilons = (None,) if method == "nonprivate" else grid.epsilons
        # Variants of ssADMM have its coding; what is printed has its rows cut to norm 1, as in the paper.
        alike = "ssadmm" if method in ("samples", "samples-printed", "long") else method
        coding = chosen.get((alike, name, family), CODINGS[0])
        for strength, epsilon in product(((None,) if entry.default else ()) + entry.given, epsilons):
            times = repetitions[2 if entry.share == "few" else 0 if strength is None else 1]
            if method == "nonprivate":
                times = max(repetitions)
            for draw in range(times):
                yield {
                    "study": "fit",
                    "table": name,
                    "family": family,
                    "method": method,
                    **({"coding": coding} if alike in _coded(name) else {}),
                    **({"answer": "x"} if method.startswith("printed-") else {}),  # all others give z
                    "strength": strength,
                    "epsilon": epsilon,
                    "draw": draw,
                    "rows": grid.rows,
                }


def _slow(job: Job) -> bool:
    return METHODS[job["method"]].share == "few"


def method_of(job: Job, rows: int) -> str | Method:
    """What ``dpglm.fit`` is given as ``method``, for a table of ``rows`` training rows."""
    if job["study"] == "steps":
        return SSADMM(steps=job["steps"], coding=job["coding"])
    name: str = job["method"]
    if name in ("samples", "samples-printed"):
        steps = round(EPOCHS * rows**0.5)
        return SSADMM(sampling="fixed", rate=rows**-0.5, steps=steps, rho=RHO_SAMPLES, coding=job["coding"])
    if name == "long":
        return SSADMM(steps=LONG, coding=job["coding"])
    if name.startswith("printed-"):
        _, eta, rounds = name.split("-")
        return MPADMM(paper_exact=True, steps=int(rounds), eta=float(eta), rho=RHO_PRINTED)
    if name == "mpadmm-eta1":
        return MPADMM(steps=ROUNDS_NEEDED, eta=1.0, rho=RHO_PRINTED, coding=CODINGS[0])
    if "coding" in job:
        coded = {one.name: one for one in (SSADMM, MPADMM, DPSGD, DPADMM, DPSC)}
        return coded[name.removesuffix(SELECT)](coding=job["coding"])
    return "auto" if name == "select" else name


def seed_of(job: Job) -> int:
    """A seed of the job's own."""
    return int.from_bytes(hashlib.sha256(key_of(job).encode()).digest()[:6], "big")
