"""A method, a penalty or a family is one file: nothing else is touched, and every verb knows it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# In a process of its own: what is registered stays for as long as a process lives.
USED = """
import dpglm
import tests.one_file.added
from tests.one_file.added import *

women = dpglm.load_data("fair")
schema = dpglm.Schema.of(women.attrs["dpglm.schema"])
formula, options = "affair ~ age + religious", {options}
fit = dpglm.fit(formula, women, seed=1, progress=False, **options)
again = dpglm.load(fit.save("fit.json"))
assert str(again.summary()) == str(fit.summary())
assert (again.params == fit.params).all()
assert again.specification == fit.specification
assert again.to_html() == fit.to_html()
plan = dpglm.plan(formula, schema, n=600, **options)
assert str(plan.summary())
assert (plan.fit(women, seed=1, progress=False).params == fit.params).all()
assert dpglm.audit(again, trials=200, seed=1, progress=False).passed
assert plan.audit(trials=200, seed=1, progress=False).passed
private = plan.fit(women, progress=False)
for text in {shown}:
    assert text in private.to_html(), text
print("known everywhere")
"""
CASES = {
    "method": (
        {"method": "centroid", "privacy": (2.0, 1e-6)},
        [
            "centroid",
            "the sum of responses",
            "the sum of rows",
            "Gaussian mechanism on bounded rows",
        ],
    ),
    "penalty": ({"penalty": "double_l1", "privacy": (2.0, 1e-6), "goal": "predict"}, ["double_l1"]),
    "family": ({"family": "slow_logistic", "privacy": (2.0, 1e-6), "goal": "predict"}, ["slow_logistic"]),
}


@pytest.mark.parametrize("piece", CASES)
def test_a_piece_in_one_file_fits_saves_loads_plans_audits_and_reports(piece: str, tmp_path: Path) -> None:
    options, shown = CASES[piece]
    code = USED.replace("{options}", repr(options)).replace("{shown}", repr(shown))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "known everywhere\n", done.stderr
