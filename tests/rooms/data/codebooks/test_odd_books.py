"""Odd code books: missing codes, order and marks in numbers are taken over or named, never guessed."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpglm
from dpglm.data.codebooks.draft import DraftColumn, SchemaDraft
from dpglm.data.codebooks.missing import may_say_missing, says_missing
from dpglm.data.schema.schema import Schema

REASONS = """Not applicable (male)|Not applicable - male patient|N/A (never smoked)|Question not asked|
NotApplicable|Not applicable, male|not-applicable|88 - Not applicable (male)|[-1] keine Angabe|
N/A - no children|.a|null|Not asked (version B)|Patient was not asked|I don't know|
Patient did not answer|Data not available|DontKnow|Not applicable to males|Unable to answer|
Value unknown|Not in universe|pas de réponse|weet niet|#N/A"""
OPEN = """Unknown primary tumour|Never smoked (not applicable)|N/A or never smoked|Not applicable / none|
Proxy|?|NR|Unknown (language barrier)|Refused (proxy)|Does not apply|Missing teeth|Not sure|
Lost to follow-up|NA (sodium)"""
ANSWERS = """No|None|Never smoked|Never|Not at all|Nurse|Other|Not married|Not vaccinated|Refugee|
Declared|Yes|0|Not in labour force|Native American|Disagree|Don't agree|Never applied|Not pregnant|
Northern Cyprus|Blanket"""


def labels(text: str) -> list[str]:
    return text.replace("\n", "").split("|")


def column(draft: SchemaDraft, name: str) -> DraftColumn:
    return next(one for one in draft.columns if one.name == name)


def dictionary(*rows: tuple[str, ...]) -> SchemaDraft:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return Schema.from_csv_dictionary(io.StringIO(text.getvalue()))


def redcap(choices: str, kind: str = "radio") -> SchemaDraft:
    text = io.StringIO()
    rows = [["field_name", "field_type", "select_choices_or_calculations"], ["id", "text", ""]]
    csv.writer(text).writerows([*rows, ["x", kind, choices]])
    return Schema.from_redcap(io.StringIO(text.getvalue()))


@pytest.mark.parametrize("label", labels(REASONS))
def test_a_reason_for_a_missing_value_is_a_code(label: str) -> None:
    assert says_missing(label)
    found = column(redcap(f"1, Yes | 2, No | 88, {label}"), "x")
    assert (found.entry["levels"], found.entry["missing_codes"], found.notes) == ([1, 2], [88], ())


@pytest.mark.parametrize("label", labels(OPEN))
def test_a_label_that_leaves_it_open_is_a_level_and_named(label: str) -> None:
    assert not says_missing(label)
    draft = redcap(f"1, Yes | 2, No | 3, {label}")
    found = column(draft, "x")
    assert found.entry["levels"] == [1, 2, 3]
    assert any("may stand for a missing value" in note and f"3 ({label})" in note for note in found.notes)
    assert "may stand for a missing value" in str(draft)
    assert "may stand for a missing value" in draft.to_yaml()


@pytest.mark.parametrize("label", labels(ANSWERS))
def test_an_answer_is_a_level_without_a_word(label: str) -> None:
    assert not says_missing(label)
    assert not may_say_missing(label)
    found = column(redcap(f"1, Yes | 2, No | 3, {label}"), "x")
    assert (found.entry["levels"], found.notes) == ([1, 2, 3], ())


@pytest.mark.parametrize(
    ("choices", "kept"),
    [
        ("1, A | 2, B | 99, Other", "99 (Other)"),
        ("1, A | 2, B | 97, Form lost | 98, Wave 2", "97 (Form lost), 98 (Wave 2)"),
        ("-8, Old form | -7, By a relative | 1, A | 2, B", "-8 (Old form), -7 (By a relative)"),
        ("1 | 2 | 3 | 8 | 9", "8, 9"),
        ("-5, Neue Fassung | 0, Nein | 1, Ja", "-5 (Neue Fassung)"),
    ],
)
def test_numbers_beyond_a_gap_are_named(choices: str, kept: str) -> None:
    (note,) = column(redcap(choices), "x").notes
    assert note.endswith(f": {kept}")


@pytest.mark.parametrize(
    "choices",
    [
        "-2, Worse | -1, A bit worse | 0, Same | 1, Better",
        "7, A | 8, B | 9, C",
        "0, A | 2, B | 4, C | 6, D | 8, E",
        "-1, Less | 1, More",
    ],
)
def test_scales_are_levels_without_a_word(choices: str) -> None:
    found = column(redcap(choices), "x")
    assert found.complete
    assert not found.notes
    assert "missing_codes" not in found.entry


