"""Curves of expected precision over the number of rows or the budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from dpglm.errors import MethodError
from dpglm.report.coefficient_figures import expected_figure
from dpglm.report.plots import draw

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dpglm.planning.expectation import Expectation

Over: TypeAlias = Literal["n", "epsilon"]

# Values drawn over are the planned one times these.
GRID: Final = tuple(2.0**step for step in range(-3, 4))


def curve(expected: Expectation, over: Over, values: Sequence[float] | None) -> pd.DataFrame:
    """See `Expectation.curve`."""
    import pandas as pd

    rows = []
    for value in _values(expected, over, values):
        point = round(value) if over == "n" else float(value)
        other = expected.at(n=round(value)) if over == "n" else expected.at(epsilon=float(value))
        rows.append((point, *_precision(other)))
    columns = [over, "median", "worst", "median_relative", "printed", "intervals"]
    return pd.DataFrame(rows, columns=columns)


def plot_curve(expected: Expectation, over: Over, values: Sequence[float] | None, ax: Axes | None) -> Axes:
    """See `Expectation.plot`."""
    found = curve(expected, over, values)
    figure = expected_figure(
        over,
        found[over].to_numpy(dtype=np.float64),
        {"worst coefficient": found["worst"].to_numpy(), "median": found["median"].to_numpy()},
        planned=float(expected.n if over == "n" else expected.plan.guarantee.epsilon),
        scale=expected.model.family.link,
    )
    return draw(figure, ax=ax)


def _precision(expected: Expectation) -> tuple[float, float, float, int, bool]:
    """Median and worst standard error, relative median, how many intervals, and whether any is paid for."""
    penalised = expected.model.coding.penalised
    slopes = penalised if penalised.any() else ~penalised
    errors = expected.std_error[slopes]
    return (
        float(np.median(errors)),
        float(errors.max()),
        float(np.median(errors / expected.classical[slopes])),
        int(np.sum(np.array(expected.printed)[slopes])),
        expected.has_intervals,
    )


def _values(expected: Expectation, over: str, values: Sequence[float] | None) -> Sequence[float]:
    if over not in ("n", "epsilon"):
        raise MethodError(
            f"over={over!r}" if isinstance(over, str) else f"over of type {type(over).__name__}",
            expected="'n' or 'epsilon'",
            remedy="Use over='n'.",
        )
    budget = expected.plan.specification.privacy
    if over == "epsilon" and (budget is None or budget.mu is not None):
        raise MethodError(
            "over='epsilon' of a budget declared as mu or rho",
            expected="a budget declared as epsilon",
            remedy="Use over='n', or plan with privacy=(1.0, 1e-6).",
        )
    planned = expected.n if over == "n" else expected.plan.guarantee.epsilon
    least = 1.0 if over == "n" else 1e-3
    chosen = [max(planned * step, least) for step in GRID] if values is None else list(values)
    if not chosen or not all(
        isinstance(value, int | float | np.integer | np.floating) and least <= value <= 1e12
        for value in chosen
    ):
        raise MethodError(
            f"values of {over} out of range",
            expected=f"numbers from {least:g} to 1e12",
            remedy="Leave values out for an eighth to eight times what is planned.",
        )
    return chosen
