"""Plots on new axes: nothing is cut at the edge, and no words lie over others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.errors import MethodError
from dpglm.report.effect_figures import MOST_LINES
from dpglm.results.fit_result import FitResult
from tests.rooms.report.specimen import fit, interval, plot, seeded, wide

SLACK = 1.0  # pixel, of rounding


@pytest.fixture
def women() -> FitResult:
    """A real fit that has a map of rows."""
    table = dpglm.load_data("fair")
    return dpglm.fit("affair ~ age + religious + C(occupation)", table, privacy=(4.0, 1e-6), seed=1)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def boxes(axes: Any) -> dict[str, Any]:
    """What is written outside the plotted area, by what it is."""
    figure = axes.figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    # The second vertical scale of a path has words of its own.
    texts = {"title": axes.title, "x label": axes.xaxis.label}
    for place, one in enumerate(figure.axes):
        texts[f"y label {place}"] = one.yaxis.label
        low, high = sorted(one.get_ylim())
        for tick, label in zip(one.get_yticks(), one.get_yticklabels(), strict=True):
            if low <= tick <= high:
                texts[f"y mark {place} {label.get_text()}"] = label
    low, high = sorted(axes.get_xlim())
    for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True):
        if low <= tick <= high:
            texts[f"x mark {label.get_text()}"] = label
    found = {what: text.get_window_extent(renderer) for what, text in texts.items() if text.get_text()}
    if axes.get_legend() is not None:
        found["legend"] = axes.get_legend().get_window_extent(renderer)
    return found


def faults(axes: Any) -> list[str]:
    found, page = boxes(axes), axes.figure.bbox
    cut = [
        f"{what} is cut"
        for what, box in found.items()
        if min(box.x0, box.y0) < -SLACK or box.x1 > page.width + SLACK or box.y1 > page.height + SLACK
    ]
    over = [
        f"{one} lies over {other}"
        for (one, a), (other, b) in combinations(found.items(), 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > SLACK and min(a.y1, b.y1) - max(a.y0, b.y0) > SLACK
    ]
    return cut + over


ANY = ("coef", "spend", "tradeoff", "profile")


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        *((make, kind) for make in (fit, interval, wide) for kind in ANY),
        *((interval, kind) for kind in ("variance", "path")),
        *((wide, kind) for kind in ("variance", "path")),
        (seeded, "coef"),
    ],
)
def test_no_plot_is_cut_and_no_words_lie_over_others(make: Any, kind: Any) -> None:
    axes = plot(make(), kind)
    assert len(boxes(axes)) > 3
    assert faults(axes) == []


@pytest.mark.parametrize("column", [None, "age", "occupation"])
def test_effects_are_not_cut_either(women: FitResult, column: str | None) -> None:
    assert faults(women.plot("effects", column)) == []


def test_plans_and_profiles_are_not_cut_either() -> None:
    table = dpglm.load_data("fair")
    plan = dpglm.plan("affair ~ age + C(occupation)", table, n=6366, privacy=(1.0, 1e-6))
    assert faults(plan.expected().plot()) == []
    profile = dpglm.describe(table, by="occupation", quartiles=True, privacy=(2.0, 1e-6), seed=1)
    for kind in ("shares", "means", "quartiles"):
        assert faults(profile.plot(kind)) == []


def test_long_labels_are_not_cut_and_leave_room() -> None:
    import pandas as pd

    levels = [f"a rather long level of a column {k}" for k in range(12)]
    schema = {
        "y": ["n", "y"],
        "x": {"levels": levels, "label": "Language that is spoken at home most of the time"},
    }
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"y": rng.choice(["n", "y"], 5000), "x": rng.choice(levels, 5000)})
    found = dpglm.fit("y ~ x", table, schema=schema, privacy=(8.0, 1e-6), seed=1)
    kinds: tuple[Any, ...] = ("coef", "variance", "effects", "path")
    for kind in kinds:
        axes = found.plot(kind)
        assert faults(axes) == []
        if kind != "path":
            names = [label.get_text() for label in axes.get_yticklabels()]
            assert len(set(names)) == len(names)


def test_the_layout_check_sees_a_legend_over_the_marks_of_the_axis(women: FitResult) -> None:
    axes = women.plot("effects")
    axes.get_legend().set_bbox_to_anchor((0.5, 0.02), axes.transAxes)
    assert any("legend" in fault for fault in faults(axes))


@pytest.mark.filterwarnings("ignore:constrained_layout not applied")
def test_the_layout_check_sees_crowded_names() -> None:
    axes = plot(interval(), "coef")
    axes.figure.set_size_inches(6.4, 0.9)
    assert faults(axes)


def test_effects_are_those_of_margins(women: FitResult) -> None:
    axes = women.plot("effects")
    told = women.margins(effect="occupation")
    drawn = {round(float(x), 9) for line in axes.lines for x in np.atleast_1d(line.get_xdata())}
    assert {round(float(x), 9) for x in told["estimate"]} <= drawn
    per_year = women.margins(effect="age").iloc[0]
    assert {round(float(per_year[name]), 9) for name in ("estimate", "conf_low", "conf_high")} <= drawn
    assert axes.get_title() == "NOT PRIVATE"
    assert axes.get_xlabel() == "average effect on P(affair = yes)"


def test_means_over_a_number_are_those_of_margins(women: FitResult) -> None:
    axes = women.plot("effects", "age")
    (line,) = axes.lines
    middle = line.get_xdata()[len(line.get_xdata()) // 2]
    told = women.margins("age", at={"age": float(middle)})["estimate"].iloc[0]
    assert np.isclose(line.get_ydata()[len(line.get_xdata()) // 2], told, rtol=1e-12)  # the same sums


def test_a_curve_over_one_value_is_refused(women: FitResult) -> None:
    with pytest.raises(MethodError, match="a grid with one value of 'age'"):
        women.plot("effects", "age", grid=women.grid(religious=2))


def test_effects_average_over_a_public_grid_that_is_given(women: FitResult) -> None:
    rows = women.grid(age=[20, 40], religious=4)
    axes = women.plot("effects", "age", grid=rows)
    told = women.margins("age", grid=rows)["estimate"]
    assert np.allclose(axes.lines[0].get_ydata(), told, rtol=1e-12)  # the same sums


def test_effects_of_very_many_levels_are_the_clearest_ones() -> None:
    levels = [f"l{k}" for k in range(60)]
    schema = {"y": (0, 1), "g": levels}
    rng = np.random.default_rng(0)
    g = rng.integers(60, size=6000)
    y = np.clip(0.5 + 0.4 * (g == 7) + 0.05 * rng.normal(size=6000), 0, 1)
    table = {"y": y, "g": np.array(levels)[g]}
    import pandas as pd

    found = dpglm.fit(
        "y ~ g", pd.DataFrame(table), schema=schema, family="gaussian", privacy=(8.0, 1e-6), seed=1
    )
    axes = found.plot("effects")
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert len(names) == MOST_LINES
    assert "g[T.l7]" in names
    assert faults(axes) == []


def test_what_a_plot_has_no_use_for_is_refused(women: FitResult) -> None:
    with pytest.raises(MethodError, match=r"a grid for plot\('coef'\)"):
        women.plot("coef", grid=women.grid())
    with pytest.raises(MethodError, match=r"a name for plot\('spend'\)"):
        women.plot("spend", "age")
    with pytest.raises(MethodError, match="which the formula does not read"):
        women.plot("effects", "educ")
    with pytest.raises(MethodError, match="information matrix"):
        plot(fit(), "effects")
    bare = FitResult(replace(interval()._record, row_map=None))
    with pytest.raises(MethodError, match="map from rows"):
        plot(bare, "effects")