def test_a_box_that_may_be_ticked_for_a_missing_answer_is_named() -> None:
    draft = redcap("1, Cough | 2, Unknown rash | 3, N/A (well)", "checkbox")
    assert "may say that the answer is missing" in draft.notes["x___2"][0]
    assert "answer is missing" in draft.left_out["x___3"]
    assert "x___1" not in draft.notes


def test_values_of_a_list_that_begins_with_a_missing_one_are_kept() -> None:
    draft = dictionary(("name", "values"), ("a", "N/A, yes, no"), ("b", "N/A"))
    assert column(draft, "a").entry["levels"] == ["yes", "no"]
    assert column(draft, "a").entry["missing_codes"] == ["N/A"]
    assert list(draft.to_declare) == ["b"]


def test_labels_beside_a_range_are_values_of_it() -> None:
    draft = dictionary(
        ("name", "valid range"), ("a", "0-120; 777 = Form lost"), ("b", "0-120; 200 = N/A (x)")
    )
    assert "777 outside the range" in draft.to_declare["a"]
    assert column(draft, "b").entry["missing_codes"] == [200]
    assert column(draft, "b").entry["bounds"] == [0, 120]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Not applicable (male) = 88", [88]),
        ("unknown = 9; refused = 8", [9, 8]),
        ("77/88/99", [77, 88, 99]),
        ("77 88 99", [77, 88, 99]),
        ("88 and 99", [88, 99]),
        ("88=N/A (male); 99", [88, 99]),
        ("97 - 99", [97, 98, 99]),
    ],
)
def test_codes_of_a_field_of_missing_ones(text: str, codes: list[int]) -> None:
    draft = dictionary(("name", "range", "missing"), ("a", "0-20", text))
    assert column(draft, "a").entry["missing_codes"] == codes


def test_what_a_field_of_missing_ones_leaves_open_is_named() -> None:
    draft = dictionary(("name", "range", "missing"), ("a", "0-20", "0"), ("b", "0 to 20, or N/A", ""))
    assert draft.notes == {"a": ("missing: 0 is taken for a count, not for a code",)}
    assert column(draft, "b").entry.get("missing_codes", []) == []


def book(variables: str) -> SchemaDraft:
    return Schema.from_ddi(io.StringIO(f"<codeBook><dataDscr>{variables}</dataDscr></codeBook>"))


def categories(*codes: object) -> str:
    return "".join(f"<catgry><catValu>{code}</catValu><labl>word {code}</labl></catgry>" for code in codes)


def test_codes_that_ddi_declares_by_range_or_kind_are_no_levels() -> None:
    draft = book(
        f'<var name="a"><invalrng><range max="-1"/></invalrng>{categories(1, 2, -55)}</var>'
        f'<var name="b"><invalrng><range min="50" max="900"/></invalrng>{categories(1, 2, 100)}</var>'
        f'<var name="c">{categories(1, 2)}<catgry missType="refusal"><catValu>3</catValu></catgry></var>'
    )
    for name, code in (("a", -55), ("b", 100), ("c", 3)):
        assert column(draft, name).entry["levels"] == [1, 2]
        assert code in column(draft, name).entry["missing_codes"]


def test_the_order_of_ddi_is_taken_over_where_it_can_be_told() -> None:
    draft = book(
        f'<var name="a" nature="ordinal">{categories(1, 2, 3)}</var>'
        f'<var name="b" nature="ordinal">{categories(3, 1, 2)}</var>'
        f'<var name="c" nature="nominal">{categories(1, 2, 3)}</var>'
        f'<var name="d" nature="ordinal">{categories(1, 2, 3, 99)}</var>'
        f'<var name="e" nature="ratio"><valrng><range min="0" max="50"/></valrng>{categories(0, 1)}</var>'
        '<var name="f" nature="ordinal"><valrng><range min="1" max="5"/></valrng></var>'
    )
    assert column(draft, "a").entry["ordered"] is True
    assert draft.schema.variables["a"].to_dict()["ordered"] is True
    for name in "bdf":
        assert "ordered" not in column(draft, name).entry
        assert any("declare ordered: true" in note for note in column(draft, name).notes)
    assert "ordered" not in column(draft, "c").entry
    assert "c" not in draft.notes
    assert column(draft, "e").entry["bounds"] == [0, 50]


def test_the_order_of_a_table_schema_is_taken_over() -> None:
    fields: list[dict[str, Any]] = [
        {"name": "a", "type": "string", "categories": ["low", "high"], "categoriesOrdered": True},
        {"name": "b", "type": "string", "categories": ["high", "low"], "categoriesOrdered": False},
        {"name": "c", "type": "integer", "categories": [3, 2, 1], "categoriesOrdered": True},
    ]
    draft = Schema.from_table_schema({"fields": fields})
    assert [column(draft, name).entry.get("ordered") for name in "abc"] == [True, None, True]
    assert column(draft, "c").entry["levels"] == [3, 2, 1]


