"""A release or a method without an audit, or with one that catches no twin, fails here."""

from __future__ import annotations

import inspect

import pytest

import dpglm
import dpglm.mechanisms
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.exact import ExactMinimiser
from dpglm.methods.base import methods
from dpglm.papers.radmm.dp_admm import DPADMM
from dpglm.papers.stacking.parts import OnPart
from dpglm.papers.stacking.pst_f import PSTF
from dpglm.papers.stacking.pst_s import PSTS
from dpglm.papers.stacking.transfer import PPHTL, PSTH
from tests.audits import (
    test_counts,
    test_curvature,
    test_gradient,
    test_iterative,
    test_methods,
    test_minimiser,
    test_moments,
    test_output,
    test_pair,
    test_shortened,
    test_stacks,
)
from tests.audits.harness import LESS, Case

FILES = (
    test_counts,
    test_curvature,
    test_gradient,
    test_iterative,
    test_methods,
    test_minimiser,
    test_moments,
    test_output,
    test_pair,
    test_shortened,
    test_stacks,
)
CASES: list[Case] = [case for file in FILES for case in file.CASES]
RELEASES = [
    kind
    for kind in vars(dpglm.mechanisms).values()
    if inspect.isclass(kind) and issubclass(kind, Release) and not inspect.isabstract(kind)
]
# Without a claim there is nothing to audit: it has no price and is refused below.
UNCLAIMED = {"ExactMinimiser", "LHA", "NonPrivate", "PrintedDPSC", "PrintedMPADMM"}
# Refused under add-remove.
BY_PLACE = {DPADMM, OnPart, PPHTL, PSTF, PSTH, PSTS}
AUDITED = [kind for kind in (*RELEASES, *methods.classes().values()) if kind.__name__ not in UNCLAIMED]


@pytest.mark.parametrize("kind", AUDITED, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_everything_that_claims_has_an_audit_and_a_twin_with_a_fifth_less_noise(
    kind: type, relation: str
) -> None:
    if kind in BY_PLACE and relation == "add-remove":
        pytest.skip("rows dealt by place are refused where places are private")
    assert [
        case
        for case in CASES
        if case.subject is kind and case.claim.relation == relation and case.part == LESS
    ]


def test_case_titles_name_one_case_each() -> None:
    names = [str(case) for case in CASES]
    assert len(names) == len(set(names))


def test_what_claims_nothing_has_no_price() -> None:
    with pytest.raises(AssertionError, match="no price"):
        ExactMinimiser.events(None, "add-remove")  # type: ignore[arg-type]
    schema = {"y": ["no", "yes"], "x": (0, 1)}
    with pytest.raises(dpglm.errors.PrivacyError):
        dpglm.plan("y ~ x", schema, n=10, privacy=None)  # type: ignore[arg-type]
