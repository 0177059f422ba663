"""The number of fuzz cases, told at the end of a run, also where tests run side by side."""

from __future__ import annotations

from typing import Any

PROPERTY = "fuzz cases"


def print_cases(terminalreporter: Any) -> None:
    """One line for all cases; reports bring the numbers from the processes that ran them."""
    totals: dict[str, int] = {}
    refused = 0
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) != "teardown":
                continue
            for name, value in getattr(report, "user_properties", ()):
                if name == PROPERTY:
                    test = report.nodeid.partition("::")[0].rpartition("/")[2]
                    totals[test] = totals.get(test, 0) + value[0]
                    refused += value[1]
    if totals:
        parts = ", ".join(f"{name} {count:,}" for name, count in sorted(totals.items()))
        terminalreporter.write_line(
            f"fuzz: {sum(totals.values()):,} cases, {refused:,} refused by a documented error ({parts})"
        )
