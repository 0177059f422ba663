"""Simulated designs with rare levels, and one of ordered levels: rows, schema and truths from fixed seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import dpglm
from dpglm.typing import FloatVector

if TYPE_CHECKING:
    import pandas as pd

# The first level is the reference; shares sum to 1.
SHARES_A = {
    "five": (0.5, 0.25, 0.15, 0.095, 0.005),
    "twelve": (0.25, 0.2, 0.15, 0.12, 0.1, 0.08, 0.05, 0.02, 0.015, 0.005, 0.005, 0.005),
    "twenty": (0.15, 0.13, 0.11, 0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04, 0.03, 0.02, 0.015, 0.015, 0.015)
    + (0.005,) * 5,
}
ROWS_A, ROWS_B = 10_000, 60_000
REGIONS, ZIPF = 30, 1.3
SLOPES_B = (0.25, 0.0, -0.15, 0.0, 0.3)
ROWS_LEVELS = 20_000
GRADES = ("none", "mild", "strong", "worst")
SHARES_LEVELS = (0.3, 0.2, 0.15, 0.12, 0.1, 0.07, 0.04, 0.02)


@dataclass(frozen=True)
class Simulated:
    """A simulated table: rows, public schema, formula, and true coefficients by name (absent: zero)."""

    frame: pd.DataFrame
    schema: dpglm.Schema
    formula: str
    truth: dict[str, float]


def sim_rare_a() -> Simulated:
    """10,000 rows, three slopes of unlike shapes, factors of 5, 12 and 20 levels, nine of them at .5 %."""
    import pandas as pd

    random = np.random.default_rng(20_261)
    columns: dict[str, object] = {
        "even": random.uniform(0.0, 10.0, ROWS_A),
        "bell": np.clip(random.normal(5.0, 1.5, ROWS_A), 0.0, 10.0),
        "skewed": np.clip(random.exponential(1.2, ROWS_A), 0.0, 10.0),
    }
    bounds: dict[str, object] = dict.fromkeys(("even", "bell", "skewed"), (0.0, 10.0))
    truth = {"Intercept": -1.0, "even": 0.12, "bell": -0.2, "skewed": 0.0}
    for name, shares in SHARES_A.items():
        levels = [f"{name}{place:02d}" for place in range(len(shares))]
        columns[name] = np.array(levels)[random.choice(len(shares), ROWS_A, p=shares)]
        bounds[name] = levels
        truth |= _effects(random, f"C({name})", levels, spread=0.8)
    formula = "y ~ even + bell + skewed + C(five) + C(twelve) + C(twenty)"
    return Simulated(_answered(pd.DataFrame(columns)), _schema(bounds), formula, truth)


def sim_rare_b() -> Simulated:
    """60,000 rows, five slopes with correlations .7 to .24, 30 levels with Zipf shares, an interaction."""
    import pandas as pd

    random = np.random.default_rng(20_262)
    places = np.arange(len(SLOPES_B))
    correlation = 0.7 ** np.abs(places[:, None] - places[None, :])
    slopes = random.normal(size=(ROWS_B, len(SLOPES_B))) @ np.linalg.cholesky(correlation).T
    columns: dict[str, object] = {f"z{j + 1}": np.clip(slopes[:, j], -4.0, 4.0) for j in places}
    bounds: dict[str, object] = dict.fromkeys(columns, (-4.0, 4.0))
    regions = [f"r{place + 1:02d}" for place in range(REGIONS)]
    shares = np.arange(1, REGIONS + 1) ** -ZIPF
    columns["region"] = np.array(regions)[random.choice(REGIONS, ROWS_B, p=shares / shares.sum())]
    arms = ["control", "low", "high"]
    columns["arm"] = np.array(arms)[random.choice(3, ROWS_B, p=(0.6, 0.3, 0.1))]
    bounds |= {"region": regions, "arm": arms}
    truth = {"Intercept": -2.0, **{f"z{j + 1}": slope for j, slope in enumerate(SLOPES_B)}}
    truth |= {"C(arm)[T.high]": 0.4, "C(arm)[T.high]:z1": 0.3}
    truth |= _effects(random, "C(region)", regions, spread=0.6)
    formula = "y ~ z1 + z2 + z3 + z4 + z5 + C(region) + C(arm) + C(arm):z1"
    return Simulated(_answered(pd.DataFrame(columns)), _schema(bounds), formula, truth)


def sim_levels() -> Simulated:
    """20,000 rows, four ordered levels, four slopes with correlation .5, a factor of eight levels."""
    import pandas as pd

    random = np.random.default_rng(20_263)
    correlation = 0.5 ** np.abs(np.subtract.outer(range(4), range(4)))
    slopes = random.normal(size=(ROWS_LEVELS, 4)) @ np.linalg.cholesky(correlation).T
    columns: dict[str, object] = {f"z{j + 1}": np.clip(slopes[:, j], -4.0, 4.0) for j in range(4)}
    bounds: dict[str, object] = dict.fromkeys(columns, (-4.0, 4.0))
    wards = [f"w{place + 1}" for place in range(len(SHARES_LEVELS))]
    columns["ward"] = np.array(wards)[random.choice(len(wards), ROWS_LEVELS, p=SHARES_LEVELS)]
    bounds["ward"] = wards
    truth = {"Intercept[above none]": 0.4, "Intercept[above mild]": -0.3, "Intercept[above strong]": -1.2}
    truth |= {"z1": 0.6, "z2": 0.0, "z3": -0.2, "z4": 0.0}
    truth |= _effects(random, "C(ward)", wards, spread=0.6)
    schema = dpglm.Schema.of({**bounds, "y": {"levels": list(GRADES), "ordered": True}}, unit="one row")
    frame = pd.DataFrame(columns).assign(y=GRADES[0])
    return Simulated(frame, schema, "y ~ z1 + z2 + z3 + z4 + C(ward)", truth)


def _effects(
    random: np.random.Generator, factor: str, levels: list[str], *, spread: float
) -> dict[str, float]:
    """Normal effects against the first level, every other one exactly zero, rare levels among both kinds."""
    effects: FloatVector = random.normal(0.0, spread, len(levels)).round(2)
    return {f"{factor}[T.{level}]": float(effects[place]) for place, level in enumerate(levels) if place % 2}


def _answered(frame: pd.DataFrame) -> pd.DataFrame:
    """A response column to be replaced: the study draws its own."""
    return frame.assign(y=0)


def _schema(bounds: dict[str, object]) -> dpglm.Schema:
    return dpglm.Schema.of({**bounds, "y": [0, 1]}, unit="one row")
