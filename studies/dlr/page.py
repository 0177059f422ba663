"""Sections of the page: what is found, errors by sites and epsilon, GUSTO's regions, and times."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import dpglm
from dpglm.privacy.calibration import Target
from studies.dlr.fits import METHODS, PRINTED_ROUNDS, ROUNDS
from studies.dlr.grid import Grid
from studies.dlr.tables import ALIKE, APART
from studies.jobs import Result
from studies.page import Section, Table
from studies.paired import UNEXAMINED, Mean, Repeats
from studies.study import Findings

# Seconds that the paper prints, by rows, columns and sites; 1 is glmfit.
PAPER_TIMES = {
    (10_000, 1_000, 5): "175.21",
    (10_000, 1_000, 10): "84.70",
    (10_000, 1_000, 100): "8.63",
    (10_000, 1_000, 1): "114.02",
    (10_000, 10_000, 5): "1613.15",
    (10_000, 10_000, 10): "832.54",
    (10_000, 10_000, 100): "78.43",
    (10_000, 10_000, 1): "6327.79",
    (10_000, 100_000, 5): "47720.4",
    (10_000, 100_000, 10): "23988.1",
    (10_000, 100_000, 100): "2754.2",
    (10_000, 100_000, 1): "more than 24 hours",
    (100_000, 1_000, 5): "1533.87",
    (100_000, 1_000, 10): "782.69",
    (100_000, 1_000, 100): "72.32",
    (100_000, 1_000, 1): "1268.64",
}


def printed_noise(size: int, rounds: int) -> float:
    """Noise of a gradient by the printed DLVP over that of dpglm, at epsilon 1 and (1, 1e-6), row exchanged.

    Printed: density exp(-epsilon(k) |b| / 2), epsilon(k) = 1 / rounds; here N(0, 4 rounds / mu^2).
    """
    mu = Target.of(dpglm.Privacy(1.0, 1e-6)).ideal_mu
    return 2.0 * rounds * math.sqrt(size + 1) / (2.0 * math.sqrt(rounds) / mu)


KINDS = {ALIKE: "Sites that are alike", APART: "Sites whose columns lie apart"}
ABOUT = (
    "20,000 rows of five columns are shared by 2 to 50 sites of one size; budgets are (epsilon, 1e-6) for a "
    "row exchanged, and everybody is at one site only. Coefficients are the same at all sites. Where sites "
    "lie apart, their columns have means that are a standard deviation of .7 apart. Every repeat has rows "
    "and noise of its own. One curator and pooled fits are calls with nothing but a budget; the other "
    "methods have their defaults and a ridge. Secure sums form the gradients of DP-SGD together and allow "
    "for one colluding site. Errors of DLP and DLVP are mostly shrinkage: a ridge that pays for output "
    "noise, and steps that are short where columns vary little within their bounds.",
    f"DLP as printed adds noise for the minimiser to an iterate of {PRINTED_ROUNDS} rounds. A row moves "
    "that iterate further than the noise hides: it is NOT PRIVATE. Its error is that of an iteration that "
    "has hardly begun. The printed noise of DLVP would be right where a round is one gradient step. It is "
    "that of a pure epsilon: in five columns, an intercept and 100 rounds its standard deviation is "
    f"{printed_noise(6, 100):.1f} times that of the Gaussian noise used here at (1, 1e-6). The paper has no "
    "figure or table of accuracy in the copy at hand.",
    "`python -m studies run dlr` runs the study.",
)
PAPER_ROWS = (
    f"Processor seconds of one site in {ROUNDS} rounds of DLA with exact local minimisers, beside "
    "statsmodels' GLM on all rows. The paper's computers take gradient steps, for a number of rounds that "
    "it does not print: only how times fall with the number of sites can be compared. apart: how far copies "
    "of the coefficients are from each other in the end. With 10,000 and 100,000 columns a local Hessian "
    "takes 800 MB and 80 GB: these are not repeated, nor more sites with 100,000 rows, which take turns in "
    "one process here.",
)
ERRORS = ("sites", "epsilon", *METHODS.values())
TIMES = ("rows", "columns", "sites", "printed, s", "here, s", "apart")
REGIONS = (
    "coefficient",
    "no privacy, all rows",
    "epsilon",
    "effects",
    "covered",
    "error",
    "width",
    "between",
)


def sections(findings: Findings[Grid]) -> list[Section]:
    """The whole page."""
    fits = [one for one in findings.results if one["what"] == "fit"]
    repeats = Repeats(fits, _cells)
    regions = [one for one in findings.results if one["what"] == "regions"]
    times = [one for one in findings.results if one["what"] == "time"]
    by_size = {(one["rows"], one["columns"], one["sites"]): one for one in times if "refused" not in one}
    minutes = f"All results are of {findings.minutes:,.0f} minutes of fits."
    parts = [Section("", findings.notes()), _claims(repeats, by_size)]
    for kind, title in KINDS.items():
        rows = [_errors(repeats, kind, count, epsilon, "rmse") for count, epsilon in _budgets(fits)]
        areas = [_errors(repeats, kind, count, epsilon, "auc") for count, epsilon in _budgets(fits)]
        caption = f"Root mean square error of the slopes, mean over {repeats.count()} repeats."
        parts.append(
            Section(
                title,
                tables=[Table(caption, ERRORS, rows), Table("Area under the ROC curve.", ERRORS, areas)],
            )
        )
    if regions:
        parts.append(
            Section(
                "GUSTO's sixteen regions",
                (
                    "Every region fits its own rows under add-remove, and `dpglm.pool` makes one model of "
                    "what they released. covered: share of draws whose 95 % interval holds the coefficient "
                    "of all rows without privacy. error: the root mean square distance from it, width: the "
                    "mean width of the interval, between: the standard deviation between regions, mean over "
                    "draws.",
                ),
                tables=[Table("", REGIONS, _regions(regions))],
            )
        )
    return [
        *parts,
        Section("Table 1: times", PAPER_ROWS, tables=[Table("", TIMES, _times(by_size))]),
        Section("What is done", [*ABOUT, minutes]),
        *_refused(findings),
    ]


def _cells(result: Result) -> Iterable[Hashable]:
    return [(result["kind"], result["sites"], result["epsilon"], result["method"])]


def _budgets(fits: Sequence[Result]) -> list[tuple[int, float]]:
    cells = dict.fromkeys((one["sites"], one["epsilon"]) for one in fits if one["epsilon"] is not None)
    return sorted(cells)


def _mean(repeats: Repeats, kind: str, count: int, epsilon: float, method: str, what: str) -> Mean | None:
    cell = (kind, count, None if method == "nonprivate" else epsilon, method)
    return repeats.cell_mean(cell, lambda result: float(result[what]))


def _errors(repeats: Repeats, kind: str, count: int, epsilon: float, what: str) -> Sequence[str]:
    means = (_mean(repeats, kind, count, epsilon, method, what) for method in METHODS)
    return (
        str(count),
        f"{epsilon:g}",
        *("--" if mean is None else f"{mean.value:.3f} ± {mean.error:.3f}" for mean in means),
    )


def _claims(repeats: Repeats, times: Mapping[tuple[int, int, int], Result]) -> Section:
    """What the paper's one table says, and what is found for its purpose."""
    rows = [
        (
            "The time of DLA falls like one over the number of computers (Table 1)",
            "175, 84.7 and 8.63 s with 5, 10 and 100",
            _seconds(times, (5, 10, 100)),
            UNEXAMINED,
        ),
        (
            "DLA with ten computers is faster than a general fitter (Table 1)",
            "84.7 against 114 s",
            f"{_seconds(times, (10,))} against {_seconds(times, (1,))}",
            UNEXAMINED,
        ),
    ]
    caption = (
        "10,000 rows of 1,000 columns. The paper's computers take gradient steps; here each site minimises "
        "exactly, and its time is mostly that of a factorisation which does not become shorter with fewer "
        "rows."
    )
    table = Table(caption, ("claim", "as printed", "here", "verdict"), rows)
    return Section("Claims", _found(repeats), tables=[table])


