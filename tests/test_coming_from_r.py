"""The page "Coming from R": each call of its table works, or the error of a name says what to use."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.results.hints import HINTS

PAGE = Path(__file__).parent.parent / "docs" / "coming_from_r.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| `")
]
SCHEMA = {
    "ill": ["no", "yes"],
    "visits": (0, 40),
    "cost": (-10, 10),
    "age": (18, 95),
    "years": (0.5, 10),
    "week": (1, 6),
    "left": ["no", "yes"],
    "pain": {"levels": ["none", "some", "much"], "ordered": True},
    "sex": ["F", "M"],
    "job": ["a", "b", "c"],
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    draw, n = np.random.default_rng(5), 4000
    age, years = draw.uniform(18, 95, n), draw.uniform(0.5, 10, n)
    sex, job = draw.choice(["F", "M"], n), draw.choice(["a", "b", "c"], n)
    eta = (age - 55) / 40 + 0.1 * (job == "b")
    frame = {
        "ill": np.where(draw.uniform(size=n) < 1 / (1 + np.exp(-eta)), "yes", "no"),
        "visits": draw.poisson(np.exp(eta / 2)),
        "cost": eta + draw.normal(size=n),
        "age": age,
        "years": years,
        "week": np.minimum(draw.geometric(0.1, n), 6),
        "left": np.where(draw.uniform(size=n) < 0.5, "yes", "no"),
        "sex": sex,
        "job": job,
        "pain": draw.choice(["none", "some", "much"], n),
    }
    data = pd.DataFrame(frame)
    fit = dpglm.fit("ill ~ age * sex + job", data, schema=SCHEMA, privacy=(4.0, 1e-6), seed=1)
    return {"dpglm": dpglm, "fit": fit, "data": data, "schema": SCHEMA, "new": data.head(3)}


def test_the_page_has_forty_calls_and_more() -> None:
    assert len(ROWS) >= 40
    assert all(len(row) == 3 and re.match(r"works|not here", row[2]) for row in ROWS)


@pytest.mark.parametrize("row", [row for row in ROWS if row[2].startswith("works")], ids=lambda row: row[0])
def test_what_works_works(
    row: list[str], names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpglm.errors.PlanningAdvice)
        assert eval(row[1].strip("`"), dict(names)) is not None  # the page is ours


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row[2].startswith("not here")], ids=lambda row: row[0]
)
def test_what_is_not_here_says_what_to_do(row: list[str], names: dict[str, Any]) -> None:
    with pytest.raises(AttributeError, match=r"(?s)Found: .*Expected: .*Remedy: "):
        eval(row[1].strip("`"), dict(names))


def test_hints_are_of_names_that_are_not_there(names: dict[str, Any]) -> None:
    fit = names["fit"]
    assert not [name for name in HINTS if hasattr(fit, name)]
    with pytest.raises(AttributeError, match="no attribute 'parms'"):
        _ = fit.parms


def test_what_a_hint_names_is_there(names: dict[str, Any]) -> None:
    fit, missing = names["fit"], []
    for name, (_, remedy) in HINTS.items():
        for word in re.findall(r"(?<![\w.])(?:fit\.)?([a-z_]+)\(", remedy):
            if not hasattr(fit, word) and not hasattr(dpglm, word) and word not in ("to_latex", "len"):
                missing.append((name, word))
    assert not [pair for pair in missing if pair[1] not in ("to_html", "to_markdown")]
