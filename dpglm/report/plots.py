"""Figures for papers and notebooks, drawn with matplotlib: the one door to it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from dpglm.errors import MethodError
from dpglm.postprocessing.profile import ProfileRecord
from dpglm.postprocessing.ranking import RankingRecord
from dpglm.postprocessing.record import FitRecord, Record
from dpglm.postprocessing.refits import CoefficientPath
from dpglm.postprocessing.refits import path as penalty_path
from dpglm.postprocessing.uncertainty import no_intervals
from dpglm.report import figure as shapes
from dpglm.report.coefficient_figures import coefficient_figure, path_figure, variance_figure
from dpglm.report.effect_figures import effects_figure, survival_figure
from dpglm.report.figure import PALETTES, ROLES, Figure, Mark, Names, Note, shortened
from dpglm.report.guarantee_figures import profile_figure, spend_figure, trade_off_figure
from dpglm.report.ranking import weights_figure
from dpglm.report.sample import FIGURES
from dpglm.report.site_figures import site_figure
from dpglm.tables.table import one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Kind: TypeAlias = Literal[
    "coef", "variance", "path", "spend", "tradeoff", "profile", "sites", "effects", "survival"
]
SampleKind: TypeAlias = Literal["shares", "means", "quartiles", "tradeoff", "profile"]
RankingKind: TypeAlias = Literal["weights", "tradeoff", "profile"]
COLOURS = PALETTES["print"] | {"none": "none"}
MOST_LETTERS = 40  # of a name
LINE = 0.22  # height of a line of names, inches
BELOW = -36.0  # from the axes to the legend, points: marks of the axis and its label lie between


def plot(
    record: FitRecord,
    kind: Kind = "coef",
    name: str | None = None,
    *,
    ax: Axes | None = None,
    path: CoefficientPath | None = None,
    grid: pd.DataFrame | None = None,
) -> Axes:
    """The figure of :meth:`dpglm.FitResult.plot`."""
    for word, given, kinds in (
        ("name", name, ("sites", "effects")),
        ("path", path, ("path",)),
        ("grid", grid, ("effects", "survival")),
    ):
        if given is not None and kind not in kinds:
            raise MethodError(
                f"a {word} for plot({kind!r})",
                expected=f"one for {' or '.join(f'plot({one!r})' for one in kinds)}",
                remedy="Leave it out.",
            )
    if kind == "effects":
        return _marked(record, effects_figure(record, name, grid), ax)
    if kind == "survival":
        return _marked(record, survival_figure(record, grid), ax)
    figure = site_figure(record, name) if kind == "sites" else _figure(record, kind, path)
    return _marked(record, figure, ax)


def plot_sample(record: ProfileRecord, kind: SampleKind | None = None, *, ax: Axes | None = None) -> Axes:
    """The figure of :meth:`dpglm.Profile.plot`."""
    return _marked(record, _sample_figure(record, kind), ax)


def plot_ranking(record: RankingRecord, kind: RankingKind = "weights", *, ax: Axes | None = None) -> Axes:
    """The figure of :meth:`dpglm.FeatureRanking.plot`."""
    weights = kind == "weights"
    figure = weights_figure(record) if weights else _guarantee_figure(record, kind, get_args(RankingKind))
    return _marked(record, figure, ax)


def _marked(record: Record, figure: Figure, ax: Axes | None) -> Axes:
    """A figure on axes; that of a result without privacy says so."""
    axes = draw(figure, ax=ax)
    if not record.private:
        axes.set_title("NOT PRIVATE", color=COLOURS["alarm"], fontweight="bold")
    return axes


def _figure(record: FitRecord, kind: str, path: CoefficientPath | None) -> Figure:
    match kind:
        case "coef":
            return coefficient_figure(record)
        case "variance":
            if (figure := variance_figure(record)) is not None:
                return figure
            raise MethodError(
                f"plot('variance') without standard errors: {no_intervals(record) or 'none is given'}",
                expected="a result with intervals",
                remedy="Use plot('coef').",
            )
        case "path":
            return path_figure(penalty_path(record, None) if path is None else path)
    return _guarantee_figure(record, kind, get_args(Kind))


def _sample_figure(record: ProfileRecord, kind: str | None) -> Figure:
    found = {name: figure for name, make in FIGURES.items() if (figure := make(record)) is not None}
    if kind is None:
        return next(iter(found.values()))
    if kind in found:
        return found[kind]
    if kind in FIGURES:
        lacking = {"shares": "levels", "means": "numbers", "quartiles": "quartiles"}[kind]
        raise MethodError(
            f"plot({kind!r}) of a profile without {lacking}",
            expected=f"{' or '.join(map(repr, found))}, what was described",
            remedy="Leave kind out.",
        )
    return _guarantee_figure(record, kind, get_args(SampleKind))


def _guarantee_figure(record: Record, kind: str, kinds: tuple[str, ...]) -> Figure:
    """A figure of what was promised; ``kinds`` are all that the result has."""
    if kind not in kinds:
        *most, last = map(repr, kinds)
        raise MethodError(
            f"plot({kind!r})", expected=f"{', '.join(most)} or {last}", remedy=f"Use plot({kinds[0]!r})."
        )
    if not record.private:
        raise MethodError(
            f"plot({kind!r}) of a result that is NOT PRIVATE",
            expected="a result with a guarantee",
            remedy=f"Use plot({kinds[0]!r}), or privacy=1.0 without a seed.",
        )
    if kind == "spend":
        return spend_figure(record)
    return trade_off_figure(record.guarantee) if kind == "tradeoff" else profile_figure(record.guarantee)


def draw(figure: Figure, *, ax: Axes | None = None) -> Axes:
    """A figure with matplotlib, on the axes given or on new ones."""
    from matplotlib import axes as drawings
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    if ax is not None and not isinstance(ax, drawings.Axes):
        raise MethodError(
            f"ax of type {type(ax).__name__}",
            expected="the Axes of a matplotlib figure",
            remedy="Use ax=pyplot.subplots()[1], or leave ax out.",
        )
    axes = _new_axes(figure) if ax is None else ax
    for axis, which in ((figure.x, "x"), (figure.y, "y")):
        if not isinstance(axis, Names):
            if axis.log:
                axes.set(**{f"{which}scale": "log"})
            ends = (axis.high, axis.low) if axis.reverse else (axis.low, axis.high)
            values, texts = zip(*axis.labelled(), strict=True)
            axes.set(**{f"{which}lim": ends, f"{which}label": _literal(axis.label)})
            axes.set(**{f"{which}ticks": values, f"{which}ticklabels": texts})
    axes.minorticks_off()
    if isinstance(figure.y, Names):
        names = _told_apart(figure.y.names)
        axes.set_yticks(range(len(names)), [_literal(name) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
    for mark in figure.marks:
        _mark(axes, mark)
    axes.spines[["top", "right"]].set_visible(False)
    if figure.right:
        axis, marks = figure.right
        other = axes.twinx()
        other.set_ylabel(axis.label)
        other.set_ylim(axis.low, axis.high)
        other.spines[["top"]].set_visible(False)
        for mark in marks:
            _mark(other, mark)
    if len(figure.legend) > 4:
        edge = 1.2 if figure.right else 1.0
        axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(edge, 0.5))
    elif figure.legend:
        # Below the label of the axis, however high the axes are; in the middle of a figure of its own, whose
        # axes long names make narrow.
        below = axes.transAxes + ScaledTranslation(0.0, BELOW / 72.0, axes.figure.dpi_scale_trans)
        across = axes.figure.transFigure if ax is None else axes.transAxes
        axes.legend(
            frameon=False,
            fontsize="small",
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=blended_transform_factory(across, below),
            ncols=1 if sum(len(mark.label) for mark in figure.legend) > 60 else len(figure.legend),
        )
    return axes


def _new_axes(figure: Figure) -> Axes:
    """Axes of a new figure, high enough for the lines of its names."""
    from matplotlib import pyplot

    width, height = pyplot.rcParams["figure.figsize"]
    names = _told_apart(figure.y.names) if isinstance(figure.y, Names) else []
    lines = len(names) * max((name.count("\n") + 1 for name in names), default=0)
    size = (width, max(height, LINE * lines + 1.2))
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def _told_apart(names: Sequence[str]) -> list[str]:
    """Names, shortened where all of them still differ then, and else whole on several lines."""
    short = [shortened(name, MOST_LETTERS) for name in names]
    apart = len(set(short)) == len(set(names))
    return short if apart else [textwrap.fill(one_line(name), MOST_LETTERS) for name in names]


def _mark(axes: Axes, mark: Mark) -> None:
    """One mark in its colours; lengths in pixels of the page become points."""
    if isinstance(mark, Note):
        axes.annotate(
            _literal(mark.text),
            (mark.x, mark.y),
            xytext=(0.75 * mark.move[0], -0.75 * mark.move[1]),
            textcoords="offset points",
            color=COLOURS["soft" if mark.faint else "ink"],
            ha="right" if mark.anchor == "end" else "left",
            fontsize="small",
        )
        return
    ink = ROLES[mark.role]
    fill, stroke, width = COLOURS[ink.fill], COLOURS[ink.stroke], 0.75 * ink.width
    style: Any = (0, ink.dash) if ink.dash else "-"
    line = partial(axes.plot, color=stroke, linewidth=width, linestyle=style)
    match mark:
        case shapes.Curve():
            dots = COLOURS[ROLES[mark.dots].fill] if mark.dots else None
            marker = "o" if mark.dots else ""
            line(mark.x, mark.y, label=_literal(mark.label), marker=marker, ms=3.5, mfc=dots)
        case shapes.Band():
            axes.fill_between(mark.x, mark.low, mark.high, color=fill, linewidth=0.0)
        case shapes.Points():
            size = 1.5 * mark.radius
            axes.plot(mark.x, mark.y, "o", label=_literal(mark.label), mfc=fill, mec=stroke, ms=size)
        case shapes.Intervals():
            cap = ("_" if mark.upright else "|") if mark.caps else ""
            bar = partial(line, marker=cap, ms=5.0)
            for k, (at, *ends) in enumerate(zip(mark.at, mark.low, mark.high, strict=True)):
                label = "" if k else _literal(mark.label)
                bar(*(((at, at), ends) if mark.upright else (ends, (at, at))), label=label)
        case shapes.Bars():
            lengths = [stop - start for start, stop in zip(mark.start, mark.stop, strict=True)]
            label = _literal(mark.label)
            axes.barh(mark.at, lengths, 0.62, mark.start, color=fill, ec=stroke, linewidth=width, label=label)
        case shapes.Rule():
            across = axes.axvline if mark.across == "x" else axes.axhline
            label = _literal(mark.label)
            across(mark.value, color=stroke, linewidth=width, linestyle=style, label=label)


def _literal(words: str) -> str:
    """A user's text as matplotlib must print it: a dollar sign would start mathematics."""
    return words.replace("$", r"\$")
