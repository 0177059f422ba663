"""The simulated designs of the coverage study: registry, laws, truths, and a part that is run and printed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.privacy.budget import Privacy
from studies import __main__ as command
from studies.coverage.designs import grid, summary
from studies.coverage.designs.design import Design, Prepared, columns_of
from studies.coverage.designs.fits import private_fit
from studies.coverage.designs.grid import FULL, Grid
from studies.coverage.designs.laws import Binary, Count, Law, Number
from studies.coverage.designs.likelihood import maximum, standard_errors
from studies.coverage.designs.registry import DESIGNS
from studies.coverage.designs.study import STUDY, work
from studies.coverage.designs.summary import line, summaries
from studies.coverage.grid import FIT, TRUTH, Cell
from studies.jobs import Result
from studies.study import Part

# Rows are enough to see every column; truths need all of them.
FEW = 200
RIGHT = ("slopes_three", "level_999", "parabola_age", "poisson", "linear")


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_a_design_draws_rows_that_its_schema_reads(design: Design) -> None:
    few = replace(design, n=FEW)
    frame, schema = few.rows(), few.schema()
    assert frame.equals(few.rows()), "rows belong to the name"
    X, names = columns_of(design.formula[4:], frame)
    assert X.shape == (FEW, design.p)
    model = parse(design.formula, schema)
    assert Coding.of(model).names == names
    read = schema.clean(frame.assign(y=0), model.columns)
    for column in frame:
        own = frame[column]
        np.testing.assert_array_equal(read[column], own.cat.codes if own.dtype == "category" else own)
    true_names = columns_of(design.true_terms or design.formula[4:], frame)[1]
    assert set(design.coefficients) <= set(true_names)


def test_both_halves_have_designs_of_every_kind() -> None:
    kinds = {one.kind for one in DESIGNS.values()}
    for kind in kinds:
        halves = Counter(one.half for one in DESIGNS.values() if one.kind == kind)
        assert halves["set"] == halves["judged"] > 0, kind
    sizes = [one.n for one in DESIGNS.values()]
    assert (min(sizes), max(sizes)) == (500, 100_000)
    assert {3, 200} <= {one.p for one in DESIGNS.values()}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_to_be_covered_is_true_where_the_model_is_right(name: str) -> None:
    ready = Prepared.of(DESIGNS[name])
    true = [DESIGNS[name].coefficients.get(term, 0.0) for term in ready.names]
    np.testing.assert_allclose(ready.beta, true, atol=1e-6)


def test_what_is_to_be_covered_is_the_long_run_fit_where_it_is_wrong() -> None:
    """Mean of fits to 400 responses, within five standard errors: failure probability below 1e-5."""
    ready = Prepared.of(replace(DESIGNS["omitted_square"], n=1_000))
    fits = [
        maximum(ready.X, ready.response(number), "binomial", ready.beta, ridge=0.0) for number in range(400)
    ]
    error = np.std(fits, axis=0) / np.sqrt(len(fits))
    # A logistic fit to 1,000 responses has a bias of some p / n of its size.
    assert (np.abs(np.mean(fits, axis=0) - ready.beta) < 5 * error + 0.01).all()
    assert abs(ready.beta[1] - 0.6) > 0.1


@pytest.mark.parametrize(
    "law",
    [
        *(Binary(link) for link in ("logit", "probit", "cloglog")),
        Binary(cluster=2, spread=1.0),
        *(Count(3), Count(4, dispersion=1.0)),
        *(Number((-1.0, 1.5)), Number((-4.0, 2.0), scale=2.0, freedom=3.0)),
    ],
    ids=repr,
)
def test_the_mean_of_a_law_is_that_of_its_draws(law: Law) -> None:
    """Of 200,000 draws, half of them independent or more: failure probability below 1e-5 each."""
    random = np.random.default_rng(4)
    for predictor in (-1.0, 0.5):
        drawn = law.draw(random, np.full(200_000, predictor))
        expected = law.mean(np.array([predictor]))[0]
        assert abs(drawn.mean() - expected) < 5 * drawn.std() / np.sqrt(100_000)


@pytest.mark.parametrize("family", ["Binomial", "Poisson", "Gaussian"])
def test_maximum_likelihood_is_that_of_statsmodels(family: str) -> None:
    random = np.random.default_rng(8)
    X = np.column_stack([np.ones(400), random.normal(size=(400, 2))])
    y = random.integers(0, 2, size=400).astype(float)
    peer = sm.GLM(y, X, family=getattr(sm.families, family)()).fit()
    beta = maximum(X, y, family.lower(), np.zeros(3))
    np.testing.assert_allclose(beta, peer.params, atol=1e-4)
    scale = np.sqrt(397 / 400) if family == "Gaussian" else 1.0
    np.testing.assert_allclose(
        standard_errors(X, y, family.lower(), beta), scale * np.asarray(peer.bse), rtol=1e-4
    )


def test_the_grid_has_pure_budgets_for_few_coefficients_only() -> None:
    assert len(set(FULL.cells)) == len(FULL.cells)
    assert FULL.names == list(DESIGNS)
    assert FULL.replications == 300
    counts = Counter(cell.table for cell in FULL.cells)
    assert all(counts[one.name] == (12 if one.p <= 20 else 6) for one in DESIGNS.values())


def test_a_part_of_the_grid_is_what_was_asked_for() -> None:
    asked = Part(("rare", "judged"), (1.0,), ("add-remove",), ("pure",), 7)
    some = grid.part(FULL, asked)
    assert some.replications == 7
    assert "rare_level" in some.names
    assert all(DESIGNS[name].half == "judged" or DESIGNS[name].kind == "rare" for name in some.names)
    assert {cell.key for cell in some.cells} == {"eps1-add-remove-pure"}
    with pytest.raises(ValueError, match="nonsense"):
        grid.part(FULL, Part(("nonsense",)))
    with pytest.raises(ValueError, match="no such cell"):
        grid.part(FULL, Part(("rare",), (3.0,)))


def test_results_of_a_changed_design_are_not_mixed_in() -> None:
    one = DESIGNS["rows_500"]
    assert replace(one, about="other words", half="judged", known=True).fingerprint == one.fingerprint
    assert replace(one, n=501).fingerprint != one.fingerprint
    assert replace(one, coefficients={"x1": 0.7}).fingerprint != one.fingerprint


def test_a_part_is_run_printed_and_not_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "--only rows_500 --epsilon 4 --relation add-remove --reps 2"
    words = ["run", "coverage_designs", *asked.split(), "--out"]
    assert command.main([*words, str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert [row.split()[1] for row in text.splitlines()] == [
        "eps4-add-remove-approximate",
        "eps4-add-remove-pure",
    ]
    assert "wrote" not in text
    kept = (tmp_path / "coverage_designs.jsonl").read_bytes()
    assert command.main([*words, str(tmp_path), "--page", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "coverage_designs.jsonl").read_bytes() == kept
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<td>rows_500</td><td>4 ar</td><td>2</td>" in page
    assert "INCOMPLETE" not in page
    assert "another state" not in page
    monkeypatch.setattr(summary, "code", lambda: "today")
    capsys.readouterr()
    assert command.main([*words, str(tmp_path)]) == 0
    assert "4 of 4 fits are of another state of dpglm" in capsys.readouterr().out
    assert command.main(["run", "coverage_designs", "--only", "nonsense"]) == 2
    assert command.main(["run", "coverage", "--reps", "2"]) == 2


def test_a_fit_depends_on_its_job_alone() -> None:
    jobs = grid.fits(Grid((Cell("rows_500", 4.0),), 1), ["rows_500"])
    for job in jobs:
        one, two = work(job), work(job)
        for name in one.keys() - {"seconds"}:
            np.testing.assert_array_equal(one[name], two[name])


def test_what_dpglm_refuses_is_told() -> None:
    ready = Prepared.of(replace(DESIGNS["rows_500"], name="rows_100", n=100))
    bare = replace(ready, design=replace(ready.design, terms="x1 + nothing"))
    assert "nothing" in private_fit(bare, ready.response(0), Privacy(1.0, 1e-6), 1)["refused"]


def results(low: Any, high: Any, reliable: Any) -> list[Result]:
    """Ten replications of a design with an intercept and two coefficients, 0 and 1."""
    cell = Cell("rows_500", 1.0)
    about = {"table": cell.table, "relation": cell.relation, "definition": cell.definition}
    ones = np.ones(3)
    private = [
        {
            **about,
            **{"what": FIT, "epsilon": 1.0, "number": number, "seconds": 1.0},
            **{"low": low[number], "high": high[number], "reliable": reliable[number]},
            **{"estimate": 3.0 * ones, "naive_sd": ones},
        }
        for number in range(10)
    ]
    nonprivate = [
        {**about, "what": FIT, "epsilon": None, "number": number, "estimate": 0.5 * ones, "sd": ones}
        for number in range(10)
    ]
    truth = {"what": TRUTH, "table": cell.table, "names": ["Intercept", "x1", "x2"], "beta": [9.0, 0.0, 1.0]}
    return [truth, *private, *nonprivate]


def test_a_summary_counts_reliable_marked_and_one_sided_intervals() -> None:
    low, high = np.full((10, 3), -3.919928), np.full((10, 3), 3.919928)
    reliable = np.ones((10, 3), dtype=bool)
    low[:2, 1] = high[:2, 1] = np.nan  # no interval
    reliable[:2, 1] = False
    low[2:4, 1] = 0.5  # misses
    reliable[5:, 2] = False  # marked
    high[0, 2] = np.inf  # one end
    ((cell, found),) = summaries(results(low, high, reliable)).items()
    assert (found.replications, found.nonprivate) == (10, 1.0)
    assert found.own.share == 13 / 20
    assert found.own.pooled == 11 / 13
    assert (found.own.least, found.own.least_name) == (6 / 8, "x1")
    assert found.own.width == pytest.approx((10 * 2.0 + 2 * (3.919928 - 0.5) / 3.919928) / 12)
    assert found.own.width_all == pytest.approx(2.0)
    assert not found.own.met
    assert (found.marked.share, found.marked.pooled) == (5 / 20, 1.0)
    assert found.one_sided == 1 / 13
    # 3 +- 1.96 leaves out 0 and 1.
    assert (found.naive.pooled, found.naive.least) == (0.0, 0.0)
    assert "share 0.65  pooled 0.846  least 0.750 x1" in line(cell, found)
    assert "marked 0.25" in line(cell, found)


def test_a_cell_without_intervals_is_infinitely_wide() -> None:
    nothing = np.full((10, 3), np.nan)
    (found,) = summaries(results(nothing, nothing, np.zeros((10, 3), dtype=bool))).values()
    assert (found.own.share, found.own.width_all, found.own.met) == (0.0, np.inf, True)
    assert STUDY.lines is not None