def test_a_draft_with_order_fits_an_ordinal_response(tmp_path: Path) -> None:
    fields = [{"name": "pain", "type": "string", "categories": ["none", "some", "much"]}]
    fields += [{"name": "old", "type": "boolean", "categories": []}]
    fields[0]["categoriesOrdered"] = True  # type: ignore[assignment]
    path = tmp_path / "schema.yaml"
    Schema.from_table_schema({"fields": fields}).to_yaml(path)
    rows = pd.DataFrame({"pain": ["none", "some", "much"] * 20, "old": [True, False] * 30})
    fit = dpglm.fit("pain ~ old", rows, schema=Schema.from_yaml(path), family="ordinal", privacy=None)
    assert len(fit.params)


def test_ordered_categories_of_pandera_are_levels_in_order() -> None:
    class Thing:
        def __init__(self, **attributes: object) -> None:
            self.__dict__ |= attributes

    kind = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    plain = pd.CategoricalDtype(["a", "b"])
    columns = {"a": Thing(dtype=kind, checks=[]), "b": Thing(dtype=plain, checks=None)}
    draft = Schema.from_pandera(Thing(columns=columns))
    assert column(draft, "a").entry["levels"] == ["low", "middle", "high"]
    assert column(draft, "a").entry["ordered"] is True
    assert column(draft, "b").entry["levels"] == ["a", "b"]
    assert "ordered" not in column(draft, "b").entry


def test_order_of_a_dictionary_is_taken_over_where_it_can_be_told() -> None:
    draft = dictionary(
        ("name", "type", "values"),
        ("a", "ordinal", "low; middle; high"),
        ("b", "ordered factor", "high; low; middle"),
        ("c", "Ordinal", "1-5"),
        ("d", "unordered", "1=a; 2=b; 3=c"),
    )
    assert [column(draft, name).entry.get("ordered") for name in "abcd"] == [True, None, True, None]
    assert "declare ordered: true" in draft.notes["b"][0]
    public = pd.DataFrame({"a": ["low"]})
    found = dpglm.check_schema({"a": ["low", "middle", "high"]}, public=public)
    assert not found


def test_statistics_programs_tell_order_and_missing_values_in_ranges(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="reads SPSS and Stata files")
    frame = pd.DataFrame({"a": [1.0], "b": [1.0], "c": [1.0]})
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "a.sav"),
        variable_value_labels={
            "a": {1: "low", 2: "mid", 3: "high", -55: "Form lost"},
            "b": {1: "x", 2: "y", 100: "z"},
            "c": {1: "not at all", 4: "half", 7: "very much"},
        },
        missing_ranges={"a": [{"lo": -99, "hi": -1}], "b": [{"lo": 50, "hi": 900}]},
        variable_measure={"a": "ordinal", "b": "nominal", "c": "ordinal"},
    )
    spss = Schema.from_spss(tmp_path / "a.sav")
    assert column(spss, "a").entry["levels"] == [1, 2, 3]
    assert column(spss, "a").entry["missing_codes"] == [-55]
    assert column(spss, "a").entry["ordered"] is True
    assert column(spss, "b").entry["missing_codes"] == [100]
    assert "ordered" not in column(spss, "b").entry
    assert "marks of a scale, bounds: [1, 7]" in spss.to_declare["c"]
    labels_of_a = {"a": {1: "low", 2: "high", "a": "Form lost"}}
    pyreadstat.write_dta(
        frame, str(tmp_path / "a.dta"), variable_value_labels=labels_of_a, missing_user_values={"a": ["a"]}
    )
    stata = column(Schema.from_stata(tmp_path / "a.dta"), "a")
    assert (stata.entry["levels"], stata.entry["missing_codes"]) == ([1, 2], ["a"])


def test_decimal_commas_of_a_file_are_read_alike_and_declared() -> None:
    rows = ("a", "1.000 - 200.000"), ("b", "30,5 to 250,5"), ("c", "0 - 1")
    draft = dictionary(("name", "Range of Values"), *rows)
    a, b, c = (column(draft, name) for name in "abc")
    assert (a.entry["bounds"], a.entry["decimal"], a.entry["thousands"]) == ([1000, 200_000], ",", ".")
    assert (b.entry["bounds"], b.entry["decimal"]) == ([30.5, 250.5], ",")
    assert "thousands" not in b.entry
    assert (c.entry["bounds"], c.entry["decimal"]) == ([0, 1], ",")
    assert all("how the code book writes numbers" in one.notes[0] for one in (a, b, c))
    assert draft.schema.clean(pd.DataFrame({"b": ["31,5"]}), ["b"])["b"].tolist() == [31.5]


