"""Specifications and plans: what they refuse, what their text keeps, what a fingerprint tells apart."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.data.tables.sources import FrameSource
from dpglm.errors import DpglmError, MethodError
from dpglm.methods.base import methods
from dpglm.privacy.budget import Relation
from dpglm.registry import options_of
from dpglm.spec.planned_again import plan_of

SCHEMA = {"ill": ["no", "yes"], "age": (18, 90), "sex": ["F", "M"], "bmi": (15, 60)}
FORMULA = "ill ~ age + sex + bmi"
BUDGET = (1.0, 1e-6)
GROUPS = {"zz": ["age"], "aa": ["sex", "bmi"]}


def table(rows: int = 60, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "ill": generator.choice(["no", "yes"], rows),
            "age": generator.uniform(18, 90, rows),
            "sex": generator.choice(["F", "M"], rows),
            "bmi": generator.uniform(15, 60, rows),
        }
    )


def planned(formula: str = FORMULA, **words: Any) -> dpglm.Plan:
    return dpglm.plan(formula, **{"schema": SCHEMA, "privacy": BUDGET, **words})


@pytest.mark.parametrize("strength", [-1.0, float("nan"), float("inf"), "abc", True])
def test_no_way_to_a_specification_takes_a_strength_that_is_none(strength: Any) -> None:
    spec = planned().specification
    with pytest.raises(MethodError, match="strength="):
        replace(spec, strength=strength)
    content = {**json.loads(spec.to_json()), "strength": strength}
    with pytest.raises(MethodError, match="strength="):
        dpglm.ModelSpec.from_json(json.dumps(content))


@pytest.mark.parametrize(
    ("name", "value"),
    [("goal", "guess"), ("goal", None), ("method", {"name": ["objective"], "options": {}})],
)
def test_a_text_with_nonsense_is_refused_in_our_words(name: str, value: object) -> None:
    content = {**json.loads(planned().specification.to_json()), name: value}
    with pytest.raises(DpglmError):
        dpglm.ModelSpec.from_json(json.dumps(content))


@pytest.mark.papers
@pytest.mark.parametrize("budget", [BUDGET, 1.0, dpglm.Privacy.gdp(0.5)])
def test_groups_keep_their_order_in_text_and_file(budget: Any, tmp_path: Path) -> None:
    method = dpglm.methods.PSTF(groups=GROUPS, importance={"zz": 2, "aa": 1}, provenance="expert")
    plan = planned(privacy=budget, method=method)
    again = dpglm.ModelSpec.from_json(plan.specification.to_json())
    assert again == plan.specification
    assert again.plan().fingerprint == plan.fingerprint
    assert again.plan().description == plan.description
    fit = plan.fit(table(), seed=1, progress=False)
    fit.save(tmp_path / "fit.json")
    assert plan_of(dpglm.load(tmp_path / "fit.json")).description == plan.description
    turned = dpglm.methods.PSTF(groups=dict(reversed(GROUPS.items())), provenance="expert")
    turned = replace(turned, importance={"zz": 2, "aa": 1})
    assert planned(privacy=budget, method=turned).fingerprint != plan.fingerprint
    assert planned(privacy=budget, method=turned).specification != plan.specification


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"method": dpglm.methods.Objective(ridge=50)}, {"method": dpglm.methods.Objective(ridge=50.0)}),
        (
            {"penalty": dpglm.penalties.ElasticNet(l1_ratio=1)},
            {"penalty": dpglm.penalties.ElasticNet(l1_ratio=1.0)},
        ),
        (
            {"schema": {**SCHEMA, "sex": {"levels": [0, 1]}}},
            {"schema": {**SCHEMA, "sex": {"levels": [0.0, 1.0]}}},
        ),
        ({"schema": dict(reversed(SCHEMA.items()))}, {"n": 7}),
        ({"strength": np.float32(0.5)}, {"strength": 0.5}),
    ],
)
def test_another_way_to_write_the_same_has_the_same_fingerprint(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    first, second = planned(**one), planned(**other)
    assert first.fingerprint == second.fingerprint
    assert first.specification == second.specification
    assert hash(first.specification) == hash(second.specification)


@pytest.mark.papers
def test_another_way_to_write_steps_and_weights_has_the_same_fingerprint() -> None:
    steps = [dpglm.methods.SSADMM(eta=eta) for eta in (1, 1.0)]
    stacks = [
        dpglm.methods.PSTF(groups=GROUPS, importance=weights, provenance="expert")
        for weights in ({"zz": 2, "aa": 1}, {"aa": 1.0, "zz": np.float32(2)})
    ]
    for one, other in (steps, stacks):
        test_another_way_to_write_the_same_has_the_same_fingerprint({"method": one}, {"method": other})


@pytest.mark.papers
def test_options_of_numpy_kinds_come_back_as_numbers() -> None:
    weights = {"age": np.float32(0.5), "sex": np.int64(2), "bmi": 1.0}
    method = dpglm.methods.PSTF(groups=2, importance=weights, provenance="expert")
    plan = planned(method=method)
    assert dpglm.ModelSpec.from_json(plan.specification.to_json()).plan().fingerprint == plan.fingerprint


def test_an_option_that_no_result_keeps_is_refused_before_the_charge() -> None:
    @dataclass(frozen=True)
    class Odd:
        option: object = None

        name: ClassVar[str] = "odd"

    assert options_of(Odd(Path("a.json"))) == {"option": "a.json"}
    assert options_of(Odd({"a": (np.float64(1.0), np.arange(2))})) == {"option": {"a": [1.0, [0, 1]]}}
    with pytest.raises(MethodError, match="an option that holds"):
        options_of(Odd(object()))


@pytest.mark.papers
@pytest.mark.parametrize("name", ["pphtl", "pst-h"])
def test_another_source_of_the_same_name_is_another_plan(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = dpglm.methods.PSTF(groups=GROUPS) if name == "pst-h" else "auto"
    for seed in (1, 2):
        (tmp_path / str(seed)).mkdir()
        fit = planned(method=method).fit(table(), seed=seed, progress=False)
        fit.save(tmp_path / str(seed) / "main.json")
    one, other = (planned(method=methods[name](source=tmp_path / seed / "main.json")) for seed in "12")
    assert one.fingerprint != other.fingerprint
    assert one.specification != other.specification
    text = one.specification.to_json()
    monkeypatch.chdir(tmp_path / "1")
    assert dpglm.ModelSpec.from_json(text).plan().fingerprint == one.fingerprint
    monkeypatch.chdir(tmp_path / "2")
    with pytest.raises(MethodError, match="a source that is not"):
        dpglm.ModelSpec.from_json(text).plan()


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_plan_can_be_pickled(relation: Relation) -> None:
    plan = planned(privacy=dpglm.Privacy(1.0, 1e-6, relation), n=100)
    copy = pickle.loads(pickle.dumps(plan))
    assert copy.fingerprint == plan.fingerprint
    fits = [one.fit(table(), seed=1, progress=False) for one in (plan, copy)]
    assert fits[0].tidy().equals(fits[1].tidy())


def test_a_plan_has_no_releases_of_another_budget() -> None:
    plan, cheaper = planned(), planned(privacy=(0.5, 1e-7))
    public = dpglm.ModelSpec.of(FORMULA, SCHEMA, privacy=None).plan()
    pairs = [
        {"releases": cheaper.releases},
        {"specification": cheaper.specification},
        {"specification": public.specification},
        {"specification": planned(privacy=dpglm.Privacy(1.0, 1e-6, "add-remove")).specification},
    ]
    for changes in pairs:
        with pytest.raises(MethodError, match="another budget"):
            replace(plan, **changes)


def test_a_plan_is_charged_and_run_at_sites_as_it_is(tmp_path: Path) -> None:
    plan = planned(method=dpglm.methods.Objective(ridge=50.0))
    other = replace(plan, releases=planned(method=dpglm.methods.Objective(ridge=70.0)).releases)
    assert other.fingerprint != plan.fingerprint
    ledger = dpglm.Ledger(tmp_path / "sites.db", budget=(3.0, 1e-5), dataset="sites")
    fits = other.fit({"north": table(), "south": table(50, 1)}, ledger=ledger, progress=False)
    assert {fit.plan_fingerprint for fit in fits.values()} == {other.fingerprint}
    assert [entry.plan for entry in ledger.entries] == [other.fingerprint] * 2


def test_the_line_of_disjoint_sites_names_the_plans_of_all(tmp_path: Path) -> None:
    tables = {
        site: dpglm.declare(table(rows), dpglm.Schema.of(SCHEMA, rows=rows, sites="disjoint"))
        for site, rows in (("north", 60), ("south", 5000))
    }
    ledger = dpglm.Ledger(tmp_path / "sites.db", budget=(3.0, 1e-5), dataset="sites")
    fits = dpglm.fit(FORMULA, tables, privacy=BUDGET, ledger=ledger, progress=False)
    prints = [fit.plan_fingerprint for fit in fits.values()]
    assert prints[0] != prints[1]
    assert ledger.entries[0].plan == "".join(prints)


def test_levels_that_are_written_differently_are_other_columns() -> None:
    tables = {
        site: dpglm.declare(table().assign(sex=1), {**SCHEMA, "sex": {"levels": levels}})
        for site, levels in (("north", [0, 1]), ("south", [False, True]))
    }
    with pytest.raises(dpglm.errors.SchemaError, match="declares sex differently"):
        dpglm.fit(FORMULA, tables, privacy=BUDGET, progress=False)


@pytest.mark.papers
@pytest.mark.parametrize("name", ["mpadmm", "dpsc"])
def test_a_private_number_of_rows_is_not_counted_for_a_plan(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reading(*_: object) -> None:
        raise AssertionError("rows are read")

    monkeypatch.setattr(FrameSource, "chunks", reading)
    with pytest.raises(MethodError, match="add-remove"):
        dpglm.fit(
            FORMULA,
            table(0),
            schema=SCHEMA,
            strength=0.1,
            privacy=dpglm.Privacy(1.0, 1e-6, "add-remove"),
            method=methods[name](paper_exact=True),
            progress=False,
        )


def test_wrong_kinds_are_told_in_our_words(tmp_path: Path) -> None:
    frame, plan = table(), planned(n=100, penalty="none")
    for call in (dpglm.fit, dpglm.plan):
        with pytest.raises(dpglm.errors.FormulaError, match="formula first"):
            call(frame, FORMULA, privacy=1.0)
    with pytest.raises(dpglm.errors.FormulaError, match=r"spec\.plan\(\)\.fit"):
        dpglm.fit(plan.specification, frame)  # type: ignore[call-overload]
    with pytest.raises(MethodError, match="beside a plan"):
        dpglm.fit(plan, frame, privacy=np.array([1.0, 1e-6]))  # type: ignore[call-overload]
    for level in ("95%", None, 95):
        with pytest.raises(MethodError, match="level"):
            plan.expected(level=level)  # type: ignore[arg-type]
    with pytest.raises(MethodError, match="values of n"):
        plan.expected().curve("n", 5)  # type: ignore[arg-type]


def test_a_plan_takes_a_file_with_its_schema_beside_it(tmp_path: Path) -> None:
    frame = table()
    frame.to_csv(tmp_path / "ward.csv", index=False)
    with pytest.raises(dpglm.errors.SchemaError, match="no schema for this table"):
        dpglm.plan(FORMULA, tmp_path / "ward.csv", privacy=BUDGET)
    dpglm.Schema.of(SCHEMA).to_yaml(tmp_path / "ward.schema.yaml")
    plan = dpglm.plan(FORMULA, str(tmp_path / "ward.csv"), privacy=BUDGET)
    assert plan.fingerprint == planned().fingerprint


@pytest.mark.parametrize("printed", [False, pytest.param(True, marks=pytest.mark.papers)])
def test_what_promises_nothing_is_not_audited(printed: bool) -> None:
    if printed:
        plan = planned(method=methods["mpadmm"](paper_exact=True), strength=0.1, n=60)
    else:
        plan = dpglm.ModelSpec.of(FORMULA, SCHEMA, privacy=None).plan()
    for subject in (plan, plan.fit(table(), progress=False)):
        with pytest.raises(MethodError, match="promises no privacy"):
            dpglm.audit(subject, trials=200, progress=False)


def test_a_fingerprint_does_not_hang_on_the_last_digits_that_a_machine_computes() -> None:
    def fingerprint(mean: float) -> str:
        schema = {**SCHEMA, "age": {"bounds": (18, 90), "mean": mean, "sd": 20.0}}
        return dpglm.plan(FORMULA, schema, n=500, privacy=BUDGET).fingerprint

    mean = 49.3712345678
    assert fingerprint(np.nextafter(mean, 90)) == fingerprint(np.nextafter(mean, 0)) == fingerprint(mean)
    assert fingerprint(mean * (1 + 1e-11)) != fingerprint(mean)
