"""Rows of the table about fits of simulated rows: who is compared with whom, and the goals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from studies.speed.contest import OWN, PEER, Contest, Figure, Turn
from studies.speed.simulated import table

SEEDS: Final = [0, 1, 2]
APPROXIMATE: Final = [1.0, 1e-6]
L2, L1 = {"penalty": "l2", "privacy": 1.0}, {"penalty": "l1", "privacy": 1.0}
# CPU seconds allowed for a path, by penalty, coefficients, condition number of the curvature.
PATHS: Final[dict[tuple[str, int, float], float | None]] = {
    ("l1", 100, 10.0): 0.1,
    ("l1", 100, 1e4): 0.1,
    ("l1", 500, 1e4): 1.6,
    ("group", 100, 1e4): None,
    ("l1/2", 100, 10.0): 0.4,
    ("l1/2", 100, 1e4): 0.4,
    ("lq", 100, 10.0): 0.4,
    ("scad", 100, 10.0): 0.4,
    ("mcp", 100, 10.0): 0.4,
    ("l1/2", 500, 10.0): None,
}


def size(rows: int, columns: int) -> str:
    """As it stands in the table."""
    return f"{rows:,} x {columns:,}"


def fit_turn(
    name: str, words: Mapping[str, Any], options: Mapping[str, Any], seeds: list[int], **more: Any
) -> Turn:
    """A whole fit of a simulated frame."""
    return Turn(name, "fit", {"table": words, "options": options, "seeds": seeds, **more})


def fit(rows: int, columns: int) -> Contest:
    """A private fit of a frame, against diffprivlib and skglm."""
    words, about = table(rows, columns), size(rows, columns)
    private = {"table": words, "epsilon": 1.0, "seeds": SEEDS}
    compared = (
        ("l2 fit of a frame / diffprivlib, ready array", "l2 fit", "diffprivlib", 0.6),
        ("l2 fit of a frame / patsy's design and diffprivlib", "l2 fit", "patsy, diffprivlib", 0.35),
        ("l2 fit of a frame / formulaic's design and diffprivlib", "l2 fit", "formulaic, diffprivlib", 0.35),
        ("l1 fit of a frame / skglm's solver alone, ready array", "l1 fit", "skglm", 0.6),
        ("l2 noise and solver alone / diffprivlib, ready array", "l2 solve", "diffprivlib", None),
        ("l1 noise and solver alone / skglm's solver alone", "l1 solve", "skglm", None),
    )
    return Contest(
        (
            fit_turn("l2 fit", words, L2, SEEDS),
            Turn("diffprivlib", "diffprivlib", private, PEER),
            fit_turn("l1 fit", words, L1, SEEDS),
            Turn("skglm", "skglm", {"table": words}, PEER),
            *(
                Turn(f"{name}, diffprivlib", "design_and_fit", {**private, "by": name}, PEER)
                for name in DESIGNS
            ),
            *(
                Turn(f"{name} solve", "solve", {"table": words, "options": call, "seeds": SEEDS})
                for name, call in (("l2", L2), ("l1", L1))
            ),
        ),
        tuple(Figure(f"{about}: {what}", own, other, goal) for what, own, other, goal in compared),
    )


DESIGNS: Final = ("patsy", "formulaic")


def nonprivate_peers(rows: int, columns: int) -> Contest:
    """The same private fit, against peers without privacy."""
    words = table(rows, columns)
    peers = (
        Turn("scikit-learn, lbfgs", "sklearn", {"table": words, "solver": "lbfgs"}, PEER),
        Turn("scikit-learn, newton-cholesky", "sklearn", {"table": words, "solver": "newton-cholesky"}, PEER),
        Turn("glum", "glum", {"table": words}, PEER),
        Turn("statsmodels GLM", "statsmodels", {"table": words}, PEER),
    )
    return Contest(
        (fit_turn("l2 fit", words, L2, SEEDS), *peers),
        tuple(Figure(f"{size(rows, columns)}: l2 fit / {one.name}", "l2 fit", one.name) for one in peers),
    )


def blas(rows: int, columns: int) -> Contest:
    """As many threads for linear algebra as cores, which is what happens where nothing is set."""
    one = fit_turn("one BLAS thread", table(rows, columns), L2, SEEDS)
    free = replace(one, name="BLAS threads not set", seat=replace(OWN, blas=0))
    what = f"{size(rows, columns)}: l2 fit, BLAS threads not set / one"
    return Contest((one, free), (Figure(what, free.name, one.name, 1.1),))


def threads(rows: int, columns: int) -> Contest:
    """Rows summed in two threads, wall time."""
    words = table(rows, columns)
    one, two = (
        replace(fit_turn(f"{count} thread", words, L2, [0]), seat=replace(OWN, threads=count))
        for count in (1, 2)
    )
    what = f"{size(rows, columns)}: l2 fit, wall time, two threads / one"
    return Contest((one, two), (Figure(what, two.name, one.name, 0.6, by="wall"),))


def levels(rows: int, count: int) -> Contest:
    """A factor of very many levels, against a ridge on a sparse one-hot matrix."""
    words = table(rows, levels_of=count)
    return Contest(
        (
            fit_turn("l2 fit", words, L2, [0]),
            Turn("scikit-learn, sparse", "one_hot_ridge", {"table": words}, PEER),
        ),
        (
            Figure(
                f"{rows:,} rows, {count:,} levels: l2 fit / sparse ridge", "l2 fit", "scikit-learn, sparse"
            ),
        ),
    )


def wide(rows: int, columns: int) -> Contest:
    """Very many columns."""
    words = table(rows, columns)
    ridge = Turn("scikit-learn, lbfgs", "sklearn", {"table": words, "solver": "lbfgs"}, PEER)
    return Contest(
        (fit_turn("l2 fit", words, L2, [0]), ridge),
        (Figure(f"{size(rows, columns)}: l2 fit / {ridge.name}", "l2 fit", ridge.name),),
    )


def plan(rows: int, columns: int) -> Contest:
    """What it takes to know the price, beside the fit."""
    words = table(rows, columns)
    planned = Turn("plan", "plan", {"table": words, "options": L2})
    what = f"{size(rows, columns)}: plan / its fit"
    return Contest((planned, fit_turn("l2 fit", words, L2, [0])), (Figure(what, "plan", "l2 fit", 0.5),))


def without_privacy(rows: int, columns: int) -> Contest:
    """`privacy=None`, against the private fit and statsmodels."""
    words, about = table(rows, columns), size(rows, columns)
    return Contest(
        (
            fit_turn("privacy=None", words, {"penalty": "l2", "privacy": None}, [0]),
            fit_turn("l2 fit", words, L2, [0]),
            Turn("statsmodels GLM", "statsmodels", {"table": words}, PEER),
        ),
        (
            Figure(f"{about}: privacy=None", "privacy=None", goal=0.5),
            Figure(f"{about}: privacy=None / private l2 fit", "privacy=None", "l2 fit"),
            Figure(f"{about}: privacy=None / statsmodels GLM.fit", "privacy=None", "statsmodels GLM"),
        ),
    )


def gradients(rows: int, columns: int, steps: int) -> Contest:
    """Gradient descent, against as many gradients in plain numpy."""
    words = table(rows, columns)
    options = {"privacy": APPROXIMATE, "method": {"name": "DPSGD", "steps": steps}}
    passes = Turn("numpy", "gradients", {"table": words, "passes": steps})
    what = f"{size(rows, columns)}: DP-SGD of {steps} steps / {steps} gradients in numpy"
    return Contest(
        (fit_turn("dpsgd", words, options, [0], rows=True), passes), (Figure(what, "dpsgd", "numpy"),)
    )


def audit(columns: int, trials: str | int) -> Contest:
    """The quick audit of a default fit."""
    turn = Turn("audit", "audit", {"columns": columns, "trials": trials})
    what = f"{columns} columns: quick audit of a default fit, wall time"
    return Contest((turn,), (Figure(what, "audit", goal=60.0, by="wall"),))


def path(penalty: str, columns: int, condition: float) -> Contest:
    """A path of 100 strengths on a released quadratic."""
    arguments = {"penalty": penalty, "columns": columns, "condition": condition}
    goal = PATHS.get((penalty, columns, condition))
    about = f"path of {penalty}, p = {columns}, condition {condition:.0e}"
    return Contest(
        (Turn("path", "path", arguments),),
        (
            Figure(about, "path", goal=goal),
            Figure(f"{about}: largest residual / gradient", "path", goal=1e-10, by="residual"),
        ),
    )


def cost(
    rows: int = 0,
    columns: int = 0,
    levels: int = 0,
    epsilon: float = 1.0,
    threads: int = 0,
    peers: bool = False,
) -> Contest:
    """A point of the curves of cost: default, l2 and l1 fits; or diffprivlib."""
    words = table(rows, 0 if levels else columns, levels)
    if peers:
        asked = {"table": words, "epsilon": epsilon, "seeds": SEEDS[:1]}
        return Contest((Turn("diffprivlib", "diffprivlib", asked, PEER),))
    seat = replace(OWN, threads=threads or None)
    calls: dict[str, Mapping[str, Any]] = {
        "default": {"privacy": [epsilon, 1e-6]},
        "l2": {"penalty": "l2", "privacy": epsilon},
        "l1": {"penalty": "l1", "privacy": epsilon},
    }
    return Contest(
        tuple(replace(fit_turn(name, words, call, [0]), seat=seat) for name, call in calls.items())
    )
