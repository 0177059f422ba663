"""The coverage study: its quick run, its seeds and truths, and what its page says of the numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from studies import real_tables
from studies.coverage import fits, grid
from studies.coverage import study as coverage
from studies.coverage.fits import naive, nonprivate_fit, plain
from studies.coverage.grid import FULL, QUICK, Cell, Grid, seed_of
from studies.coverage.study import STUDY, continued, work
from studies.coverage.summary import Summary, clustered_error, summaries
from studies.coverage.tables import TABLES
from studies.coverage.truth import Prepared, Truth
from studies.jobs import Job, Result

FAIR = Cell("fair", 1.0)
# A study of 60 responses needs no other seed to pass: at .95 a coefficient covers 48 of 60 or fewer with
# probability below 1e-5.
REPLICATIONS = 60


def twice_the_noise(rows: Any, privacy: Any, seed: int) -> dict[str, Any]:
    """A stand-in for the private fit with known coverage: the likelihood fit plus noise of its own size."""
    fit = nonprivate_fit(rows)
    noise = np.random.default_rng(seed).normal(size=rows.size) * fit["sd"]
    estimate, variance = fit["estimate"] + noise, fit["sd"] ** 2
    zeros = np.zeros(rows.size)
    return {
        "estimate": estimate,
        "sd": np.sqrt(2.0 * variance),
        "printed": np.arange(rows.size) % 2 == 1,
        "naive_estimate": estimate,
        "naive_sd": fit["sd"],
        "plain_estimate": estimate,
        "plain_sd": np.sqrt(2.0 * variance),
        "variance_sampling": variance,
        "variance_estimate": variance,
        "variance_curvature": zeros,
        "variance_adjustment": zeros,
    }


def test_a_quick_run_fits_and_writes_its_page(tmp_path: Path) -> None:
    """Not a test of coverage: that every number asked for is there, and that the parts make the whole."""
    assert STUDY.run(tmp_path, quick=True) == []
    found = STUDY.findings(tmp_path, quick=True)
    assert found.missing == 0
    first, second = [one for one in found.results if one.get("epsilon")]
    assert all(np.isfinite(one[name]).all() for one in (first, second) for name in fits.FIELDS)
    parts = [first[f"variance_{name}"] for name in ("sampling", "estimate", "curvature", "adjustment")]
    np.testing.assert_allclose(sum(parts), first["sd"] ** 2, rtol=1e-5)
    assert (first["sd"] > 0.0).all()
    # The noise of the two runs differs, and so do their responses.
    assert (first["estimate"] != second["estimate"]).all()
    STUDY.write(tmp_path / "coverage.html", found)
    text = (tmp_path / "coverage.html").read_text(encoding="utf-8")
    assert "<td>fair</td><td>1 ar</td>" in text
    assert "2 replications of each cell." in text
    assert "Pure epsilon" not in text


def test_a_fit_depends_on_its_job_alone() -> None:
    (job, *_) = grid.replications(FAIR, [7])
    one, two = work(job), work(job)
    assert all((one[name] == two[name]).all() for name in fits.FIELDS)


def test_a_cell_covers_what_it_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "private_fit", twice_the_noise)
    study = replace(STUDY, quick=replace(QUICK, replications=REPLICATIONS, continued=REPLICATIONS))
    assert study.run(tmp_path, quick=True) == []
    (found,) = summaries(study.findings(tmp_path, quick=True).results).values()
    assert (found.replications, found.of, found.usual, found.share) == (REPLICATIONS, 16, 8, 0.5)
    assert found.pooled_error < 0.03
    # Five standard errors of the measured kind: a failure probability below 1e-5 each.
    assert abs(found.pooled - 0.95) < 5 * found.pooled_error
    assert abs(found.nonprivate - 0.95) < 5 * found.pooled_error
    # Half the variance missing: 1.96 / sqrt 2 standard errors cover .834.
    assert abs(found.naive - 0.834) < 5 * found.pooled_error
    assert found.width == pytest.approx(np.sqrt(2.0), rel=0.05)
    assert found.parts == pytest.approx((0.5, 0.5, 0.0, 0.0), abs=1e-6)
    assert found.met


def test_a_cell_below_its_bar_is_continued() -> None:
    """Estimates five standard errors off: both the cell and its non-private yardstick get more responses."""
    design = Grid((FAIR,), replications=3, continued=5, linear=0)
    truth = coverage.prepared("fair").truth
    (about,) = grid.truths(design, ["fair"])
    wrong = {name: np.ones(len(truth.names)) for name in fits.FIELDS}
    wrong |= {"estimate": truth.beta + 5.0, "printed": wrong["sd"] > 0.0}

    def stand_in(job: Job) -> Result:
        fit = {"estimate": truth.beta, "sd": wrong["sd"]} if job["epsilon"] is None else wrong
        return {**job, **fit, "seconds": 1.0}

    fitted = [stand_in(job) for job in grid.fits(design, ["fair"])]
    jobs = continued(design, ["fair"], [{**about, **truth.to_json()}, *fitted])
    assert [(job["epsilon"], job["number"]) for job in jobs] == [(None, 3), (None, 4), (1.0, 3), (1.0, 4)]


def test_the_whole_study_is_that_of_the_page() -> None:
    assert len(FULL.cells) == 8 * len(TABLES) + 16
    assert len(set(FULL.cells)) == len(FULL.cells)
    assert len({cell.key for cell in FULL.cells if cell.table == "fair"}) == 16
    jobs = grid.replications(FAIR, range(3))
    assert [Cell.of(job) for job in jobs] == [FAIR] * 3
    # Runs of another design are not mixed in.
    assert jobs[0]["design"] != grid.replications(Cell("randhie", 1.0), [0])[0]["design"]


def test_responses_belong_to_the_replication_and_have_the_true_rate() -> None:
    ready = Prepared.of(TABLES["sim_rare_a"])
    again = ready.response(3)
    np.testing.assert_array_equal(ready.response(3), again)
    assert (ready.response(4) != again).any()
    # A mean of 10,000 draws, five standard errors: failure probability below 1e-6.
    assert abs(again.mean() - ready.truth.true_rate) < 5 * np.sqrt(0.25 / ready.truth.rows)
    assert seed_of("fair", 1, "noise") != seed_of("fair", 11, "noise")


def test_truths_are_zero_exactly_where_the_fit_is_within_two_standard_errors() -> None:
    ready = coverage.prepared("fair")
    fit = nonprivate_fit(ready.rows)
    near = np.abs(fit["estimate"]) < 2.0 * fit["sd"]
    assert ((ready.truth.beta == 0.0) == (near & ready.truth.studied)).all()
    assert 0 < near.sum() < len(near)
    again = Truth.of_json(ready.truth.to_json())
    assert again.names == ready.truth.names
    np.testing.assert_array_equal(again.beta, ready.truth.beta)


SIZES = {
    **{"fair": 16, "randhie": 9, "gusto": 38, "adult": 98, "adult_merged": 46},
    **{"adult_hours": 57, "diabetes130": 57, "heart": 26, "sim_rare_a": 37, "sim_rare_b": 38},
}


@pytest.mark.parametrize(("name", "coefficients"), SIZES.items())
def test_the_designs_are_those_of_the_page(name: str, coefficients: int) -> None:
    """Every level and bound that the study declares is one that the public file keeps."""
    table = TABLES[name]
    if table.needs is not None:
        real_tables.require(table.needs)
    loaded = table.load()
    model = parse(loaded.formula, loaded.schema)
    assert Coding.of(model).size - 1 == coefficients
    columns = loaded.schema.clean(loaded.frame, model.columns)
    usable = [one >= 0 if one.dtype.kind == "i" else np.isfinite(one) for one in columns.values()]
    assert np.all(usable, axis=0).mean() > 0.9999
    for column, codes in columns.items():
        variable = loaded.schema.variables[column]
        if hasattr(variable, "levels"):
            assert set(range(len(variable.levels))) <= set(codes.tolist()), f"{column}: a level never occurs"


def test_recipes_agree_with_textbook_formulae() -> None:
    random = np.random.default_rng(1)
    root = random.normal(size=(6, 4))
    curvature, user = root.T @ root, random.normal(size=(4, 4))
    centre, ridge = random.normal(size=4), np.array([0.5, 1.0, 1.0, 2.0])
    inverse = np.linalg.inv(curvature)
    one = naive(centre, curvature, user, floor=1e-9)
    np.testing.assert_allclose(one["sd"] ** 2, np.diag(user @ inverse @ user.T))
    two = plain(centre, curvature, ridge, user, score_scale=3.0, floor=1e-9)
    np.testing.assert_allclose(two["estimate"], user @ (centre + inverse @ (ridge * centre)))
    variance = inverse @ (curvature + 9.0 * np.eye(4)) @ inverse
    np.testing.assert_allclose(two["sd"] ** 2, np.diag(user @ variance @ user.T))
    raised = naive(centre, -curvature, np.eye(4), floor=4.0)
    np.testing.assert_allclose(raised["sd"], 0.5)


def test_the_standard_error_of_pooled_coverage_sees_dependence_within_a_replication() -> None:
    hit = np.repeat(np.arange(100)[:, None] % 10 != 0, 20, axis=1)
    together = clustered_error(hit, np.ones_like(hit))
    assert together == pytest.approx(np.sqrt(0.9 * 0.1 / 99), rel=1e-6)
    assert np.isnan(clustered_error(hit, np.zeros_like(hit)))


def test_a_missed_bar_is_told_with_the_coefficient() -> None:
    truth = Truth(("Intercept", "x"), np.array([0.0, 0.0]), 0, 10, 0.5, 0.5)
    estimate = np.zeros((20, 2))
    estimate[:4, 1] = 3.0
    ones = np.ones((20, 2))
    names = [name for name in fits.FIELDS if name not in ("estimate", "printed")]
    private = {
        **dict.fromkeys(names, ones),
        "estimate": estimate,
        "printed": ones > 0,
        "number": np.arange(20),
        "seconds": np.ones(20),
    }
    found = Summary.of_cell(truth, private, {"estimate": estimate, "sd": ones, "number": np.arange(20)})
    assert (found.pooled, found.least, found.met) == (0.8, 0.8, False)
    assert found.low == (("x", 0.8, 1.0),)
