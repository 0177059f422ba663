"""The specification of a model as plain values: the shape that it has in a saved file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dpglm.postprocessing.codec import plain_copy
from dpglm.privacy.budget import Privacy

Goal = Literal["explain", "predict", "select"]


@dataclass(frozen=True)
class Choice:
    """A registered class by name, with those of its options that differ from their defaults.

    Examples
    --------
    >>> Choice("elastic_net", {"l1_ratio": 0.9}).name
    'elastic_net'
    """

    name: str
    options: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", plain_copy(self.options, "options"))


@dataclass(frozen=True)
class SpecificationDocument:
    """All that was asked for, public and complete: a plan follows from it.

    Attributes
    ----------
    formula : str
    schema : mapping
        As `Schema.to_dict` writes it.
    family, penalty, method : Choice
        The method that was used; never ``"auto"``.
    strength : float, "cv" or None
        As the user gave it, per row.
    goal : {"explain", "predict", "select"}
    privacy : Privacy or None
        The budget with its unit; None without privacy.
    """

    formula: str
    schema: Mapping[str, object]
    family: Choice
    penalty: Choice
    method: Choice
    strength: float | Literal["cv"] | None
    goal: Goal
    privacy: Privacy | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", plain_copy(self.schema, "schema"))

    @property
    def rows(self) -> int | None:
        """Number of rows as the schema declares it."""
        rows = self.schema.get("rows")
        return rows if isinstance(rows, int) else None
