"""What does a private logistic regression look like? Two real tables, from a formula to a privacy report.

Run with ``make demo``. `fair` ships inside statsmodels: 6,366 answers of married women to a magazine's
questionnaire of 1974. `randhie` does too: 20,190 person-years of the RAND health insurance experiment.
"""

from __future__ import annotations

from pathlib import Path

import dpglm

REPORTS = Path(__file__).parent.parent / "reports"


def affairs() -> dpglm.Fitted:
    """Who had an affair? One L1 fit at pure epsilon 1; replacing one woman's answers is hidden."""
    women = dpglm.load_data("fair")
    return dpglm.fit(
        "affair ~ age + yrs_married + children + religious + educ"
        " + C(occupation) + C(occupation_husb) + rate_marriage",
        women,
        penalty="l1",
        privacy=1.0,
    )


def visits() -> dpglm.Fitted:
    """Who saw a doctor at all in a year? The same at (1, 1e-6)."""
    years = dpglm.load_data("randhie")
    return dpglm.fit(
        "visit ~ lncoins + idp + lpi + fmde + physlm + disea + hlthg + hlthf + hlthp",
        years,
        penalty="l1",
        privacy=(1.0, 1e-6),
    )


def main() -> None:
    """Fit both, print both summaries, write both reports."""
    REPORTS.mkdir(exist_ok=True)
    for name, fit in (("fair", affairs()), ("randhie", visits())):
        print(fit.summary())
        path = fit.report(REPORTS / f"{name}.html")
        print(f"\nwrote the privacy report to {path.relative_to(REPORTS.parent)}\n")


if __name__ == "__main__":
    main()
