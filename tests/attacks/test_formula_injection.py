"""Formulas that try to run code or to reach beyond their row: refused with a caret, and nothing ran."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.cells import Blank, as_text, stored_cell
from dpglm.errors import FormulaError
from tests.attacks.formula_payloads import CODE

SCHEMA = Schema.of(
    {
        "y": ["no", "yes"],
        "x": (0.0, 1.0),
        "job": ["a", "b"],
        "np": (0.0, 1.0),
        "C": ["c", "d"],
        "Q": (0.0, 1.0),
        "log": (1.0, 2.0),
        "I": (0.0, 1.0),
        "os": (0.0, 1.0),
        "fi": (0.0, 1.0),
        "\ufb01": (0.0, 9.0),
        "__import__('os')": (0.0, 1.0),
        "x + x": (0.0, 1.0),
        "\x1b[31mred": (0.0, 1.0),
    }
)
RUN: list[str] = []  # what ran although it must not


@pytest.fixture(autouse=True)
def sentinel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nothing of a formula ran: no file was made, no function was called, nothing was imported."""
    monkeypatch.chdir(tmp_path)
    RUN.clear()
    before = set(sys.modules)
    yield tmp_path
    assert RUN == []
    assert list(tmp_path.iterdir()) == []
    assert not (set(sys.modules) - before) & {"this", "antigravity"}


def ran(*arguments: object) -> float:
    """The function that attacks try to call."""
    RUN.append("ran")
    return 0.0


@pytest.mark.parametrize("code", CODE)
def test_code_in_a_formula_is_refused_and_nothing_of_it_runs(code: str) -> None:
    for formula in (f"y ~ {code}", f"y ~ x + {code}", f"y ~ x:{code}", f"{code} ~ x"):
        with pytest.raises(FormulaError) as caught:
            parse(formula, SCHEMA)
        assert "^" in caught.value.found
        assert caught.value.expected
        assert caught.value.remedy


def test_the_sentinel_hears_a_formula_that_is_evaluated() -> None:
    import patsy

    patsy.dmatrix("I(ran(x) + x)", {"x": np.ones(2)})
    assert RUN
    RUN.clear()


@pytest.mark.parametrize(
    "right",
    [
        "(" * 3000 + "x" + ")" * 3000,
        "-" * 9000 + "x",
        "I(" * 3000 + "x" + ")" * 3000,
        "x" + "[0]" * 3000,
        "x" + ".a" * 6000,
        "I(" + "x+" * 6000 + "x)",
        "I(" + "x**" * 3000 + "2)",
        "I(" + "9**" * 3000 + "9 + x)",
        "(x + job + log + os + fi) ** 99999999999",
        "I(x + " + "9" * 5000 + ")",
        "I(x + 1e999)",
        "x" * 19_000,
        "~" * 9000,
        "x:" * 3000 + "x",
        "Q('" + "x" * 19_000 + "')",
        "{" * 9000,
        "f'" + "{" * 9000 + "'",
    ],
    ids=range(17),
)
def test_depth_and_size_are_bounded(right: str) -> None:
    try:
        assert len(parse(f"y ~ {right}", SCHEMA).names) < 100
    except FormulaError as error:
        assert len(str(error)) < 70_000  # noqa: PT017


def test_columns_may_be_named_like_functions_and_functions_keep_their_meaning() -> None:
    found = parse(
        "y ~ np + C + C(C) + Q('Q') + log + log(log) + I(os) + Q('x + x') + Q(\"__import__('os')\")", SCHEMA
    )
    assert {name for factor in found.factors for name in factor.expression.columns} == {
        "np",
        "C",
        "Q",
        "log",
        "os",
        "x + x",
        "__import__('os')",
    }
    with pytest.raises(FormulaError):
        parse("y ~ np.log(x + 1)", SCHEMA)  # np is a column here


@pytest.mark.parametrize(
    "name", ["\ufb01", "\uff45\uff58\uff50(x)", "\U0001d431", "I(\uff58)", "np.\uff4cog(x)"]
)
def test_letters_that_python_reads_as_others_are_refused(name: str) -> None:
    schema = Schema.of({**SCHEMA.variables, "K": (0.0, 1.0)})
    with pytest.raises(FormulaError) as caught:
        parse(f"y ~ {name}", schema)
    assert caught.value.remedy


def test_look_alikes_of_other_scripts_are_other_names_and_quoted_names_mean_themselves() -> None:
    with pytest.raises(FormulaError, match="no column"):
        parse("y ~ \u0445", SCHEMA)  # Cyrillic
    (factor,) = parse('y ~ Q("\ufb01")', SCHEMA).factors
    assert factor.expression.columns == ("\ufb01",)


