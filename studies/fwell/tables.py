"""The paper's six tables with public bounds, in the coding that rankings and classifiers read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

import dpglm
from dpglm.data.coding.unit_box import UnitBox
from dpglm.typing import FloatMatrix, FloatVector, IntVector
from studies import real_tables

if TYPE_CHECKING:
    import pandas as pd

# Expression levels are read between these, the usual thresholds of the chips, as logarithms.
CHIP = (20.0, 16_000.0)
# The four largest of the nineteen classes of Soybean, 40 plants each, against the others.
LARGEST = ("alternarialeaf-spot", "brown-spot", "frog-eye-leaf-spot", "phytophthora-rot")


@dataclass(frozen=True)
class Entry:
    """A table of the paper's Table I: its title here, what the paper prints, and its response."""

    title: str
    printed: tuple[str, int, int]  # name, samples, features
    task: str
    large: bool = False


# In the order of the paper's figures: panel i of a figure here is its i-th figure.
TABLES = {
    "basehock": Entry(
        "BASEHOCK",
        ("BASEHOCK", 1993, 4863),
        "baseball against hockey; a word is there or not",
        large=True,
    ),
    "lung_gordon": Entry(
        "Lung",
        ("Lung", 203, 12600),
        "mesothelioma against adenocarcinoma (Gordon and others, 2002), since the 203 tissues of the "
        "paper were not found; logarithms of levels between 20 and 16,000",
        large=True,
    ),
    "sonar": Entry("Sonar", ("Sonar", 208, 60), "mine against rock"),
    "soybean": Entry(
        "Soybean",
        ("Soybean", 307, 34),
        "the four largest of 19 classes against the others; the paper has 2 classes and does not say which",
    ),
    "waveform": Entry("Waveform", ("Wave form", 3343, 20), "waves 1 and 2 of three"),
    "wdbc": Entry("WDBC", ("Wdbc", 569, 30), "malignant against benign"),
}


@dataclass(frozen=True, eq=False)
class Sample:
    """A table, and the same rows in the unit box.

    Parameters
    ----------
    frame : DataFrame
    schema : Schema
        Without a number of rows.
    formula : str
    X : ndarray, shape (n, columns)
        Missing values in the middle.
    y : ndarray, shape (n,)
        0 or 1.
    owner : ndarray, shape (columns,)
        The place of each column's feature.
    features : tuple of str
    """

    frame: pd.DataFrame
    schema: dpglm.Schema
    formula: str
    X: FloatMatrix
    y: FloatVector
    owner: IntVector
    features: tuple[str, ...]

    def schema_of(self, rows: int) -> dpglm.Schema:
        """The schema of a part of the rows, whose number is public where rows are exchanged."""
        return replace(self.schema, rows=rows)

    @property
    def majority(self) -> float:
        """Share of the larger class."""
        share = float(self.y.mean())
        return max(share, 1.0 - share)


def missing(name: str) -> str | None:
    """Why a table cannot be studied here; None where it can."""
    if find_spec("sklearn") is None:
        return "scikit-learn is not installed: pip install 'dpglm[test]'"
    return None if real_tables.available(name) else real_tables.absence(name)


@lru_cache(maxsize=1)
def sample(name: str, rows: int | None) -> Sample:
    """The table called ``name``, or its first ``rows`` rows."""
    read: dict[str, Callable[[], tuple[pd.DataFrame, dpglm.Schema, str]]] = {
        "basehock": _words,
        "lung_gordon": _genes,
        "soybean": _plants,
    }
    frame, schema, response = read[name]() if name in read else _declared(name)
    frame = frame.iloc[:rows]
    formula = f"{response} ~ ."
    box = UnitBox.of(formula, schema)
    chunks = list(box.table(frame).chunks())
    X = np.concatenate([chunk.X.T for chunk in chunks])
    y = np.concatenate([chunk.y for chunk in chunks])
    return Sample(frame, schema, formula, np.where(np.isnan(X), 0.5, X), y, box.owner, box.features)


def folds(y: FloatVector, repeat: int, count: int) -> list[tuple[IntVector, IntVector]]:
    """Rows to fit and rows to test of each fold, each with its share of both classes."""
    from sklearn.model_selection import StratifiedKFold

    dealt = StratifiedKFold(count, shuffle=True, random_state=repeat)
    return list(dealt.split(np.zeros((len(y), 1)), y))


def _declared(name: str) -> tuple[pd.DataFrame, dpglm.Schema, str]:
    real = real_tables.table(name)
    frame = real.frame()
    # Rows come sorted by class: the first ones of a shuffled table have both.
    return frame.sample(frac=1.0, random_state=0), real.schema(), real.response


def _plants() -> tuple[pd.DataFrame, dpglm.Schema, str]:
    frame, schema, response = _declared("soybean")
    told = frame[response].isin(LARGEST)
    frame = frame.assign(**{response: np.where(told, "large", "other")})
    levels = dpglm.Categorical(("other", "large"), source="the four largest classes against the others")
    return frame, replace(schema, variables={**schema.variables, response: levels}), response


def _words() -> tuple[pd.DataFrame, dpglm.Schema, str]:
    from scipy import sparse

    found = real_tables.arrays("basehock").load()
    parts = (found["data"], found["indices"], found["indptr"])
    counts = sparse.csr_matrix(parts, shape=tuple(found["shape"])).toarray()
    return _numbered(np.minimum(counts, 1), found["y"] == 2, (0.0, 1.0))


def _genes() -> tuple[pd.DataFrame, dpglm.Schema, str]:
    found = real_tables.arrays("lung_gordon").load()
    low, high = CHIP
    return _numbered(
        np.log2(np.clip(found["X"], low, high)), found["y"] == 1, (math.log2(low), math.log2(high))
    )


def _numbered(
    X: FloatMatrix, second: np.ndarray, bounds: tuple[float, float]
) -> tuple[pd.DataFrame, dpglm.Schema, str]:
    """Columns without names of their own, with the same bounds."""
    import pandas as pd

    names = [f"x{place:05d}" for place in range(X.shape[1])]
    frame = pd.DataFrame(np.asarray(X, dtype=np.float64), columns=names).assign(y=second.astype(int))
    return frame, dpglm.Schema.of({**dict.fromkeys(names, bounds), "y": [0, 1]}), "y"
