"""Cells of the study, and the seeds that belong to them."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from typing import Self, cast

from dpglm.privacy.budget import Relation
from studies.coverage.tables import TABLES

EPSILONS = (0.5, 1.0, 2.0, 4.0)
RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one")
DELTAS = {"approximate": 1e-6, "pure": 0.0}


@dataclass(frozen=True)
class Cell:
    """One table at one budget; `epsilon` None is the non-private fit of the same responses.

    Examples
    --------
    >>> Cell.parse("fair:1:add-remove").key
    'eps1-add-remove-approximate'
    """

    table: str
    epsilon: float | None = None
    relation: Relation = "add-remove"
    definition: str = "approximate"

    @property
    def private(self) -> bool:
        """Whether there is a private step."""
        return self.epsilon is not None

    @property
    def delta(self) -> float:
        """1e-6, or 0 for pure epsilon."""
        return DELTAS[self.definition]

    @property
    def key(self) -> str:
        """Name of its folder."""
        if self.epsilon is None:
            return "nonprivate"
        return f"eps{self.epsilon:g}-{self.relation}-{self.definition}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """One cell from ``table:epsilon:relation[:pure]``."""
        (cell,) = parse_cells(text)
        return cast(Self, cell)

    @classmethod
    def of_key(cls, table: str, key: str) -> Self:
        """The cell whose folder has this name."""
        if key == "nonprivate":
            return cls(table)
        epsilon, rest = key.removeprefix("eps").split("-", 1)
        relation, definition = rest.rsplit("-", 1)
        return cls(table, float(epsilon), cast(Relation, relation), definition)


def parse_cells(text: str) -> tuple[Cell, ...]:
    """Cells from a list with commas; ``*`` in a field stands for all it can be.

    Parameters
    ----------
    text : str
        ``table:epsilon:relation``, or with a fourth field ``pure`` or ``approximate`` (the default);
        ``all`` is ``*:*:*``.

    Raises
    ------
    ValueError
        What is not such a list.

    Examples
    --------
    >>> len(parse_cells("fair:*:*, randhie:1:add-remove:pure"))
    9
    """
    found: dict[Cell, None] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        fields = ("*:*:*" if item == "all" else item).split(":")
        if not 3 <= len(fields) <= 4:
            raise ValueError(f"cell {item!r}: expected table:epsilon:relation or table:epsilon:relation:pure")
        tables = _chosen(fields[0], tuple(TABLES), item)
        relations = _chosen(fields[2], RELATIONS, item)
        definitions = _chosen(fields[3] if len(fields) == 4 else "approximate", tuple(DELTAS), item)
        for one in itertools.product(tables, _epsilons(fields[1], item), relations, definitions):
            found[Cell(one[0], one[1], cast(Relation, one[2]), one[3])] = None
    return tuple(found)


def seed_of(*parts: object) -> int:
    """A seed of 128 bits that belongs to these words alone."""
    text = "coverage|" + "|".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])


def _chosen(field: str, known: tuple[str, ...], item: str) -> tuple[str, ...]:
    if field == "*":
        return known
    if field not in known:
        raise ValueError(f"cell {item!r}: {field!r} is none of {', '.join(known)}")
    return (field,)


def _epsilons(field: str, item: str) -> tuple[float, ...]:
    if field == "*":
        return EPSILONS
    try:
        epsilon = float(field)
    except ValueError:
        epsilon = -1.0
    if not 0.0 < epsilon < 1e6:
        raise ValueError(f"cell {item!r}: epsilon {field!r} is no positive number")
    return (epsilon,)
