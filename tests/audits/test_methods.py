"""Every method keeps its claim as users audit it, with `dpglm.audit`; with less noise it is caught.

One twin of each method has 20 % less noise, the others of ``objective`` have 30 % less.

The tables are made of the schema, as in an audit by a user. A curvature and an estimate share the budget of
``objective`` with goal "explain", and no row attains both prices at once: the twin is caught by the rows of
the releases, each of which has its own claim.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dpglm
from dpglm.methods.output import Output
from dpglm.spec.plan import Plan
from tests.audits.harness import MUCH_LESS, Case, check, of_method, of_plan

BINARY = {"y": ["no", "yes"], "x": (0, 1)}
NUMBER = {"y": (0, 1), "x": (0, 1)}


def study(schema: dict[str, object], privacy: dpglm.Privacy, family: str, goal: str) -> Plan:
    formula = "y ~ x" if family == "gaussian" else "y ~ x - 1"
    return dpglm.plan(formula, schema, n=1000, privacy=privacy, family=family, goal=goal, penalty="none")


def cases() -> list[Case]:
    found = []
    for relation in ("add-remove", "replace-one"):
        large = dpglm.Privacy(2.0, 0.3, relation=relation)
        pure = dpglm.Privacy(2.0, relation=relation)
        mu = dpglm.Privacy.gdp(1.0, delta=0.05, relation=relation)
        found += [
            of_plan("pure", study(BINARY, pure, "binomial", "predict"), trials=8000),
            of_plan("approximate", study(BINARY, large, "binomial", "predict"), trials=4000, part=MUCH_LESS),
            of_plan(
                "with a curvature", study(BINARY, large, "binomial", "explain"), trials=4000, part=MUCH_LESS
            ),
            of_plan("approximate", study(NUMBER, large, "gaussian", "explain"), trials=6000),
            of_method("Gaussian", Output(), mu, trials=8000),
        ]
        if relation == "add-remove":
            plan = study(BINARY, mu, "binomial", "predict")
            found.append(of_plan("Gaussian", plan, trials=6000, part=MUCH_LESS))
    return found


CASES = cases()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)
