"""The study of the DPSC paper's figures: its quick run, what it resumes and skips, and what it measures."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpglm.privacy.events import ReleaseDescription
from studies import __main__ as command
from studies import real_tables
from studies.dpsc import claims, fits, tables
from studies.dpsc.grid import FULL, QUICK, strengths
from studies.dpsc.study import STUDY
from studies.dpsc.summary import Fits, mean, value
from studies.jobs import Job, Result, key_of

SIMULATED = ("simulation by epsilon", "simulation by rows")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished quick run."""
    out = tmp_path_factory.mktemp("dpsc")
    assert command.main(["run", "dpsc", "--quick", "--out", str(out)]) == 0
    return out


@pytest.mark.audit
def test_quick_run_writes_every_figure_and_fit(quick: Path) -> None:
    page = (quick / "dpsc.html").read_text(encoding="utf-8")
    figures = range(1, 11) if real_tables.available("kddcup99") else range(1, 7)
    assert [int(found) for found in re.findall(r"<figcaption>Figure (\d+):", page)] == list(figures)
    assert page.count("<svg") == len(figures)
    assert "QUICK RUN" in page
    assert "INCOMPLETE" not in page
    assert "NOT PRIVATE (reproduction)" in page
    for kind in fits.KINDS.values():
        assert all(label in page for label in kind.labels)
    text = re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    assert not re.search(r"\bnan\b|None", text), "a number that the page states was not found"
    assert "http" not in text, "the page must not need the network"


@pytest.mark.audit
def test_quick_results_are_those_of_the_jobs(quick: Path) -> None:
    """Metrics are within their ranges, and a fit without noise beats the printed one at this size."""
    findings = STUDY.findings(quick, quick=True)
    assert findings.missing == 0
    found = Fits.of(QUICK, findings.results)
    for name in SIMULATED:
        results, zeros = found.by[name], QUICK.experiments[name].columns - len(tables.SIGNALS)
        assert len(results) == len(QUICK.experiments[name].jobs(strengths(found.tuned)))
        for one in results:
            assert 0.0 <= one["error"] <= 1.0
            assert 0.0 <= one["mse"] <= 1.0
            assert 0 <= one["can"] <= zeros
            assert 0 <= one["ican"] <= len(tables.SIGNALS)
            assert 0.0 <= one["distance"] <= 4.0
            assert (one["noise"] is None) == (one["kind"] == fits.EXACT)
        exact, printed = (value(results, "error", kind=kind) for kind in (fits.EXACT, fits.PRINTED))
        assert exact < printed


def _stand_in(job: Job) -> Result:
    """Numbers as a fit gives them: errors fall with epsilon."""
    if job["kind"] == fits.STRENGTH:
        return {"loss": job["strength"], "seconds": 1.0}
    found = dict.fromkeys(("error", "mse", "kept", "noise", "can", "ican", "distance"), 0.1)
    return {**found, "error": 0.3 / (1.0 + (job.get("epsilon") or 9.0)), "seconds": 1.0}