def test_the_formula_sees_no_variable_of_its_caller() -> None:
    secret, ran_here = 0.5, ran
    assert secret
    assert ran_here
    for name in ("secret", "ran_here(x)", "I(x + secret)", "SCHEMA", "np.pi"):
        with pytest.raises(FormulaError):
            parse(f"y ~ {name}", SCHEMA)


@pytest.mark.parametrize(
    "hostile", ["\x1b[2J\x1b[31m", "\x07", "\u202e", "\u200b", "\x00", "\ud800", "\x9b31m"]
)
def test_a_message_about_a_formula_does_not_drive_the_terminal(hostile: str) -> None:
    for formula in (f"y ~ {hostile}", f"y ~ Q('{hostile}')", f"y ~ x + '{hostile}'", f"{hostile} ~ x"):
        with pytest.raises(FormulaError) as caught:
            parse(formula, SCHEMA)
        assert str(caught.value).replace("\n", "").isprintable()
    with pytest.raises(FormulaError) as caught:
        parse("y ~ z", SCHEMA)  # lists the declared columns, one of which holds an escape sequence
    assert str(caught.value).replace("\n", "").isprintable()


METHODS = [name for kind in (object, float, complex, Decimal, bytes, str, list, dict) for name in vars(kind)]


def heard(name: str) -> Any:
    def method(*arguments: object, **named: object) -> Any:
        RUN.append(name)
        raise RuntimeError(name)

    return method


def hostile_cells() -> Iterator[Any]:
    """Objects that shout when any method of theirs is called, in the guise of what a cell may hold."""
    kept = ("__new__", "__init__", "__init_subclass__", "__getattribute__", "__class__", "__doc__", "__del__")
    foreign = (
        "__array__",
        "__array_interface__",
        "__array_struct__",
        "__array_ufunc__",
        "__array_function__",
    )
    methods = {name: heard(name) for name in (*METHODS, *foreign, "__arrow_array__") if name not in kept}
    shown = {**methods, "__class__": property(heard("__class__")), "__getattr__": heard("__getattr__")}
    yield type("Plain", (), shown)()
    for kind, value in ((str, "F"), (float, 1.0), (int, 1), (bytes, b"F"), (Decimal, "1"), (complex, 1.0)):
        yield type(f"Hostile{kind.__name__}", (kind,), methods)(value)
    for kind in (list, tuple, dict):
        yield type(f"Hostile{kind.__name__}", (kind,), shown)()


class HeardFraction(Fraction):
    """Asked for its parts it shouts, which no `except Exception` would hear."""

    @property
    def numerator(self) -> Any:
        RUN.append("numerator")
        raise KeyboardInterrupt("secret cell")


class HeardInt(int):
    def __int__(self) -> Any:
        RUN.append("__int__")
        raise KeyboardInterrupt("secret cell")

    __index__ = __float__ = __truediv__ = __int__


def test_parts_planted_in_objects_of_the_standard_library_are_not_asked() -> None:
    planted, zero, uuid = Fraction(1, 2), Fraction(1, 2), UUID(int=5)
    object.__setattr__(planted, "_numerator", HeardInt(1))
    object.__setattr__(zero, "_denominator", 0)
    object.__setattr__(uuid, "int", HeardInt(5))
    RUN.clear()
    read = [as_text(stored_cell(cell)) for cell in (HeardFraction(1, 2), planted, zero, uuid, UUID(int=5))]
    assert RUN == []
    assert read == [0.5, *[Blank.UNREADABLE] * 3, str(UUID(int=5))]
    large = [as_text(stored_cell(Fraction(sign * 10**400, 3))) for sign in (1, -1)]
    assert large == [float("inf"), float("-inf")]


@pytest.mark.parametrize("column", ["y", "x", "job"])
def test_objects_in_a_frame_are_read_without_running_their_code(column: str) -> None:
    cells = list(hostile_cells())
    size = 4 * len(cells)
    columns = {"y": ["no", "yes"] * size, "x": [0.5] * 2 * size, "job": ["a", "b"] * size}
    made = {name: np.empty(2 * size, object) for name in columns}
    for name, values in columns.items():
        made[name][:] = values
    for place, cell in enumerate(cells):
        made[column][3 * place] = cell
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in made.items()})
    RUN.clear()
    fit = dpglm.fit("y ~ x + job", frame, schema=SCHEMA, privacy=1.0, progress=False)
    assert RUN == []
    assert np.isfinite(fit._record.estimates).all()


def test_cells_of_derived_types_are_read_as_the_type_below() -> None:
    read = [as_text(stored_cell(cell)) for cell in hostile_cells()]
    assert read == [Blank.UNREADABLE, "F", 1.0, 1.0, "F", 1.0, 1.0, *[Blank.UNREADABLE] * 3]
