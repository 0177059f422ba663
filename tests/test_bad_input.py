"""Every kind of bad input gets the documented answer in three parts; nothing is read, nothing charged."""

from __future__ import annotations

import math
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.errors import (
    BudgetExceeded,
    DpglmError,
    FormulaError,
    MethodError,
    PrivacyError,
    SchemaError,
)

SCHEMA = {"y": ["no", "yes"], "x": (0.0, 10.0), "age": (18.0, 90.0), "sex": ["F", "M"]}


class UnreadFrame(pd.DataFrame):
    """A frame whose rows must not be looked at: only its column names are public."""

    @property
    def _constructor(self) -> type[UnreadFrame]:
        return UnreadFrame

    def __getitem__(self, key: object) -> Any:
        raise AssertionError("rows were read")

    @property
    def iloc(self) -> Any:
        raise AssertionError("rows were read")

    @property
    def loc(self) -> Any:
        raise AssertionError("rows were read")


def private_rows() -> pd.DataFrame:
    return UnreadFrame({"y": ["no", "yes"], "x": [987.654, 5.0], "age": [20.0, 30.0], "sex": ["F", "secret"]})


def verbs_on(empty: pd.DataFrame, privacy: dpglm.Privacy, ledger: dpglm.Ledger) -> list[Any]:
    """Every verb that reads a table, on this one, with a ledger that must not be charged."""
    schema: Any = {"y": ["no", "yes"], "x": (0, 100), "age": (18, 95)}
    given: dict[str, Any] = {"schema": schema, "privacy": privacy, "ledger": ledger}
    return [
        lambda: dpglm.fit("y ~ x + age", empty, **given),
        lambda: dpglm.plan("y ~ x + age", schema, privacy=privacy).fit(empty, ledger=ledger),
        lambda: dpglm.fit("y ~ x", {"north": empty, "south": empty}, **given),
        lambda: dpglm.rank_features("y ~ x + age", empty, **given),
        lambda: dpglm.describe(empty, **given),
    ]


@pytest.mark.papers
def test_a_table_without_rows_is_refused_before_the_charge_where_their_number_is_public(
    tmp_path: Path,
) -> None:
    empty = UnreadFrame({"y": [], "x": [], "age": []})
    one = dpglm.Ledger(tmp_path / "one.db", budget=(9.0, 1e-4))
    for verb in verbs_on(empty, dpglm.Privacy(1.0, 1e-6), one):
        with pytest.raises(SchemaError, match="a table without rows"):
            verb()
    assert not one.entries
    with pytest.raises(SchemaError, match="a table without rows"):
        dpglm.fit("y ~ x", empty, schema={"y": ["no", "yes"], "x": (0, 100)}, privacy=None)


@pytest.mark.papers
def test_a_table_without_rows_is_fitted_where_their_number_is_private(tmp_path: Path) -> None:
    empty = pd.DataFrame({"y": [], "x": [], "age": []})
    privacy = dpglm.Privacy(1.0, 1e-6, "add-remove")
    ledger = dpglm.Ledger(tmp_path / "add.db", budget=dpglm.Privacy(9.0, 1e-4, "add-remove"))
    for verb in verbs_on(empty, privacy, ledger):
        verb()
    assert len(ledger.entries) == 6
    schema: Any = {"variables": {"y": ["no", "yes"], "x": (0, 100)}, "unit": {"column": "age"}}
    dpglm.fit("y ~ x", empty, schema=schema, privacy=dpglm.Privacy(1.0, 1e-6))  # persons may have many rows


def told(caught: pytest.ExceptionInfo[DpglmError]) -> str:
    """The message, which must have three parts and no private value."""
    error = caught.value
    assert error.found, str(error)
    assert error.expected, str(error)
    assert error.remedy, str(error)
    assert "987" not in str(error)
    assert "secret" not in str(error)
    return str(error)


