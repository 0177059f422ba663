"""The coverage study: its quick run, its seeds and truths, and what its page says of the numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.spec.plan import Plan
from dpglm.typing import FloatVector
from studies import real_tables
from studies.coverage import grid
from studies.coverage import study as coverage
from studies.coverage.cell import plan_of, study_cell
from studies.coverage.counts import ReadyCounts
from studies.coverage.grid import DECLARED, Cell, seed_of
from studies.coverage.ready import ReadyTable
from studies.coverage.simulated import GRADES, ROWS_LEVELS
from studies.coverage.study import FULL, QUICK, STUDY, ready_table, work
from studies.coverage.summary import Summary, Z, clustered_error, summaries
from studies.coverage.tables import BINARY, COUNTS, NUMERIC, ORDERED, TABLES, UNORDERED

FAIR = Cell("fair", 1.0)
# A study of 60 responses needs no other seed to pass: at .95 a coefficient covers 48 of 60 or fewer with
# probability below 1e-5.
REPLICATIONS = 60


class TwiceTheNoise(ReadyTable):
    """A table whose private fit has known coverage: the likelihood fit plus noise of its own size."""

    def fit(self, plan: Plan, y: FloatVector, seed: int) -> Any:
        import pandas as pd

        estimate, sd = self.likelihood(y)
        estimate = estimate + np.random.default_rng(seed).normal(size=len(sd)) * sd
        reach = Z * np.sqrt(2.0) * sd
        ends = {"conf_low": estimate - reach, "conf_high": estimate + reach}
        rows = pd.DataFrame({"estimate": estimate, **ends})
        rows["reliable"] = np.arange(len(sd)) % 2 == 1
        rows["term"] = self.names

        class Fit:
            _record = self

            def tidy(self) -> pd.DataFrame:
                return rows

        return Fit()


def test_a_quick_run_fits_and_writes_its_page(tmp_path: Path) -> None:
    """Not a test of coverage: that every number asked for is there."""
    assert STUDY.run(tmp_path, quick=True) == []
    found = STUDY.findings(tmp_path, quick=True)
    assert found.missing == 0
    binary, numeric = summaries([one for one in found.results if "epsilon" in one]).values()
    assert (binary.coefficients, numeric.coefficients, binary.replications) == (16, 9, 2)
    assert all(0.0 < one.own.share <= 1.0 and one.error > 0.0 for one in (binary, numeric))
    STUDY.write(tmp_path / "coverage.html", found)
    text = (tmp_path / "coverage.html").read_text(encoding="utf-8")
    assert "<td>fair</td><td>1 ar</td>" in text
    assert "2 replications of each cell." in text
    assert "pure epsilon" not in text


def test_a_cell_depends_on_its_job_alone() -> None:
    (job,) = grid.jobs(replace(QUICK, cells=(FAIR,)), ["fair"], coverage.design)
    one, two = work(job), work(job)
    assert {**one, "seconds": 0.0} == {**two, "seconds": 0.0}
    # Runs of another design are not mixed in.
    (other,) = grid.jobs(replace(QUICK, cells=(Cell("randhie", 1.0),)), ["randhie"], coverage.design)
    assert job["design"] != other["design"]


def test_a_cell_covers_what_it_should() -> None:
    ready = ready_table("fair")
    stand_in = TwiceTheNoise(ready.table, ready.rows, ready.beta)
    found = Summary.of_json(study_cell(stand_in, FAIR, REPLICATIONS))
    assert (found.replications, found.coefficients, found.own.usual, found.own.share) == (60, 16, 8, 0.5)
    own = found.own
    assert own.pooled_error < 0.03
    # Five standard errors of the measured kind: a failure probability below 1e-5 each.
    assert abs(own.pooled - 0.95) < 5 * own.pooled_error
    assert abs(found.nonprivate - 0.95) < 5 * own.pooled_error
    # Half the variance missing: 1.96 / sqrt 2 standard errors cover .834.
    assert abs(found.naive.pooled - 0.834) < 5 * own.pooled_error
    assert own.width == pytest.approx(np.sqrt(2.0), rel=0.05)
    # Noise of one standard error; 960 squares of normal numbers, five of their standard errors.
    assert found.error**2 == pytest.approx(1.0, abs=5 * np.sqrt(2.0 / 960))
    assert found.met


def test_a_fit_of_coded_rows_is_that_of_a_user() -> None:
    """The study reads a table once; a user's fit reads it each time, and gives the same."""
    for name in ("fair", "randhie: disea"):
        ready = ready_table(name)
        plan = plan_of(ready, Cell(name, 2.0))
        own = ready.fit(plan, ready.rows.responses(), 5)
        user = dpglm.fit(plan, ready.rows.loaded.frame, seed=5, progress=False)
        assert isinstance(user, dpglm.FitResult)
        np.testing.assert_allclose(own.tidy()["conf_low"], user.tidy()["conf_low"], rtol=1e-9)


