"""What the paper says of its figures, asked of this study's numbers; verdicts follow from the intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from studies.jobs import Result
from studies.paired import Claim, Difference, Scope, closeness, every, mean_of, some
from studies.stacking.grid import EPSILON, LAWS, METHODS, NOISELESS, Grid, K, cell
from studies.stacking.summary import Areas
from studies.stacking.tables import DESIGNS

# "Not sensitive to the weights": areas this close to that of the usual alpha.
CLOSE = 0.02
# Of the alphas below 1, the one nearest to this stands for proper weights.
USUAL_ALPHA = 0.95


Cells = list[tuple[str, str, Difference]]
Laws = Sequence[str]
OWN: Laws = tuple(LAWS)


def figure_1(areas: Areas, grid: Grid, laws: Laws = OWN) -> list[Claim]:
    """Against epsilon."""
    epsilons = [one for one in grid.epsilons if one != NOISELESS]
    low, high = min(epsilons), max(epsilons)
    found = [
        Claim(
            f"The area of {name} grows with epsilon",
            f"epsilon {high:g} less {low:g}",
            _cells(areas, laws, [(method, high)], [(method, low)]),
        )
        for method, name in (
            ("plr", "PLR"),
            ("pst-s", "PST-S"),
            ("pst-f-u", "PST-F(U)"),
            ("pst-f-w", "PST-F(W)"),
        )
    ]
    found.append(_against(areas, laws, "PST-S can be inferior to PLR", "plr", "pst-s", epsilons, some))
    pairs = (
        ("PST-F(U) is better than PST-S", "pst-f-u", "pst-s"),
        ("PST-F(U) is better than PLR", "pst-f-u", "plr"),
        ("PST-F(W) is better than PLR", "pst-f-w", "plr"),
        ("PST-F(W) is better than PST-F(U)", "pst-f-w", "pst-f-u"),
    )
    for said, first, second in pairs:
        found.append(_against(areas, laws, said, first, second, epsilons))
    return found


def beyond(areas: Areas, grid: Grid) -> list[Claim]:
    """What the paper does not ask."""
    epsilons = [one for one in grid.epsilons if one != NOISELESS]
    found = [
        _against(areas, OWN, "PST-F(W) is better than the default", "pst-f-w", "auto", epsilons),
        _against(
            areas, OWN, "PST-F(W) is better than PLR in component units", "pst-f-w", "plr-units", epsilons
        ),
        _against(areas, OWN, "PLR in component units is better than PLR", "plr-units", "plr", epsilons),
        Claim(
            "The high-level model is better than weighted voting of models that have its rows as well",
            "C-hl less C-wmv on all rows",
            _all_rows(areas),
        ),
    ]
    if NOISELESS in grid.epsilons:
        found.append(
            _against(
                areas,
                OWN,
                "Without noise to speak of, PLR is better than PST-F(U)",
                "plr",
                "pst-f-u",
                [NOISELESS],
            )
        )
    return found


def _all_rows(areas: Areas) -> Cells:
    found: Cells = []
    for table, law in _places(areas, OWN):
        own, voted = cell("pst-f-w", law, EPSILON), cell("pst-f-w", law, EPSILON, combine="weighted")
        _add(found, _where(table, law), "", areas.gap(table, own, voted))
    return found


def figure_2(areas: Areas, grid: Grid, laws: Laws = OWN) -> list[Claim]:
    """Against the number of models."""
    few, many = min(grid.models), max(grid.models)
    cells: list[Cells] = [[], []]
    for table, law in _places(areas, laws):
        for place, count in enumerate((few, many)):
            gap = areas.gap(
                table,
                cell("pst-f-u", law, EPSILON, models=K),
                cell("pst-f-u", law, EPSILON, models=count),
            )
            _add(cells[place], _where(table, law), "", gap)
    return [
        Claim(f"Very few models are worse: K = {few} against {K}", f"K = {K} less {few}", cells[0]),
        Claim(f"Too many models are worse: K = {many} against {K}", f"K = {K} less {many}", cells[1]),
    ]


def figure_3(areas: Areas, grid: Grid, laws: Laws = OWN) -> list[Claim]:
    """Against alpha: the i-th most important column has the weight alpha^i."""
    proper = [one for one in grid.alphas if one < 1.0]
    usual, wrong = min(proper, key=lambda one: abs(one - USUAL_ALPHA)), max(grid.alphas)
    right: Cells = []
    less: Cells = []
    spread: Cells = []
    for table, law in _places(areas, laws):
        where, equal = _where(table, law), cell("pst-f-u", law, EPSILON)
        own = {one: cell("pst-f-w", law, EPSILON, weights=one) for one in grid.alphas}
        for alpha in proper:
            _add(right, where, f"alpha {alpha:g}", areas.gap(table, own[alpha], equal))
            if alpha != usual and (gap := areas.gap(table, own[alpha], own[usual])) is not None:
                spread.append((where, f"alpha {alpha:g}", closeness(gap, CLOSE)))
        _add(less, where, "", areas.gap(table, own[usual], own[wrong]))
    return [
        Claim(
            "With proper weights (alpha < 1) the area is higher than PST-F(U)'s",
            "PST-F(W) less PST-F(U)",
            right,
        ),
        Claim("Weights the wrong way round lower the area", f"alpha {usual:g} less {wrong:g}", less),
        Claim(
            f"Proper weights need not be exact (in our reading: areas within {CLOSE:g} of alpha {usual:g}'s)",
            f"{CLOSE:g} less the size of the difference to alpha {usual:g}",
            spread,
        ),
    ]


def figure_4(areas: Areas, laws: Laws = OWN) -> list[Claim]:
    """Of ways to combine, on the models of PST-F(W)."""
    first: Cells = []
    combined: Cells = []
    majority: Cells = []
    weighted: Cells = []
    for table, law in _places(areas, laws):
        where, own = _where(table, law), cell("pst-f-w", law, EPSILON)
        _add(first, where, "", areas.gap(table, own, own, values=(_alone_first, _best_other)))
        _add(combined, where, "", areas.gap(table, own, own, values=(_area, _best_alone)))
        _add(majority, where, "", areas.gap(table, own, own, values=(_area, _majority)))
        _add(weighted, where, "", areas.gap(table, own, own, values=(_area, _weighted)))
    return [
        Claim(
            "C-0, with the most important columns, is the best single model", "C-0 less the best other", first
        ),
        Claim("The high-level model is better than any single model", "C-hl less the best single", combined),
        Claim("The high-level model is better than majority voting", "C-hl less C-mv", majority),
        Claim("The high-level model is better than weighted voting", "C-hl less C-wmv", weighted),
    ]


def _against(
    areas: Areas,
    laws: Laws,
    said: str,
    first: str,
    second: str,
    epsilons: Sequence[float],
    scope: Scope = every,
) -> Claim:
    cells = [
        (_where(table, law), f"epsilon {epsilon:g}", gap)
        for table, law in _places(areas, laws)
        for epsilon in epsilons
        for gap in [areas.gap(table, cell(first, law, epsilon), cell(second, law, epsilon))]
        if gap is not None
    ]
    return Claim(said, f"{METHODS[first].label} less {METHODS[second].label}", cells, scope)


def _cells(
    areas: Areas, laws: Laws, first: Sequence[tuple[str, float]], second: Sequence[tuple[str, float]]
) -> Cells:
    found: Cells = []
    for table, law in _places(areas, laws):
        for (one, high), (other, low) in zip(first, second, strict=True):
            _add(found, _where(table, law), "", areas.gap(table, cell(one, law, high), cell(other, law, low)))
    return found


def _add(found: Cells, where: str, head: str, gap: Difference | None) -> None:
    if gap is not None:
        found.append((where, head, gap))


def _places(areas: Areas, laws: Laws) -> list[tuple[str, str]]:
    return [(table, law) for table in areas.tables() for law in laws]


def _where(table: str, law: str) -> str:
    return f"{DESIGNS[table].title}, {law}"


def _area(one: Result) -> float:
    return float(one["auc"])


def _alone(one: Result) -> list[float]:
    found: dict[str, Any] = one["alone"]
    return [float(found[name]) for name in sorted(found)]


def _alone_first(one: Result) -> float:
    return _alone(one)[0]


def _best_other(one: Result) -> float:
    return max(_alone(one)[1:])


def _best_alone(one: Result) -> float:
    return max(_alone(one))


def _majority(one: Result) -> float:
    return float(one["majority"])


def _weighted(one: Result) -> float:
    return float(one["weighted"])


def mean_alone(areas: Areas, table: str, law: str) -> list[tuple[str, float]]:
    """Mean areas of models alone, of votes and of the high-level model, by the paper's names."""
    runs = list(areas.runs(table, cell("pst-f-w", law, EPSILON)).values())
    if not runs or "alone" not in runs[0]:
        return []
    names = sorted(runs[0]["alone"])
    found = [(name, mean_of([one["alone"][name] for one in runs]).value) for name in names]
    return [
        *found,
        ("C-mv", mean_of([one["majority"] for one in runs]).value),
        ("C-wmv", mean_of([one["weighted"] for one in runs]).value),
        ("C-hl", mean_of([one["auc"] for one in runs]).value),
    ]