@pytest.mark.parametrize(
    "privacy",
    [
        10**400,
        (1.0, 10**400),
        0,
        -1.0,
        math.nan,
        math.inf,
        (1.0, -0.1),
        (1.0, 1.0),
        (1.0, 2.0),
        (1.0, math.nan),
        "1",
        True,
        (1.0,),
        {},
        [],
    ],
)
def test_privacy_that_means_nothing_is_refused(privacy: Any, tmp_path: Path) -> None:
    ledger = dpglm.Ledger(tmp_path / "ledger.db", budget=(3.0, 1e-5), dataset="ward-7")
    before = ledger.entries
    with pytest.raises(PrivacyError) as caught:
        dpglm.fit("y ~ x", private_rows(), schema=SCHEMA, privacy=privacy, ledger=ledger)
    told(caught)
    assert ledger.entries == before


def test_privacy_must_be_said() -> None:
    with pytest.raises(PrivacyError) as caught:
        dpglm.fit("y ~ x", private_rows(), schema=SCHEMA)
    assert "privacy=1.0" in told(caught)


@pytest.mark.parametrize(
    ("formula", "culprit"),
    [
        ("y ~ x +", "+"),
        ("y ~ weight", "weight"),
        ("y ~ I(x - x.mean())", "x.mean"),
        ("y ~ x.values", "x.values"),
        ("y ~ center(age) + sex", "center(age)"),
        ("y ~ eval('x')", "eval('x')"),
        ("y ~ __import__('os').system('true')", "__import__"),
        ("y ~ [i for i in x]", "["),
        ("y ~ I(lambda: x)", "lambda"),
    ],
)
def test_formula_faults_are_pointed_at(formula: str, culprit: str) -> None:
    with pytest.raises(FormulaError) as caught:
        dpglm.fit(formula, private_rows(), schema=SCHEMA, privacy=1.0)
    lines = told(caught).splitlines()
    (carets,) = (line for line in lines if line.strip() and set(line.strip()) == {"^"})
    drawn = lines[lines.index(carets) - 1]
    start = carets.index("^")
    marked = drawn[start : start + carets.count("^")]
    assert culprit in marked or marked in culprit


@pytest.mark.parametrize(
    "change",
    [
        {"x": (10.0, 0.0)},
        {"x": (0.0, math.inf)},
        {"x": (math.nan, 1.0)},
        {"x": (1.0, 1.0)},
        {"sex": ["F", "F"]},
        {"sex": ["F"]},
        {"y": ["no", "perhaps", "yes"]},
        {"y": (0.0, 1.0)},
    ],
)
def test_schema_faults_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SchemaError) as caught:
        dpglm.fit("y ~ x + sex", private_rows(), schema=SCHEMA | change, privacy=1.0)
    assert next(iter(change)) in told(caught)


def test_a_missing_schema_gets_a_template_of_column_names() -> None:
    with pytest.raises(SchemaError) as caught:
        dpglm.fit("y ~ x + sex", private_rows(), privacy=1.0)
    assert all(f"{name}:" in told(caught) for name in ("y", "x", "sex"))  # those of the formula
    assert "age:" not in told(caught)


def test_a_column_that_is_not_declared_gets_its_line_to_add() -> None:
    schema = {name: entry for name, entry in SCHEMA.items() if name != "sex"}
    with pytest.raises(DpglmError) as caught:
        dpglm.fit("y ~ x + sex", private_rows(), schema=schema, privacy=1.0)
    assert "sex" in told(caught)


def test_a_declared_column_that_the_table_lacks_is_told_by_name() -> None:
    with pytest.raises(SchemaError) as caught:
        dpglm.fit("y ~ x + z", private_rows(), schema=SCHEMA | {"z": (0.0, 1.0)}, privacy=1.0)
    assert "z" in told(caught)


def test_a_budget_exceeded_releases_nothing(tmp_path: Path) -> None:
    ledger = dpglm.Ledger(tmp_path / "ledger.db", budget=0.4, dataset="ward-7")
    with pytest.raises(BudgetExceeded) as caught:
        dpglm.fit("y ~ x", private_rows(), schema=SCHEMA, privacy=1.0, ledger=ledger)
    assert "0.4" in told(caught)
    assert ledger.spent.epsilon == 0.0


def test_an_interrupted_fit_keeps_its_charge(tmp_path: Path) -> None:
    ledger = dpglm.Ledger(tmp_path / "ledger.db", budget=3.0, dataset="ward-7")
    with pytest.raises(AssertionError, match="rows were read"):
        dpglm.fit("y ~ x", private_rows(), schema=SCHEMA, privacy=1.0, ledger=ledger)
    assert ledger.spent.epsilon == 1.0


