"""All simulated designs by name."""

from __future__ import annotations

from studies.coverage.designs.cases import CASES
from studies.coverage.designs.design import Design
from studies.coverage.designs.variations import VARIATIONS

DESIGNS: dict[str, Design] = {one.name: one for one in (*CASES, *VARIATIONS)}
