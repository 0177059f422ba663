"""The tables of the study: two real ones as principal components, and the simulated main hospital."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

import dpglm
from dpglm.data.tables import datasets
from dpglm.data.tables.sources import find_schema
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector
from studies import real_tables
from studies.centred import centred

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = 100
# Columns are cut at this many standard deviations of public rows.
CLIP = 3.0
COHORT = "cohort"


@dataclass(frozen=True)
class Design:
    """A table: what it is called, and how many rows are public, to fit, and to test."""

    title: str
    public: int
    train: int
    test: int


DESIGNS = {
    "mnist_0v8": Design("MNIST, 0 against 8", public=3_000, train=3_000, test=2_000),
    "newsgroups_sci_talk": Design("20 Newsgroups, sci against talk", public=1_440, train=4_321, test=1_441),
    COHORT: Design("Simulated main hospital", public=0, train=3_000, test=2_000),
}


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows to fit and rows to judge by, with what is public about both.

    Parameters
    ----------
    train, test : DataFrame
    schema : Schema
    formula : str
    positive : BoolVector
        Response of each test row, shape (k,).
    importance : mapping
        Public weights of columns, the largest first.
    provenance : str
        Where the weights come from.
    """

    train: pd.DataFrame
    test: pd.DataFrame
    schema: dpglm.Schema
    formula: str
    positive: BoolVector
    importance: dict[str, float]
    provenance: str


@dataclass(frozen=True, eq=False)
class Projected:
    """Private rows in public coordinates.

    Parameters
    ----------
    scores : ndarray, shape (n, p)
    positive : ndarray, shape (n,)
    deviations : ndarray, shape (p,)
        Standard deviations of public rows that the directions were not fitted on.
    """

    scores: FloatMatrix
    positive: BoolVector
    deviations: FloatVector


def missing(name: str) -> str | None:
    """Why a table cannot be studied here; None where it can."""
    if name == COHORT or real_tables.available(name):
        return None
    return real_tables.absence(name)


@lru_cache(maxsize=4)
def sample(name: str, repeat: int, *, columns: int, rows: int | None, common: bool = False) -> Sample:
    """Rows of repetition ``repeat``: a random split of the rows that are not public.

    Parameters
    ----------
    name : str
        One of `DESIGNS`.
    columns : int
        Principal components kept; the simulated table has its own features.
    rows : int or None
        No more training rows than this, and half as many test rows: for quick looks.
    common : bool
        Whether all components are declared with the bounds of the first: their own units are kept.
    """
    train, test = DESIGNS[name].train, DESIGNS[name].test
    if rows is not None:
        train, test = rows, rows // 2
    order = np.random.default_rng([20_261_123, repeat])
    if name == COHORT:
        return _hospital(order, train, test)
    found = projected(name, columns)
    names = [f"pc{place + 1:03d}" for place in range(columns)]
    bounds = [_outwards(CLIP * deviation) for deviation in found.deviations]
    if common:
        bounds = [max(bounds)] * columns
    chosen = order.permutation(len(found.scores))[: train + test]
    frame = _frame(found.scores[chosen], names, found.positive[chosen])
    declared = {column: (-bound, bound) for column, bound in zip(names, bounds, strict=True)}
    variances = np.square(found.deviations)
    ranked = np.argsort(-variances, kind="stable")
    return Sample(
        train=frame[:train],
        test=frame[train:],
        schema=dpglm.Schema.of({**declared, "y": [0, 1]}, rows=train, unit="one row"),
        formula="y ~ " + " + ".join(names),
        positive=found.positive[chosen][train:],
        importance={names[place]: float(variances[place]) for place in ranked},
        provenance="public data: variances of rows that were set apart",
    )


def _frame(scores: FloatMatrix, names: list[str], positive: BoolVector) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(scores, columns=names).assign(y=positive.astype(int))


def _outwards(number: float) -> float:
    """Two significant digits, upwards.

    Examples
    --------
    >>> _outwards(0.2104), _outwards(9.31)
    (0.22, 9.4)
    """
    unit = 10.0 ** (np.floor(np.log10(number)) - 1.0)
    return float(f"{np.ceil(round(number / unit, 9)) * unit:.2g}")


