"""Whatever users call their variables, levels and units, tables show it and nothing else happens."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpglm.tables.markup import latex_text, markdown_text
from dpglm.tables.plain import width
from dpglm.tables.table import Column, Table, one_line
from dpglm.typing import JOINERS

NASTY = [
    "<script>alert(1)</script>",
    "</td></tr></table><img src=x onerror=alert(1)>",
    "\"'><svg/onload=alert(1)>",
    "&lt;b&gt; &amp; {{ 7 * 7 }} {% raw %}",
    r"\input{/etc/passwd} $x_1^2$ 100% #1 ~ {} \\[2pt] -- --- ,, `` '' ?` *",
    "a|b\\|c | **bold** [link](javascript:alert(1)) ![i](x) `code` <!-- -->",
    "first\nsecond\r\nthird\u2028fourth\x85fifth\tsixth",
    "abc\u202edcba\x1b[31mred\x00\u200b",
    "naïve Ünïts 年齢 \U0001f600 e\u0301 \u0643\u200c\u0627",
    "=" * 78,
    "[0.025",
    "",
    " ",
]
TEXT = st.one_of(
    st.sampled_from(NASTY), st.text(max_size=30), st.text("<>&\"'\\{}$%#_^~|`*[]-,\n ab1", max_size=20)
)
LAW = settings(derandomize=True, deadline=None, max_examples=150)


def table(cells, *, alarm="", note="note", fact="value", title="title", heading="coef"):
    """Two columns, a row per pair of cells, one fact and one note."""
    return Table(
        title=title,
        columns=(Column("term", "left"), Column(heading)),
        rows=tuple(cells),
        wide=(("Formula", fact),),
        notes=(note,),
        alarm=alarm,
    )


class Outline(HTMLParser):
    """Tags with their attributes, and the text inside each innermost element."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self.open = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(attrs)))
        self.open.append((tag, []))

    def handle_endtag(self, tag):
        name, text = self.open.pop()
        assert name == tag
        if tag in ("td", "th", "p", "strong", "caption"):
            self.texts.append((tag, "".join(text)))

    def handle_data(self, data):
        if self.open:
            self.open[-1][1].append(data)

    def handle_comment(self, data):
        raise AssertionError("a comment")


@given(a=TEXT, b=TEXT, fact=TEXT, note=TEXT, title=TEXT, alarm=TEXT.filter(bool), heading=TEXT)
@LAW
def test_html_has_the_same_elements_whatever_the_texts(a, b, fact, note, title, alarm, heading):
    shown = Outline(
        table([(a, b)], fact=fact, note=note, title=title, alarm=alarm, heading=heading).to_html()
    )
    plain = Outline(table([("a", "b")], alarm="alarm").to_html())
    assert shown.tags == plain.tags
    texts = [text for tag, text in shown.texts if tag in ("th", "td")]
    expected = ["Formula", fact, "term", heading, a, b]
    assert texts == [one_line(text) for text in expected]
    assert ("caption", one_line(title)) in shown.texts
    assert [text for tag, text in shown.texts if tag == "strong"] == [one_line(alarm)] * 2


@pytest.mark.parametrize("text", NASTY)
def test_great_tables_shows_texts_as_they_are(text):
    pytest.importorskip("great_tables", reason="great_tables, an optional extra, is not installed")
    made = table([(text, text)], fact=text, note=text or "note", title=text or "title", heading=text)
    tags = Outline(made.to_gt().as_raw_html(inline_css=False)).tags
    assert not {"script", "img", "svg", "a", "input"} & {name for name, _ in tags}
    assert not [key for _, attrs in tags for key, _ in attrs if key.startswith("on")]


def test_html_is_a_table_that_a_screen_reader_can_read():
    tags = Outline(table([("age", "1")]).to_html()).tags
    names = [name for name, _ in tags]
    assert names.count("caption") == names.count("table") == 2
    assert all(dict(attrs).get("scope") in ("row", "col") for name, attrs in tags if name == "th")
    assert not {"script", "style", "link", "img"} & set(names)


@given(text=TEXT)
@LAW
@example("a--b---c,,,d")
def test_latex_reads_back_as_the_text(text):
    escaped = latex_text(text)
    assert not re.search(r"--|,,|``|''", escaped), "a ligature"
    assert unescaped_latex(escaped) == text


@given(text=TEXT)
@LAW
def test_a_latex_row_does_not_begin_an_optional_argument(text):
    # After \\ LaTeX looks for a star or a bracket, over line breaks too.
    lines = table([("x", "1"), (text, "1")]).to_latex().splitlines()
    assert not any(line.lstrip().startswith(("[", "*")) for line in lines)
    assert sum(line.endswith(r" \\") for line in lines) == 4


@given(a=TEXT, b=TEXT, note=TEXT)
@LAW
def test_markdown_rows_have_as_many_cells_as_columns(a, b, note):
    lines = table([(a, b)], note=note).to_markdown().splitlines()
    row = lines[lines.index("|:--|--:|") + 1]
    cells = re.split(r"(?<!\\)(?:\\\\)*\|", row)
    assert len(cells) == 4
    assert not re.search("[<>]", "\n".join(lines))


