"""Public choices of a fit, over all that is registered, and everything that a user does with the result."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import dpglm
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.methods.base import methods
from tests.replay.neighbours import SCHEMA, Relation
from tests.replay.recorder import chain

GOALS = ("explain", "predict", "select")
RESPONSES = {"binomial": "y", "gaussian": "z", "poisson": "k"}
SIDES = (
    "x + w + g + x:g",
    "1",
    "0 + x + w",
    "bs(x, df=4) + offset(w / 100)",
    "I(x ** 2) * g + np.log1p(w)",
)
# Enough numeric columns for rows that are stretched.
WIDE = " + ".join(
    ["x", "w", *(f"I(x ** {power})" for power in range(2, 8)), "np.sqrt(w)", "np.exp(x)", "w:x"]
)
BUDGETS: dict[str, Callable[[Relation], Any]] = {
    "pure": lambda relation: dpglm.Privacy(1.0, relation=relation),
    "approximate": lambda relation: dpglm.Privacy(2.0, 1e-6, relation=relation),
    "gdp": lambda relation: dpglm.Privacy.gdp(0.5, relation=relation),
    "none": lambda relation: None,
}
PUBLIC_ROWS = pd.DataFrame(
    {
        "y": ["no"] * 3,
        "z": [0.0] * 3,
        "k": [1] * 3,
        "x": [-1.0, 0.0, None],
        "w": [0.0, 50.0, 1e9],
        "g": list("abq"),
    }
)


@dataclass(frozen=True)
class Study:
    """What an analyst chooses before any row is read."""

    family: str = "binomial"
    method: Any = "auto"
    penalty: str = "l1"
    goal: str = "explain"
    budget: str = "pure"
    relation: Relation = "replace-one"
    side: str = SIDES[0]
    strength: float | None = None
    rows: int | None = None

    @property
    def formula(self) -> str:
        """Response and terms."""
        return f"{RESPONSES[self.family]} ~ {self.side}"

    def fit(self, data: object, **others: Any) -> Any:
        """The fit of ``data``."""
        return dpglm.fit(
            self.formula,
            data,
            schema=dpglm.Schema.of(SCHEMA, rows=self.rows),
            family=self.family,
            method=self.method,
            penalty=self.penalty,
            goal=self.goal,  # type: ignore[arg-type]
            privacy=BUDGETS[self.budget](self.relation),
            strength=self.strength,
            progress=True,
            **others,
        )


METHODS: tuple[Any, ...] = (
    "auto",
    *methods,
    dpglm.methods.Objective(ridge=5.0),
    dpglm.methods.Objective(coding="clipped"),
    dpglm.methods.Moments(learn_scale=False),
)


def all_studies() -> Iterator[Study]:
    """Every combination of registered names; what does not fit together is refused, which is a result too."""
    relations: tuple[Relation, ...] = ("replace-one", "add-remove")
    turn = itertools.count()
    for family, method, penalty, goal, budget in itertools.product(
        families, METHODS, penalties, GOALS, BUDGETS
    ):
        place = next(turn)
        yield Study(
            family,
            method,
            penalty,
            goal,
            budget,
            # Without a budget the number of rows is told, as it is under replace-one.
            "replace-one" if budget == "none" else relations[(place // 7) % 2],
            (*SIDES, WIDE)[place % 6],
            (None, None, 0.01)[place % 3],
            (None, 4)[(place // 5) % 2],
        )


def few_studies() -> list[Study]:
    """Every registered method, penalty and family, and every budget and formula, at least once."""
    chosen = [*((method, "l1") for method in METHODS), *(("auto", penalty) for penalty in penalties)]
    rest = zip(itertools.cycle(families), itertools.cycle(BUDGETS), itertools.cycle(SIDES), strict=False)
    return [
        Study(
            family,
            method,
            penalty,
            GOALS[place % 3],
            budget,
            # Without a budget the number of rows is told, as it is under replace-one.
            "add-remove" if place % 2 and budget != "none" else "replace-one",
            side,
        )
        for place, ((method, penalty), (family, budget, side)) in enumerate(zip(chosen, rest, strict=False))
    ]


def some_studies() -> Iterator[Study]:
    """Every registered name with every family."""
    for place, penalty in enumerate(penalties):
        for family, relation in itertools.product(families, ("replace-one", "add-remove")):
            budget = ("pure", "approximate")[(place + len(family)) % 2]
            goal = ("explain", "explain", "select", "predict")[place % 4]
            yield Study(family, "auto", penalty, goal, budget, relation, SIDES[place % 5])  # type: ignore[arg-type]
    for method in METHODS[1:]:
        for family, budget in itertools.product(families, BUDGETS):
            yield Study(family, method, "l1", "select", budget, "replace-one", SIDES[0])
    for budget in ("pure", "approximate", "gdp"):
        for one in ("replace-one", "add-remove"):
            yield Study("binomial", "auto", "l1", "select", budget, one, WIDE)  # type: ignore[arg-type]


def told(action: Callable[[], Any]) -> Any:
    """What it gives, or the chain of its exception."""
    try:
        return action()
    except dpglm.errors.DpglmError as error:
        return chain(error)


def everything(fit: Any, *, plots: bool = False) -> dict[str, Any]:
    """All that can be had from a result, as text and bytes."""
    shown: dict[str, Any] = {
        "repr": repr(fit),
        "summary": str(fit.summary()),
        "markup": fit.summary()._repr_html_() + fit.summary().to_latex() + fit.summary().to_markdown(),
        "page": fit.to_html(),
        "json": dpglm.postprocessing.store.to_json(fit._record),
        "fields": sorted(
            (name, _plain(value)) for name, value in vars(fit._record).items() if name != "row_map"
        ),
        "pickle": pickle.dumps([fit.params, fit.privacy, fit.specification, fit.description]),
    }
    asked: dict[str, Callable[[], Any]] = {
        "tidy": lambda: fit.tidy().to_csv(),
        "glance": lambda: fit.glance().to_csv(),
        "spend": lambda: fit.spend.to_csv(),
        "intervals": lambda: fit.conf_int().to_csv() + fit.cov_params().to_csv() + fit.pvalues.to_csv(),
        "predict": lambda: np.asarray(fit.predict(PUBLIC_ROWS)).tobytes(),
        "refit": lambda: str(fit.refit(penalty="l2").summary()),
        "select": lambda: str(fit.select()),
        "wald": lambda: repr(fit.wald_test(fit.names[-1])),
        "compare": lambda: str(dpglm.compare([fit, fit])),
    }
    shown |= {name: told(action) for name, action in asked.items()}
    if plots:
        shown |= {f"plot {kind}": told(lambda kind=kind: _drawn(fit.plot(kind))) for kind in PLOTS}
    return shown


PLOTS = ("coef", "variance", "path", "spend", "tradeoff")


def _drawn(axes: Any) -> list[Any]:
    """Coordinates and texts of a figure."""
    import matplotlib.pyplot as plt
    from matplotlib.text import Text

    try:
        return [
            [line.get_xydata().tobytes() for line in axes.lines],
            [patch.get_path().vertices.tobytes() for patch in axes.patches],
            [path.vertices.tobytes() for found in axes.collections for path in found.get_paths()],
            [np.asarray(found.get_offsets()).tobytes() for found in axes.collections],
            [text.get_text() for text in axes.figure.findobj(Text)],
            [axes.get_xlim(), axes.get_ylim()],
        ]
    finally:
        plt.close(axes.figure)


def _plain(value: Any) -> str:
    return f"{value.dtype}{value.shape}{value.tobytes()!r}" if isinstance(value, np.ndarray) else repr(value)
