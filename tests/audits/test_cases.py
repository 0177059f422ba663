"""A release or a method without an audit, or with one that catches no twin, fails here."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import dpglm
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.exact import ExactMinimiser
from dpglm.methods.base import methods
from tests.audits.harness import LESS, Case

HERE = Path(__file__).parent
FILES = [path for path in sorted(HERE.rglob("test_*.py")) if path != Path(__file__)]
MODULES = [import_module(".".join(path.relative_to(HERE.parents[1]).with_suffix("").parts)) for path in FILES]
CASES: list[Case] = [case for module in MODULES for case in getattr(module, "CASES", ())]


def concrete(kind: type[Release]) -> Iterator[type[Release]]:
    """Every class of the package below this one that can be made."""
    for below in kind.__subclasses__():
        if not inspect.isabstract(below) and below.__module__.startswith("dpglm."):
            yield below
        yield from concrete(below)


# Listing the methods imports all of them, and with them every release that a method can plan.
METHODS = list(methods.classes().values())
RELEASES = sorted(set(concrete(Release)), key=lambda kind: kind.__name__)
# Without a claim there is nothing to audit: it has no price and is refused below.
UNCLAIMED = {"ExactMinimiser", "LHA", "NeighbourWeights", "NonPrivate", "PrintedDPSC", "PrintedMPADMM"}
# Refused under add-remove.
BY_PLACE = {"DPADMM", "OnBlocks", "OnPart", "PPHTL", "PSTF", "PSTH", "PSTS", "RandomStopping", "Tune"}
AUDITED = [kind for kind in (*RELEASES, *METHODS) if kind.__name__ not in UNCLAIMED]


@pytest.mark.parametrize("kind", AUDITED, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_everything_that_claims_has_an_audit_and_a_twin_with_a_fifth_less_noise(
    kind: type, relation: str
) -> None:
    if kind.__name__ in BY_PLACE and relation == "add-remove":
        pytest.skip("rows dealt by place are refused where places are private")
    assert [
        case
        for case in CASES
        if case.subject is kind and case.claim.relation == relation and case.part == LESS
    ]


def test_the_releases_are_found() -> None:
    assert {"PerturbedMinimiser", "SecondMoments", "Gradient", "Information"} <= {
        k.__name__ for k in RELEASES
    }


def test_case_titles_name_one_case_each() -> None:
    names = [str(case) for case in CASES]
    assert len(names) == len(set(names))


def test_what_claims_nothing_has_no_price() -> None:
    with pytest.raises(AssertionError, match="no price"):
        object.__new__(ExactMinimiser).events("add-remove")
    schema = {"y": ["no", "yes"], "x": (0, 1)}
    with pytest.raises(dpglm.errors.PrivacyError):
        dpglm.plan("y ~ x", schema, n=10, privacy=None)  # type: ignore[arg-type]
