"""In which coding each iterative method runs: the one that was better for it on a table."""

from __future__ import annotations

from collections.abc import Sequence

from studies.jobs import Result
from studies.page import Table
from studies.radmm.grid import CODED_AT, CODINGS, FAMILIES, METHODS, SELECT, Coding
from studies.radmm.tables import TITLES

Which = tuple[str, str, str]


def codings(results: Sequence[Result]) -> dict[Which, Coding]:
    """The coding of the larger mean, by method, table and family; the first of two that are alike.

    That test rows decide favours the iterative methods.

    Examples
    --------
    >>> fit = {"study": "coding", "method": "dpsgd", "table": "adult", "family": "binomial"}
    >>> codings([{**fit, "coding": one, "accuracy": by} for one, by in zip(CODINGS, (0.7, 0.8), strict=True)])
    {('dpsgd', 'adult', 'binomial'): 'centred'}
    """
    return {which: max(by, key=lambda coding: by[coding]) for which, by in _means(results).items()}


def table(results: Sequence[Result]) -> Table | None:
    """Means of both codings; None where they were not compared."""
    means, chosen = _means(results), codings(results)
    if not means:
        return None
    rows = [
        (
            METHODS[method].label,
            f"{TITLES[name]}, {FAMILIES[family]}",
            *(_cell(by, one, chosen[method, name, family]) for one in CODINGS),
        )
        for (method, name, family), by in means.items()
    ]
    caption = (
        f"Codings, at epsilon {CODED_AT:g} and default strengths: accuracy, or xi_20 of methods that are to "
        "select. Both have columns less the middle of their bounds, or of their levels. Clipped: rows are "
        "divided by the norm of a typical one, longer ones cut. Centred: by a bound, none cut. * is what the "
        "method has everywhere on this page."
    )
    return Table(caption, ("method", "table", *CODINGS), rows)


def _cell(by: dict[Coding, float], coding: Coding, chosen: Coding) -> str:
    return f"{by[coding]:.3f}{' *' * (coding == chosen)}" if coding in by else "-"


def _means(results: Sequence[Result]) -> dict[Which, dict[Coding, float]]:
    """Accuracy on test rows and, of methods that are to select, xi_20; the first coding first."""
    values: dict[Which, dict[Coding, list[float]]] = {}
    for one in results:
        if one["study"] == "coding" and "refused" not in one:
            measure = "xi20" if one["method"].endswith(SELECT) else "accuracy"
            by = values.setdefault((one["method"], one["table"], one["family"]), {})
            by.setdefault(one["coding"], []).append(float(one[measure]))
    return {
        which: {coding: sum(by[coding]) / len(by[coding]) for coding in CODINGS if coding in by}
        for which, by in values.items()
    }