@pytest.mark.parametrize(
    "arguments",
    [
        {"method": "magic"},
        {"penalty": "l0"},
        {"family": "cauchy"},
        {"goal": "guess"},
        {"strength": -1.0},
        {"strength": math.nan},
        {"strength": "cv"},
        {"strength": "big"},
        {"method": "nonprivate"},
        {"method": dpglm.methods.Objective(ridge=0.0)},
        {"method": dpglm.methods.Objective(ridge=1e-9)},
        {"strength": 10**400},
        {"strength": pd.NA},
        {"strength": np.array([1.0, 2.0])},
        {"penalty": True},
        {"penalty": 5},
        {"penalty": dpglm.penalties.L1},
        {"family": None},
        {"family": dpglm.families.Binomial},
        {"method": []},
        {"ledger": 5},
        {"seed": -1},
        {"seed": "today"},
        {"penalty": dpglm.penalties.AdaptiveL1(weights=(1.0, 2.0))},
        {"penalty": dpglm.penalties.MCP(scale=(1.0, 2.0))},
        {"penalty": dpglm.penalties.GroupL1(groups=((0, 9),))},
        {"strength": 0.1, "privacy": dpglm.Privacy(1.0, relation="add-remove")},
    ],
    ids=str,
)
def test_a_method_that_cannot_says_what_can(arguments: dict[str, Any]) -> None:
    with pytest.raises(MethodError) as caught:
        dpglm.fit("y ~ x", private_rows(), schema=SCHEMA, **({"privacy": 1.0} | arguments))
    told(caught)


GARBAGE = [
    None,
    np.nan,
    np.inf,
    -np.inf,
    1e308,
    -1e308,
    10**400,
    "",
    "abc",
    "undeclared",
    b"x",
    [1],
    {},
    True,
    pd.NA,
]


@pytest.mark.parametrize("column", ["x", "age", "sex", "y"])
@pytest.mark.filterwarnings("error")
def test_values_outside_the_declaration_are_handled_in_silence(
    column: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    size = len(GARBAGE)
    frame = pd.DataFrame(
        {
            "x": np.linspace(0, 10, size),
            "age": np.full(size, 40.0),
            "sex": ["F"] * size,
            "y": ["no", "yes"] * 7 + ["no"],
        }
    ).astype(object)
    frame[column] = GARBAGE
    fit = dpglm.fit("y ~ x + age + sex", frame, schema=SCHEMA, penalty="l2", privacy=1.0)
    assert np.isfinite(fit._record.estimates).all()
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


CELLS = pd.Series([71.25, 33.5])


@pytest.mark.parametrize(
    "entry",
    [
        CELLS,
        (CELLS, 1),
        {"levels": CELLS},
        {"levels": ["a", CELLS]},
        {"bounds": CELLS},
        {"bounds": [0, 1], "missing": CELLS},
        {"bounds": [0, 100], "mean": CELLS},
        {"bounds": [0, 100], "effect": CELLS},
        {"levels": ["a", "b"], "shares": CELLS},
        {"levels": ["a", "b"], "missing": CELLS},
    ],
    ids=str,
)
def test_a_column_given_where_a_declaration_belongs_is_not_printed(entry: Any) -> None:
    with pytest.raises(dpglm.errors.SchemaError) as caught:
        dpglm.Schema.of({"x": entry})
    assert "71" not in str(caught.value)
    assert "33" not in str(caught.value)


def test_an_error_renders_itself_for_notebooks_and_keeps_its_frames_for_others() -> None:
    def asked() -> None:
        dpglm.fit("y ~ center(x)", UnreadFrame({"y": ["no"], "x": [1.0]}), schema=SCHEMA, privacy=1.0)

    with pytest.raises(FormulaError) as told:
        asked()
    lines = told.value._render_traceback_()
    assert [line for line in lines if line.startswith("line ")] == lines[:2]
    assert " in asked: dpglm.fit(" in lines[1]
    assert lines[2] == "FormulaError"
    assert lines[3:] == str(told.value).splitlines()
    assert "dpglm/data/formula" in "".join(traceback.format_exception(told.value))
    assert PrivacyError("a", expected="b", remedy="c")._render_traceback_()[0] == "PrivacyError"
