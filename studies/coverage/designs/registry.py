"""All simulated designs by name."""

from __future__ import annotations

from dataclasses import replace

from studies.coverage.designs.cases import CASES
from studies.coverage.designs.design import Design
from studies.coverage.designs.variations import VARIATIONS

DESIGNS: dict[str, Design] = {
    one.name: replace(one, kind=kind) for kind, group in (CASES | VARIATIONS).items() for one in group
}
