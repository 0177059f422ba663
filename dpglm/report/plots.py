"""The figures for papers and notebooks, drawn by matplotlib; the page draws its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from dpglm.errors import MethodError
from dpglm.report.curves import trade_off
from dpglm.report.svg import shortened
from dpglm.report.wording import price
from dpglm.results.fit_result import FitResult
from dpglm.results.tidy import selected

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind: TypeAlias = Literal["coef", "spend", "tradeoff"]

ACCENT, SOFT = "#1d5571", "#83807a"


def plot(result: FitResult, kind: Kind = "coef", *, ax: Axes | None = None) -> Axes:
    """One figure of a fit; imports matplotlib.

    Parameters
    ----------
    result : FitResult
        What a fit gave back.
    kind : {"coef", "spend", "tradeoff"}
        Coefficients on the original scale, without the intercept; share of the fit's budget by release;
        least type II error at each type I error of a test for one row.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib Axes
        A result without privacy is marked so in the title.

    Raises
    ------
    MethodError
        An unknown kind, an ``ax`` of another type, or a figure of the guarantee of a result that has none.

    Examples
    --------
    >>> import dpglm
    >>> fit = dpglm.fit("affair ~ age", dpglm.load_data("fair"), privacy=1.0)
    >>> plot(fit, "tradeoff").get_xlabel()
    'type I error (false alarm)'
    """
    if kind not in get_args(Kind):
        raise MethodError(
            f"plot({kind!r})", expected="'coef', 'spend' or 'tradeoff'", remedy="Use plot('coef')."
        )
    if kind != "coef" and not result.guarantee.private:
        raise MethodError(
            f"plot({kind!r}) of a result that is NOT PRIVATE",
            expected="a result with a guarantee",
            remedy="Use plot('coef'), or fit with privacy=1.0 and without a seed.",
        )
    from matplotlib import axes as drawings
    from matplotlib import pyplot

    if ax is not None and not isinstance(ax, drawings.Axes):
        raise MethodError(
            f"ax of type {type(ax).__name__}",
            expected="the Axes of a matplotlib figure",
            remedy="Use ax=pyplot.subplots()[1], or leave ax out.",
        )
    axes: Axes = pyplot.subplots(layout="constrained")[1] if ax is None else ax
    {"coef": _coefficients, "spend": _spend, "tradeoff": _trade_off}[kind](result, axes)
    axes.spines[["top", "right"]].set_visible(False)
    if not result.guarantee.private:
        axes.set_title("NOT PRIVATE", color="#a11212", fontweight="bold")
    return axes


def _coefficients(result: FitResult, ax: Axes) -> None:
    kept = selected(result)
    drawn = [j for j, name in enumerate(result.names) if name != "Intercept"]
    for place, j in enumerate(drawn):
        value = float(result.estimates[j])
        ax.plot([0.0, value], [place, place], color=ACCENT, linewidth=1.5, zorder=2)
        fill = ACCENT if kept[j] else "white"
        ax.plot([value], [place], "o", color=ACCENT if kept[j] else SOFT, markerfacecolor=fill, zorder=3)
    ax.axvline(0.0, color=SOFT, linewidth=1.0, zorder=1)
    ax.set_yticks(range(len(drawn)), [_literal(shortened(result.names[j], 40)) for j in drawn])
    ax.set_ylim(len(drawn) - 0.5, -0.5)
    ax.set_xlabel(f"coefficient, {result.link} scale (hollow: not selected)")


def _spend(result: FitResult, ax: Axes) -> None:
    lines = result.spend_lines
    ax.barh(range(len(lines)), [100.0 * line.share for line in lines], color=ACCENT)
    ax.set_yticks(range(len(lines)), [_literal(shortened(line.release, 40)) for line in lines])
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.set_xlabel(f"share of the fit's budget in %, {price(result.guarantee)}")


def _trade_off(result: FitResult, ax: Axes) -> None:
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