# Declared as levels, and numbers in the file.
FLAGS = ("idp[T.1]", "hlthg[T.1]", "hlthf[T.1]", "hlthp[T.1]")


def test_least_squares_is_that_of_the_users_units() -> None:
    import statsmodels.formula.api as smf

    ready = ready_table("randhie: disea")
    peer = smf.ols(ready.formula, ready.rows.loaded.frame).fit()
    beta, sd = ready.likelihood(ready.rows.responses())
    names = [name.replace("[T.1]", "") if name in FLAGS else name for name in ready.names]
    np.testing.assert_allclose(beta, peer.params[names], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(sd, peer.bse[names], rtol=1e-3)
    np.testing.assert_allclose(ready.naive_errors(ready.rows.responses(), beta), sd, rtol=1e-4)


def test_the_whole_study_is_that_of_the_page() -> None:
    assert len(FULL.cells) == 6 * len((*BINARY, *NUMERIC)) + 12 + 4 * len(NUMERIC) + 2 * len(
        (*COUNTS, *ORDERED, *UNORDERED)
    )
    assert len(set(FULL.cells)) == len(FULL.cells)
    assert sum(cell.table == "fair" for cell in FULL.cells) == 12
    declared = [cell for cell in FULL.cells if cell.scales == DECLARED]
    assert {cell.table for cell in declared} == {one.name for one in NUMERIC}
    assert len({cell.key for cell in FULL.cells if cell.table == NUMERIC[0].name}) == 10
    assert len(BINARY) == 10


def test_responses_belong_to_the_replication_and_have_the_true_rate() -> None:
    ready = ReadyTable.of(TABLES["sim_rare_a"])
    again = ready.response(3)
    np.testing.assert_array_equal(ready.response(3), again)
    assert (ready.response(4) != again).any()
    # A mean of 10,000 draws, five standard errors: failure probability below 1e-6.
    about = ready.to_json()
    assert abs(again.mean() - about["true_rate"]) < 5 * np.sqrt(0.25 / about["rows"])
    assert seed_of("fair", 1, "noise") != seed_of("fair", 11, "noise")


def test_truths_are_zero_exactly_where_the_fit_is_within_two_standard_errors() -> None:
    ready = ready_table("fair")
    estimate, sd = ready.likelihood(ready.rows.responses())
    near = np.abs(estimate) < 2.0 * sd
    studied = np.array(ready.names) != "Intercept"
    assert ((ready.beta == 0.0) == (near & studied)).all()
    assert 0 < near.sum() < len(near)


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


def test_the_standard_error_of_pooled_coverage_sees_dependence_within_a_replication() -> None:
    hit = np.repeat(np.arange(100)[:, None] % 10 != 0, 20, axis=1)
    together = clustered_error(hit, np.ones_like(hit))
    assert together == pytest.approx(np.sqrt(0.9 * 0.1 / 99), rel=1e-6)
    assert np.isnan(clustered_error(hit, np.zeros_like(hit)))


NAMES, TRUE = np.array(["Intercept", "x1", "x2"]), np.array([9.0, 0.0, 1.0])


def summary(low: Any, high: Any, reliable: Any) -> Summary:
    """Ten replications of an intercept and two coefficients, 0 and 1, from their intervals."""
    ones = np.ones((10, 3))
    fits = {"low": low, "high": high, "reliable": reliable, "estimate": 3.0 * ones, "naive_sd": ones}
    return Summary.of(NAMES, TRUE, {**fits, "nonprivate": 0.5 * ones, "sd": ones}, 1.0)


def test_a_summary_counts_reliable_marked_and_one_sided_intervals() -> None:
    low, high = np.full((10, 3), -3.919928), np.full((10, 3), 3.919928)
    reliable = np.ones((10, 3), dtype=bool)
    low[:2, 1] = high[:2, 1] = np.nan  # no interval
    reliable[:2, 1] = False
    low[2:4, 1] = 0.5  # misses
    reliable[5:, 2] = False  # marked
    high[0, 2] = np.inf  # one end
    found = summary(low, high, reliable)
    assert (found.replications, found.nonprivate) == (10, 1.0)
    assert found.own.share == 13 / 20
    assert found.own.pooled == 11 / 13
    assert (found.own.least, found.own.least_name) == (6 / 8, "x1")
    assert found.own.width == pytest.approx((10 * 2.0 + 2 * (3.919928 - 0.5) / 3.919928) / 12)
    assert found.own.width_all == pytest.approx(2.0)
    assert [(one.name, one.coverage, one.share) for one in found.own.low] == [("x1", 6 / 8, 8 / 10)]
    assert not found.met
    assert (found.marked.share, found.marked.pooled) == (5 / 20, 1.0)
    assert found.one_sided == 1 / 13
    # 3 +- 1.96 leaves out 0 and 1; 3 is 2.5 from .5.
    assert (found.naive.pooled, found.naive.least, found.error) == (0.0, 0.0, 2.5)
    assert Summary.of_json(found.to_json()) == found


def test_the_intercept_is_judged_by_itself() -> None:
    low, high = np.full((10, 3), -2.0), np.full((10, 3), 2.0)
    reliable = np.ones((10, 3), dtype=bool)
    high[1:, 0] = 10.0  # the first misses 9
    found = summary(low, high, reliable)
    assert found.intercept is not None
    assert (found.own.pooled, found.intercept.pooled, found.met) == (1.0, 0.9, True)
    high[:2, 0] = 2.0
    found = summary(low, high, reliable)
    assert found.intercept is not None
    assert (found.own.met, found.intercept.low[0].coverage, found.met) == (True, 0.8, False)
    earlier = {name: value for name, value in found.to_json().items() if name != "intercept"}
    assert Summary.of_json(earlier).met
    reliable[:8, 0] = False  # seldom has an interval
    assert summary(low, high, reliable).met


def test_a_cell_without_intervals_is_infinitely_wide() -> None:
    nothing = np.full((10, 3), np.nan)
    found = summary(nothing, nothing, np.zeros((10, 3), dtype=bool))
    assert (found.own.share, found.own.width_all, found.met) == (0.0, np.inf, True)


def test_counts_have_the_spread_and_the_fit_of_quasi_poisson() -> None:
    import statsmodels.api as sm
    import statsmodels.formula.api as smf

    ready = ready_table("randhie: mdvis")
    assert isinstance(ready, ReadyCounts)
    names = [name.replace("[T.1]", "") if name in FLAGS else name for name in ready.names]
    for y in (ready.observed, ready.response(0)):
        frame = ready.rows.loaded.frame.assign(mdvis=y)
        peer = smf.glm(ready.formula, frame, family=sm.families.Poisson()).fit(scale="X2")
        beta, sd = ready.likelihood(y)
        np.testing.assert_allclose(beta, peer.params[names], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(sd, peer.bse[names], rtol=1e-3)
        np.testing.assert_allclose(ready.naive_errors(y, beta), sd, rtol=1e-6)
    # Truths of ten coefficients, four standard errors each, for a fixed seed: fails below 1e-3.
    assert (np.abs(beta - ready.beta) < 4.0 * sd).all()
    mean = np.asarray(peer.fittedvalues)
    # Of 20,190 squared residuals the largest matter; twenty seeds stay within .07.
    assert ((y - mean) ** 2 - mean).sum() / (mean**2).sum() == pytest.approx(ready.spread, rel=0.2)
    found = Summary.of_json(study_cell(ready, Cell("randhie: mdvis", 4.0), 2))
    assert (found.replications, found.coefficients) == (2, 9)
    about = ready.to_json()
    assert about["observed_mean"] == pytest.approx(about["true_mean"], rel=0.05)
    assert about["clipped"] == 0.0


def test_ordered_levels_are_fitted_as_a_user_fits_them() -> None:
    """Rows of persons and stages are made once; a user's fit makes them each time, and gives the same."""
    ready = ready_table("sim_levels")
    y = ready.response(0)
    reached = ~np.isnan(y.reshape(-1, 3))
    assert reached[:, 0].all()
    assert (reached[:, 1] == (y.reshape(-1, 3)[:, 0] == 1.0)).all()
    levels = np.array(GRADES)[np.nansum(y.reshape(-1, 3), axis=1).astype(int)]
    frame = ready.rows.loaded.frame.assign(y=levels)
    plan = plan_of(ready, Cell("sim_levels", 1.0))
    user = dpglm.fit(plan, frame, seed=5, progress=False)
    assert isinstance(user, dpglm.FitResult)
    np.testing.assert_allclose(ready.fit(plan, y, 5).tidy()["conf_low"], user.tidy()["conf_low"], rtol=1e-6)
    peer = dpglm.fit(
        ready.formula, frame, schema=ready.schema, family="ordinal", privacy=None, penalty="none"
    )
    assert isinstance(peer, dpglm.FitResult)
    beta, sd = ready.nonprivate(0)
    np.testing.assert_allclose(beta, peer.params, atol=1e-3)
    np.testing.assert_allclose(sd, peer.bse, rtol=1e-3)
    np.testing.assert_allclose(ready.naive_errors(y, beta), sd, rtol=1e-6)
    # Truths of 14 coefficients, four standard errors each, for a fixed seed: fails below 1e-3.
    assert (np.abs(beta - ready.beta) < 4.0 * sd).all()


def test_levels_without_an_order_are_fitted_as_a_user_fits_them() -> None:
    ready = ready_table("fair: occupation")
    y = ready.response(0)
    assert set(y) == {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}
    frame = ready.rows.loaded.frame.assign(occupation=np.array([3, 4, 2, 5, 6, 1])[y.astype(int)])
    peer = dpglm.fit(ready.formula, frame, schema=ready.schema, family="multinomial", privacy=None)
    assert isinstance(peer, dpglm.LevelFits)
    frequent = np.array([not name.endswith(("[6]", "[1]")) for name in ready.names])
    beta, sd = ready.nonprivate(0)
    np.testing.assert_allclose(beta[frequent], peer.params.to_numpy().T.ravel()[frequent], atol=1e-2)
    np.testing.assert_allclose(sd[frequent], peer.bse.to_numpy().T.ravel()[frequent], rtol=1e-2)
    np.testing.assert_allclose(ready.naive_errors(y, beta), sd, rtol=1e-6)
    # Truths of 36 coefficients, five standard errors each, for a fixed seed: fails below 1e-4.
    assert (np.abs(beta - ready.beta) < 5.0 * sd)[frequent].all()
    found = Summary.of_json(study_cell(ready, Cell("fair: occupation", 4.0), 2))
    assert (found.replications, found.coefficients) == (2, 55)


def test_a_cell_of_ordered_levels_judges_the_intercepts_of_all_stages() -> None:
    found = Summary.of_json(study_cell(ready_table("sim_levels"), Cell("sim_levels", 4.0), 2))
    assert (found.replications, found.coefficients) == (2, 11)
    assert found.intercept is not None
    assert found.intercept.share == 1.0
    about = ready_table("sim_levels").to_json()
    assert about["rows"] == ROWS_LEVELS
    assert 0.5 < about["true_rate"] < 0.7
