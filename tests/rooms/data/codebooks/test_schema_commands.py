"""dpglm schema draft and check: what is printed, refused and never read."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dpglm.cli import main
from dpglm.data.codebooks.check import against_codebook, against_formula, against_public
from dpglm.data.formula.columns import formula_columns
from dpglm.data.schema.schema import Schema
from dpglm.errors import SchemaError

BOOKS = Path(__file__).parent / "books"
REDCAP = BOOKS / "clinic_redcap.csv"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: object) -> Result:
    result = CliRunner().invoke(main, [str(word) for word in ("schema", *words)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_a_draft_is_printed_for_the_columns_of_the_formula_and_loads() -> None:
    done = run("draft", "smokes ~ age + C(job)", "--codebook", REDCAP)
    assert done.exit_code == 0
    Path("s.yaml").write_text(done.output, encoding="utf-8")
    assert list(Schema.from_yaml("s.yaml").variables) == ["smokes", "age", "job"]
    written = run("draft", "smokes ~ age + C(job)", "--codebook", REDCAP, "-o", "t.yaml")
    assert written.output == "wrote t.yaml\n"
    assert Path("t.yaml").read_text(encoding="utf-8") == done.output


def test_a_draft_with_something_to_declare_does_not_load() -> None:
    run("draft", "smokes ~ age + bmi + surname", "--codebook", REDCAP, "--format", "redcap", "-o", "s.yaml")
    text = Path("s.yaml").read_text(encoding="utf-8")
    assert "to declare: computed as round" in text
    with pytest.raises(SchemaError, match="bmi"):
        Schema.from_yaml("s.yaml")
    Path("s.yaml").write_text(text.replace("LOW, HIGH", "10, 60"), encoding="utf-8")
    with pytest.raises(SchemaError, match="surname"):
        Schema.from_yaml("s.yaml")


def test_without_a_code_book_the_template_says_what_each_column_is_for() -> None:
    Path("rows.csv").write_text("ill,age,jobs\nyes,4711,Secret\n", encoding="utf-8")
    done = run("draft", "ill ~ np.log(age) + C(job)", "--columns", "rows.csv")
    assert done.exit_code == 0
    assert "ill: {bounds: [LOW, HIGH]}  # or {levels: [A, B]}; the response" in done.output
    assert "a number; used in np.log(age)" in done.output
    assert 'no column "job"; is it jobs?' in done.output
    assert "4711" not in done.output
    assert "Secret" not in done.output
    Path("s.yaml").write_text(done.output.replace("LOW, HIGH", "0, 1"), encoding="utf-8")
    with pytest.raises(SchemaError, match="LEVELS"):
        Schema.from_yaml("s.yaml")


def test_bad_words_are_told_in_a_message() -> None:
    for status, *words in (
        (1, "draft", "ill ~ age +"),
        (2, "draft", "ill ~ age", "--codebook", "none.csv"),
        (2, "draft", "ill ~ age", "--codebook", REDCAP, "-o", "none/s.yaml"),
        (1, "draft", "ill ~ age", "--codebook", REDCAP, "--format", "ddi"),
        (2, "check", "none.yaml"),
    ):
        done = run(*words)
        assert done.exit_code == status
        assert "Remedy:" in done.output


def test_the_check_compares_with_formula_code_book_and_a_public_file() -> None:
    Path("s.yaml").write_text(
        "smokes: {levels: [0, 1, 2]}\nage: {bounds: [18, 99]}\njob: {levels: [Office, Mine]}\n",
        encoding="utf-8",
    )
    Path("made_up.csv").write_text('smokes,age,job\n0,"1,234",office\n1,30,Garden\n', encoding="utf-8")
    done = run(
        "check",
        "s.yaml",
        "--formula",
        "smokes ~ age + job + bmi",
        "--codebook",
        REDCAP,
        "--public",
        "made_up.csv",
    )
    assert done.exit_code == 1
    for told in (
        "wrong  bmi: not declared; a number",
        "wrong  smokes: the response has 3 levels",
        "note   age: the upper bound is 99, in the code book 95",
        "note   job: declared by labels of the code book",
        "made_up.csv was read openly: it must be public or synthetic.",
        "wrong  age: 1 with thousands separators ('1,234')",
        "'office', is it Office?",
    ):
        assert told in done.output
    help_text = " ".join(run("check", "--help").output.split())
    assert "Never private rows" in help_text
    assert "NEVER give it private rows" in help_text


def test_a_schema_without_faults_passes() -> None:
    run("draft", "smokes ~ age + job", "--codebook", REDCAP, "-o", "s.yaml")
    Path("made_up.csv").write_text("smokes,age,job\n0,20,1\n1,,2\n", encoding="utf-8")
    done = run(
        "check", "s.yaml", "--formula", "smokes ~ age + job", "--codebook", REDCAP, "--public", "made_up.csv"
    )
    assert done.exit_code == 0
    assert "No things to correct" in done.output
    assert "note   age: 1 without a value" in done.output


def words(found: list[object]) -> str:
    return "\n".join(map(str, found))


@pytest.mark.parametrize(
    ("declared", "cells", "told"),
    [
        ({"bounds": [0, 5000]}, ["1,234", "7"], 'declare thousands: ","'),
        ({"bounds": [0, 5000]}, ["1.234.567", "7"], 'declare thousands: "."'),
        ({"bounds": [0, 50]}, ["1,5", "7"], "decimal comma"),
        ({"bounds": [0, 50]}, ["31.03.2015", "7"], "1 dates"),
        ({"bounds": [0, 50]}, ["x", "7"], "1 no numbers ('x')"),
        ({"bounds": [0, 50]}, ["60", "7"], "1 of 2 lie outside 0 to 50"),
        ({"bounds": [0, 50], "missing_codes": [99]}, ["99", ""], "note   v: 1 codes for a missing value"),
        ({"bounds": [0, 50], "date": {"origin": "2015-01-01"}}, ["31.3.15"], "no dates as declared"),
        ({"levels": ["müde", "wach"]}, ["m\ufffdde", "wach"], "another encoding"),
        ({"levels": ["müde", "wach"]}, ["mÃ¼de", "wach"], "another encoding"),
        ({"levels": ["no", "yes"]}, ["yes ", "NO"], "'yes ', is it yes?, 'NO', is it no?"),
        ({"levels": ["office", "care"]}, ["offise"], "'offise', is it office?"),
    ],
)
def test_cells_of_a_public_table_that_would_not_be_used_are_told_by_column(
    declared: dict[str, object], cells: list[str], told: str
) -> None:
    import pandas as pd

    schema = Schema.from_dict({"variables": {"v": declared}})
    assert told in words(against_public(schema, pd.DataFrame({"v": cells}), ["v"]))  # type: ignore[arg-type]


def test_a_column_that_the_public_file_lacks_is_told() -> None:
    Path("made_up.csv").write_text("agee\n1\n", encoding="utf-8")
    found = against_public(Schema.of({"age": (0, 9)}), "made_up.csv", ["age"])
    assert words(found) == "wrong  age: no such column in the file; is it agee?"  # type: ignore[arg-type]


def test_codes_of_the_code_book_that_a_schema_takes_for_values_are_told() -> None:
    draft = Schema.from_redcap(BOOKS / "habits_redcap.csv")
    schema = Schema.of({"job": [1, 2, 99], "age2": (12, 60), "rec": (0, 9), "jobb": (0, 1), "kids": (0, 2)})
    found = words(against_codebook(schema, draft, [*schema.variables]))  # type: ignore[arg-type]
    for told in (
        "wrong  job: levels that stand for a missing value in the code book: 99",
        "wrong  age2: codes for a missing value that missing_codes does not list: 99",
        "wrong  rec: the code book leaves it out",
        "wrong  jobb: the code book does not tell it; is it job?",
        "note   kids: declared with bounds; the code book lists 3 levels",
    ):
        assert told in found
    seen = against_codebook(
        Schema.of({"PAY": (0, 8100)}), Schema.from_ddi(BOOKS / "archive_ddi.xml"), ["PAY"]
    )
    assert "declare looked_at_data: true" in words(seen)  # type: ignore[arg-type]


def test_a_formula_that_the_schema_cannot_read_is_told() -> None:
    found = against_formula(Schema.of({"y": ["no", "yes"], "x": (-1, 1)}), "y ~ np.log(x)")
    assert "the formula cannot be read" in words(found)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("formula", "uses"),
    [
        ("y ~ a + b:c", {"y": "either", "a": "either", "b": "either", "c": "either"}),
        ("y ~ a - 1 + I(a ** 2)", {"y": "either", "a": "number"}),
        ('y ~ C(Q("odd name"), Treatment(reference="b"))', {"y": "either", "odd name": "levels"}),
        ("y ~ bs(x, df=5) + offset(np.log(z))", {"y": "either", "x": "number", "z": "number"}),
        (
            "y ~ minimum(a, b) + (c + d)**2",
            {"y": "either", "a": "number", "b": "number", "c": "either", "d": "either"},
        ),
        ('Q("the y") ~ center(x, at=50) + (z > 3)', {"the y": "either", "x": "number", "z": "number"}),
        ("y ~ y + x", {"y": "either", "x": "either"}),
    ],
)
def test_columns_of_a_formula_and_what_they_must_be(formula: str, uses: dict[str, str]) -> None:
    assert {use.name: use.kind for use in formula_columns(formula)} == uses
