"""Holders and a coordinator in processes of their own, killed at every step: charged once, drawn once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.effort import quick
from tests.rooms.papers.exchange.killed import SITES

pytestmark = [
    pytest.mark.papers,
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, so that they begin at once"),
]


def killed(folder: Path, *arguments: str | int) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.rooms.papers.exchange.killed", str(folder), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1500)
    return [json.loads(line) for line in done.stdout.splitlines()]


def require_whole(outcome: dict[str, Any]) -> None:
    assert outcome["errors"] == []
    assert outcome["same_fit"]
    assert set(outcome["sites"]) == set(SITES)
    for site in outcome["sites"].values():
        assert site["charges"] == ["charged"]
        assert site["charged_first"]
        assert site["same_bytes"]
        assert not site["drawn_again"]
        assert site["same_transcript"]
        assert site["names"] == ["ask 0", "ask 1", "start"]


@pytest.mark.parametrize(
    ("who", "first", "stride", "most"),
    quick(
        [("north", 1, 9, 27), ("coordinator", 17, 30, 76), ("north", 0, 1, 100), ("coordinator", 0, 1, 200)],
        ("north", 1, 9, 27),
        ("coordinator", 17, 30, 76),
    ),
)
def test_a_process_killed_at_any_step_goes_on_and_nothing_is_charged_or_drawn_twice(
    who: str, first: int, stride: int, most: int, tmp_path: Path
) -> None:
    outcomes = killed(tmp_path, who, first, stride, most)
    assert sum(outcome["kills"][who] for outcome in outcomes) >= 2
    for outcome in outcomes:
        require_whole(outcome)
    if stride == 1:  # every step was tried: the last process ran through
        assert outcomes[-1]["kills"][who] == 0
        assert len(outcomes) > 20


@pytest.mark.audit
@pytest.mark.parametrize("step", range(4))
def test_everybody_may_be_killed_again_and_again(step: int, tmp_path: Path) -> None:
    (outcome,) = killed(tmp_path, "all", step, 1, step + 1)
    assert all(count >= 2 for count in outcome["kills"].values())
    require_whole(outcome)