def test_absent_kdd_is_skipped_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "no data"
    empty.mkdir()
    monkeypatch.setenv(real_tables.VARIABLE, str(empty))
    study = replace(STUDY, work=_stand_in)
    assert study.run(tmp_path, quick=True) == []
    study.write(tmp_path / "dpsc.html", study.findings(tmp_path, quick=True))
    assert "skipped: kddcup99: real table 'kddcup99' not found" in capsys.readouterr().err
    page = (tmp_path / "dpsc.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 6
    assert page.count("Not run: real table") == 2
    assert "Left out: kddcup99" in page


@pytest.mark.slow
def test_printed_fits_are_marked_and_corrected_ones_spend_what_was_asked() -> None:
    rows = tables.sample(tables.SIMULATION, 500, 0, 20)
    grid, given = (
        QUICK.experiments["simulation by epsilon"],
        {(tables.SIMULATION, one): 0.01 for one in fits.PENALTIES},
    )
    for kind in fits.KINDS:
        fit = fits.fitted(rows, grid.job(kind, "l1", 500, 0, 1.0, 0, given))
        if kind in (fits.EXACT, fits.PRINTED):
            assert fits.minimiser(fit).theorem.startswith("none: NOT PRIVATE"), kind
            assert math.isinf(fit.privacy.epsilon), kind
            continue
        assert fits.minimiser(fit).theorem.startswith("objective perturbation"), kind
        assert fit.privacy.epsilon == 1.0, kind
        assert fit.privacy.delta == (0.0 if kind == fits.PURE else fits.DELTA), kind


def test_metrics_are_those_of_the_coefficients() -> None:
    """Recomputed by hand for a fit whose rows are not shortened."""
    rows = tables.sample(tables.SIMULATION, 500, 0, 20)
    job = QUICK.experiments["simulation by epsilon"].job(
        fits.EXACT, "l1", 500, 0, None, 0, {(tables.SIMULATION, "l1"): 0.003}
    )
    fit = fits.fitted(rows, job)
    found = fits.metrics(rows, fit, 0.0)
    assert found["rows_cut"] == "none"
    slopes = fit.params[list(rows.names)].to_numpy()
    # Values beyond the declared bounds are read as the bound.
    X = np.clip(rows.test[list(rows.names)].to_numpy(), -tables.BOUND, tables.BOUND)
    link = fit.params["Intercept"] + X @ slopes
    y = (rows.test["y"] == 1).to_numpy()
    assert found["error"] == np.mean((link >= 0.0) != y)
    assert found["mse"] == pytest.approx(np.mean((1.0 / (1.0 + np.exp(-link)) - y) ** 2), rel=1e-9)
    zeros = {name for name, slope in zip(rows.names, slopes, strict=True) if slope == 0.0}
    assert found["ican"] == len(zeros & {f"x{j}" for j in range(1, 9)})
    assert found["can"] == len(zeros) - found["ican"]
    assert 0 < found["can"] <= 12
    cosine = slopes @ rows.truth / np.linalg.norm(slopes) / np.linalg.norm(rows.truth)
    assert found["distance"] == pytest.approx(2.0 - 2.0 * cosine, abs=1e-12)


def test_noise_norm_is_that_of_the_design_table() -> None:
    """At n = 10,000, p = 100, c = 2.5 and K = 100 the printed formula gives 2.01 at epsilon 1, .50 at 4."""
    for epsilon, norm in ((1.0, 2.01), (4.0, 0.50)):
        gamma = (4.0 * 2.5 * 10_000 * epsilon / 100 - 2.8) / 8.0
        release = ReleaseDescription("printed DPSC", "", 1.0, "as printed", 1.0 / gamma, "")
        assert fits.noise_norm(release, 100, 10_000, 2.5) == pytest.approx(norm, abs=0.005)
    random = np.random.default_rng(5)
    lengths = np.linalg.norm(random.normal(scale=3.0, size=(2_000, 100)), axis=1)
    release = ReleaseDescription("minimiser", "", 1.0, "Gaussian, N(0, scale^2 I)", 3.0, "")
    assert fits.noise_norm(release, 100, 10, 0.0) == pytest.approx(lengths.mean() / 10, rel=0.01)
    assert (
        fits.noise_norm(ReleaseDescription("exact minimiser", "", 0.0, "none", 0.0, ""), 100, 10, 0.0) is None
    )


def test_simulation_is_the_paper_s() -> None:
    rows = tables.sample(tables.SIMULATION, 4_000, 1, 30)
    X = rows.train[list(rows.names)].to_numpy()
    assert ((X @ rows.truth >= 0.0) == rows.second(rows.train)).all()
    # 4,000 rows: a correlation has a standard error of at most .016; 435 pairs stay within 6 of these.
    expected = 0.5 ** np.abs(np.subtract.outer(range(30), range(30)))
    assert np.abs(np.corrcoef(X.T) - expected).max() < 0.1
    fewer = tables.sample(tables.SIMULATION, 1_000, 1, 30)
    assert fewer.test.equals(rows.test)
    assert fewer.train.equals(rows.train[:1_000])
    assert not tables.sample(tables.SIMULATION, 1_000, 2, 30).train.equals(fewer.train)


@pytest.mark.slow
def test_kdd_rows_have_the_paper_s_share_and_are_not_tested_on() -> None:
    real_tables.require("kddcup99")
    rows = tables.sample(tables.KDD, 3_000, 0, 0)
    # Standard error of a share of 3,000: .009.
    assert abs(1.0 - rows.second(rows.train).mean() - tables.KDD_POSITIVE) < 0.045
    assert not set(rows.train.index) & set(rows.test.index)
    assert len(rows.test) == tables.KDD_TEST_ROWS
    fewer = tables.sample(tables.KDD, 1_000, 0, 0)
    assert (fewer.second(fewer.train) == rows.second(rows.train)[:1_000]).all()


def test_a_mean_is_over_data_sets_or_over_draws_on_one() -> None:
    sets = [{"set": one, "draw": draw, "error": one + 0.1 * draw} for one in (0, 1, 2) for draw in (0, 1)]
    over_sets, over_draws = mean(sets, "error"), mean(sets[:2], "error")
    assert over_sets is not None
    assert over_draws is not None
    assert (over_sets.count, over_sets.deviation) == (3, pytest.approx(1.0))
    assert (over_draws.count, over_draws.deviation) == (2, pytest.approx(0.1 / 2**0.5))
    # Results that differ in something that was not asked for are averaged, too.
    epsilons = [
        {**one, "epsilon": epsilon, "error": epsilon * one["error"]} for one in sets for epsilon in (1, 3)
    ]
    twice = mean(epsilons, "error")
    assert twice is not None
    assert twice.value == pytest.approx(2.0 * over_sets.value)


def test_ends_within_their_interval_are_the_same_and_others_are_not() -> None:
    """The same fall with epsilon, over five data sets that agree on it and over five that do not."""
    found = {}
    for spread in (0.001, 0.1):
        results = [
            {**_fit(0.3 - 0.02 * place + spread * (one % 2) * place, 9, "l1"), "epsilon": epsilon, "set": one}
            for place, epsilon in enumerate((1.0, 2.0))
            for one in range(5)
        ]
        (table,) = claims.tables(Fits({"simulation by epsilon": results}, ()))
        (row,) = (row for row in table.rows if row[0] == "Figure 3: classification error falls with epsilon")
        (found[spread],) = {cell.split(":")[0] for cell in row[1:]} - {"-"}
    assert found == {0.001: "holds", 0.1: "not told apart"}


def test_sayings_follow_the_numbers() -> None:
    """The same sayings with errors that fall and that rise with epsilon."""
    verdicts = {}
    for direction in (1.0, -1.0):
        results = [
            {
                **_fit(0.2 + direction * 0.01 * place + 0.001 * number * place, 9, penalty),
                "kind": kind,
                "epsilon": epsilon,
                "set": number,
            }
            for kind in fits.KINDS
            for penalty in fits.PENALTIES
            for place, epsilon in enumerate((1.0, 2.0, 3.0))
            for number in range(3)
        ]
        (table,) = claims.tables(Fits({"simulation by epsilon": results}, ()))
        (row,) = (row for row in table.rows if row[0] == "Figure 3: classification error falls with epsilon")
        verdicts[direction] = {cell.split(":")[0] for cell in row[1:]}
    assert verdicts == {1.0: {"does not hold"}, -1.0: {"holds"}}


def test_full_study_is_the_paper_s_design() -> None:
    epsilon, rows = FULL.experiments["simulation by epsilon"], FULL.experiments["simulation by rows"]
    assert (epsilon.columns, epsilon.rows, epsilon.iterations, epsilon.c, epsilon.alpha) == (
        100,
        (10_000,),
        100,
        2.5,
        0.5,
    )
    assert (rows.iterations, rows.rows) == (150, tuple(range(5_000, 30_001, 5_000)))
    assert rows.epsilons == (0.5, 1.5)
    for grid in FULL.experiments.values():
        given = {(grid.table, penalty): 0.01 for penalty in fits.PENALTIES}
        keys = [key_of(job) for job in grid.jobs(given)]
        assert len(set(keys)) == len(keys)


def _fit(error: float, kept: int, penalty: str) -> dict[str, Any]:
    """A result of the corrected Gaussian fit at epsilon 1 with 92 true zeros."""
    return {
        "kind": fits.GAUSSIAN,
        "penalty": penalty,
        "epsilon": 1.0,
        "set": 0,
        "draw": 0,
        "error": error,
        "mse": error,
        "kept": kept,
        "can": 100 - kept,
        "ican": 0,
    }
