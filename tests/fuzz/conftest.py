"""How many cases a property runs through, and their count.

``make test`` draws the same examples every time. ``make audit`` draws more of them; with ``DPGLM_FUZZ_SEED``
set to a number it draws others, and a failure is repeated by the same number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, settings

from tests.fuzz.counting import PROPERTY
from tests.fuzz.documented import SENTINEL, Counter

QUICK, LONG = 0.25, 4.0


@pytest.fixture(params=[QUICK, pytest.param(LONG, marks=pytest.mark.audit)], ids=["quick", "long"])
def drawn(request: pytest.FixtureRequest) -> Callable[[int], Callable[[Any], Any]]:
    """Settings: ``drawn(cases)`` decorates a law; a fourth in `make test`, four times in `make audit`."""
    effort: float = request.param
    seed = os.environ.get("DPGLM_FUZZ_SEED") if effort > 1 else None

    def of(cases: int) -> Callable[[Any], Any]:
        def decorate(law: Any) -> Any:
            chosen = settings(
                max_examples=max(1, round(cases * effort)),
                derandomize=seed is None,
                database=None,
                suppress_health_check=list(HealthCheck),
            )(law)
            return chosen if seed is None else hypothesis.seed(int(seed))(chosen)

        return decorate

    return of


@pytest.fixture(autouse=True)
def _counted(request: pytest.FixtureRequest) -> Iterator[None]:
    cases, refused = Counter.cases, Counter.refused
    Counter.timed = request.node.get_closest_marker("audit") is not None
    os.environ.pop(SENTINEL, None)
    yield
    found = (Counter.cases - cases, Counter.refused - refused)
    if found[0]:
        request.node.user_properties.append((PROPERTY, found))
