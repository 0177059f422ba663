"""What `dpglm.audit` accepts, refuses, rebuilds and shows; bounds themselves are in tests/audits."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.auditing import audit
from dpglm.auditing.audit import Audit
from dpglm.auditing.raw_tables import Corners, declared_neighbours
from dpglm.errors import MethodError
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.postprocessing.record import Choice
from dpglm.results.fit_result import FitResult
from dpglm.spec.plan import Plan
from dpglm.spec.planned_again import plan_of
from tests.effort import quick

SCHEMA = {"y": ["no", "yes"], "x": (0, 9), "z": ["a", "b", "c"]}
NUMBERS = {"y": (0, 1), "x": (0, 9)}


RELEASES = [
    "means and standard deviations",
    "means and standard deviations in closer ranges",
    "classes of row length",
    "second moments of the response",
    "classes of residual size",
    "second moments of residuals",
]


def study(**options: object) -> Plan:
    """Of one release, so that an audit is short."""
    alone = dpglm.methods.Moments(scales="declared")
    given = {"privacy": (1.0, 0.05), "family": "gaussian", "n": 99, "method": alone} | options
    return dpglm.plan("y ~ x", NUMBERS, **given)  # type: ignore[arg-type]


@cache
def of_many_releases() -> Audit:
    return dpglm.audit(study(method="moments"), trials=200, seed=3, progress=False)


def frame(rows: int = 40) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "y": generator.choice(["no", "yes"], rows),
            "x": generator.uniform(0, 9, rows),
            "z": generator.choice(["a", "b", "c"], rows),
        }
    )


def test_the_same_seed_gives_the_same_audit_and_tables_say_what_it_does_not_prove() -> None:
    first, again = (dpglm.audit(study(), trials=300, seed=3, progress=False) for _ in range(2))
    assert first == again
    found = of_many_releases()
    assert found.passed
    text = str(found.summary())
    assert "does not prove" in text
    assert "no private table was read" in " ".join(text.split())
    table = found.summary()
    assert "second moments" in table.to_html()
    assert "<table" in found._repr_html_()
    assert "second moments" in table.to_latex()
    assert "second moments" in table.to_markdown()
    assert found.tidy()["release"].tolist() == [*RELEASES, "whole method"]
    assert found.tidy()["trials"].tolist() == [200] * 7


def test_failure_is_shared_by_the_rows_so_that_all_hold_together() -> None:
    method = dpglm.methods.Objective(scales="declared")
    plan = dpglm.plan("y ~ x", SCHEMA, n=99, privacy=(1.0, 0.05), penalty="none", method=method)
    found = dpglm.audit(plan, trials=200, seed=1, confidence=0.97, progress=False)
    assert [row.name for row in found.rows] == ["perturbed minimiser", "information matrix", "whole method"]
    assert sum(row.failure for row in found.rows) == pytest.approx(0.03)
    assert found.confidence == pytest.approx(0.97)


def test_a_refuted_claim_is_the_first_and_last_thing_shown() -> None:
    found = of_many_releases()
    rows = tuple(type(row)(**{**vars(row), "refuted": True}) for row in found.rows)
    bad = type(found)(found.formula, found.method, rows, found.confidence)
    assert not bad.passed
    assert f"CLAIM REFUTED: {', '.join(RELEASES)}, whole method" in " ".join(str(bad.summary()).split())
    assert "A CLAIM IS REFUTED" in repr(bad)


def test_plot_draws_a_bar_and_a_claim_for_each_row() -> None:
    found = of_many_releases()
    ax = found.plot()
    assert len(ax.patches) == len(found.rows)
    names = [*RELEASES[:1], "means and standard d…ns in closer ranges", *RELEASES[2:], "whole method"]
    assert [label.get_text() for label in ax.get_yticklabels()] == names
    with pytest.raises(MethodError, match="ax of type"):
        found.plot(ax=3)  # type: ignore[arg-type]


OPTIONS: list[dict[str, object]] = [
    {"privacy": (1.0, 1e-6), "penalty": "none", "method": dpglm.methods.Objective(scales="declared")},
    {"privacy": 1.0, "method": dpglm.methods.Objective(coding="clipped"), "goal": "predict"},
    {"privacy": (1.0, 1e-6), "penalty": "none"},
    {"privacy": 1.0, "penalty": "l1", "strength": 0.01},
    {"privacy": dpglm.Privacy.gdp(0.5), "penalty": "l2"},
    {"privacy": dpglm.Privacy(1.0, 1e-6, relation="add-remove"), "penalty": "l1", "goal": "select"},
    {"privacy": 1.0, "method": dpglm.methods.Objective(ridge=7.0), "goal": "predict"},
    {"privacy": (1.0, 1e-6), "penalty": "scad", "goal": "predict"},
]


@pytest.mark.parametrize("options", quick(OPTIONS, *OPTIONS[:2]), ids=str)
def test_a_saved_fit_is_audited_by_the_plan_it_was_run_with(options: dict, tmp_path: Path) -> None:
    fit = dpglm.fit("y ~ x + z", frame(), schema=SCHEMA, seed=1, **options)
    plan = plan_of(dpglm.load(fit.save(tmp_path / "fit.json"))).releases
    first = plan.releases[0].inside
    assert first.scale == pytest.approx(fit.description.releases[0].scale, rel=1e-12)
    assert plan.guarantee.epsilon == fit.privacy.epsilon
    (costs,) = plan.parallel()
    assert [name for name, _ in costs] == [line.release for line in fit._record.spend_lines]
    assert dpglm.audit(fit, trials=200, seed=1, progress=False).passed


def test_a_saved_fit_of_counts_is_audited_with_its_declared_bound(tmp_path: Path) -> None:
    table = pd.DataFrame({"y": [0, 3, 1], "x": [1.0, 2.0, 3.0]})
    schema = {"y": (0, 20), "x": (0, 9)}
    asked = {"schema": schema, "family": "poisson", "privacy": (1.0, 1e-6), "seed": 1}
    for goal in ("explain", "predict"):
        fit = dpglm.fit("y ~ x", table, goal=goal, **asked)  # type: ignore[arg-type]
        last = plan_of(dpglm.load(fit.save(tmp_path / f"{goal}.json"))).releases.releases[-1]
        family = last.inside.family if isinstance(last.inside, PerturbedMinimiser) else last.mapping
        assert family.bound == 20.0


def test_a_saved_fit_is_audited_with_the_options_of_its_penalty_and_method(tmp_path: Path) -> None:
    net = dpglm.penalties.ElasticNet(l1_ratio=0.9)
    fit = dpglm.fit("y ~ x", frame(), schema=SCHEMA, privacy=1.0, penalty=net, goal="predict", seed=1)
    plan = plan_of(dpglm.load(fit.save(tmp_path / "fit.json"))).releases
    assert plan.of_kind(PerturbedMinimiser)[0].penalty.l1_ratio == 0.9
    method = dpglm.methods.Objective(ridge=50.0, coding="clipped")
    fit = dpglm.fit("y ~ x", frame(), schema=SCHEMA, privacy=(1.0, 1e-6), method=method, seed=1)
    assert plan_of(dpglm.load(fit.save(tmp_path / "steps.json"))).specification.method == method


@pytest.mark.parametrize("options", [{"steps": 3}, {"l1_ratio": [[]]}, {"strength": 2.0}, {"l1_ratio": 2.0}])
def test_options_that_were_tampered_with_are_refused(options: dict[str, object]) -> None:
    net = dpglm.penalties.ElasticNet(l1_ratio=0.9)
    fit = dpglm.fit("y ~ x", frame(), schema=SCHEMA, privacy=1.0, penalty=net, goal="predict", seed=1)
    changed = replace(fit.specification, penalty=Choice("elastic_net", options))
    with pytest.raises(MethodError):
        dpglm.audit(FitResult(replace(fit._record, specification=changed)), trials=200, progress=False)


def test_a_fit_whose_plan_is_another_one_is_refused() -> None:
    fit = dpglm.fit("y ~ x", frame(), schema=SCHEMA, privacy=1.0, goal="predict", seed=1)
    changed = replace(fit.specification, goal="select")
    with pytest.raises(MethodError, match="does not follow from its specification"):
        dpglm.audit(FitResult(replace(fit._record, specification=changed)), trials=200, progress=False)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: dpglm.audit("fit.json"), "audit of str"),
        (lambda: dpglm.audit(study(), trials=10), "trials=10"),
        (lambda: dpglm.audit(study(), trials=True), "trials"),
        (lambda: dpglm.audit(study(), confidence=1.0), "confidence"),
        (lambda: dpglm.audit(study(), seed=-1), "seed"),
        (lambda: dpglm.audit(dpglm.fit("y ~ x", frame(), schema=SCHEMA, privacy=None)), "no privacy"),
    ],
)
def test_refusals_come_in_three_parts(call, match: str) -> None:
    with pytest.raises(MethodError, match=match) as caught:
        call()
    assert "Expected:" in str(caught.value)
    assert "Remedy:" in str(caught.value)


def test_an_interrupt_passes_through_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    plan = study()
    monkeypatch.setattr(type(plan.releases.releases[0]), "run", stop)
    with pytest.raises(KeyboardInterrupt):
        dpglm.audit(plan, trials=200, progress=False)
    monkeypatch.undo()
    assert dpglm.audit(plan, trials=200, seed=1, progress=False).passed


def test_progress_counts_draws_and_goes_away(capsys: pytest.CaptureFixture[str]) -> None:
    dpglm.audit(study(), trials=200, seed=1)
    assert "draw" in capsys.readouterr().err
    dpglm.audit(study(), trials=200, seed=1, progress=None)  # no terminal
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("family", ["binomial", "gaussian"])
def test_tables_are_neighbours_of_rows_within_the_bounds(relation, family: str) -> None:
    schema = SCHEMA if family == "binomial" else SCHEMA | {"y": (0, 1)}
    subject = dpglm.plan("y ~ x * z", schema, n=99, privacy=1.0, family=family)
    model = subject.specification.coded_model
    X = Corners.of(model.schema, model.coding).X
    assert X.shape == (6, 9)
    lengths = np.square(X, dtype=np.float64).sum(axis=0)
    assert lengths.max() <= 1.0
    for pair in declared_neighbours(model, relation):
        first, second = (next(iter(table.chunks())) for table in (pair.first, pair.second))
        rows = [sorted(map(tuple, np.vstack([block.X, block.y]).T.tolist())) for block in (first, second)]
        extra = [row for row in rows[0] if rows[0].count(row) > rows[1].count(row)]
        assert len(set(extra)) == 1
        assert len(rows[0]) - len(rows[1]) == (relation == "add-remove")


def test_many_columns_are_drawn_from_and_a_formula_of_the_constant_alone_works() -> None:
    schema = {"y": ["no", "yes"]} | {f"x{j}": (0, 1) for j in range(9)}
    formula = "y ~ " + " + ".join(list(schema)[1:])
    subject = dpglm.plan(formula, schema, n=99, privacy=1.0, goal="predict")
    model = subject.specification.coded_model
    assert Corners.of(model.schema, model.coding).X.shape == (10, 512)
    constant = dpglm.plan("y ~ 1", schema, n=99, privacy=1.0, goal="predict", penalty="none")
    assert dpglm.audit(constant, trials=200, seed=1, progress=False).passed


@pytest.mark.audit
def test_few_draws_are_enough_for_a_plan_of_many_releases() -> None:
    schema = {"x": (-5, 5), "y": (0, 40)}
    plan = dpglm.plan("y ~ x", schema, family="poisson", privacy=(2.0, 1e-6), n=50)
    assert dpglm.audit(plan, trials=200, progress=False).passed


def test_a_quick_audit_makes_as_many_draws_as_there_is_time_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = study(method="moments", privacy=1.0)
    monkeypatch.setattr(audit, "_seconds", lambda tasks: 0.01)
    monkeypatch.setattr(audit, "_QUICK_SECONDS", 3.0)
    assert {row.trials for row in dpglm.audit(plan, trials="quick").rows} == {300}
    assert "about 3 s" in capsys.readouterr().err  # before the first draw
    monkeypatch.setattr(audit, "_QUICK_SECONDS", 0.1)
    assert {row.trials for row in dpglm.audit(plan, trials="quick", progress=False).rows} == {200}
    with pytest.raises(MethodError, match="or 'quick'"):
        dpglm.audit(plan, trials="slow", progress=False)  # type: ignore[arg-type]


def test_the_time_that_is_told_does_not_change_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = dpglm.audit(study(), trials=200, seed=3, progress=False)
    monkeypatch.setattr(audit, "_seconds", lambda tasks: 1.0)
    assert dpglm.audit(study(), trials=200, seed=3, progress=False) == timed
