"""One seeded fit per method, family, goal and budget: what it costs, its noise, and the numbers it gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

import dpglm
from dpglm.mechanisms.noise import SeededNoise
from dpglm.privacy.budget import Relation

BOTH: tuple[Relation, ...] = ("replace-one", "add-remove")
SCHEMA = {"y": ["no", "yes"], "z": (-4, 9), "k": (0, 6), "a": (0, 4), "b": (-1, 1), "g": ["u", "v", "w"]}
RESPONSES = {"binomial": "y", "gaussian": "z", "poisson": "k", "huber_svm": "y"}
BUDGETS = {
    "pure": {"epsilon": 1.5},
    "approximate": {"epsilon": 1.5, "delta": 1e-6},
    "gdp": {"mu": 0.5, "delta": 1e-6},
    "zcdp": {"rho": 0.1, "delta": 1e-6},
}
GROUPS = {"groups": {"numbers": ["a", "b"], "levels": ["g"]}}


def table() -> pd.DataFrame:
    """Ninety rows of waves."""
    place = np.arange(90)
    a, b = np.round(4 * np.sin(place) ** 2, 3), np.round(np.cos(1.3 * place), 3)
    signal = a - 2 + b + 2 * np.sin(2.7 * place)
    return pd.DataFrame(
        {
            "y": np.where(signal > 0, "yes", "no"),
            "z": np.round(signal, 2),
            "k": np.clip(np.round(signal), 0, 6).astype(int),
            "a": a,
            "b": b,
            "g": np.array(list("uvw"))[place % 3],
        }
    )


def budget(name: str, relation: Relation) -> dpglm.Privacy:
    """A budget of each definition."""
    make = {"gdp": dpglm.Privacy.gdp, "zcdp": dpglm.Privacy.zcdp}.get(name, dpglm.Privacy)
    return make(**BUDGETS[name], relation=relation)  # type: ignore[arg-type]


def choices() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each fit's name in words, and the arguments of ``dpglm.fit``."""
    for (goal, penalty), name, relation in product(
        (("explain", "none"), ("select", "l1/2"), ("predict", "l1")), BUDGETS, BOTH
    ):
        yield _choice("binomial", goal, penalty, name, relation)
    for family, name, relation in product(("gaussian", "poisson", "huber_svm"), BUDGETS, BOTH):
        if family == "gaussian" or name in ("pure", "approximate"):
            yield _choice(family, "explain", "l2", name, relation)
    m = dpglm.methods
    for family, method in (("binomial", m.Output()), ("gaussian", m.Moments())):
        for name in ("pure", "approximate", "gdp"):
            yield _choice(family, "select", "l1", name, "replace-one", method)


def of_papers() -> Iterator[tuple[str, dict[str, Any]]]:
    """The same for the methods of the papers."""
    m = dpglm.methods
    for method in (m.DPSC(), m.DPSGD(steps=5), m.SSADMM(steps=5), m.MPADMM(steps=5), m.DPADMM(steps=5)):
        yield _choice("binomial", "select", "l1", "approximate", "replace-one", method)
    for method, name in product((m.PSTF(**GROUPS), m.PSTS(parts=2)), ("pure", "approximate", "gdp")):
        yield _choice("binomial", "select", "l1", name, "replace-one", method)


def _choice(
    family: str, goal: str, penalty: str, name: str, relation: Relation, method: Any = "auto"
) -> tuple[str, dict[str, Any]]:
    words = f"{family} {getattr(method, 'name', method)} {goal} {penalty} {name} {relation}"
    return words, {
        "formula": f"{RESPONSES[family]} ~ a + b + g",
        "family": family,
        "method": method,
        "goal": goal,
        "penalty": penalty,
        "privacy": budget(name, relation),
    }


def lines(fits: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    """A line per fit."""
    rows = table()
    for name, chosen in fits:
        fit = dpglm.fit(chosen.pop("formula"), rows, schema=SCHEMA, seed=7, progress=False, **chosen)
        promise = fit.privacy
        noise = "; ".join(
            f"{one.name} noise {one.scale:.9g}" + (f", {one.times} times" if one.times > 1 else "")
            for one in fit.description.releases
        )
        mu = "" if promise.mu is None else f", mu {promise.mu:.9g}"
        price = f"epsilon {promise.epsilon:.9g}, delta {promise.delta:.9g}{mu}"
        yield f"{name}: {price}; {noise}; gives " + " ".join(f"{value:.6g}" for value in fit.params[:3])


def streams() -> Iterator[str]:
    """A line per stream of noise."""
    for seed in (0, 12345):
        source = SeededNoise(seed)
        streams = {
            "normal": source.normal(3, scale=2.5),
            "K-norm": source.k_norm(3, scale=4.0),
            "whole K-norm": source.whole_k_norm(3),
            "uniform": source.uniform(3),
            "whole normal": source.whole_normal(3),
            "whole Laplace": source.whole_laplace(3),
            "subset": source.subset(9, 3),
            "normal after 2000": source.normal(2000, scale=1.0)[-3:],
        }
        for name, drawn in streams.items():
            yield f"seed {seed}, {name}: " + " ".join(f"{value:.9g}" for value in drawn)
