"""Before lines are compared, what runs once in a process has run."""

import pytest

from tests.replay.neighbours import DRESSES
from tests.replay.studies import Study, everything


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    """Imports inside functions, templates and patsy's tables."""
    rows = [{"y": "no", "z": 1.0, "k": 2, "x": 0.5, "w": None, "g": "a"}] * 2
    for dress in DRESSES.values():
        Study().fit(dress(rows))
    for family in ("binomial", "gaussian", "poisson"):
        everything(Study(family, budget="approximate").fit(DRESSES["objects"](rows)), plots=True)


@pytest.fixture(params=[1, pytest.param(12, marks=pytest.mark.audit)], ids=["quick", "long"])
def effort(request: pytest.FixtureRequest) -> int:
    """How many times the examples of `make test` a law draws: 12 times as many in `make audit`."""
    found: int = request.param
    return found
