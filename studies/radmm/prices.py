"""The sections on what releases cost: samples against all rows, and the factor that mpADMM lacks."""

from __future__ import annotations

from collections.abc import Sequence

from dpglm.papers.radmm.gradient_descent import STEPS
from studies.jobs import Result
from studies.page import Section, Table
from studies.radmm.accounting import printed_cost
from studies.radmm.grid import (
    ACCOUNTED_NOISE,
    ACCOUNTED_STEPS,
    DELTA,
    EPOCHS,
    PAPER_ROWS,
    PAPER_SAMPLE,
    RHO_PRINTED,
    ROUNDS_PRINTED,
)


def accounting_sections(results: Sequence[Result]) -> list[Section]:
    """Two sections, from the jobs that account and from the printed formulas."""
    prices = next((one for one in results if one["study"] == "paper"), None)
    noise = [one for one in results if one["study"] == "noise"]
    tables = []
    if prices is not None:
        whole = prices["all rows"]
        lines = [
            [name, f"{value:.3f}", f"{value / whole:.2f}"]
            for name, value in prices.items()
            if name != "study"
        ]
        tables.append(
            Table(
                f"Epsilon at delta {DELTA:g}, one row replaced: {ACCOUNTED_STEPS} gradients of "
                f"{PAPER_SAMPLE} of {PAPER_ROWS:,} rows with noise of {ACCOUNTED_NOISE:g} C on their sum, "
                "and the same noise per row on gradients of all rows. Rows, sample and delta are the "
                "paper's; it prints neither noise nor steps, which are ours. Equation 7 and Proposition 1 "
                "are the paper's. Theorem 27: Wang, Balle and Kasiviswanathan (2019), the paper's [36]. "
                "Better conversion: Canonne, Kamath and Steinke (2020), Proposition 12. Exact losses: "
                "privacy loss distributions, composed by the library dp-accounting.",
                ["accounting", "epsilon", "times all rows"],
                lines,
            )
        )
    if noise:
        by = {(one["sampling"], one["epsilon"]): one for one in noise}
        lines = [
            [
                f"{epsilon:g}",
                *(f"{by[kind, epsilon]['sampled'] / by[kind, epsilon]['all']:.3f}" for kind in kinds),
                "no noise is enough" if (cost := by["fixed", epsilon]["printed"]) is None else f"{cost:.3f}",
            ]
            for kinds in [("fixed", "poisson")]
            for epsilon in sorted({one["epsilon"] for one in noise})
        ]
        tables.append(
            Table(
                f"Noise in the mean of {ACCOUNTED_STEPS} gradients of {PAPER_SAMPLE} of {PAPER_ROWS:,} rows, "
                "calibrated by exact losses to the epsilon, divided by that of as many gradients of all "
                "rows, which does not depend on their number: above 1, all rows are better. Last: what "
                "ssADMM on samples really costs with the noise that equation 7 and Proposition 1 want.",
                ["epsilon", "samples of fixed size", "Poisson samples", "cost of printed noise"],
                lines,
            )
        )
    text = (
        "With all rows the releases are Gaussian mechanisms, whose price is known exactly. Sampling hides "
        "who was in a sample and reads fewer rows; it adds the sampling error of the gradient besides, which "
        "is not in these tables. A step on a sample reads one row in "
        f"{round(PAPER_ROWS / PAPER_SAMPLE)}, and more steps are needed.{_times(results)}"
    )
    printed = Table(
        f"mpADMM as printed for epsilon 1: {ROUNDS_PRINTED} rounds, rho {RHO_PRINTED:g}. What the noisy x "
        "alone costs with the sensitivity that its step has; y and z are not counted.",
        ["eta", "sensitivity, times printed", "epsilon of x alone", "claim of 1"],
        [
            [f"{eta:g}", f"{eta:g}", f"{cost:.2f}", "exceeded" if cost > 1.0 else "not exceeded by x"]
            for eta in (0.5, 1.0, 2.0, 5.0, 10.0)
            for cost in [printed_cost(1.0, eta, RHO_PRINTED)]
        ],
    )
    why = (
        "The x-step divides the gradient by rho + 1/eta, so that one row replaced moves x by "
        "2 C eta / (n (1 + eta rho)); the printed sensitivity is 2 C / (n (1 + eta rho)): a factor eta is "
        "missing. For eta above 1 the printed sensitivity is less than what one row can do, for eta below 1 "
        "more. dpglm's mpADMM has the corrected sensitivity and noise on x only: y and z follow from x."
    )
    return [
        Section("What samples cost", [text], tables=tables),
        Section("The missing factor of mpADMM", [why], tables=[printed]),
    ]


def _times(results: Sequence[Result]) -> str:
    """How long fits on samples and on all rows took."""
    by = {
        name: [one["seconds"] for one in results if one.get("method") == name and "seconds" in one]
        for name in ("samples", "ssadmm")
    }
    if not all(by.values()):
        return ""
    samples, rows = (sum(seconds) / len(seconds) for seconds in by.values())
    return (
        f" Here fits of {EPOCHS} epochs on samples took {samples:.0f} seconds, and those of {STEPS} steps on "
        f"all rows {rows:.1f}."
    )
