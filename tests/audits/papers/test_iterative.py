"""Iterative methods, and one minimiser alone, keep their claims; with 20 % less noise they are caught.

A few rounds are enough to see what many do: every round has noise of its own, calibrated to all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dpglm
from dpglm.methods.base import Method
from dpglm.papers.dpsc.dpsc import DPSC
from dpglm.papers.radmm.admm import DPADMM, DPSGD, MPADMM, SSADMM
from dpglm.papers.stacking.pst import PLR
from tests.audits.harness import LESS, MUCH_LESS, RELATIONS, Case, check, of_method

METHODS: list[Method] = [
    DPSC(iterations=2),
    SSADMM(steps=2),
    MPADMM(steps=2),
    DPSGD(steps=2),
    DPADMM(steps=2, parties=2),
]


def cases() -> list[Case]:
    found = []
    for relation in RELATIONS:
        gdp = dpglm.Privacy.gdp(1.0, delta=0.05, relation=relation)
        exchanged = relation == "replace-one"
        for method in METHODS:
            if not isinstance(method, DPADMM) or exchanged:  # places are private otherwise
                trials = 20_000 if isinstance(method, DPSC) and exchanged else 8000
                found.append(of_method("Gaussian", method, gdp, trials=trials))
        if exchanged:
            found.append(of_method("Gaussian", PLR(), gdp, trials=8000))
        pure = dpglm.Privacy(2.0, relation=relation)
        part = MUCH_LESS if exchanged else LESS
        found.append(of_method("pure", DPSC(iterations=2), pure, trials=12_000, part=part))
    return found


CASES = cases()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)
