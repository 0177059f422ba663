"""Holders as tasks of a dask cluster, each on the worker where its table is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dpglm
from dpglm.errors import ExchangeError
from dpglm.exchange import Box, DaskQueues
from dpglm.exchange import dask_queues as module
from dpglm.spec.sites import site_seeds
from tests.rooms.papers.exchange.test_coordinator import RUN, TABLES, plan

pytestmark = [pytest.mark.papers, pytest.mark.slow]


def test_workers_hold_tables_and_a_client_coordinates(tmp_path: Path) -> None:
    distributed: Any = pytest.importorskip("distributed", reason="dpglm[dask] is not installed")
    which = plan()
    paths = {site: tmp_path / f"{site}.csv" for site in TABLES}
    for site, path in paths.items():
        TABLES[site].to_csv(path, index=False)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=len(TABLES), processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        carrier = DaskQueues(client)
        shared: dict[str, Any] = {"run": RUN, "transport": carrier, "timeout": 60.0}
        seeds = site_seeds(7, len(TABLES))
        held = [
            client.submit(
                dpglm.answer, which, paths[site], site=site, ledger=None, seed=seed, pure=False, **shared
            )
            for site, seed in zip(TABLES, seeds, strict=True)
        ]
        found = dpglm.coordinate(which, list(TABLES), **shared)
        transcripts = client.gather(held)
        assert carrier.receive(Box(RUN, "north", "asks"), 0.0) is None
    assert [transcript.run for transcript in transcripts] == [RUN] * len(TABLES)
    assert found == which.fit(paths, seed=7, progress=False)


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ExchangeError, match="no package distributed"):
        module.DaskQueues().send(Box(RUN, "north", "asks"), b"")
