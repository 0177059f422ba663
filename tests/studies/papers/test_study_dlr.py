"""The study of the DLR paper: its quick run, its sites, and what its page says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm

from studies import real_tables
from studies.dlr.fits import METHODS, work
from studies.dlr.grid import FULL, SIMULATED, jobs
from studies.dlr.page import printed_noise
from studies.dlr.study import STUDY
from studies.dlr.tables import ALIKE, APART, regions, sites


def test_a_quick_run_fits_and_writes_its_page(tmp_path: Path) -> None:
    assert STUDY.run(tmp_path, quick=True) == []
    found = STUDY.findings(tmp_path, quick=True)
    assert found.missing == 0
    assert not [one for one in found.results if "refused" in one]
    STUDY.write(tmp_path / "dlr.html", found)
    text = (tmp_path / "dlr.html").read_text(encoding="utf-8")
    assert all(f"<th>{name}</th>" in text for name in METHODS.values())
    assert "<td>100</td><td>8.63</td>" in text


def test_a_fit_without_privacy_is_maximum_likelihood_and_one_with_little_noise_is_near() -> None:
    rows = sites(5, ALIKE, 3)
    X = np.column_stack([np.ones(len(rows.pooled)), rows.pooled.drop(columns="y")])
    peer = sm.Logit(rows.pooled["y"].to_numpy(), X).fit(disp=0).params
    error = np.sqrt(np.mean((peer - rows.truth)[1:] ** 2))
    about = {"what": "fit", "sites": 5, "kind": ALIKE, "repeat": 3}
    assert work({**about, "method": "nonprivate", "epsilon": None})["rmse"] == pytest.approx(error, rel=1e-3)
    for method in ("one", "pool", "dp-admm"):
        assert work({**about, "method": method, "epsilon": 100.0})["rmse"] < error + 0.02


def test_the_printed_noise_is_drawn_for_the_printed_density() -> None:
    """At a huge epsilon nothing is left of it; what is left is the iterate, which does not depend on it."""
    about = {"what": "fit", "sites": 2, "kind": ALIKE, "repeat": 1, "method": "dlp-printed"}
    near, far = (work({**about, "epsilon": epsilon})["rmse"] for epsilon in (1e6, 1e7))
    assert near == pytest.approx(far, abs=1e-4)
    assert printed_noise(6, 100) == pytest.approx(6.26, abs=0.01)


def test_sites_share_the_rows_and_lie_apart_where_said() -> None:
    alike, apart = sites(10, ALIKE, 0), sites(10, APART, 0)
    assert [len(table) for table in alike.tables.values()] == [2_000] * 10
    spread = [np.std([table["x1"].mean() for table in one.tables.values()]) for one in (alike, apart)]
    # Means of 2,000 rows have a standard error of .022; ten means .7 apart are below .2 with chance 1e-5.
    assert spread[0] < 0.1 < 0.2 < spread[1]
    assert apart.schema.sites == "disjoint"


def test_the_whole_study_has_every_method_at_every_budget() -> None:
    asked = jobs(FULL, (SIMULATED, "gusto"))
    assert len({str(job) for job in asked}) == len(asked)
    fits = [job for job in asked if job["what"] == "fit"]
    assert len(fits) == 10 * 2 * 4 * (3 * (len(METHODS) - 1) + 1)


def test_gusto_has_sixteen_regions() -> None:
    real_tables.require("gusto")
    rows = regions()
    assert len(rows.tables) == 16
    assert sum(map(len, rows.tables.values())) == 40_830
    assert len(rows.truth) == 9