def _seconds(times: Mapping[tuple[int, int, int], Result], parts: Sequence[int]) -> str:
    known = [times.get((10_000, 1_000, part)) for part in parts]
    return ", ".join(f"{one['seconds']:.1f} s" if one else "not run" for one in known)


def _found(repeats: Repeats) -> Sequence[str]:
    """What the tables say, in numbers."""
    found = {
        name: repeats.cell_mean((ALIKE, 10, 1.0, name), lambda result: float(result["rmse"]))
        for name in METHODS
    }
    wrong = {name: f"{mean.value:.3f}" for name, mean in found.items() if mean is not None}
    if found.keys() - wrong.keys() - {"nonprivate"}:
        return ()
    return (
        f"With ten sites and (1, 1e-6) the slopes of one curator are wrong by {wrong['one']}, those of "
        f"secure sums, by which nobody holds all rows, by {wrong['secure']}, of pooled fits by "
        f"{wrong['pool']}, of DP-ADMM by {wrong['dp-admm']}, of DLP by {wrong['dlp']} and of DLVP by "
        f"{wrong['dlvp']}; DLP as printed, which is NOT PRIVATE, by {wrong['dlp-printed']}. Secure sums "
        "take a round a step and an aggregator who does not collude with too many sites. Pooled fits need "
        "a single message from each site, and have intervals as the fit of one curator has.",
    )


def _regions(results: Sequence[Result]) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    done = [one for one in results if "refused" not in one]
    groups = dict.fromkeys((one["epsilon"], one["effects"]) for one in done)
    for place, name in enumerate(done[0]["names"] if done else ()):
        for epsilon, effects in groups:
            own = [one for one in done if (one["epsilon"], one["effects"]) == (epsilon, effects)]
            rows.append(_region(own, place, name, epsilon, effects))
    return rows


def _region(own: Sequence[Result], place: int, name: str, epsilon: float, effects: str) -> Sequence[str]:
    truth = own[0]["truth"][place]
    ends = np.array([[one["low"][place], one["high"][place]] for one in own], dtype=np.float64)
    gaps = np.array([one["estimate"][place] - truth for one in own])
    between = np.mean([one["between"][place] for one in own]) if "between" in own[0] else None
    return (
        f"`{name}`",
        f"{truth:.3g}",
        f"{epsilon:g}",
        effects,
        f"{np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])):.2f}",
        f"{np.sqrt(np.mean(gaps**2)):.2g}",
        f"{np.mean(ends[:, 1] - ends[:, 0]):.2g}",
        "--" if between is None else f"{between:.2g}",
    )


def _times(here: Mapping[tuple[int, int, int], Result]) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for key in sorted({*PAPER_TIMES, *here}):
        one: dict[str, Any] = here.get(key, {})
        rows.append(
            (
                f"{key[0]:,}",
                f"{key[1]:,}",
                "1: a general fitter" if key[2] == 1 else str(key[2]),
                PAPER_TIMES.get(key, "--"),
                f"{one['seconds']:.1f}" if one else "not repeated",
                f"{one['apart']:.1e}" if "apart" in one else "--",
            )
        )
    return rows


def _refused(findings: Findings[Grid]) -> list[Section]:
    refused = findings.refusals(lambda one: f"{one['what']} {one.get('method', '')}")
    return [Section("Refused", tables=[Table("", ("job", "message", "jobs"), refused)])] if refused else []
