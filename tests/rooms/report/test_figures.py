"""Every figure says what it shows, and shows nothing that its table does not say."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.errors import MethodError
from dpglm.report.coefficient_figures import MOST_ROWS, coefficient_figure, variance_figure
from dpglm.report.figure import Axis, Names, shortened
from dpglm.report.guarantee_figures import icon_array, ledger_figure, profile_figure
from dpglm.report.svg import Scale, drawn
from dpglm.tables.table import chance, percent
from tests.rooms.report.reading import Page
from tests.rooms.report.specimen import (
    PAGES,
    fit,
    gaussian,
    interval,
    ledger,
    plain,
    plot,
    pure,
    render,
    seeded,
    wide,
)

FIGURES = {"icons", "tradeoff", "profile", "coefficients", "steps"}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_figure_has_title_description_caption_and_a_table_twin(name: str) -> None:
    make, choices = PAGES[name]
    read = Page(render(make(), choices=choices))
    assert len(read.root.all("figure")) == len(read.root.all("svg"))
    for figure in read.root.all("figure"):
        (svg,), (details,) = figure.all("svg"), figure.all("details")
        assert svg.attributes["role"] == "img"
        title, description = svg.attributes["aria-labelledby"].split()
        assert read.by_id(title).tag == "title"
        assert read.by_id(description).tag == "desc"
        assert read.by_id(title).words
        assert read.by_id(description).words
        assert figure.all("figcaption")[0].words
        assert len(details.all("table")) == 1


def test_all_five_figures_are_on_a_page_with_a_ledger() -> None:
    read = Page(render(fit()))
    shown = {svg.attributes["aria-labelledby"].split("-")[0] for svg in read.root.all("svg")}
    assert shown == FIGURES


def test_a_page_with_intervals_shows_them_their_parts_and_what_would_halve_them() -> None:
    read = Page(render(interval()))
    shown = {svg.attributes["aria-labelledby"].split()[0].removesuffix("-t") for svg in read.root.all("svg")}
    assert shown == (FIGURES - {"coefficients"}) | {"forest", "variance", "width-n", "width-epsilon"}
    seeded_page = Page(render(PAGES["intervals_seeded"][0]()))
    assert not [e for e in seeded_page.root.walk() if e.attributes.get("id") == "width-epsilon-t"]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_number_in_a_drawing_is_in_its_table(name: str) -> None:
    make, choices = PAGES[name]
    for figure in Page(render(make(), choices=choices)).root.all("figure"):
        table = figure.all("table")[0].words
        for text in figure.all("text"):
            if "tick" in text.attributes["class"]:
                continue  # marks of a scale are not data
            for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])", text.words):
                assert number in table, f"{number} of {text.words!r}"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_marked_point_has_a_row_in_its_table(name: str) -> None:
    make, choices = PAGES[name]
    for figure in Page(render(make(), choices=choices)).root.all("figure"):
        dots = len(figure.all("circle"))
        assert dots <= len(figure.all("tr")) - 1
        if figure.has("figure-coefficients") or figure.has("figure-steps"):
            assert dots == len(figure.all("tr")) - 1


def test_icons_count_what_the_words_say() -> None:
    svg = icon_array(0.5, 0.731).__html__()
    assert svg.count("person base") == 100
    assert svg.count("person extra") == 23
    assert svg.count("person empty") == 50 + 27


@given(largest=st.floats(0.5, 1.0))
@settings(derandomize=True, deadline=None, max_examples=30)
def test_icons_are_always_two_hundred(largest: float) -> None:
    assert icon_array(0.5, largest).__html__().count('class="person') == 200


@given(
    ends=st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)),
    value=st.floats(-1e7, 1e7),
    most=st.integers(2, 8),
)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_an_axis_stays_inside_and_its_marks_are_few_and_rising(
    ends: tuple[float, float], value: float, most: int
) -> None:
    axis = Axis("", ends[0], ends[0] + ends[1])
    assert 10 - 1e-6 <= Scale(axis, 10, 90)(value) <= 90 + 1e-6
    ticks = axis.ticks(most)
    assert list(ticks) == sorted(set(ticks))
    assert len(ticks) <= most + 1
    assert all(axis.low - 1e-6 * ends[1] <= tick <= axis.high + 1e-6 * ends[1] for tick in ticks)


@given(words=st.text(max_size=80), most=st.integers(5, 40))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_a_shortened_name_fits(words: str, most: int) -> None:
    assert len(shortened(words, most)) <= most


@given(share=st.floats(0.0, 1.0))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_a_percentage_is_close_and_never_rounds_to_certainty(share: float) -> None:
    text = percent(share)
    assert float(text.removesuffix(" %")) / 100 == pytest.approx(share, rel=6e-3, abs=1e-11)
    if 1e-9 < share < 1.0 - 1e-9:
        assert 0.0 < float(text.removesuffix(" %")) < 100.0


@given(probability=st.floats(1e-12, 0.0999))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_a_chance_is_never_made_smaller(probability: float) -> None:
    assert 1.0 / int(chance(probability).removeprefix("1 in ").replace(",", "")) >= probability * (1 - 1e-8)


@pytest.mark.parametrize("values", [[0.0, 0.0], [1e-300, 0.0], [1e12, -3.0], [5.0, 5.0]])
def test_coefficients_of_any_size_are_drawn_inside(values: list[float]) -> None:
    figure = coefficient_figure(small(values)._record)
    places = [float(x) for x in re.findall(r'cx="([-\d.e]+)"', drawn(figure).__html__())]
    assert len(places) == len(values)
    assert all(0 <= x <= drawn(figure).width for x in places)


def test_an_intercept_alone_is_drawn_and_of_many_coefficients_show_the_largest() -> None:
    assert coefficient_figure(small([], intercept=True)._record).y == Names(("Intercept",))
    many = coefficient_figure(small(np.arange(100.0).tolist())._record)
    assert len(many.twin.rows) == MOST_ROWS
    assert "largest" in many.caption
    assert many.twin.rows[-1][1] == "99.00"


def test_tiny_and_huge_guarantees_are_drawn() -> None:
    for guarantee in (pure(epsilon=1e-6), pure(epsilon=80.0), gaussian(epsilon=1e-3, mu=1e-4, delta=1e-15)):
        read = Page(render(fit(guarantee=guarantee)))
        assert "nan" not in " ".join(svg.text for svg in read.root.all("svg"))
        assert profile_figure(guarantee).twin.rows


def test_an_empty_ledger_has_no_steps() -> None:
    assert ledger_figure(ledger(entries=(), spent_epsilon=0.0)) is None
    Page(render(fit(ledger=ledger(entries=(), spent_epsilon=0.0, remaining_epsilon=3.0))))


def test_bars_of_variance_fill_their_line_and_forests_span_their_intervals() -> None:
    result = interval()
    bars, forest = variance_figure(result._record), coefficient_figure(result._record)
    assert bars is not None
    for row in bars.twin.rows:
        assert sum(float(cell.removesuffix(" %")) for cell in row[2:]) == pytest.approx(100.0, abs=0.2)
    assert drawn(bars).__html__().count("part-one") == len(bars.twin.rows) + 1  # and the legend
    stems = re.findall(r'class="interval" x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)"', drawn(forest).__html__())
    points = re.findall(r'class="point" cx="([\d.]+)"', drawn(forest).__html__())
    whiskers = [(float(a), float(b)) for a, b in stems if a != b]
    told = result.bse.notna().to_numpy() & (np.array(result.names) != "Intercept")
    ends = result.conf_int().to_numpy()[told]
    scale = np.polyfit(ends.ravel(), np.ravel(whiskers), 1)
    np.testing.assert_allclose(np.polyval(scale, ends), whiskers, atol=0.11)  # tenths of a unit
    dots = result._record.debiased[told]
    np.testing.assert_allclose(np.polyval(scale, dots), np.array(points, dtype=float), atol=0.11)
    assert drawn(forest).__html__().count("hollow") == 1


def test_many_intervals_show_the_clearest_and_say_how_many() -> None:
    forest = coefficient_figure(wide()._record)
    assert len(forest.twin.rows) == 40
    assert "40 of 97" in forest.caption


def test_no_intervals_no_figures_of_them() -> None:
    assert variance_figure(fit()._record) is None
    none = interval(released=replace(interval()._record.released, information_scale=1e6))
    assert none.bse.isna().all()
    assert variance_figure(none._record) is None
    assert "No coefficient has a standard error." in Page(render(none)).visible


@pytest.mark.parametrize("kind", ["coef", "variance", "path", "spend", "tradeoff", "profile"])
@pytest.mark.parametrize("make", [fit, interval])
def test_plots_are_drawn_on_the_axes_given(kind: Any, make: Any) -> None:
    figure, axes = subplots()
    result = make(names=("$x_1$", *make().names[1:]))
    if make is fit and kind in ("variance", "path"):
        with pytest.raises(MethodError, match="information matrix"):
            plot(result, kind, ax=axes)
        return
    assert plot(result, kind, ax=axes) is axes
    assert axes.get_xlabel()
    figure.canvas.draw()


def test_a_plot_of_coefficients_has_a_bar_for_each_interval() -> None:
    _, axes = subplots()
    result = interval()
    plot(result, "coef", ax=axes)
    ends = {tuple(np.round(line.get_xdata(), 9)) for line in axes.lines if len(line.get_xdata()) == 2}
    told = result.bse.notna().to_numpy()[1:]
    given = result.conf_int().to_numpy()[1:]
    assert {tuple(row) for row in np.round(given[told], 9)} <= ends
    # Wide ones end at the edge of the axes where they go beyond it.
    clipped = np.clip(given[~told], *axes.get_xlim())
    assert {tuple(row) for row in np.round(clipped, 9)} <= ends


def test_a_path_given_is_the_path_drawn() -> None:
    _, axes = subplots()
    path = interval().path("mcp")
    plot(interval(), "path", ax=axes, path=path)
    assert "mcp" in axes.get_xlabel()
    assert float(path.strengths[path.chosen]) in [line.get_xdata()[0] for line in axes.lines]


def test_a_plot_without_privacy_is_marked_and_has_no_guarantee_to_draw() -> None:
    _, axes = subplots()
    assert plot(seeded(), "coef", ax=axes).get_title() == "NOT PRIVATE"
    with pytest.raises(MethodError, match="NOT PRIVATE"):
        plot(plain(), "tradeoff", ax=axes)


def test_an_unknown_plot_is_refused_with_the_known_ones() -> None:
    known = "'coef', 'variance', 'path', 'spend', 'tradeoff', 'profile', 'sites', 'effects' or 'survival'"
    with pytest.raises(MethodError, match=known):
        plot(fit(), "nonsense")  # type: ignore[arg-type]


def subplots() -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def small(values: list[float], *, intercept: bool = False) -> Any:
    estimates = np.array(([1.0] if intercept else []) + values)
    names = (("Intercept",) if intercept else ()) + tuple(f"x{k}" for k in range(len(values)))
    size = len(names)
    return fit(
        names=names,
        estimates=estimates,
        coded=estimates,
        selected_mask=np.ones(size, bool),
        user_from_coded=np.eye(size),
        terms=tuple((name, (j,)) for j, name in enumerate(names)),
    )
