"""The networks of the study: a main hospital and its branches, with what is public about their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

import dpglm
from dpglm.data.tables import datasets
from dpglm.data.tables.sources import find_schema
from dpglm.typing import BoolVector
from studies import real_tables
from studies.centred import centred

if TYPE_CHECKING:
    import pandas as pd

# Clinical ranges that the study declares; values beyond them are read as the bound.
GUSTO_RANGES = {
    "age": (20, 100),
    "sysbp": (60, 200),
    "pulse": (30, 130),
    "height": (140, 200),
    "weight": (40, 120),
    "ste": (0, 8),
}
HEART_RANGES = {
    "age": (25, 85),
    "trestbps": (80, 200),
    "chol": (100, 400),
    "thalach": (60, 200),
    "oldpeak": (-2, 4),
}
# Adjusted chi-squares of the abstract of Lee et al. (1995); all other characteristics have a tenth together.
GUSTO_CHI_SQUARES = {"age": 717.0, "sysbp": 550.0, "Killip": 350.0, "pulse": 275.0, "miloc": 143.0}
GUSTO_REST = 0.1
HEART_RANKING = (
    ("cp", "exang", "oldpeak"),
    ("thalach", "slope", "thal"),
    ("ca", "sex", "age"),
    ("restecg", "chol"),
    ("trestbps", "fbs"),
)
HEART_WEIGHTS = (5.0, 3.0, 2.0, 1.0, 1.0)


@dataclass(frozen=True)
class Source:
    """A network's table.

    Parameters
    ----------
    title, outcome : str
    load : callable
        The table with its site column, its schema, and the formula's terms.
    main : str
        The main hospital.
    response, positive : str, object
    importance : mapping
        Public weights of terms.
    provenance : str
        Where the weights come from.
    """

    title: str
    outcome: str
    load: Callable[[], tuple[pd.DataFrame, dpglm.Schema]]
    main: str
    response: str
    positive: object
    importance: Mapping[str, float]
    provenance: str


@dataclass(frozen=True, eq=False)
class Site:
    """One hospital's rows: to fit, with their answers, and to test, with the positive ones of them."""

    train: pd.DataFrame
    test: pd.DataFrame
    answers: BoolVector
    positive: BoolVector


@dataclass(frozen=True, eq=False)
class Network:
    """All hospitals of a split, the main one first."""

    sites: Mapping[str, Site]
    schema: dpglm.Schema
    formula: str
    importance: Mapping[str, float]
    provenance: str

    @property
    def main(self) -> str:
        """Name of the main hospital."""
        return next(iter(self.sites))

    def schema_of(self, rows: int) -> dpglm.Schema:
        """The schema with a number of rows, which is public under replace-one."""
        return dpglm.Schema.of(self.schema, rows=rows)


def missing(name: str) -> str | None:
    """Why a network cannot be studied here; None where it can."""
    if name == "cohort" or real_tables.available(name):
        return None
    return real_tables.absence(name)


@lru_cache(maxsize=2)
def network(name: str, repeat: int, branches: int | None = None) -> Network:
    """Every site split in halves, each half with its share of positive rows.

    Parameters
    ----------
    name : str
        One of `SOURCES`.
    repeat : int
        Number of the split.
    branches : int or None
        No more branches than this, and a quarter of the rows: for quick looks.
    """
    source = SOURCES[name]
    frame, schema = _loaded(name)
    random = np.random.default_rng([20_261_124, repeat])
    names = [source.main, *sorted(set(frame["site"]) - {source.main})]
    sites = {}
    for site in names if branches is None else names[: branches + 1]:
        own = frame[frame["site"] == site]
        positive = _positive(own[source.response], source.positive)
        first, second = _halves(positive, random, 1.0 if branches is None else 0.25)
        sites[site] = Site(own.iloc[first], own.iloc[second], positive[first], positive[second])
    return Network(
        sites=sites,
        schema=schema,
        formula=f"{source.response} ~ " + " + ".join(source.importance),
        importance=source.importance,
        provenance=source.provenance,
    )


