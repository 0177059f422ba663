"""Example privacy reports in `reports/`: binomial, gaussian, a stack of models, several sites.

python -m studies.examples          write each report again, from the saved result that it holds
python -m studies.examples --fit    fit again with fresh noise, and write the reports

All data come with the package: a public survey and simulated tables. The noise comes from the operating
system, as in a real fit. A second fit would thus give other numbers, and each report is written again from
the result in its own annex.
"""

from __future__ import annotations

import html
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import dpglm
from dpglm.data.tables.sources import find_schema
from dpglm.postprocessing.store import from_json
from dpglm.results.compare import SiteFits
from dpglm.results.fit_result import FitResult
from studies.study import PAGES

SITES = ("branch_03", "branch_06", "branch_15")
STACK = "diabetes ~ glucose_2h + hba1c + hdl + age + bmi + diabetes_mother"
CHOICES = {
    "bounds": "From the code book or from the simulation: see the table of declared columns.",
    "exploration": "Yes: these data are public or simulated, and the tests of the package read them too.",
    "formula": "Chosen for this example.",
    "tuning": "Chosen for this example; budget and penalty were fixed before the fit.",
    "search": "Many, by many people, since the data are public. For confidential data a ledger counts them.",
    "repeats": "This page is an example. For confidential data, one ledger counts all releases.",
    "unit": "No.",
}


def binomial() -> FitResult:
    """Logistic regression on a survey, without a penalty, charged to a ledger."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = dpglm.Ledger(Path(folder) / "survey.ledger", (3.0, 1e-5), dataset="survey-1974")
        formula = "affair ~ age + yrs_married + religious + rate_marriage"
        women = dpglm.load_data("fair")
        return dpglm.fit(formula, women, penalty="none", privacy=(1.0, 1e-6), ledger=ledger, progress=False)


def gaussian() -> FitResult:
    """Linear regression at one hospital of a simulated cohort, with an l1 penalty."""
    people = dpglm.load_data("cohort")
    return dpglm.fit(
        "hba1c ~ glucose_2h + age + bmi + hdl",
        people[people["site"] == "main"],
        schema=replace(find_schema(people), rows=None),
        family="gaussian",
        penalty="l1",
        privacy=(2.0, 1e-6),
        progress=False,
    )


def stack() -> FitResult:
    """Two models on groups of columns and a meta-model, at one hospital of a simulated cohort."""
    people = dpglm.load_data("cohort")
    method = dpglm.methods.PSTF(
        groups={"blood": ["glucose_2h", "hba1c", "hdl"], "person": ["age", "bmi", "diabetes_mother"]},
        importance={"blood": 2, "person": 1},
        provenance="expert: weights of the doctors",
    )
    main = people[people["site"] == "main"]
    schema = replace(find_schema(people), rows=None)
    return dpglm.fit(STACK, main, schema=schema, method=method, privacy=(1.0, 1e-6), progress=False)


def sites() -> FitResult:
    """The first of three hospitals that fit one model, each person at one hospital only."""
    people = dpglm.load_data("cohort")
    schema = replace(find_schema(people), rows=None, sites="disjoint")
    tables = {site: people[people["site"] == site] for site in SITES}
    fits = dpglm.fit(STACK, tables, schema=schema, penalty="none", privacy=(2.0, 1e-6), progress=False)
    return fits[SITES[0]]


def sites_together(fit: FitResult) -> dict[str, str]:
    """What all sites promise: nobody is at two of them, so together they cost what one costs."""
    together = SiteFits(dict.fromkeys(SITES, fit), fit.privacy).together
    words = f"The same model is fitted at {', '.join(SITES)}; this page is that of {SITES[0]}."
    return {"repeats": f"{words} Each person is at one site only. {together}"}


EXAMPLES: Mapping[str, Callable[[], FitResult]] = {
    "example-binomial": binomial,
    "example-gaussian": gaussian,
    "example-stack": stack,
    "example-sites": sites,
}


def page(fit: FitResult) -> str:
    """The report of an example."""
    disjoint = fit.specification.schema.get("sites") == "disjoint"
    return fit.to_html(choices=CHOICES | (sites_together(fit) if disjoint else {}))


def saved(path: Path) -> FitResult:
    """The result in the annex of a report."""
    found = re.search(r'<pre id="result-json"[^>]*>(.*?)</pre>', path.read_text(encoding="utf-8"), re.DOTALL)
    if found is None:
        raise ValueError(f"{path.name} holds no result: run python -m studies.examples --fit")
    return FitResult(from_json(html.unescape(found[1])))


def write(folder: Path, *, fit: bool = False) -> list[Path]:
    """Write the example reports into ``folder``.

    Parameters
    ----------
    folder : Path
    fit : bool
        Whether to fit anew; otherwise the results are read from the reports that are there.

    Returns
    -------
    list of Path
        The reports.
    """
    paths = []
    for name, make in EXAMPLES.items():
        path = folder / f"{name}.html"
        path.write_text(page(make() if fit else saved(path)), encoding="utf-8", newline="\n")
        paths.append(path)
    return paths


if __name__ == "__main__":
    for written in write(PAGES, fit="--fit" in sys.argv[1:]):
        print(f"wrote {written}")
