"""Whatever a user's text says, it stays text."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.postprocessing.record import LedgerLine, SpendLine
from dpglm.privacy.events import Fact, MethodDescription, ReleaseDescription
from dpglm.results.fit_result import FitResult
from tests.rooms.report.reading import Element, Page
from tests.rooms.report.specimen import (
    NAMES,
    approximate,
    fit,
    interval,
    ledger,
    profile,
    pure,
    render,
    schema,
)

ATTACKS = (
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "</svg></figure></section>",
    '" onload="alert(1)',
    "' onfocus='alert(1)",
    "javascript:alert(1)",
    "<!-- ",
    "]]>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt; &#x3c;script&#x3e;",
    "</pre></details></main></body></html>",
    "\u2028\u2029\x00\x1b[31m\r\n\t",
    "\u202edetrevni\u202c",
    "<svg/onload=alert(1)>",
    "Intercept",
)
TEXT = st.one_of(
    st.sampled_from(ATTACKS),
    st.text(max_size=30),
    st.builds("{}{}{}".format, st.text(max_size=5), st.sampled_from(ATTACKS), st.text(max_size=5)),
)


def hostile(words: dict[str, str], *, private: bool) -> FitResult:
    """The specimen with a user's text wherever a user's text can be."""
    declared: dict[str, Any] = schema()["variables"]
    declared = {
        words["column"] + "1": {
            "levels": [words["level"], "b"],
            "missing": words["level"],
            "source": words["source"],
        },
        words["column"] + "2": {"bounds": [0.0, 1.0], "source": words["source"], "looked_at_data": True},
    } | declared
    unit = words["unit"] if words["unit"].strip() else "one row"
    promise = approximate(unit=unit, theorem=words["theorem"], assumptions=(words["assumption"],))
    if not private:
        promise = replace(promise, private=False, reason=words["reason"] or "none")
    entry = LedgerLine(words["what"], "charged", 2.0, 0.0, None, words["when"])
    return fit(
        formula=words["formula"],
        family=words["family"],
        link=words["link"],
        penalty=words["penalty"],
        method=words["method"],
        goal=words["goal"],
        names=(*(words["name"] + str(k) for k in range(4)), *NAMES[4:]),
        terms=((words["name"], (3,)), *((name, (j,)) for j, name in enumerate(NAMES) if j != 3)),
        guarantee=promise,
        spend_lines=(SpendLine(words["release"], 1.0, 0.0, None, 1.0),),
        schema={"title": words["title"], "unit": unit, "variables": declared},
        description=MethodDescription(
            words["algorithm"],
            (ReleaseDescription(words["release"], words["what"], 1.0, words["fact"], 1.0, words["theorem"]),),
            words["penalty"],
            words["proof"].replace("\n", " "),
            words["method"],
            (Fact(words["fact"], (words["level"],)),),
        ),
        ledger=ledger(dataset=words["dataset"], entries=(entry,)),
        version=words["version"],
    )


FIELDS = [
    "algorithm",
    "assumption",
    "column",
    "dataset",
    "fact",
    "family",
    "formula",
    "goal",
    "level",
    "link",
    "method",
    "name",
    "penalty",
    "proof",
    "reason",
    "release",
    "source",
    "theorem",
    "title",
    "unit",
    "version",
    "what",
    "when",
]


def skeleton(element: Element) -> Counter[tuple[str, ...]]:
    """Tags with the names of their attributes, and with the values of those that must be ours."""
    ours = {"href", "id", "class", "role", "aria-labelledby", "http-equiv", "tabindex", "d"}
    return Counter(
        (e.tag, *sorted(f"{k}={v}" if k in ours and e.tag != "path" else k for k, v in e.attributes.items()))
        for e in element.walk()
    )


def shape(words: dict[str, str], *, private: bool) -> Counter[tuple[str, ...]]:
    result = hostile(words, private=private)
    answers = {"tuning": words["what"] or "x", "tests " + words["fact"]: words["level"]}
    return skeleton(Page(render(result, choices=answers)).root)


def without_answers(found: Counter[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    """Leave out what an empty or blank text changes rightly: an open box, an absent fact."""
    flexible = {"li", "dt", "dd", "div", "span", "line", "text", "p", "strong"}
    return Counter({key: n for key, n in found.items() if key[0] not in flexible})


BENIGN = dict.fromkeys(FIELDS, "word")


@settings(derandomize=True, deadline=None, max_examples=60)
@given(words=st.fixed_dictionaries(dict.fromkeys(FIELDS, TEXT)), private=st.booleans())
def test_no_text_changes_the_structure_of_the_page(words: dict[str, str], private: bool) -> None:
    assert without_answers(shape(words, private=private)) == without_answers(shape(BENIGN, private=private))


@pytest.mark.parametrize("attack", ATTACKS)
def test_one_text_everywhere_is_shown_and_never_obeyed(attack: str) -> None:
    page = Page(render(hostile(dict.fromkeys(FIELDS, attack), private=True)))
    for element in page.root.walk():
        assert element.tag not in ("script", "img", "iframe")
        assert not [key for key in element.attributes if key.startswith("on")]
        assert not element.attributes.get("href", "").startswith("javascript")
    assert "49" not in page.root.all("h1")[0].text


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_profile_shows_a_hostile_schema_and_never_obeys_it(attack: str) -> None:
    columns = tuple(
        replace(
            column, name=f"{column.name}{attack}", levels=tuple(f"{level}{attack}" for level in column.levels)
        )
        for column in profile()._record.columns
    )
    declared = {"unit": attack, "variables": {attack: {"levels": [attack, "b"], "source": attack}}}
    names = {"names": tuple(column.name for column in columns), "columns": columns, "schema": declared}
    page = Page(render(profile(**names, by=attack, groups=(attack, "b", f"c{attack}"))))
    assert skeleton(page.root)[("script",)] == 0
    for element in page.root.walk():
        assert element.tag not in ("script", "img", "iframe")
        assert not [key for key in element.attributes if key.startswith("on")]


def test_an_attack_is_readable_as_text() -> None:
    attack = "<script>alert(1)</script>"
    page = Page(render(hostile(dict.fromkeys(FIELDS, attack), private=True)))
    assert page.visible.count(attack) > 15
    assert attack in page.root.all("title")[0].text
    drawn = [svg for svg in page.root.all("svg") if attack in svg.text]
    assert drawn, "a coefficient's name stands in its figure"


def test_the_law_would_see_an_unescaped_name() -> None:
    source = render(fit(guarantee=pure(unit="one woman")))
    broken = source.replace("one woman", "<b>one woman</b>", 1)
    assert skeleton(Page(broken).root) != skeleton(Page(source).root)


@pytest.mark.parametrize("words", ATTACKS)
def test_labels_of_a_released_model_stay_text(words: str) -> None:
    model = interval()._record.released
    assert model is not None
    blocks = tuple(replace(block, label=words) for block in model.term_columns)
    names = (words, *(f"{words}{k}" for k in range(1, 6)))
    source = render(
        interval(names=names, released=replace(model, term_columns=blocks), terms=((words, (1,)),))
    )
    read = Page(source)
    tags = Counter(element.tag for element in read.root.walk())
    plain = Counter(element.tag for element in Page(render(interval(names=tuple("abcdef")))).root.walk())
    assert set(tags) <= set(plain)
    assert tags["svg"] == plain["svg"]