def sizes(name: str) -> dict[str, tuple[int, float]]:
    """Rows and share of positive rows of every site, the main one first."""
    source = SOURCES[name]
    frame, _ = _loaded(name)
    names = [source.main, *sorted(set(frame["site"]) - {source.main})]
    found = {}
    for site in names:
        positive = _positive(frame.loc[frame["site"] == site, source.response], source.positive)
        found[site] = (len(positive), float(positive.mean()))
    return found


def _positive(column: pd.Series, level: object) -> BoolVector:
    if level == ">0":
        return np.asarray(column > 0, dtype=np.bool_)
    return np.asarray(column == level, dtype=np.bool_)


def _halves(positive: BoolVector, random: np.random.Generator, share: float) -> tuple[list[int], list[int]]:
    """Places of two halves in random order, each with half of the positive rows."""
    parts: tuple[list[int], list[int]] = [], []
    for kind in (True, False):
        places = random.permutation(np.flatnonzero(positive == kind))
        places = places[: max(round(share * len(places)), 4)]
        parts[0].extend(places[::2].tolist())
        parts[1].extend(places[1::2].tolist())
    # PST reads parts of the rows by place: their order must not tell the response.
    first, second = (random.permutation(part).tolist() for part in parts)
    return first, second


@lru_cache(maxsize=3)
def _loaded(name: str) -> tuple[pd.DataFrame, dpglm.Schema]:
    frame, schema = SOURCES[name].load()
    return centred(frame, schema)


def _cohort() -> tuple[pd.DataFrame, dpglm.Schema]:
    frame = dpglm.load_data("cohort")
    return frame, find_schema(frame)


def _gusto() -> tuple[pd.DataFrame, dpglm.Schema]:
    frame = real_tables.table("gusto").frame()
    sites = frame["regl"].map(lambda number: f"region {number:02d}")
    return frame.assign(site=sites), _declared("gusto", GUSTO_RANGES)


def _heart() -> tuple[pd.DataFrame, dpglm.Schema]:
    return real_tables.table("heart_disease").frame(), _declared("heart_disease", HEART_RANGES)


def _declared(name: str, ranges: Mapping[str, tuple[float, float]]) -> dpglm.Schema:
    """The table's schema with the study's ranges; a missing number becomes the middle."""
    schema = real_tables.table(name).schema()
    numbers = {
        column: dpglm.Numeric(low, high, missing=(low + high) / 2.0, source="clinical range of the study")
        for column, (low, high) in ranges.items()
    }
    return replace(schema, variables={**schema.variables, **numbers})


def _gusto_importance() -> dict[str, float]:
    table = real_tables.table("gusto")
    # sho is Killip III or IV, ant is miloc Anterior: computed from other columns.
    skip = {*table.left_out, "sho", "ant", table.response}
    rest = [name for name in table.schema().variables if name not in skip and name not in GUSTO_CHI_SQUARES]
    total = sum(GUSTO_CHI_SQUARES.values()) / (1.0 - GUSTO_REST)
    weights = {name: value / total for name, value in GUSTO_CHI_SQUARES.items()}
    return weights | dict.fromkeys(rest, GUSTO_REST / len(rest))


def _heart_importance() -> dict[str, float]:
    return {
        name: weight / len(group) / sum(HEART_WEIGHTS)
        for group, weight in zip(HEART_RANKING, HEART_WEIGHTS, strict=True)
        for name in group
    }


SOURCES = {
    "gusto": Source(
        title="GUSTO-I",
        outcome="death within 30 days",
        load=_gusto,
        main="region 12",
        response="day30",
        positive=1,
        importance=_gusto_importance(),
        provenance="literature: Lee et al. (1995), Circulation 91:1659, adjusted chi-squares of the abstract",
    ),
    "heart_disease": Source(
        title="Heart disease",
        outcome="a narrowed coronary vessel",
        load=_heart,
        main="cleveland",
        response="num",
        positive=">0",
        importance=_heart_importance(),
        provenance="expert: the study's own ranking, symptoms and stress test first, set before any fit",
    ),
    "cohort": Source(
        title="Simulated cohort",
        outcome="diabetes",
        load=_cohort,
        main="main",
        response="diabetes",
        positive="yes",
        importance=dict(sorted(datasets.cohort_importance().items(), key=lambda item: -item[1])),
        provenance="expert: the weights of the simulated doctors (dpglm.data.tables.datasets)",
    ),
}
