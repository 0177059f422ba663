"""What a ranking of features is asked to do, the methods that can, and its plan: public facts alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.data.coding.unit_box import UnitBox
from dpglm.errors import MethodError
from dpglm.mechanisms.base import Rows
from dpglm.methods.base import Ask
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import MethodDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.registry import Registry
from dpglm.spec.plan import hashed
from dpglm.typing import FloatMatrix, FloatVector


@dataclass(frozen=True, eq=False)
class RankingProblem:
    """What is to be ranked, from public facts only.

    Parameters
    ----------
    formula : str
        As the user wrote it.
    box : UnitBox
        Features and response.
    privacy : Privacy or None
        The budget, for the unit of the schema.
    strength : float or None
        Of the regularisation per row, as in the paper.
    reference : pair of ndarray, or None
        Public rows in the unit box, of the first class and of the second.
    single_pass, paper_exact : bool
        Whether the paper's own minimisation, or its private algorithm, is asked for.
    """

    formula: str
    box: UnitBox
    privacy: Privacy | None
    strength: float | None = None
    reference: tuple[FloatMatrix, FloatMatrix] | None = None
    single_pass: bool = False
    paper_exact: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The options that differ from their defaults, as plain values."""
        given: dict[str, Any] = {"strength": self.strength, "single_pass": self.single_pass}
        given |= {"paper_exact": self.paper_exact}
        if self.reference is not None:
            given["reference"] = [hashed(np.asarray(part).tolist()) for part in self.reference]
        return {name: value for name, value in given.items() if value not in (None, False)}

    def by_feature(self, columns: FloatVector) -> FloatVector:
        """The largest number of each feature's columns, shape (features,)."""
        found = np.full(len(self.box.features), -np.inf)
        np.maximum.at(found, self.box.owner, columns)
        return found


@dataclass(frozen=True, eq=False)
class Weights:
    """What a method found.

    Attributes
    ----------
    values : ndarray, shape (features,)
        The larger, the better a feature tells the classes apart.
    deviation : float or None
        Standard deviation of the noise of a weight of one column, at most; None where it is not known.
    """

    values: FloatVector
    deviation: float | None


@dataclass(frozen=True, eq=False)
class RankingMethod(ABC):
    """A way to rank the features of a problem: it plans releases and turns them into weights."""

    problem: RankingProblem

    name: ClassVar[str]
    # Which options of a problem it knows.
    takes: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def plan(self) -> PricedReleases:
        """The releases and their guarantee, before any row is read, or a MethodError from public facts."""

    def table(self, data: object) -> Rows:
        """The rows that the releases read; none is read yet."""
        return self.problem.box.table(data)

    @abstractmethod
    def weights(self, plan: PricedReleases, ask: Ask) -> Weights:
        """Ask for the planned releases and make weights of them."""

    @abstractmethod
    def algorithm(self) -> str:
        """How it works, in words."""


rankings: Registry[RankingMethod] = Registry("method of a ranking", "dpglm.papers")


@dataclass(frozen=True, eq=False)
class RankingPlan:
    """What a ranking releases and what that costs; a MethodError says what its method cannot do."""

    method: RankingMethod

    def __post_init__(self) -> None:
        unknown = sorted(self.problem.options.keys() - self.method.takes)
        if unknown:
            raise MethodError(
                f"{', '.join(unknown)} for method={self.method.name!r}",
                expected="options of this method",
                remedy="Leave it out, or use method='fwell'.",
            )

    @property
    def problem(self) -> RankingProblem:
        """What is ranked."""
        return self.method.problem

    @cached_property
    def priced(self) -> PricedReleases:
        """The releases with their guarantee."""
        return self.method.plan()

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        return self.priced.guarantee

    @cached_property
    def description(self) -> MethodDescription:
        """What is released, with sensitivity, noise and theorem."""
        return MethodDescription(
            self.method.algorithm(), releases=self.priced.describe(), why=self.priced.why()
        )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that was asked, of releases and guarantee, 64 hexadecimal digits."""
        content: Mapping[str, object] = {
            "formula": self.problem.formula,
            "features": self.problem.box.features,
            "schema": self.problem.box.schema.to_dict(),
            "method": self.method.name,
            "options": self.problem.options,
            "description": asdict(self.description),
            "guarantee": self.guarantee.to_dict(),
        }
        return hashed(content)
