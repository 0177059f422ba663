"""The figures for papers and notebooks, drawn by matplotlib; the page draws its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from dpglm.errors import MethodError
from dpglm.postprocessing.missing_intervals import no_intervals
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.refits import CoefficientPath
from dpglm.postprocessing.refits import path as coefficient_path
from dpglm.postprocessing.uncertainty import debiased, intervals, reported, selected, shares
from dpglm.report.curves import trade_off
from dpglm.report.svg import shortened
from dpglm.report.wording import price
from dpglm.typing import FloatVector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind: TypeAlias = Literal["coef", "variance", "path", "spend", "tradeoff"]
KINDS = "'coef', 'variance', 'path', 'spend' or 'tradeoff'"

ACCENT, SOFT, CLAY = "#1d5571", "#83807a", "#9a3d16"
PARTS = (("sampling", ACCENT), ("estimate noise", CLAY), ("curvature noise", "#e3b79f"), ("adjustment", SOFT))
MOST_LABELS = 12  # names beside a path; the largest coefficients


def plot(
    result: FitRecord, kind: Kind = "coef", *, ax: Axes | None = None, path: CoefficientPath | None = None
) -> Axes:
    """One figure of a fit; imports matplotlib.

    Parameters
    ----------
    result : FitRecord
        What a fit gave back.
    kind : {"coef", "variance", "path", "spend", "tradeoff"}
        Coefficients on the original scale with 95 % intervals, without the intercept; what their variances
        are made of; coefficients against the penalty's strength; share of the fit's budget by release; least
        type II error at each type I error of a test for one row.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.
    path : CoefficientPath, optional
        What ``kind="path"`` draws, if not ``result.path()``.

    Returns
    -------
    matplotlib Axes
        A result without privacy is marked so in the title.

    Raises
    ------
    MethodError
        An unknown kind, an ``ax`` of another type, a figure of the guarantee of a result that has none, of
        variances without standard errors, or of a path of a fit without a curvature.

    Examples
    --------
    >>> import dpglm
    >>> fit = dpglm.fit("affair ~ age", dpglm.load_data("fair"), privacy=1.0)
    >>> plot(fit, "tradeoff").get_xlabel()
    'type I error (false alarm)'
    """
    if kind not in get_args(Kind):
        raise MethodError(f"plot({kind!r})", expected=KINDS, remedy="Use plot('coef').")
    if kind == "variance" and not reported(result).any():
        raise MethodError(
            f"plot('variance') without standard errors: {no_intervals(result) or 'none is given'}",
            expected="a result with intervals",
            remedy="Use plot('coef').",
        )
    if kind == "path" and path is None:
        path = coefficient_path(result, None)
    if kind in ("spend", "tradeoff") and not result.guarantee.private:
        raise MethodError(
            f"plot({kind!r}) of a result that is NOT PRIVATE",
            expected="a result with a guarantee",
            remedy="Use plot('coef'), or fit with privacy=1.0 and without a seed.",
        )
    axes = _axes(ax)
    if path is not None and kind == "path":
        _path(path, axes)
    else:
        draw = {"coef": _coefficients, "variance": _variance, "spend": _spend, "tradeoff": _trade_off}
        draw[kind](result, axes)
    axes.spines[["top", "right"]].set_visible(False)
    if not result.guarantee.private:
        axes.set_title("NOT PRIVATE", color="#a11212", fontweight="bold")
    return axes


def plot_expected(
    over: str,
    values: FloatVector,
    errors: Mapping[str, FloatVector],
    *,
    planned: float,
    scale: str,
    ax: Axes | None = None,
) -> Axes:
    """Expected standard errors over numbers of rows or budgets, on logarithmic axes; imports matplotlib.

    Parameters
    ----------
    over : {"n", "epsilon"}
        What is on the horizontal axis.
    values : ndarray, shape (k,)
        Its values.
    errors : mapping of str to ndarray, shape (k,)
        Two lines to draw, by label.
    planned : float
        The planned value, marked.
    scale : str
        The link, for the label.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MethodError
        ``ax`` is not one of matplotlib's.
    """
    axes = _axes(ax)
    for (label, heights), colour in zip(errors.items(), (CLAY, ACCENT), strict=True):
        axes.plot(values, heights, "o-", color=colour, markersize=3.5, label=label)
    axes.axvline(planned, color=SOFT, linestyle="--", linewidth=1.0, label="planned")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("number of rows" if over == "n" else "epsilon")
    axes.set_ylabel(f"expected standard error, {scale} scale")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes


def plot_bounds(
    names: Sequence[str],
    bounds: Sequence[float],
    claims: Sequence[float],
    *,
    refuted: Sequence[bool],
    ax: Axes | None = None,
) -> Axes:
    """Lower bounds of an audit as bars, each with its claim as a mark; imports matplotlib.

    Parameters
    ----------
    names : sequence of str
        What is claimed, from top to bottom.
    bounds, claims : sequence of float
        Epsilons found and promised, shape (k,).
    refuted : sequence of bool
        Which claims the audit contradicts; drawn in another colour.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MethodError
        ``ax`` is not one of matplotlib's.
    """
    axes = _axes(ax)
    for place, (bound, claim, wrong) in enumerate(zip(bounds, claims, refuted, strict=True)):
        colour = "#a11212" if wrong else ACCENT
        axes.barh([place], [bound], height=0.45, color=colour, label="" if place else "lower bound")
        axes.plot([claim, claim], [place - 0.35, place + 0.35], color=CLAY, label="" if place else "claim")
    _names(axes, [f"{name} (refuted)" if wrong else name for name, wrong in zip(names, refuted, strict=True)])
    axes.set_xlabel("epsilon at the claimed delta")
    axes.set_xlim(0.0, 1.15 * max(*bounds, *claims))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return axes


def _axes(ax: Axes | None) -> Axes:
    """Where to draw: what was given, or a new figure."""
    from matplotlib import axes as drawings
    from matplotlib import pyplot

    if ax is not None and not isinstance(ax, drawings.Axes):
        raise MethodError(
            f"ax of type {type(ax).__name__}",
            expected="the Axes of a matplotlib figure",
            remedy="Use ax=pyplot.subplots()[1], or leave ax out.",
        )
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def _coefficients(result: FitRecord, ax: Axes) -> None:
    chosen, given = selected(result), reported(result)
    ends = intervals(result, 0.95)
    values = np.where(given, debiased(result), result.estimates)
    drawn = [j for j, name in enumerate(result.names) if name != "Intercept"]
    for place, j in enumerate(drawn):
        value = float(values[j])
        if given.any() and given[j]:
            ax.plot(ends[j], [place, place], color=ACCENT, linewidth=1.5, zorder=2)
        elif not given.any():
            ax.plot([0.0, value], [place, place], color=ACCENT, linewidth=1.5, zorder=2)
        full = bool(given[j] if given.any() else chosen[j])
        fill = ACCENT if full else "white"
        ax.plot([value], [place], "o", color=ACCENT if full else SOFT, markerfacecolor=fill, zorder=3)
    ax.axvline(0.0, color=SOFT, linewidth=1.0, zorder=1)
    _names(ax, [result.names[j] for j in drawn])
    hollow = "95 % intervals; hollow: none given" if given.any() else "hollow: not selected"
    what = "coefficient" if result.predictor is None else "coefficient of the linear approximation"
    ax.set_xlabel(f"{what}, {result.link} scale ({hollow})")


def _variance(result: FitRecord, ax: Axes) -> None:
    drawn = np.flatnonzero(reported(result))
    parts = shares(result)[drawn] ** 2
    parts = 100.0 * parts / parts.sum(axis=1, keepdims=True)
    left = np.zeros(len(drawn))
    for part, (label, colour) in zip(parts.T, PARTS, strict=True):
        ax.barh(range(len(drawn)), part, left=left, color=colour, edgecolor="white", label=label)
        left = left + part
    _names(ax, [result.names[j] for j in drawn])
    ax.set_xlim(0.0, 100.0)
    ax.set_xlabel("share of the variance in %")
    ax.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize="small")


def _path(path: CoefficientPath, ax: Axes) -> None:
    """Coefficients, each over its largest size, so that units do not matter; the intercept is left out."""
    drawn = [j for j, name in enumerate(path.names) if name != "Intercept"]
    sizes = np.abs(path.coefficients).max(axis=0)
    entered = [float((path.coefficients[:, j] != 0.0).mean()) for j in range(len(path.names))]
    labelled = sorted((j for j in drawn if sizes[j] > 0.0), key=lambda j: -entered[j])[:MOST_LABELS]
    for j in drawn:
        if sizes[j] == 0.0:
            continue
        heights = path.coefficients[:, j] / sizes[j]
        label = _literal(shortened(path.names[j], 24)) if j in labelled else None
        ax.plot(path.strengths, heights, linewidth=1.3, color=None if label else SOFT, label=label)
    ax.axvline(float(path.strengths[path.chosen]), color=SOFT, linestyle="--", linewidth=1.0)
    ax.axhline(0.0, color=SOFT, linewidth=0.8)
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_xlabel(f"strength of penalty {path.penalty} (dashed: {path.rule})")
    ax.set_ylabel("coefficient, relative to its largest")
    edge = 1.0
    if path.losses is not None and path.errors is not None:
        held = ax.twinx()
        held.errorbar(
            path.strengths, path.losses, path.errors, fmt="o", color=CLAY, markersize=2.5, linewidth=0.8
        )
        held.set_ylabel("mean held-out loss, one standard error", color=CLAY)
        held.spines[["top"]].set_visible(False)
        edge = 1.2
    if labelled:
        ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(edge, 0.5))


def _names(ax: Axes, names: list[str]) -> None:
    ax.set_yticks(range(len(names)), [_literal(shortened(name, 40)) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)


def _spend(result: FitRecord, ax: Axes) -> None:
    lines = result.spend_lines
    ax.barh(range(len(lines)), [100.0 * line.share for line in lines], color=ACCENT)
    _names(ax, [line.release for line in lines])
    ax.set_xlabel(f"share of the fit's budget in %, {price(result.guarantee)}")


def _trade_off(result: FitRecord, ax: Axes) -> None:
    points = trade_off(result.guarantee)
    ax.plot([0.0, 1.0], [1.0, 0.0], color=SOFT, linestyle="--", label="blind guessing")
    ax.plot([a for a, _ in points], [b for _, b in points], color=ACCENT, label=price(result.guarantee))
    ax.set_xlabel("type I error (false alarm)")
    ax.set_ylabel("type II error (miss)")
    ax.set_aspect("equal")
    ax.legend(frameon=False)


def _literal(words: str) -> str:
    """A user's text as matplotlib must print it: a dollar sign would start mathematics."""
    return words.replace("$", r"\$")
