"""Shared by all tests: hypothesis draws the same examples every time."""

from hypothesis import HealthCheck, settings

from tests.fuzz.counting import pytest_terminal_summary

# A hook of the whole run: the process that prints does not collect tests/fuzz where tests run side by side.
__all__ = ["pytest_terminal_summary"]

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=False,
)
settings.load_profile("repeatable")
