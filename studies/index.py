"""The index of `reports/`: every generated page with its title and one sentence."""

from __future__ import annotations

import html
import importlib
import re
from pathlib import Path
from typing import Any, cast

from studies import examples, page
from studies.study import Study

# Module of each study by its name.
STUDIES = {
    "coverage": "studies.coverage.study",
    "coverage_designs": "studies.coverage.designs.study",
    "dpsc": "studies.dpsc.study",
    "radmm": "studies.radmm.study",
    "stacking": "studies.stacking.study",
    "hospitals": "studies.hospitals.study",
    "fwell": "studies.fwell.study",
    "dlr": "studies.dlr.study",
    "predictions": "studies.predictions.study",
    "speed": "studies.speed.study",
}
NAME = "index.html"
# The page of the papers, which `studies.papers` makes of the pages of their studies.
PAPERS = "papers.html"
EXAMPLES = (
    "Privacy reports as `fit.report()` writes them, of fits to a public survey and to simulated tables."
)
ABOUT_PAPERS = (
    "All claims in one place: as printed, corrected, the verdict, and the proof or audit that settles it."
)


def study(name: str) -> Study[Any]:
    """The study of that name."""
    return cast("Study[Any]", importlib.import_module(STUDIES[name]).STUDY)


def write(folder: Path) -> Path:
    """Write the index of a folder's pages.

    Parameters
    ----------
    folder : Path
        Pages of studies are those named after one; every other page but that of the papers is an example
        report.

    Returns
    -------
    Path
        The index.
    """
    pages = sorted(path for path in folder.glob("*.html") if path.name != NAME)
    titles = {path.name: _title(path) for path in pages}
    studies = [(name, study(name).about) for name in STUDIES if f"{name}.html" in titles]
    shown = {PAPERS, *(f"{name}.html" for name, _ in studies)}
    reports = [path for path in pages if path.name not in shown]
    sections = [
        page.Section(
            "Example privacy reports",
            [EXAMPLES],
            links=[page.Link(path.name, titles[path.name], _about(path.stem)) for path in reports],
        ),
        page.Section(
            "Studies",
            ["`python -m studies` lists them; `python -m studies run NAME` runs one again."],
            links=[
                *(page.Link(PAPERS, titles[PAPERS], ABOUT_PAPERS) for _ in range(PAPERS in titles)),
                *(page.Link(f"{name}.html", titles[f"{name}.html"], about) for name, about in studies),
            ],
        ),
    ]
    target = folder / NAME
    page.write(target, "Reports and studies of dpglm", [one for one in sections if one.links])
    return target


def _about(name: str) -> str:
    """What an example shows: the docstring of the function that fits it."""
    make = examples.EXAMPLES.get(name)
    return "" if make is None else str(make.__doc__)


def _title(path: Path) -> str:
    found = re.search(r"<title>(.*?)</title>", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return html.unescape(" ".join(found[1].split())) if found else path.stem
