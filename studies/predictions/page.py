"""Sections of the page: by how much the default call falls short, then every call and peer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from studies.jobs import Result
from studies.page import Section, Table
from studies.paired import Difference, Mean, Repeats, Value
from studies.predictions.fits import CALLS, NONPRIVATE, PEER
from studies.study import Findings

INTRODUCTION = (
    "Four fifths of each table, drawn once, are fitted, and the others predicted; KDD Cup has 100,000 of its "
    "rows in the fit. The simulations have 10,000 test rows. Seeds of noise are the same for all calls, so "
    "that differences are paired; the rows stay, so that intervals are about noise alone. Tables of less "
    "than 1,000 rows have 30 seeds, the others two: noise matters little there. "
    "`python -m studies run predictions` runs the study, and `make benchmark` first installs the peer.",
    "`default` is `dpglm.fit(formula, data, schema=..., privacy=...)` and nothing else: it explains, and "
    "spends nearly half of the budget on the information matrix. The other calls say `goal=` or `penalty=`. "
    'DP-SGD is `method="dpsgd"` in three configurations, each in two codings; what is shown is the best of '
    "the six at each budget, chosen on the test rows in its favour. diffprivlib has the coded rows of "
    "dpglm, with their norm declared, and the best of six strengths, chosen in the same way. It offers pure "
    "budgets and exchanges rows.",
)
SHORTFALL = ("table", "rows", "epsilon", "default", "best own call", "shortfall", "coefficients")
AREAS = ("table", "epsilon", "default", "explain, l1", "predict", "predict, l2", "select", "declared")
AHEAD = ("table", "epsilon", "predict", "best peer", "predict less peer", "without privacy")
OWN = tuple(name for name, call in CALLS.items() if call.group == "own")
DESCENT = tuple(name for name, call in CALLS.items() if call.group == "dpsgd")
TITLES = {1e-6: "(epsilon, 1e-6), add-remove", 0.0: "pure epsilon, replace-one"}
CLOSE = 0.01


def sections(findings: Findings[Any]) -> list[Section]:
    """The whole page."""
    repeats = Repeats(findings.results, _cells)
    parts = [Section("", findings.notes()), Section("What is done", INTRODUCTION)]
    for delta, title in TITLES.items():
        cells = _budgets(findings.results, delta)
        if not cells:
            continue
        short = [_short(repeats, table, epsilon, delta) for table, epsilon in cells]
        far = [gap for _, gap in short if gap.mean > CLOSE]
        said = (
            f"The default call is within {CLOSE:g} of the best own call in {len(short) - len(far)} of "
            f"{len(short)} cells; the largest shortfall is {max(gap.mean for _, gap in short):.3f}. It is "
            "large where rows are few and epsilon is small; there, log odds with their intervals cost that. "
            "Heart disease, pima and wdbc under add-remove with (0.5, 1e-6) and (1, 1e-6), 40 seeds: with "
            "next to nothing for the information matrix the default still falls short by about half of it. "
            'The rest is what `goal="predict"` gains by a shifted loss, in which a row says '
            "twice as much and whose coefficients are no log odds. In the simulations most columns have no "
            "effect, and the default keeps them all."
        )
        peers = [row for cell in cells if (row := _ahead(repeats, *cell, delta)) is not None]
        parts += [
            Section(
                f"The default call, {title}",
                (said,),
                tables=[Table("Areas under the ROC curve.", SHORTFALL, [row for row, _ in short])],
            ),
            Section(
                f"Every call, {title}",
                tables=[
                    Table("Areas, mean over seeds.", AREAS, [_areas(repeats, *cell, delta) for cell in cells])
                ],
            ),
        ]
        if peers:
            name = "gradient descent" if delta else PEER
            parts.append(
                Section(
                    f"Beside {name}, {title}",
                    tables=[Table("Share of right classes; 95 % intervals over seeds.", AHEAD, peers)],
                )
            )
    refused = findings.refusals(lambda one: f"{one['table']}, {one['call']}, epsilon {one['epsilon']:g}")
    if refused:
        parts.append(Section("Refused", tables=[Table("", ("fit", "message", "fits"), refused)]))
    return parts


def _cells(result: Result) -> Iterable[Hashable]:
    call = result["call"]
    if call == NONPRIVATE:
        return [(result["table"], call)]
    name = (call, result["strength"]) if call == PEER else call
    return [(result["table"], result["epsilon"], result["delta"], name)]


def _budgets(results: Sequence[Result], delta: float) -> list[tuple[str, float]]:
    found = [(one["table"], one["epsilon"]) for one in results if one.get("delta") == delta]
    return list(dict.fromkeys(found))


def _auc(result: Result) -> float:
    return float(result["auc"])


def _accuracy(result: Result) -> float:
    return float(result["accuracy"])


def _best(
    repeats: Repeats, names: Sequence[Hashable], cell: tuple[Any, ...], value: Value
) -> Hashable | None:
    """The name whose mean is largest; None where nothing was run."""
    means = {name: repeats.cell_mean((*cell, name), value) for name in names}
    known = {name: mean.value for name, mean in means.items() if mean is not None}
    return max(known, key=lambda name: known[name]) if known else None


def _short(repeats: Repeats, table: str, epsilon: float, delta: float) -> tuple[Sequence[str], Difference]:
    cell = (table, epsilon, delta)
    best = _best(repeats, OWN, cell, _auc)
    gap = repeats.cell_difference((*cell, best), (*cell, "default"), (_auc, _auc))
    assert gap is not None, "the default call was run"
    nonprivate = repeats.cell_runs((table, NONPRIVATE))
    about = nonprivate[0] if nonprivate else {}
    return (
        (
            table,
            f"{about['rows']:,}" if about else "--",
            f"{epsilon:g}",
            _text(repeats.cell_mean((*cell, "default"), _auc)),
            f"{_text(repeats.cell_mean((*cell, best), _auc))} {best}",
            str(gap),
            str(about["coefficients"]) if about else "--",
        ),
        gap,
    )


def _areas(repeats: Repeats, table: str, epsilon: float, delta: float) -> Sequence[str]:
    means = (repeats.cell_mean((table, epsilon, delta, name), _auc) for name in OWN)
    return (table, f"{epsilon:g}", *(_text(mean) for mean in means))


def _ahead(repeats: Repeats, table: str, epsilon: float, delta: float) -> Sequence[str] | None:
    cell = (table, epsilon, delta)
    names = [one[-1] for one in repeats.cells() if isinstance(one, tuple) and one[:3] == cell]
    peers = [name for name in names if name in DESCENT or (isinstance(name, tuple) and name[0] == PEER)]
    best = _best(repeats, peers, cell, _accuracy)
    gap = repeats.cell_difference((*cell, "predict"), (*cell, best), (_accuracy, _accuracy))
    if best is None or gap is None:
        return None
    words = f"C = {best[1]:g}" if isinstance(best, tuple) else str(best).removeprefix("DP-SGD, ")
    return (
        table,
        f"{epsilon:g}",
        _text(repeats.cell_mean((*cell, "predict"), _accuracy)),
        f"{_text(repeats.cell_mean((*cell, best), _accuracy))} ({words})",
        str(gap),
        _text(repeats.cell_mean((table, NONPRIVATE), _accuracy)),
    )


def _text(mean: Mean | None) -> str:
    return "--" if mean is None else f"{mean.value:.3f}"