@given(text=TEXT)
@LAW
def test_markdown_reads_back_as_the_text(text):
    escaped = markdown_text(text)
    read = re.sub(r"\\([\\`*_{}\[\]#!|~$^:.@])", r"\1", escaped)
    assert read.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == text


@pytest.mark.parametrize(
    "note", ["- item", "1. item", "2) item", "+ item", "    code", "# head", "> quote", "=="]
)
def test_a_markdown_note_stays_a_paragraph(note):
    paragraph = table([], note=note).to_markdown().rstrip("\n").split("\n\n")[-1]
    assert not re.match(r"([-+*=#>]|\d+[.)]|    )", paragraph)


@given(a=TEXT, b=TEXT, title=TEXT, alarm=TEXT.filter(bool))
@LAW
def test_text_has_a_line_per_row_whatever_the_cells(a, b, title, alarm):
    shown = str(table([(a, b)], title=title)).splitlines()
    assert len(shown) == len(str(table([("a", "b")])).splitlines())
    end = one_line(b).rstrip()
    assert shown[6].startswith(one_line(a).rstrip()[:1] or "")
    assert shown[6].endswith(end)
    assert all(char.isprintable() or char in JOINERS for line in shown for char in line)
    alarmed = str(table([(a, b)], alarm=alarm))
    assert alarmed.count("*" * 78) >= 4


def test_text_columns_line_up_with_wide_characters():
    shown = str(table([("年齢", "1.000"), ("e\u0301ge", "-2.000"), ("age", "-")])).splitlines()
    rows = shown[6:9]
    assert {width(line) for line in rows} == {width(shown[1])}


def test_long_facts_and_notes_are_wrapped_and_rules_are_as_wide_as_rows():
    formula = "y ~ " + " + ".join(f"variable_{j}" for j in range(30))
    lines = str(table([("a" * 90, "1.000")], fact=formula, note="replace-one " * 40)).splitlines()
    assert max(map(len, lines)) == 97  # 90, a gap of 2, 5
    assert sum(set(line) == {"="} and len(line) == 97 for line in lines) == 3
    assert not any(line.rstrip().endswith("replace-") for line in lines)


@pytest.mark.parametrize("form", [str, Table.to_html, Table.to_latex, Table.to_markdown, repr])
def test_an_alarm_is_in_every_form_first_and_last(form):
    shown = form(table([("a", "b")], alarm="NOT PRIVATE: seeded"))
    assert shown.count("NOT PRIVATE: seeded") == (1 if form is repr else 2)
    rows = shown.find("coef")
    assert form is repr or shown.find("NOT PRIVATE") < rows < shown.rfind("NOT PRIVATE")


def test_simple_table_keeps_cells_and_alarm():
    simple = table([("age", "1.000")], alarm="NOT PRIVATE: seeded").as_simple_table()
    assert "NOT PRIVATE: seeded" in str(simple)
    assert [[cell.data for cell in row] for row in simple] == [["", "coef"], ["age", "1.000"]]


def test_negative_numbers_get_a_minus_sign_in_latex():
    assert "a & $-$1.235e$-$6" in table([("a", "-1.235e-6")]).to_latex()


def test_no_form_but_the_simple_table_imports_statsmodels():
    code = """
import sys
from dpglm.tables.table import Column
from dpglm.tables.table import Table
table = Table("t", (Column("term", "left"), Column("coef")), (("a", "1"),))
str(table)
text_only = [name for name in ("statsmodels", "jinja2", "pandas") if name in sys.modules]
table.to_html(), table.to_latex(), table.to_markdown()
print(text_only, [name for name in ("statsmodels", "pandas") if name in sys.modules])
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[] []"


def unescaped_latex(text):
    """What LaTeX would print, by a reader that knows only the commands in use; specials outside raise."""
    words = {
        r"\textbackslash{}": "\\",
        r"\textasciicircum{}": "^",
        r"\textasciitilde{}": "~",
        r"\textless{}": "<",
        r"\textgreater{}": ">",
        r"\textbar{}": "|",
        r"\textasciigrave{}": "`",
        r"{\char34}": '"',
        r"{'}": "'",
        r"{[}": "[",
        r"{]}": "]",
        r"{*}": "*",
        r"{}": "",
        **{f"\\{char}": char for char in "{}$&%#_"},
    }
    reader = re.compile(
        "|".join(map(re.escape, sorted(words, key=len, reverse=True))) + r"|[^\\{}$&%#_^~<>|`\"'\[\]*]", re.S
    )
    shown, position = [], 0
    while position < len(text):
        found = reader.match(text, position)
        assert found, f"a special character at {text[position:]!r}"
        shown.append(words.get(found.group(), found.group()))
        position = found.end()
    return "".join(shown)
