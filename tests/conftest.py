"""Shared by all tests: hypothesis draws the same examples every time, a share of them in ``make test``.

A law is written with the number of examples that a release deserves. ``make audit`` (``--thorough``) draws
them all; ``make test`` draws a fifth of them, at least five, so that a change is judged in minutes.
"""

import gc
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.audits.table import print_audits
from tests.fuzz.counting import print_cases

# Importing it registers pieces for the rest of the process.
collect_ignore = ["one_file"]
SHARE, LEAST = 5, 5
# Collecting parses some two hundred files: nothing of that is garbage.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="laws draw all of their examples, as audits do")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Laws belong to the audits where all their examples are drawn; elsewhere they draw a share."""
    thorough, seen = config.getoption("--thorough"), set[int]()
    for item in items:
        law = getattr(item, "obj", None)
        if not is_hypothesis_test(law):
            continue
        if thorough:
            item.add_marker("audit")
        elif id(law) not in seen:
            seen.add(id(law))
            _draw_a_share(law)


def _draw_a_share(law: Any) -> None:
    written = law._hypothesis_internal_use_settings
    count = min(written.max_examples, max(LEAST, math.ceil(written.max_examples / SHARE)))
    law._hypothesis_internal_use_settings = settings(written, max_examples=count)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: a collection of garbage need not walk through it."""
    gc.enable()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tables of the whole run: the process that prints collects no folder where tests run side by side."""
    print_audits(terminalreporter)
    print_cases(terminalreporter)


settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=False,
)
settings.load_profile("repeatable")
