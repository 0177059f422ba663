"""Shared by all tests: hypothesis draws the same examples every time."""

from typing import Any

from hypothesis import HealthCheck, settings

from tests.audits.table import print_audits
from tests.fuzz.counting import print_cases


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
