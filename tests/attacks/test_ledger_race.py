"""Several processes fit from one ledger at once: no overspending, and no release without its charge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from dpglm.ledger.ledger import Ledger
from tests.attacks.ledgers import ROOT

RACERS, FITS = 3, 4
CODE = """
import json, sys
import pandas as pd
import dpglm
frame = pd.DataFrame({"y": ["no", "yes"] * 20, "x": [0.2, 0.8] * 20})
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    ledger = dpglm.Ledger(sys.argv[1], 2.0, dataset="race")
    try:
        fit = dpglm.fit("y ~ x", frame, schema={"y": ["no", "yes"], "x": (0, 1)}, privacy=0.3, ledger=ledger,
                        progress=False)
        print(json.dumps(["released", fit.ledger.spent_epsilon, len(fit.ledger.entries)]), flush=True)
    except dpglm.errors.BudgetExceeded:
        print(json.dumps(["refused"]), flush=True)
"""


@pytest.mark.slow
def test_processes_that_fit_at_once_release_what_the_budget_covers_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "race.ledger"
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", CODE, str(path), str(FITS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for _ in range(RACERS)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    told = []
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        output, _ = racer.communicate(timeout=120)
        assert racer.returncode == 0
        told += [json.loads(line) for line in output.splitlines()]
    released = [line for line in told if line[0] == "released"]
    entries = Ledger(path).entries
    assert len(told) == len(entries) == RACERS * FITS
    assert len(released) == 6  # 2.0 covers six of 0.3 and no seventh
    charged = [entry for entry in entries if entry.status == "charged"]
    assert len(charged) == len(released)
    assert sum(Decimal(repr(entry.epsilon)) for entry in charged) == Decimal("1.8")
    # Each release saw the ledger right after its own charge: no two of them the same.
    assert sorted(line[2] for line in released) == [entry.index for entry in charged]
    assert sorted(os.listdir(tmp_path)) == ["race.ledger"]
