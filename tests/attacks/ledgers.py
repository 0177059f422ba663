"""What attacks on a ledger need: guarantees, files written by other hands, and processes of their own."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dpglm
from dpglm.ledger import log
from dpglm.privacy.guarantee import Guarantee

# What a ledger is made of in a notebook.
TAGS = {"div", "table", "caption", "thead", "tbody", "tr", "th", "td"}

ROOT = Path(dpglm.__file__).parents[1]

OPENING: Mapping[str, Any] = {
    "format": log.FORMAT,
    "ledger": "00",
    "when": "2024-01-01T00:00:00Z",
    "dataset": "ward-7",
    "definition": "pure",
    "epsilon": "1.0",
    "delta": "0.0",
    "mu": None,
    "relation": "replace-one",
    "unit": "one row",
}
CHARGE: Mapping[str, Any] = {
    "when": "2024-01-01T00:00:00Z",
    "what": "y ~ x",
    "status": "charged",
    "epsilon": "0.1",
    "delta": "0.0",
    "mu": None,
    "relation": "replace-one",
    "unit": "one row",
}


def pure(epsilon: float, *, unit: str = "one row") -> Guarantee:
    return Guarantee(epsilon=epsilon, delta=0.0, definition="pure", relation="replace-one", unit=unit)


def forged(path: Path, opening: Mapping[str, Any] | str, *entries: Mapping[str, Any] | str) -> Path:
    """A ledger file whose chain is whole, with lines that ``dpglm.Ledger`` did not write."""

    def text(line: Mapping[str, Any] | str) -> str:
        return line if isinstance(line, str) else json.dumps(line)

    lines: list[log.Line] = []
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")  # a test need not survive a power cut
    connection.execute("BEGIN")
    for statement in (*log.TABLES, *log.TRIGGERS):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {log.APPLICATION_ID}")
    connection.execute("INSERT INTO head VALUES (0, 0, '')")
    for said in (opening, *entries):
        lines.append(log._next(lines[-1] if lines else None, text(said)))
        log._insert(connection, lines[-1])
        log._advance(connection, lines[-1])
    connection.execute("COMMIT")
    connection.close()
    return path


def ran(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Python code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
