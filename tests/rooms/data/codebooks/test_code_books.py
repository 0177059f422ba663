"""Code books: every level list and pair of bounds is taken over or named with the reason."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.data.codebooks.draft import SchemaDraft
from dpglm.data.codebooks.missing import says_missing, spelt_codes
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric
from dpglm.errors import FormulaError, SchemaError
from tests.rooms.data.codebooks.expected import EXPECTED, FITS, OPEN, OUT

BOOKS = Path(__file__).parent / "books"


def sav(folder: Path) -> Path:
    """A file of SPSS, written with rows that nobody may read."""
    pyreadstat = pytest.importorskip("pyreadstat", reason="reads SPSS files")
    rows = {"id": [1.0], "sex": [1.0], "age": [4711.0], "name": ["Secret"], "liking": [1.0], "region": [1.0]}
    path = folder / "study.sav"
    pyreadstat.write_sav(
        pd.DataFrame(rows),
        str(path),
        file_label="A study",
        column_labels={"sex": "Sex of the person", "age": "Age (years)"},
        variable_value_labels={
            "sex": {1: "man", 2: "woman", 9: "Unknown"},
            "age": {999: "Refused"},
            "liking": {1: "not at all", 5: "very much"},
            "region": {1: "north", 2: "south", 3: "west", -9: "no answer"},
        },
        missing_ranges={"age": [{"lo": 997, "hi": 999}], "name": ["z"]},
        variable_measure={"age": "scale"},
    )
    return path


@pytest.fixture
def draft(request: pytest.FixtureRequest, tmp_path: Path) -> SchemaDraft:
    name = request.param
    return Schema.from_codebook(sav(tmp_path) if name == "study.sav" else BOOKS / name)


EACH = pytest.mark.parametrize(("draft", "name"), [(name, name) for name in EXPECTED], indirect=["draft"])


@EACH
def test_every_column_is_taken_over_or_named_with_the_reason(draft: SchemaDraft, name: str) -> None:
    assert [column.name for column in draft.columns] == list(EXPECTED[name])
    for column in draft.columns:
        wanted: Any = EXPECTED[name][column.name]
        if isinstance(wanted, dict):
            assert column.complete, (column.name, column.reason)
            assert column.entry.get("missing_codes", []) == wanted["missing_codes"], column.name
            assert column.entry.get("looked_at_data", False) is wanted.get("looked_at_data", False), (
                column.name
            )
            for key in wanted.keys() - {"missing_codes", "looked_at_data"}:
                assert column.entry.get(key) == wanted[key], (column.name, key)
            assert column.name in draft.schema.variables
        else:
            assert column.name not in draft.schema.variables
            assert re.search(wanted[1], {OPEN: column.reason, OUT: column.left_out}[wanted[0]]), column
            if wanted[0] == OPEN:
                assert column.entry.get("missing_codes", []) == wanted[2], column.name
        assert name in column.entry.get("source", column.left_out)


@EACH
def test_no_code_for_a_missing_value_is_a_bound_or_a_level(draft: SchemaDraft, name: str) -> None:
    for column in draft.columns:
        codes = {str(code) for code in column.entry.get("missing_codes", [])}
        ends = {str(end) for end in column.entry.get("bounds", [])}
        values = column.entry.get("levels", [])
        assert not codes & (ends | {str(level) for level in values}), column.name
        assert not any(map(says_missing, map(str, column.entry.get("level_labels", {}).values()))), (
            column.name
        )
        # The mirror image of a code at the other end is a scale.
        assert not ends & {"99", "999", "9999", "888", "888.8", "77"}, column.name


@EACH
def test_a_draft_is_refused_until_filled_and_is_then_the_schema(
    draft: SchemaDraft, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "draft.yaml"
    text = draft.to_yaml(path)
    if draft.to_declare:
        with pytest.raises(SchemaError):
            Schema.from_yaml(path)
    text = text.replace("[LOW, HIGH]", "[-7000, 8000]").replace("LOW", "-7000").replace("HIGH", "20000")
    text = text.replace("levels: LEVELS", "levels: [first, second]").replace("ORIGIN", "'2001-01-01'")
    path.write_text(text, encoding="utf-8")
    filled = Schema.from_yaml(path)
    assert set(filled.variables) == set(draft.schema.variables) | set(draft.to_declare)
    for column, variable in draft.schema.variables.items():
        assert filled.variables[column] == variable
        assert filled.variables[column].to_dict() == variable.to_dict()
    assert Schema.from_dict(json.loads(json.dumps(draft.schema.to_dict()))) == draft.schema


@EACH
def test_simulated_rows_are_fitted_by_a_draft(draft: SchemaDraft, name: str, tmp_path: Path) -> None:
    response, terms = FITS[name]
    formula = f"{response} ~ {terms}"
    small = draft.of_formula(formula)
    assert not small.to_declare
    path = tmp_path / "simulated.schema.yaml"
    small.to_yaml(path)
    schema = Schema.from_yaml(path)
    rows, generator = {}, np.random.default_rng(1)
    for column, variable in schema.variables.items():
        if isinstance(variable, Categorical):
            choices = [*variable.labels, *map(str, variable.missing_codes)]
            rows[column] = generator.choice(choices, 200).tolist()
        else:
            rows[column] = simulated(variable, generator.uniform(variable.low, variable.high, 200))
    pd.DataFrame(rows).to_csv(tmp_path / "simulated.csv", index=False)
    fit = dpglm.fit(formula, tmp_path / "simulated.csv", penalty="l2", privacy=1.0, seed=1)
    assert np.isfinite(fit.params).all()
    used = schema.clean(pd.read_csv(tmp_path / "simulated.csv", dtype=str), list(schema.variables))
    for column, variable in schema.variables.items():
        if isinstance(variable, Numeric):  # each simulated value is read as it was meant
            assert np.isfinite(used[column]).mean() > 0.9, column


def simulated(variable: Numeric, numbers: np.ndarray) -> list[str]:
    """Texts as a file would have them."""
    if variable.date is None:
        return [f"{number:.3f}".replace(".", variable.decimal) for number in numbers]
    reading: Any = variable.date
    days = pd.Timestamp(reading.origin) + pd.to_timedelta(numbers.round(), unit="D")
    return list(days.strftime("%Y-%m-%d" if reading.format == "iso" else reading.format))


def test_rows_of_a_file_of_spss_are_never_read(tmp_path: Path) -> None:
    text = Schema.from_spss(sav(tmp_path)).to_yaml()
    assert "4711" not in text
    assert "Secret" not in text
    assert "title: A study" in text


def test_stata_and_sas_files_give_labels(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="reads Stata and SAS files")
    frame = pd.DataFrame({"sex": [1, 2], "pay": [4711.0, 2.0]})
    labels = {"sex": {1: "man", 2: "woman", 9: "Unknown"}}
    pyreadstat.write_dta(
        frame, str(tmp_path / "a.dta"), variable_value_labels=labels, column_labels={"pay": "Pay"}
    )
    stata = Schema.from_stata(tmp_path / "a.dta")
    sex = stata.schema.variables["sex"]
    assert isinstance(sex, Categorical)
    assert (sex.labels, sex.missing_codes, sex.source) == (("1", "2"), (9,), "Stata file a.dta, variable sex")
    assert list(stata.to_declare) == ["pay"]
    pyreadstat.write_xport(frame, str(tmp_path / "a.xpt"), column_labels={"pay": "Pay (EUR)"})
    sas = Schema.from_sas(tmp_path / "a.xpt")
    assert list(sas.to_declare) == ["sex", "pay"]
    assert "measured_in: EUR" in sas.to_yaml()
    assert "4711" not in sas.to_yaml() + stata.to_yaml()


def test_a_missing_package_is_named_with_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    (tmp_path / "a.sav").write_bytes(b"$FL2")
    with pytest.raises(SchemaError, match=r"dpglm\[codebooks\]"):
        Schema.from_spss(tmp_path / "a.sav")


def test_a_pandera_object_is_read_by_its_attributes() -> None:
    class Check:
        def __init__(self, name: str, **statistics: object) -> None:
            self.name, self.statistics = name, statistics

    class Thing:
        def __init__(self, **attributes: object) -> None:
            self.__dict__ |= attributes

    age = Thing(
        dtype="int64", checks=[Check("ge", min_value=18), Check("in_range", min_value=18, max_value=95)]
    )
    job = Thing(dtype="str", checks=[Check("isin", allowed_values=["a", "b"])])
    schema = Schema.from_pandera(Thing(columns={"age": age, "job": job}, title="Jobs")).schema
    assert schema.variables["age"] == Numeric(18, 95, source="pandera schema, column age")
    assert schema.variables["job"] == Categorical(["a", "b"], source="pandera schema, column job")
    assert schema.title == "Jobs"


def test_a_draft_of_a_formula_holds_its_columns_and_says_what_they_are_for() -> None:
    draft = Schema.from_redcap(BOOKS / "clinic_redcap.csv")
    small = draft.of_formula(
        "smokes ~ age + C(job) + surname + agee + np.log(bmi)", columns=["smokes", "age", "jobs"]
    )
    text = small.to_yaml()
    assert [column.name for column in small.columns] == ["smokes", "age", "job", "surname", "agee", "bmi"]
    assert "left of ~: the response" in text
    assert "job: the table has no such column; is it jobs?" in text
    assert "surname: LEFT_OUT" in text
    assert "agee: the code book has age" in text
    assert "used in np.log(bmi)" in text
    assert list(small.schema.variables) == ["smokes", "age", "job"]
    with pytest.raises(FormulaError):
        draft.of_formula("smokes ~ age +")


def test_a_printed_draft_counts_and_names() -> None:
    text = str(Schema.from_redcap(BOOKS / "habits_redcap.csv"))
    assert "of 28 columns are declared" in text
    assert "Still to declare:" in text
    assert "  rec: the name of the record" in text


def test_headings_of_a_dictionary_may_be_named_by_the_user(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("Kürzel;Codes\nsex;1=m, 2=f\n", encoding="cp1252")
    draft = Schema.from_csv_dictionary(path, columns={"variable": "Kürzel", "values": "Codes"})
    assert draft.schema.variables["sex"].labels == ("1", "2")  # type: ignore[union-attr]
    assert draft.remarks == ("The code book is not UTF-8: read as Windows-1252.",)
    for wrong in ({"variable": "name"}, {"nothing": "Codes"}):
        with pytest.raises(SchemaError, match="headings of the file"):
            Schema.from_csv_dictionary(path, columns=wrong)
    with pytest.raises(SchemaError, match="names of variables"):
        Schema.from_csv_dictionary(path)


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha"}">' for n in range(12))
HOSTILE = {
    "nothing": (b"", "csv"),
    "zero bytes": (b"\0" * 100, "csv"),
    "half a header": (b"field_name", "csv"),
    "an endless field": (b"variable,label\nx," + b"y" * 200_000, "csv"),
    "an open quote": (b'field_name,field_type\n"age,text\n' * 50, "csv"),
    "UTF-16": ("field_name,field_type\nid,text\nage,notes\n".encode("utf-16"), "csv"),
    "broken UTF-16": (b"\xff\xfe\x00", "csv"),
    "a table of numbers": (b"1,2,3\n4,5,6\n", "csv"),
    "a billion laughs": (f"<!DOCTYPE c [{LAUGHS}]><codeBook>&l11;</codeBook>".encode(), "xml"),
    "an external entity": (
        b'<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/passwd">]><codeBook>&x;</codeBook>',
        "xml",
    ),
    "an unknown entity": (b"<codeBook>&x;</codeBook>", "xml"),
    "a cut XML": (b"<codeBook><dataDscr><var name='a'>", "xml"),
    "deep XML": (b"<codeBook>" + b"<a>" * 100_000, "xml"),
    "another XML": (b"<html/>", "xml"),
    "lies on its encoding": (b"<?xml version='1.0' encoding='utf-16'?><codeBook/>", "xml"),
    "deep JSON": (b"[" * 100_000, "json"),
    "other JSON": (b'{"fields": [1, 2]}', "json"),
    "JSON of NaN": (
        b'{"fields": [{"name": "a", "type": "number", "constraints": {"minimum": NaN}}]}',
        "json",
    ),
    "a huge number": (
        b'{"fields": [{"name": "a", "constraints": {"minimum": ' + b"9" * 5000 + b"}}]}",
        "json",
    ),
    "wrong types": (
        b'{"fields": [{"name": "a", "type": [1], "constraints": 5, "categories": {"x": 1}}]}',
        "json",
    ),
    "YAML with tags": (b"columns: !!python/object/apply:os.getcwd []", "yaml"),
    "YAML with aliases": (b"a: &a [x]\ncolumns: *a", "yaml"),
    "YAML of texts": (b"columns: {age: 5, job: [1], x: {checks: 7}}", "yaml"),
}


@pytest.mark.parametrize(("content", "end"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_read_or_refused_in_three_parts(content: bytes, end: str, tmp_path: Path) -> None:
    path = tmp_path / f"book.{end}"
    path.write_bytes(content)
    told = told_or_refused(path)
    assert "root:" not in told
    assert len(told) < 100_000


def told_or_refused(path: Path) -> str:
    """The YAML of a draft, or the text of the refusal in its three parts."""
    try:
        return Schema.from_codebook(path).to_yaml()
    except SchemaError as error:
        refused = error
    assert refused.found
    assert refused.expected
    assert refused.remedy
    assert len(str(refused)) < 1500
    return str(refused)


def test_entities_are_refused_by_name() -> None:
    for name in ("a billion laughs", "an external entity"):
        with pytest.raises(SchemaError, match="entities"):
            Schema.from_ddi(io.StringIO(HOSTILE[name][0].decode()))


def test_a_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpglm.data.codebooks.files.SIZE_LIMIT", 1000)
    path = tmp_path / "book.csv"
    path.write_bytes(b"field_name,field_type\n" * 100)
    with pytest.raises(SchemaError, match="larger than"):
        Schema.from_redcap(path)


@pytest.mark.parametrize("wrong", [None, 5, "none.csv", "", ".", "x" * 300, b"x"])
def test_what_is_no_path_is_refused(wrong: Any) -> None:
    for reader in (Schema.from_redcap, Schema.from_ddi, Schema.from_csv_dictionary, Schema.from_spss):
        with pytest.raises(SchemaError, match=r"no code book|the file"):
            reader(wrong)


def test_names_and_labels_cannot_break_the_yaml(tmp_path: Path) -> None:
    odd = "a: b # \"\n'{[,]}\u2028\x1b[31m"
    fields = [
        {
            "name": odd,
            "title": odd,
            "categories": [{"value": odd, "label": odd}, {"value": "b\\", "label": "}"}],
        },
        {"name": "open\n  evil: {bounds: [0, 1]}", "title": "\n  worse: {bounds: [0, 1]}", "type": "number"},
    ]
    draft = Schema.from_table_schema({"fields": fields})
    text = draft.to_yaml(tmp_path / "s.yaml").replace("LOW, HIGH", "0, 1")
    assert "\x1b" not in text
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    again = Schema.from_yaml(tmp_path / "s.yaml")
    assert list(again.variables) == [odd, "open\n  evil: {bounds: [0, 1]}"]
    assert again.variables[odd] == draft.schema.variables[odd]


MISSING = """Unknown | Don’t know/Not sure | N/A | Prefer not to answer | Not applicable (88) | 99 - Refused |
Missing data | Patient declined to answer | UNK | keine Angabe | no answer, or unknown"""
VALUES = """No | None | Missing teeth | Unknown primary tumour | Other | Nurse | Not sure | Never |
Refused asylum | Not at all | Native American | Other/unknown"""


@pytest.mark.parametrize("label", MISSING.split("|"))
def test_labels_that_say_that_there_is_no_value(label: str) -> None:
    assert says_missing(label)


@pytest.mark.parametrize("label", ["", *VALUES.split("|")])
def test_labels_that_are_values(label: str) -> None:
    assert not says_missing(label)


@pytest.mark.parametrize(
    ("note", "codes"),
    [
        ("999 = unknown", (999,)),
        ("98 refused, 99 don't know", (98, 99)),
        ("if not known, enter -9", (-9,)),
        ("Use 888.8 if refused", (888.8,)),
        ("Not applicable: 88; missing: 99", (88, 99)),
        ("1 = yes, 2 = no, 3 = unsure how", ()),
        ("@DEFAULT='99' @NOMISSING", ()),
        ("in 2015, not known before", ()),
        ("between 0-120", ()),
    ],
)
def test_codes_that_notes_spell(note: str, codes: tuple[object, ...]) -> None:
    assert spelt_codes(note) == codes


law = settings(derandomize=True, deadline=None, max_examples=80)
pieces = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "0",
            "1",
            "-9",
            "99",
            "999",
            "1, a | 2, b",
            "0-120",
            "=",
            ";",
            "|",
            ",",
            "Unknown",
            "999 = unknown",
            "[0, 5]",
        ]
    ),
)
fields = st.lists(pieces, max_size=4).map(" ".join)
kinds = st.sampled_from(
    [
        *("text", "notes", "calc", "dropdown", "radio", "checkbox", "yesno", "truefalse", "slider"),
        *("file", "descriptive", "sql", "signature", "x"),
    ]
)
checks = st.sampled_from(
    ["", "integer", "number_1dp_comma_decimal", "date_dmy", "datetime_ymd", "time", "email"]
)
HEADINGS = [
    "field_name",
    "form_name",
    "field_type",
    "field_label",
    "select_choices_or_calculations",
    "field_note",
]
HEADINGS += ["text_validation_type_or_show_slider_number", "text_validation_min", "text_validation_max"]
dictionaries = st.lists(
    st.tuples(fields, fields, kinds, fields, fields, fields, checks, fields, fields), min_size=1, max_size=4
)


def written(headings: list[str], rows: list[tuple[str, ...]]) -> io.StringIO:
    text = io.StringIO()
    csv.writer(text).writerows([headings, *rows])
    return io.StringIO(text.getvalue())


def keeps_its_word(draft: SchemaDraft) -> None:
    """Every column is complete, open or left out, and no code is a bound or a level."""
    for column in draft.columns:
        assert column.complete + bool(column.reason and not column.left_out) + bool(column.left_out) == 1
        if column.complete:
            variable = draft.schema.variables[column.name]
            codes = set(map(str, variable.missing_codes))
            values = variable.labels if isinstance(variable, Categorical) else (variable.low, variable.high)
            assert not codes & {f"{value:.10g}" if isinstance(value, float) else value for value in values}
    assert Schema.from_dict(draft.schema.to_dict()) == draft.schema


@law
@given(rows=dictionaries)
def test_any_redcap_dictionary_is_a_draft_or_refused(rows: list[tuple[str, ...]]) -> None:
    try:
        draft = Schema.from_redcap(written(HEADINGS, rows))
    except SchemaError:
        return
    keeps_its_word(draft)


@law
@given(rows=st.lists(st.tuples(*[fields] * 8), max_size=4))
def test_any_csv_dictionary_is_a_draft_or_refused(rows: list[tuple[str, ...]]) -> None:
    names = ["variable", "label", "type", "values", "min", "max", "missing", "observed range"]
    try:
        draft = Schema.from_csv_dictionary(written(names, rows))
    except SchemaError:
        return
    keeps_its_word(draft)


@law
@given(text=st.text(max_size=300))
def test_any_text_is_a_draft_or_refused(text: str) -> None:
    for reader in (Schema.from_redcap, Schema.from_csv_dictionary, Schema.from_ddi, Schema.from_table_schema):
        try:
            keeps_its_word(reader(io.StringIO(text)))
        except SchemaError:
            continue


def test_long_blanks_take_no_long_time() -> None:
    blanks = " " * 60_000
    rows = [("a", blanks, "", f"1-2{blanks}x x", "", "", f"1{blanks}-{blanks}!", f"0{blanks}to{blanks}?")]
    names = ["variable", "label", "type", "values", "min", "max", "missing", "observed range"]
    keeps_its_word(Schema.from_csv_dictionary(written(names, rows)))


def test_a_draft_in_the_place_of_a_schema_is_refused_with_the_way() -> None:
    with pytest.raises(SchemaError, match=r"schema=draft\.schema"):
        Schema.of(Schema.from_redcap(BOOKS / "clinic_redcap.csv"))  # type: ignore[arg-type]


def test_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(SchemaError, match="one of redcap, csv"):
        Schema.from_codebook(BOOKS / "clinic_redcap.csv", format="excel")
