"""The table of audits at the end of a run, whichever process each test ran in."""

from __future__ import annotations

from typing import Any

HEADINGS = ("audited", "case", "claim", "epsilon >=", "draws", "less noise", "twin caught", "claim stands")


def print_audits(terminalreporter: Any) -> None:
    """A line an audit, honest and twin."""
    rows = [
        [str(cell) for cell in value]
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == "audit"
    ]
    if not rows:
        return
    widths = [max(len(row[place]) for row in [list(HEADINGS), *rows]) for place in range(len(HEADINGS))]
    terminalreporter.section("audits: lower bounds beside claims")
    for row in [list(HEADINGS), *sorted(rows)]:
        cells = (cell.ljust(size) for cell, size in zip(row, widths, strict=True))
        terminalreporter.write_line("  ".join(cells).rstrip())
    terminalreporter.write_line(
        f"{len(rows)} audits; draws on each of two tables, honest and twin each; bounds wrong with "
        "probability at most 1e-4 a row. An audit that finds nothing does not prove a claim."
    )
