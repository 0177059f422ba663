"""The section on a stack of models: its diagram, its models, what came from elsewhere, what they cost."""

from __future__ import annotations

from collections import Counter

import pytest

from dpglm.papers.stacking.section import MOST_BOXES
from dpglm.papers.stacking.stack import Stack
from dpglm.postprocessing.record import SpendLine
from dpglm.privacy.events import Fact, MethodDescription
from dpglm.results.fit_result import FitResult
from dpglm.tables.table import coefficient
from tests.rooms.report.reading import Element, Page
from tests.rooms.report.specimen import GROUPS, PAGES, approximate, fit, plot, pure, render, stack, stacked
from tests.rooms.report.test_escaping import ATTACKS
from tests.rooms.report.test_promises import table

MODELS = "Models of the stack"


def described(facts: dict[str, str]) -> MethodDescription:
    return MethodDescription("a stack", (), facts=tuple(Fact(*line) for line in facts.items()))


def section(result: FitResult) -> Element:
    return Page(render(result)).by_id("stack")


def shapes(element: Element) -> Counter[str]:
    return Counter(inner.tag for inner in element.walk())


def test_a_fit_that_is_one_model_has_no_such_section() -> None:
    assert 'id="stack"' not in render(fit())


def test_models_are_listed_with_terms_and_weights() -> None:
    result = stacked()
    rows = table(Page(render(result)), MODELS)
    assert isinstance(result._record.part, Stack)
    assert [row[0] for row in rows] == list(GROUPS)
    assert rows[1][1] == "educ, C(occupation)"
    assert [row[2] for row in rows] == [coefficient(weight) for weight in result._record.part.weights[1:]]


def test_models_that_read_every_term_list_them_all() -> None:
    rows = table(Page(render(PAGES["votes_seeded"][0]())), MODELS)
    assert {row[1] for row in rows} == {
        ", ".join(term for term, _ in fit()._record.terms if term != "Intercept")
    }
    assert {row[2] for row in rows} == {"1.000"}


def test_the_diagram_has_a_box_for_each_step_and_arrows_between_them() -> None:
    (svg,) = section(stacked()).all("svg")
    boxes = [path for path in svg.all("path") if path.attributes["class"] in ("area", "hollow")]
    assert len(boxes) == 3 + 3  # models; row, meta model, log odds
    assert len(svg.all("line")) == 2 * 3 + 1
    words = [text.words for text in svg.all("text")]
    assert {"a row", "meta model", "log odds", "life", "marriage", "4 columns", "6 columns"} <= set(words)
    assert "3 models" in svg.all("title")[0].words
    assert "votes" in [text.words for text in section(PAGES["votes_seeded"][0]()).all("text")]


@pytest.mark.parametrize("count", [1, MOST_BOXES, MOST_BOXES + 1, 400])
def test_many_models_make_neither_the_diagram_nor_the_page_long(count: int) -> None:
    many = stack({f"model number {k} of them": ("age",) for k in range(count)})
    source = render(stacked(many))
    assert len(source.encode()) <= 300_000
    (svg,) = Page(source).by_id("stack").all("svg")
    assert float(svg.attributes["viewbox"].split()[3]) < 500
    boxes = [path for path in svg.all("path") if path.attributes["class"] in ("area", "hollow")]
    assert len(boxes) == 3 + min(count, MOST_BOXES)
    if count > MOST_BOXES:
        assert f"{count - MOST_BOXES + 1} more models" in svg.text


def test_importance_and_where_it_comes_from_are_shown() -> None:
    words = section(stacked()).words
    assert "life: 2, work and schooling of the woman: 1, marriage: 0.666667" in words
    assert "three marriage counsellors" in words


def test_a_source_has_a_price_of_its_own_on_the_page() -> None:
    words = section(stacked()).words
    assert "affair ~ age + children [pst-f]" in words
    assert "epsilon 1, delta 0, replace-one" in words
    assert "a person in both pays both" in words
    assert "pays both" not in section(stacked(description=MethodDescription("a stack", ()))).words


