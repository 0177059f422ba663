"""A simulated design: its rows, what is declared of them, its response, and the coefficients to cover."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import patsy

import dpglm
from dpglm.spec.plan import Plan
from dpglm.typing import FloatMatrix, FloatVector
from studies.coverage.designs.columns import Block
from studies.coverage.designs.laws import Binary, Law
from studies.coverage.designs.likelihood import maximum, standard_errors
from studies.coverage.grid import seed_of

if TYPE_CHECKING:
    import pandas as pd

Half = Literal["set", "judged"]


@dataclass(frozen=True, kw_only=True)
class Design:
    """One simulated design.

    Parameters
    ----------
    name, about : str
    kind : str
        What it puts to the test, of the registry; both halves have designs of every kind.
    half : {"set", "judged"}
        Constants of the procedure may be chosen on the first, and never on the second.
    n : int
        Number of rows.
    p : int
        Number of coefficients of the formula, the intercept among them.
    columns : tuple of Block
    coefficients : mapping
        True ones by name, of the formula that responses come from; absent ones are 0.
    law : Law
        Of the response given its predictor.
    terms : str
        Right-hand side of the formula that is fitted; empty for all columns.
    true_terms : str
        That of the formula that responses come from, where it is another one.
    known : bool
        Whether the procedure was tried on it, or on its like, before it took its present form.
    """

    name: str
    about: str
    kind: str = ""
    half: Half
    n: int
    p: int
    columns: tuple[Block, ...]
    coefficients: Mapping[str, float]
    law: Law = field(default_factory=Binary)
    terms: str = ""
    true_terms: str = ""
    known: bool = False

    @property
    def formula(self) -> str:
        """The formula that is fitted."""
        return f"y ~ {self.terms or ' + '.join(self._declared())}"

    @property
    def fingerprint(self) -> str:
        """Results of a design that was changed later belong to another one.

        Last digits of shares, which follow from powers, depend on the processor and do not count.
        """
        about = {name: value for name, value in vars(self).items() if name not in ("about", "half", "known")}
        text = re.sub(r"\d+\.\d{13,}", lambda found: f"{float(found[0]):.12g}", repr(about))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def schema(self) -> dpglm.Schema:
        """What is public."""
        return dpglm.Schema.of({**self._declared(), "y": self.law.declared()}, unit="one row")

    def rows(self) -> pd.DataFrame:
        """The columns, drawn from a seed that belongs to the name; factors are categorical."""
        import pandas as pd

        random = np.random.default_rng(seed_of("designs", self.name, "rows"))
        found: dict[str, np.ndarray[tuple[int], np.dtype[np.generic]]] = {}
        for block in self.columns:
            found |= block.draw(random, self.n, found)
        levels = {name: public for name, public in self._declared().items() if isinstance(public, list)}
        return pd.DataFrame(
            {
                name: pd.Categorical(column, categories=levels[name]) if name in levels else column
                for name, column in found.items()
            }
        )

    def _declared(self) -> dict[str, object]:
        return {name: public for block in self.columns for name, public in block.declared().items()}


@dataclass(frozen=True, eq=False)
class ReadyDesign:
    """A design with its rows, what is true of them, and their fits; see `studies.coverage.cell.Ready`.

    Parameters
    ----------
    design : Design
    frame : DataFrame
        The columns.
    X : ndarray, shape (n, p)
        The columns of the formula that is fitted.
    names : tuple of str
        Their names.
    beta : ndarray, shape (p,)
        What is to be covered: the coefficients that maximise the expected likelihood of these rows. Where the
        model is right these are the true ones.
    predictor : ndarray, shape (n,)
        That responses are drawn from.
    """

    design: Design
    frame: pd.DataFrame
    X: FloatMatrix
    names: tuple[str, ...]
    beta: FloatVector
    predictor: FloatVector

    @classmethod
    def of(cls, design: Design) -> Self:
        """Rows and truth."""
        frame = design.rows()
        true, true_names = columns_of(design.true_terms or design.formula[4:], frame)
        X, names = columns_of(design.formula[4:], frame)
        unknown = set(design.coefficients) - set(true_names)
        assert not unknown, f"true coefficients of no column: {sorted(unknown)}"
        coefficients = np.array([design.coefficients.get(name, 0.0) for name in true_names])
        predictor = true @ coefficients
        start = np.array([design.coefficients.get(name, 0.0) for name in names])
        beta = maximum(X, design.law.mean(predictor), design.law.family, start, ridge=0.0)
        return cls(design, frame, X, names, beta, predictor)

    @property
    def name(self) -> str:
        return self.design.name

    @property
    def family(self) -> str:
        return self.design.law.family

    @property
    def formula(self) -> str:
        return self.design.formula

    @property
    def schema(self) -> dpglm.Schema:
        return self.design.schema()

    def response(self, number: int) -> FloatVector:
        """The response of a replication, shape (n,): the same for every budget."""
        random = np.random.default_rng(seed_of("designs", self.design.name, number, "response"))
        return self.design.law.draw(random, self.predictor)

    def nonprivate(self, number: int) -> tuple[FloatVector, FloatVector]:
        """Maximum likelihood on the user's columns; kept for the other cells of the design."""
        return _nonprivate(self, number)

    def naive_errors(self, y: FloatVector, beta: FloatVector) -> FloatVector:
        """From the information at ``beta``."""
        return standard_errors(self.X, y, self.family, beta)

    def fit(self, plan: Plan, y: FloatVector, seed: int) -> dpglm.FitResult:
        """The plan on the rows, as a user runs it."""
        found = plan.fit(self.frame.assign(y=y), seed=seed, progress=False)
        assert isinstance(found, dpglm.FitResult)
        return found


@lru_cache(maxsize=1_000)
def _nonprivate(ready: ReadyDesign, number: int) -> tuple[FloatVector, FloatVector]:
    y = ready.response(number)
    beta = maximum(ready.X, y, ready.family, ready.beta)
    return beta, standard_errors(ready.X, y, ready.family, beta)


def columns_of(terms: str, frame: pd.DataFrame) -> tuple[FloatMatrix, tuple[str, ...]]:
    """Columns of the right-hand side of a formula as patsy makes them, and their names."""
    matrix = patsy.dmatrix(terms, frame)
    return np.asarray(matrix, dtype=np.float64), tuple(matrix.design_info.column_names)