@pytest.mark.parametrize("others", [[], ["0-5"], ["0,5-1,5", "0.5-1.5"]])
@pytest.mark.parametrize("span", ["1.000 - 200.000", "0 - 1,000"])
def test_marks_that_can_be_read_either_way_are_to_declare(span: str, others: list[str]) -> None:
    more = [(f"x{place}", text) for place, text in enumerate(others)]
    draft = dictionary(("name", "range"), ("a", span), *more)
    assert list(draft.to_declare) == ["a"]
    assert "may have a decimal mark or one of thousands" in draft.to_declare["a"]


def test_marks_of_program_code_decide_for_their_file() -> None:
    rows = ("a", "", "1,000", "0"), ("b", "0.5-2", "", ""), ("c", "1.250 - 3.750", "", "")
    draft = dictionary(("name", "range", "max", "min"), *rows)
    assert (column(draft, "a").entry["bounds"], column(draft, "a").entry["thousands"]) == ([0, 1000], ",")
    assert column(draft, "c").entry["bounds"] == [1.25, 3.75]
    assert "decimal" not in column(draft, "c").entry


def test_marks_in_other_code_books_are_not_guessed() -> None:
    checked = "text_validation_type_or_show_slider_number,text_validation_min,text_validation_max"
    text = f"field_name,field_type,{checked}\nid,text,,,\na,text,number_comma_decimal,1.000,200.000\n"
    assert "one of thousands" in Schema.from_redcap(io.StringIO(text)).to_declare["a"]
    field = {"name": "a", "type": "number", "decimalChar": ",", "groupChar": "."}
    limits = {"minimum": "1.000", "maximum": "2.500,5"}
    draft = Schema.from_table_schema({"fields": [{**field, "constraints": limits}]})
    assert column(draft, "a").entry["bounds"] == [1000, 2500.5]
    listed = {**field, "constraints": {"enum": [1, 2]}}
    assert column(Schema.from_table_schema({"fields": [listed]}), "a").entry["levels"] == [1, 2]


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("[1,2,3,4]", {"levels": [1, 2, 3, 4]}),
        ("(0,1,2)", {"levels": [0, 1, 2]}),
        ("[0, 120]", {"bounds": [0, 120]}),
        ("[0,5; 12,5]", {"bounds": [0.5, 12.5]}),
        ("[0.5, 12.5]", {"bounds": [0.5, 12.5]}),
    ],
)
def test_lists_in_brackets_are_no_decimal_commas(text: str, entry: dict[str, object]) -> None:
    found = column(dictionary(("name", "values"), ("a", text)), "a").entry
    assert {key: found[key] for key in entry} == entry


@pytest.mark.parametrize(
    "heading", ["Range of Values", "Value range", "Plausible range", "Limits", "RANGE_OF_VALUES"]
)
def test_headings_of_ranges(heading: str) -> None:
    assert column(dictionary(("name", heading), ("a", "0-120")), "a").entry["bounds"] == [0, 120]


def test_headings_that_are_not_read_are_named_on_one_line(tmp_path: Path) -> None:
    draft = dictionary(
        ("name", "min", "max", "Widest\nspan"), ("a", "0", "1", "x"), ("a\n b: c", "0", "1", "")
    )
    assert draft.remarks == ("Headings that are not read: Widest span",)
    twice = dictionary(("name", "min", "max"), ("b", "0", "1"))
    assert not twice.remarks
    draft.to_yaml(tmp_path / "draft.yaml")
    assert Schema.from_yaml(tmp_path / "draft.yaml").variables.keys() == {"a", "a\n b: c"}


def test_names_told_twice_cannot_leave_their_comment() -> None:
    name = "a\nvariables: {evil: {bounds: [0, 1]}}\n#"
    fields = [{"name": name, "type": "boolean"}] * 2
    lines = Schema.from_table_schema({"fields": fields}).to_yaml().splitlines()
    assert sum(line.startswith("variables:") for line in lines) == 1


def test_a_check_says_that_the_code_book_has_an_order(tmp_path: Path) -> None:
    path = tmp_path / "book.csv"
    path.write_text("name,type,values\na,ordinal,low; middle; high\n", encoding="utf-8")
    wrong = dpglm.check_schema({"a": ["low", "middle", "high"]}, codebook=path)
    assert ["ordered: true" in str(finding) for finding in wrong] == [True]
    declared = {"variables": {"a": {"levels": ["low", "middle", "high"], "ordered": True}}}
    assert not dpglm.check_schema(Schema.from_dict(declared), codebook=path)


@pytest.mark.parametrize(
    "text", ["[1," + "1," * 30_000, "1 " * 30_000, "not " * 20_000, "unknown (" * 10_000]
)
def test_long_fields_take_no_long_time(text: str) -> None:
    assert dictionary(("name", "values", "range", "missing"), ("a", text, text, text)).columns
