"""Candidates of a choice, and what it adds to a result: which was chosen among them, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpglm.glm.penalties import Penalty, penalties
from dpglm.methods.base import Method, methods
from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.frames import marked
from dpglm.postprocessing.parts import ResultPart, parts
from dpglm.postprocessing.record import FitRecord
from dpglm.registry import options_of, with_options
from dpglm.report.figure import Rows
from dpglm.report.section import Section, shown
from dpglm.tables.table import ABSENT, Fact, coefficient, percent
from dpglm.typing import FloatVector

if TYPE_CHECKING:
    import pandas as pd

# Bounds what a saved result may hold.
MOST_CANDIDATES = 100


@dataclass(frozen=True)
class Candidate:
    """One way to fit: a method, a penalty and its strength."""

    method: Method
    penalty: Penalty
    strength: float | Literal["cv"] | None

    def to_option(self) -> dict[str, object]:
        """As plain values, which a saved specification keeps."""
        return {
            "method": self.method.name,
            "method_options": options_of(self.method),
            "penalty": self.penalty.name,
            "penalty_options": options_of(self.penalty, without=["strength"]),
            "strength": self.strength,
        }

    @classmethod
    def of_option(cls, option: Mapping[str, Any]) -> Candidate:
        """The candidate that `to_option` wrote."""
        method = with_options(methods[option["method"]], option["method_options"])
        kind, strength = penalties[option["penalty"]], option["strength"]
        good = strength in (None, "cv") or (isinstance(strength, int | float) and 0.0 <= strength <= 1e100)
        if not good:
            raise ValueError
        return cls(method, with_options(kind, option["penalty_options"], without=["strength"]), strength)


def labels_of(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """What tells candidates apart, in words, such as ``"penalty=l2, strength=0.01"``."""
    told: list[dict[str, str]] = []
    for one in candidates:
        option = one.to_option()
        strength = "default" if one.strength is None else str(one.strength)
        words = {name: f"{option[name]} {option[f'{name}_options'] or ''}" for name in ("method", "penalty")}
        told.append({**{name: text.strip() for name, text in words.items()}, "strength": strength})
    varied = [name for name in told[0] if len({each[name] for each in told}) > 1] if told else []
    return tuple(", ".join(f"{name}={each[name]}" for name in varied) for each in told)


@parts.register("chosen")
@dataclass(frozen=True, eq=False)
class Chosen(ResultPart):
    """The candidates of `dpglm.tune`, and the one that had the least error on rows held out.

    Parameters
    ----------
    labels : tuple of str
        In the order of the grid, such as ``"penalty=l2, strength=0.01"``.
    index : int
        Of the chosen one.
    errors : ndarray, shape (m,) or (1,)
        Released mean squared errors, the response scaled to [0, 1]: of all, or of the chosen one alone.
    noise_sd : float
        Standard deviation of the noise on each of them; 0 without privacy.
    held_out : float
        Share of the rows.

    Examples
    --------
    >>> Chosen(("strength=1.0", "strength=0.1"), 1, np.array([0.2, 0.1]), 0.01, 0.2).title
    'a choice among 2 candidates'
    """

    labels: tuple[str, ...]
    index: int
    errors: FloatVector
    noise_sd: float
    held_out: float

    name: ClassVar[str] = "chosen"

    def __post_init__(self) -> None:
        count = len(self.labels)
        shapes = (count,), (1,)
        if not (0 <= self.index < count <= MOST_CANDIDATES and self.errors.shape in shapes):
            raise store_error("a choice that is not among its candidates", "an error and a name for each")

    @property
    def deals_rows(self) -> bool:
        """True: no row is both fitted and held out."""
        return True

    @property
    def title(self) -> str:
        """Among how many."""
        return f"a choice among {len(self.labels)} candidates"

    @property
    def all_tried(self) -> bool:
        """Whether every candidate was tried, and its error released."""
        return len(self.errors) == len(self.labels)

    @property
    def told(self) -> FloatVector:
        """The errors, shape (m,); NaN where none was released."""
        if self.all_tried:
            return self.errors
        return np.where(np.arange(len(self.labels)) == self.index, self.errors, np.nan)

    @property
    def why(self) -> str:
        """Why this one, in words."""
        if self.all_tried:
            return "of all candidates, it had the least error on the rows held out"
        return (
            "candidates were drawn at random, a secret number of times, and its fit had the least error on "
            "the rows held out; other errors were not released"
        )

    def facts(self, record: FitRecord) -> tuple[Fact, ...]:
        """The choice and its error, as label and text."""
        error = f"{coefficient(self.told[self.index])}, noise sd {coefficient(self.noise_sd)}"
        return (
            ("Chosen", f"{shown(self.labels[self.index], 120)} (of {len(self.labels)} candidates)"),
            ("Why", self.why),
            ("Held-out error", f"{error}: mean squared error on {percent(self.held_out)} of the rows"),
        )

    def no_intervals(self) -> str:
        """Why there are no standard errors."""
        return "an interval would not know of the choice, and no information matrix is released"

    def candidates(self, record: FitRecord) -> pd.DataFrame:
        """One row per candidate; see :meth:`FitResult.candidates`."""
        import pandas as pd

        told = self.told
        columns = {
            "candidate": list(self.labels),
            "error": told,
            "noise_sd": np.where(np.isnan(told), np.nan, self.noise_sd),
            "chosen": np.arange(len(self.labels)) == self.index,
        }
        return marked(pd.DataFrame(columns), record)

    def section(self, record: FitRecord) -> Section:
        """The section of the report."""
        rows = tuple(
            (
                shown(words, 120),
                coefficient(error) if np.isfinite(error) else ABSENT,
                "yes" if place == self.index else "",
            )
            for place, (words, error) in enumerate(zip(self.labels, self.told, strict=True))
        )
        table = Rows("Candidates", ("candidate", "error on rows held out", "chosen"), rows, numeric=(1,))
        content = {
            "candidates": table,
            "why": self.why,
            "noise_sd": coefficient(self.noise_sd),
            "held_out": percent(self.held_out),
        }
        return Section("chosen", "The choice among candidates", content)