def test_the_ridge_of_a_fit_with_a_source_pulls_to_it() -> None:
    words = Page(render(stacked())).by_id("usefulness").words
    assert "shrinks the coefficients towards those of the source" in words
    assert "shrinks the coefficients towards zero" in Page(render(fit())).by_id("usefulness").words


def test_the_end_of_a_long_promise_of_a_source_is_not_cut_off() -> None:
    words = "a promise " * 90 + "(NOT PRIVATE: seeded)"
    read = Page(render(stacked(description=described({"Price of that source": words}))))
    for place in ("stack", "mechanism"):
        assert "(NOT PRIVATE: seeded)" in read.by_id(place).words


def test_what_parts_of_the_rows_cost_is_said_where_it_is_true() -> None:
    parts, groups, held = "most expensive part", "read the same rows", "read by no other model"
    rows = stack(dict.fromkeys(["part 1", "part 2"], ()))
    for method, one, told in (
        ("pst-s", rows, [parts, held]),
        ("pst-s", stack(dict.fromkeys(["part 1", "part 2"], ()), "majority"), [parts]),
        ("pst-f", stack(), [groups, held]),
        ("pst-h", stack(combine="weighted"), [groups]),
        ("pphtl", stack({"all": ()}), []),
        ("pst-f", stack({"all": ()}), []),
    ):
        words = section(stacked(one, method=method)).words
        assert [line for line in (parts, groups, held) if line in words] == told
    for guarantee in (pure(private=False, reason="seeded"), approximate()):
        words = section(stacked(method="pst-s", guarantee=guarantee)).words
        assert parts not in words
        assert held not in words


def test_prices_of_parts_of_the_rows_are_said_not_to_add_up() -> None:
    lines = tuple(SpendLine(f"models, part {k} of the rows", 1.0, 0.0, None, 1.0, part=k) for k in (1, 2))
    words = Page(render(stacked(spend_lines=lines))).by_id("ledger").words
    assert "prices of different parts do not add up" in words
    assert "do not add up" not in Page(render(stacked())).by_id("ledger").words


def test_many_parts_leave_the_page_short() -> None:
    lines = tuple(
        SpendLine(f"model, part {k} of the rows", 1.0, 0.0, None, 1.0, part=k) for k in range(1, 1001)
    )
    source = render(stacked(stack({f"part {k}": () for k in range(1000)}), spend_lines=lines))
    assert len(source.encode()) <= 300_000
    assert "900 more releases are in the saved result" in source


def test_a_plot_of_the_coefficients_calls_them_an_approximation() -> None:
    assert "linear approximation" in plot(stacked()).get_xlabel()
    assert "approximation" not in plot(fit()).get_xlabel()


def test_the_coefficients_of_a_stack_are_called_an_approximation() -> None:
    read = Page(render(stacked())).by_id("model")
    captions = [caption.words for caption in read.all("caption")]
    assert "Linear approximation, original scale" in captions
    assert "predict() and submodels() use the stack itself" in read.words
    assert "odds ratio" not in read.words.lower()
    assert "the penalty left them different" not in read.words
    assert "11 of 12 coefficients of the approximation are different from zero" in read.words
    assert "Coefficients of the linear approximation in original units" in read.words
    assert "linear approximation" not in Page(render(fit())).visible.lower()


@pytest.mark.parametrize("attack", ATTACKS)
def test_names_of_models_stay_text(attack: str) -> None:
    hostile = stack({attack: (attack, "age"), f"{attack} again": ("educ",), "third": ("age",)})
    source = render(stacked(hostile, description=described({attack: attack, f"{attack} again": attack})))
    found = Page(source).by_id("stack")
    benign = described({"word": "word", "word again": "word"})
    assert shapes(found) == shapes(section(stacked(description=benign)))
    assert not [key for e in found.walk() for key in e.attributes if key.startswith("on")]
