"""The package works where ``papers/`` is not: they are additions, known through registries alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import quick

ROOT = Path(__file__).parent.parent
# A user's day: fits by every method that stays, and everything that is done with a result.
DAY = """
import dpglm
from dpglm.errors import DpglmError
from dpglm.methods.base import methods

assert {"moments", "nonprivate", "objective", "output"} <= set(methods), list(methods)
assert not {"dpsc", "mpadmm", "pst-f", "pst-s", "ssadmm"} & set(methods), list(methods)
women = dpglm.load_data("fair")
formula = "affair ~ age + religious + yrs_married"
choices = [
    {"privacy": 1.0},
    {"privacy": (1.0, 1e-6), "penalty": "none"},
    {"privacy": (1.0, 1e-6), "penalty": "l1/2", "goal": "select", "method": "objective"},
    {"privacy": (1.0, 1e-6), "penalty": "l1", "method": "output"},
    {"privacy": None, "penalty": "l1"},
    {"privacy": (1.0, 1e-6), "method": "moments", "family": "gaussian", "formula": "age ~ religious"},
]
for place, options in enumerate(choices):
    fit = dpglm.fit(options.pop("formula", formula), women, seed=1, progress=False, **options)
    again = dpglm.load(fit.save(f"{place}.json"))
    assert str(again.summary()) == str(fit.summary())
    assert again.to_html() == fit.to_html()
    assert len(again.predict(women.head(3))) == 3
    if fit.privacy.epsilon < float("inf") and (EVERY or options.get("method") == "output"):
        assert dpglm.audit(again, trials=200, seed=1, progress=False).passed
schema = dpglm.Schema.of(women.attrs["dpglm.schema"])
dpglm.plan(formula, schema, n=500, privacy=1.0, goal="predict").summary()
for name in ("dpsc", "ssadmm", "pst-f"):
    try:
        dpglm.fit(formula, women, privacy=(1.0, 1e-6), method=name, progress=False)
    except DpglmError as error:
        assert "Expected:" in str(error), error
    else:
        raise AssertionError(name)
print("the day is over")
"""
# Pages in a browser, numbers of oracles, attacks and stored files are the same with papers and without.
SAME = "tests/attacks", "tests/browser", "tests/fuzz", "tests/oracles", "tests/replay"
PYTEST = "-m", "pytest", "-m", "not audit and not papers", "-p", "no:cacheprovider", "--assert=plain"


def copy_without_papers(folder: Path, *parts: str) -> Path:
    """The repository's folders ``parts``, without the papers and the tests that are theirs."""
    for part in parts:
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "papers"))
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("every", quick([False, True], False))
def test_fits_files_reports_plans_and_audits_need_no_paper(tmp_path: Path, every: bool) -> None:
    done = run(copy_without_papers(tmp_path, "dpglm"), "-c", f"EVERY = {every}\n{DAY}")
    assert done.stdout == "the day is over\n", done.stderr


@pytest.mark.audit
@pytest.mark.papers
@pytest.mark.parametrize("rooms", [True, False], ids=["rooms", "others"])
def test_tests_pass_without_papers(rooms: bool, tmp_path: Path) -> None:
    """Those of `SAME` are only collected: they load what they need, and judge the same lines of code."""
    rest = [path.name for path in ROOT.iterdir() if path.name[0] != "."]
    folder = copy_without_papers(tmp_path, *(name for name in rest if (ROOT / name).is_dir()))
    for name in rest:
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, folder)
    if rooms:
        judged = ["tests/rooms"]
    else:
        assert all((ROOT / name).is_dir() for name in SAME)
        judged = ["tests", *(f"--ignore={name}" for name in ("tests/rooms", *SAME))]
        collected = run(folder, *PYTEST, "--collect-only", "-q", *SAME)
        assert collected.returncode == 0, collected.stdout[-3000:]
    done = run(folder, *PYTEST, *judged)
    assert done.returncode == 0, done.stdout[-3000:]
