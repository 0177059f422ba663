"""The simulated designs of the coverage study: registry, laws, truths, and a part that is run and printed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm

from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from studies import __main__ as command
from studies.coverage import grid, page
from studies.coverage.cell import study_cell
from studies.coverage.designs.columns import Factor
from studies.coverage.designs.design import Design, ReadyDesign, columns_of
from studies.coverage.designs.laws import Binary, Count, Law, Number
from studies.coverage.designs.likelihood import maximum, standard_errors
from studies.coverage.designs.registry import DESIGNS
from studies.coverage.designs.study import FULL, QUICK, STUDY, work
from studies.coverage.grid import Cell
from studies.study import Part

# Rows are enough to see every column; truths need all of them.
FEW = 200
RIGHT = ("slopes_three", "level_999", "parabola_age", "poisson", "linear")


def test_a_design_is_the_same_on_every_processor_and_another_once_it_changes() -> None:
    """Powers may be rounded differently in their last digit."""
    design = DESIGNS["levels_120"]
    (block,) = (one for one in design.columns if isinstance(one, Factor))
    others = [one for one in design.columns if one is not block]

    def with_first(share: float) -> str:
        changed = replace(block, shares=(share, *block.shares[1:]))
        return replace(design, columns=(changed, *others)).fingerprint

    first = block.shares[0]
    assert with_first(float(np.nextafter(first, 1.0))) == with_first(first)
    assert with_first(first + 1e-6) != with_first(first)
    assert replace(design, n=design.n + 1).fingerprint != design.fingerprint


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
    """But hidden numbers: their rule was set outside the study."""
    kinds = {one.kind for one in DESIGNS.values()}
    assert {one.half for one in DESIGNS.values() if one.kind == "hidden"} == {"judged"}
    for kind in kinds - {"hidden"}:
        halves = Counter(one.half for one in DESIGNS.values() if one.kind == kind)
        assert halves["set"] == halves["judged"] > 0, kind
    sizes = [one.n for one in DESIGNS.values()]
    assert (min(sizes), max(sizes)) == (500, 100_000)
    assert {3, 200} <= {one.p for one in DESIGNS.values()}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_to_be_covered_is_true_where_the_model_is_right(name: str) -> None:
    ready = ReadyDesign.of(DESIGNS[name])
    true = [DESIGNS[name].coefficients.get(term, 0.0) for term in ready.names]
    np.testing.assert_allclose(ready.beta, true, atol=1e-6)


def test_what_is_to_be_covered_is_the_long_run_fit_where_it_is_wrong() -> None:
    """Mean of fits to 400 responses, within five standard errors: failure probability below 1e-5."""
    ready = ReadyDesign.of(replace(DESIGNS["omitted_square"], n=1_000))
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
    assert STUDY.part is not None
    some = STUDY.part(FULL, Part(("rare", "judged"), (1.0,), ("add-remove",), ("pure",), 7))
    assert some.replications == 7
    assert "rare_level" in some.names
    assert all(DESIGNS[name].half == "judged" or DESIGNS[name].kind == "rare" for name in some.names)
    assert {cell.key for cell in some.cells} == {"eps1-add-remove-pure"}
    with pytest.raises(ValueError, match="nonsense"):
        STUDY.part(FULL, Part(("nonsense",)))
    with pytest.raises(ValueError, match="no such cell"):
        STUDY.part(FULL, Part(("rare",), (3.0,)))


def test_results_of_a_changed_design_are_not_mixed_in() -> None:
    one = DESIGNS["rows_500"]
    assert replace(one, about="other words", half="judged", known=True).fingerprint == one.fingerprint
    assert replace(one, n=501).fingerprint != one.fingerprint
    assert replace(one, coefficients={"x1": 0.7}).fingerprint != one.fingerprint


@pytest.mark.papers
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
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "<td>rows_500</td><td>4 ar</td>" in text
    assert "2 replications of each cell." in text
    assert "INCOMPLETE" not in text
    assert "another state" not in text
    monkeypatch.setattr(page, "code", lambda: "today")
    capsys.readouterr()
    assert command.main([*words, str(tmp_path)]) == 0
    assert "2 of 2 cells are of another state of dpglm" in capsys.readouterr().out
    assert command.main(["run", "coverage_designs", "--only", "nonsense"]) == 2
    assert command.main(["run", "dpsc", "--reps", "2"]) == 2


def test_a_cell_depends_on_its_job_alone() -> None:
    jobs = grid.jobs(replace(QUICK, cells=QUICK.cells[:1]), ["rows_500"], lambda name: "")
    for job in jobs:
        one, two = work(job), work(job)
        assert str({**one, "seconds": 0.0}) == str({**two, "seconds": 0.0})


def test_what_dpglm_refuses_is_told() -> None:
    ready = ReadyDesign.of(replace(DESIGNS["rows_500"], name="rows_100", n=100))
    bare = replace(ready, design=replace(ready.design, terms="x1 + nothing"))
    assert "nothing" in study_cell(bare, Cell("rows_100", 1.0), 1)["refused"]
