"""Faults of a dask cluster of real processes: no wrong result, no second charge, no charge lost."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import dpglm
from dpglm.data.tables import cluster as module
from dpglm.errors import ClusterError
from tests.rooms.data.tables.test_cluster import FORMULA, SCHEMA, partitioned, table

pytestmark = pytest.mark.slow
CUTS = (0, 30_000, 45_001, 70_000)
BUDGET = (2.0, 1e-5)
ASKED: dict[str, Any] = {"schema": SCHEMA, "privacy": (1.0, 1e-6), "progress": False}
# How long a silent worker is waited for.
PATIENCE = "3s"


class Processes:
    """A scheduler at one port and two workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address, self._port = f"tcp://127.0.0.1:{port}", str(port)
        self._all: list[subprocess.Popen[bytes]] = []
        self.start()

    def start(self) -> None:
        """A scheduler, and workers for it."""
        options = "--host", "127.0.0.1", "--port", self._port, "--no-dashboard"
        self.scheduler = self._started("scheduler", *options)
        self.workers = [
            self._started("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
            for _ in range(2)
        ]

    def _started(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options]
        environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": PATIENCE}
        with (self._folder / f"{kind}.log").open("ab") as log:
            self._all.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
        return self._all[-1]

    def logs(self) -> str:
        """What all of them wrote."""
        return "".join(path.read_text() for path in self._folder.glob("*.log"))

    def stop(self) -> None:
        """All of them, those that hang, too."""
        for process in self._all:
            process.kill()
            process.wait()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    pytest.importorskip("distributed", reason="dpglm[dask] is not installed")
    found = Processes(tmp_path)
    try:
        yield found
    finally:
        found.stop()


@contextmanager
def client_of(processes: Processes) -> Iterator[Any]:
    import distributed

    with distributed.Client(processes.address, timeout="60s") as client:
        client.wait_for_workers(2, timeout=60)
        yield client


def at_first_sum(monkeypatch: pytest.MonkeyPatch, fault: Callable[[], object]) -> list[bool]:
    """Let the fault happen once, when a sum over the second piece is asked for; whether it did."""
    happened: list[bool] = []
    whole = module.packed

    def packed(part: Any, stretch: Any) -> Any:
        if not happened and stretch[0].home.piece == 1:
            happened.append(True)
            fault()
        return whole(part, stretch)

    monkeypatch.setattr("dpglm.data.tables.dask_frame.packed", packed)
    return happened


def test_a_worker_that_hangs_is_given_up_and_changes_nothing(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, ledger = table(), dpglm.Ledger(tmp_path / "a.ledger", budget=BUDGET)
    hangs = at_first_sum(monkeypatch, lambda: processes.workers[0].send_signal(signal.SIGSTOP))
    with client_of(processes):
        found = dpglm.fit(FORMULA, partitioned(frame, CUTS), seed=3, **ASKED)
        assert hangs
        assert found == dpglm.fit(FORMULA, frame, seed=3, **ASKED)
        dpglm.fit(FORMULA, partitioned(frame, CUTS), ledger=ledger, **ASKED)
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("again", [False, True], ids=["lost", "restarted"])
def test_a_scheduler_that_is_lost_ends_the_fit_which_stays_charged(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    frame, ledger = table(), dpglm.Ledger(tmp_path / "a.ledger", budget=BUDGET)

    def fault() -> None:
        processes.scheduler.kill()
        processes.scheduler.wait()
        if again:
            processes.start()

    with client_of(processes):
        lost = at_first_sum(monkeypatch, fault)
        with pytest.raises(ClusterError, match="stays charged") as caught:
            dpglm.fit(FORMULA, partitioned(frame, CUTS), ledger=ledger, **ASKED)
        assert lost
        assert caught.value.__cause__ is caught.value.__context__ is None
    assert len(ledger.entries) == 1
    if not again:
        processes.start()
    with client_of(processes):
        assert dpglm.fit(FORMULA, partitioned(frame, CUTS), seed=3, **ASKED) == dpglm.fit(
            FORMULA, frame, seed=3, **ASKED
        )


LOST = """
import os, signal, sys
import distributed
import dpglm
from dpglm.data.tables import dask_frame
from tests.rooms.data.tables.test_cluster import FORMULA, partitioned, table
from tests.rooms.data.tables.test_cluster_faults import ASKED, BUDGET, CUTS

address, ledger = sys.argv[1:]
dask_frame.packed = lambda part, stretch: os.kill(os.getpid(), signal.SIGKILL)
with distributed.Client(address, timeout="60s") as client:
    client.wait_for_workers(2, timeout=60)
    dpglm.fit(FORMULA, partitioned(table(), CUTS), ledger=dpglm.Ledger(ledger, budget=BUDGET), **ASKED)
"""


def test_a_client_that_is_lost_leaves_one_charge_and_no_rows_behind(
    processes: Processes, tmp_path: Path
) -> None:
    path = tmp_path / "a.ledger"
    command = [sys.executable, "-c", LOST, processes.address, str(path)]
    root = Path(__file__).parents[4]
    assert subprocess.run(command, cwd=root, check=False, timeout=300).returncode == -signal.SIGKILL
    ledger = dpglm.Ledger(path, budget=BUDGET)
    assert len(ledger.entries) == 1
    with client_of(processes) as client:
        frame = table()
        assert dpglm.fit(FORMULA, partitioned(frame, CUTS), seed=3, **ASKED) == dpglm.fit(
            FORMULA, frame, seed=3, **ASKED
        )
        deadline = time.monotonic() + 60
        while any(client.has_what().values()) and time.monotonic() < deadline:
            gc.collect()  # of what the second fit held
            time.sleep(0.1)
        assert not any(client.has_what().values())
    assert "Traceback" not in processes.logs()
