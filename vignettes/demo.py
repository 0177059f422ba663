"""What does a private logistic regression look like? Two real tables, from a formula to a privacy report.

Run with ``make demo``. `fair` ships inside statsmodels: 6,366 answers of married women to a magazine's
questionnaire of 1974. `randhie` does too: 20,190 person-years of the RAND health insurance experiment.
"""

from __future__ import annotations

from pathlib import Path

import dpglm

FOLDER = Path(__file__).parents[1] / "reports" / "demo"


def affairs() -> dpglm.FitResult:
    """Who had an affair? Estimates with intervals; whether one woman answered at all is hidden.

    Levels that most women chose are the references: every comparison shares their error.
    """
    women = dpglm.load_data("fair")
    return dpglm.fit(
        "affair ~ age + yrs_married + children + religious + educ + rate_marriage"
        " + C(occupation, Treatment(3)) + C(occupation_husb, Treatment(4))",
        women,
        penalty="none",
        privacy=dpglm.Privacy(1.0, 1e-6, "add-remove"),
    )


def visits() -> dpglm.FitResult:
    """Who saw a doctor at all in a year? A sparse model, and intervals that no penalty shrinks."""
    years = dpglm.load_data("randhie")
    return dpglm.fit(
        "visit ~ lncoins + idp + lpi + fmde + physlm + disea + hlthg + hlthf + hlthp",
        years,
        penalty="l1/2",
        privacy=(1.0, 1e-6),
    )


def main() -> None:
    """Fit both, print both summaries, write both reports."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, fit in (("fair", affairs()), ("randhie", visits())):
        print(fit.summary())
        path = fit.report(FOLDER / f"{name}.html")
        print(f"\nwrote the privacy report to reports/demo/{path.name}\n")


if __name__ == "__main__":
    main()