def _hospital(order: np.random.Generator, train: int, test: int) -> Sample:
    whole, schema = _main_hospital()
    frame = whole.iloc[order.permutation(len(whole))[: train + test]]
    ranked = sorted(datasets.cohort_importance().items(), key=lambda item: -item[1])
    return Sample(
        train=frame[:train],
        test=frame[train:],
        schema=dpglm.Schema.of(schema, rows=train),
        formula="diabetes ~ " + " + ".join(datasets.cohort_importance()),
        positive=(frame["diabetes"] == "yes").to_numpy()[train:],
        importance=dict(ranked),
        provenance="expert: the weights of the simulated doctors (dpglm.data.tables.datasets)",
    )


@lru_cache(maxsize=1)
def _main_hospital() -> tuple[pd.DataFrame, dpglm.Schema]:
    frame = dpglm.load_data(COHORT)
    return centred(frame[frame["site"] == "main"].reset_index(drop=True), find_schema(frame))


@lru_cache(maxsize=2)
def projected(name: str, columns: int) -> Projected:
    """Rows that are not public, on directions that two thirds of the public rows gave.

    The other third measures the standard deviations: on the rows that directions were fitted on they would be
    too large.
    """
    positive, read = _pictures() if name.startswith("mnist") else _documents()
    order = np.random.default_rng(20_261_123).permutation(len(positive))
    public, rest = np.split(order, [DESIGNS[name].public])
    X, fitted = read(public, public), 2 * len(public) // 3
    centre = X[:fitted].mean(axis=0)
    directions = _directions(X[:fitted] - centre, columns)
    deviations = ((X[fitted:] - centre) @ directions).std(axis=0)
    scores = np.vstack([(read(part, public) - centre) @ directions for part in np.array_split(rest, 8)])
    return Projected(scores, positive[rest], deviations)


Read = Callable[[IntVector, IntVector], FloatMatrix]


def _pictures() -> tuple[BoolVector, Read]:
    """Pixels from 0 to 1; which pictures are eights."""
    found = real_tables.arrays("mnist_0v8").load()
    pixels = np.vstack([found["X_train"], found["X_test"]])
    digits = np.concatenate([found["digit_train"], found["digit_test"]])

    def read(rows: IntVector, public: IntVector) -> FloatMatrix:
        return np.asarray(pixels[rows] / 255.0, dtype=np.float64)

    return digits == 8, read


def _documents() -> tuple[BoolVector, Read]:
    """Logarithms of counts, weighed by how rare a word is in public rows, scaled to length 1."""
    from scipy import sparse

    found = real_tables.arrays("newsgroups_sci_talk").load()
    counts = sparse.csr_matrix(
        (found["data"], found["indices"], found["indptr"]), shape=tuple(found["shape"])
    )

    def read(rows: IntVector, public: IntVector) -> FloatMatrix:
        seen = np.asarray((counts[public] > 0).sum(axis=0)).ravel()
        words = np.asarray(counts[rows].toarray(), dtype=np.float64)
        words[words > 0.0] = 1.0 + np.log(words[words > 0.0])
        words *= 1.0 + np.log((1.0 + len(public)) / (1.0 + seen))
        lengths = np.linalg.norm(words, axis=1, keepdims=True)
        return np.asarray(words / np.where(lengths > 0.0, lengths, 1.0), dtype=np.float64)

    return found["y"] == 1, read


def _directions(X: FloatMatrix, columns: int) -> FloatMatrix:
    """Leading principal directions, shape (p, columns), by the smaller of the two products."""
    if len(X) < X.shape[1]:
        values, left = np.linalg.eigh(X @ X.T)
        found = X.T @ left[:, ::-1][:, :columns] / np.sqrt(values[::-1][:columns])
    else:
        found = np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :columns]
    # The sign of a direction is arbitrary: its largest entry is made positive.
    largest = np.abs(found).argmax(axis=0)
    return np.asarray(found * np.sign(found[largest, np.arange(columns)]), dtype=np.float64)
