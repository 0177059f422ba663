"""What a method is: a plan of releases, and what it makes of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from dpglm.curator import Plan
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.privacy.budget import Privacy
from dpglm.registry import Registry
from dpglm.releases import Release
from dpglm.typing import BoolVector, FloatMatrix, FloatVector


class Geometry(Protocol):
    """The public coding of rows; lives in the data room."""

    @property
    def names(self) -> tuple[str, ...]:
        """The user's coefficients."""

    @property
    def user_from_coded(self) -> FloatMatrix:
        """User's coefficients from coded ones, shape (p, p)."""

    @property
    def coded_from_user(self) -> FloatMatrix:
        """Its inverse."""

    @property
    def penalised(self) -> BoolVector:
        """Which of the user's coefficients a penalty may touch."""


class Ask(Protocol):
    """How a method gets at rows: through releases only."""

    def __call__(self, release: Release, at: FloatVector | None = None) -> FloatVector:
        """Run a planned release."""


@dataclass(frozen=True)
class Problem:
    """What is to be fitted, from public facts only.

    ``strength`` is what the user gave: a number per row, "cv" or None. ``rows`` is a declared number of rows.
    """

    geometry: Geometry
    family: Family
    penalty: Penalty
    strength: float | str | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Estimate:
    """What a method found: coded and user's coefficients, and which were selected."""

    coded: FloatVector
    estimates: FloatVector
    selected: BoolVector
    facts: Mapping[str, Any] = field(default_factory=dict)


class Method(ABC):
    """An algorithm that plans releases and turns them into coefficients.

    Its options are fields; its name in ``fit(method=...)`` is the object with its defaults.
    """

    name: ClassVar[str]

    # How rows are coded: "centred", so that no row exceeds its bound, unless a method makes this a field.
    coding: Literal["centred", "reference"] = "centred"

    @abstractmethod
    def plan(self, problem: Problem, privacy: Privacy | None) -> Plan:
        """The releases and their guarantee, before any row is read.

        Raises
        ------
        MethodError
            The method cannot do what is asked; told from public facts.
        """

    @abstractmethod
    def solve(self, problem: Problem, plan: Plan, ask: Ask) -> Estimate:
        """Ask for the planned releases and make an estimate of them."""

    @abstractmethod
    def card(self, problem: Problem, plan: Plan) -> dict[str, Any]:
        """Public facts about the mechanism, JSON scalars, in reading order."""


methods: Registry[Method] = Registry("method")
