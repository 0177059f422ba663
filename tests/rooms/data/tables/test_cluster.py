"""Rows on a dask cluster: the same numbers to the last bit, and nothing of a row in logs or errors."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpglm
from dpglm.data.tables import cluster as module
from dpglm.data.tables import spark_frame
from dpglm.data.tables.cluster import ClusterRows, Failed, coded_piece, cuts_of, packed, summed, usable
from dpglm.errors import ClusterError, SchemaError
from dpglm.factor_rows import FactorRows, SimplexColumns
from dpglm.kept_rows import KeptRows, Remembered
from dpglm.rows import ROWS as ROWS_OF_CHUNK
from dpglm.rows import ArrayChunk, LazyChunk, total

ROWS = 70_000
# Partitions of very different lengths, none at all among them.
CUTS = (0, 5_000, 5_000, 45_001, 66_666, 69_999, ROWS)
SCHEMA = dpglm.Schema.of({"x": (-1, 1), "z": (0, 100), "g": ["a", "b", "c"], "y": [0, 1]})
COLUMNS = SCHEMA.to_dict()
BY_PERSON = dpglm.Schema.from_dict({**COLUMNS, "unit": {"column": "who", "rows": 3}})
FORMULA = "y ~ x + z + g"
HOSTILE = "Jane Doe, HIV positive"


def table(rows: int = ROWS) -> pd.DataFrame:
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"x": random.uniform(-1, 1, rows), "z": random.integers(0, 101, rows)})
    frame["g"] = random.choice(["a", "b", "c"], rows)
    frame["who"] = random.integers(0, rows // 3, rows).astype(str)
    return frame.assign(y=(random.random(rows) < 1 / (1 + np.exp(-2 * frame["x"]))).astype(int))


@given(st.lists(st.integers(0, 90_000), max_size=6))
def test_cuts_are_the_rows_in_order_in_pieces_like_those_of_every_table(lengths: list[int]) -> None:
    pieces = cuts_of(lengths)
    sizes = [sum(cut.stop - cut.start for cut in piece) for piece in pieces]
    assert sizes == [32_000] * (sum(lengths) // 32_000) + [sum(lengths) % 32_000] * (
        sum(lengths) % 32_000 > 0
    )
    rows = [(cut.partition, row) for piece in pieces for cut in piece for row in (cut.start, cut.stop - 1)]
    assert rows == sorted(rows)
    assert all(cut.stop > cut.start for piece in pieces for cut in piece)


class Here(ClusterRows):
    """A cluster in this process, whose messages are bytes as elsewhere."""

    def __init__(self, pieces: list[Any]) -> None:
        super().__init__([sum(chunk.count for chunk in piece) for piece in pieces])
        self.pieces, self.sent = pieces, b""

    def fetch(self, piece: int) -> Any:
        return self.pieces[piece]

    def sums(self, part: Any, stretches: Any) -> Iterator[Any]:
        for stretch in stretches:
            payload, numbers = packed(part, stretch)
            self.sent += payload
            yield usable(summed(payload, {number: self.pieces[number] for number in numbers}))


def chunks_of(value: float, counts: tuple[int, ...]) -> list[ArrayChunk]:
    return [ArrayChunk(np.full((1, k), value, dtype=np.float32), np.zeros(k), None) for k in counts]


def test_two_clusters_and_rows_here_are_summed_where_they_are() -> None:
    lengths = (ROWS_OF_CHUNK, 10)
    first, second = (Here([chunks_of(value, lengths), chunks_of(value, (3,))]) for value in (1.0, 10.0))
    every = [*first.chunks(), *second.chunks(), *chunks_of(100.0, (5,))]
    tripled = [LazyChunk.of(chunk, _tripled) for chunk in every]
    assert total(tripled, _sum_of) == 3 * ((ROWS_OF_CHUNK + 13) * 11 + 500)
    # What crosses is the function and which chunks: of rows nothing.
    assert np.float32(10.0).tobytes() * 3 not in second.sent
    assert len(second.sent) < 2000


def test_a_view_is_made_once_for_all_passes() -> None:
    cluster = Here([chunks_of(1.0, (ROWS_OF_CHUNK, 10)), chunks_of(2.0, (3,))])
    MADE.clear()
    view = Remembered(_noted)
    chunks = [LazyChunk.of(chunk, view) for chunk in cluster.chunks()]
    assert [total(chunks, _sum_of) for _ in range(3)] == [3 * (ROWS_OF_CHUNK + 16.0)] * 3
    assert sorted(MADE) == [3, 10, ROWS_OF_CHUNK]
    other = [LazyChunk.of(chunk, Remembered(_noted)) for chunk in cluster.chunks()]
    assert total(other, _sum_of) == 3 * (ROWS_OF_CHUNK + 16.0)
    assert len(MADE) == 6


MADE: list[int] = []


def _noted(chunk: Any) -> ArrayChunk:
    MADE.append(chunk.count)
    return _tripled(chunk)


def _tripled(chunk: Any) -> ArrayChunk:
    return ArrayChunk(3 * chunk.X, chunk.y, None)


def _sum_of(chunks: Any) -> float:
    return float(sum(chunk.X.sum(dtype=float) for chunk in chunks))


def test_a_worker_that_fails_says_only_of_which_kind_its_error_was() -> None:
    def encode(frame: pd.DataFrame, kept: Any, share: Any) -> Any:
        raise ValueError(HOSTILE)

    piece = coded_piece(encode, [(module.Cut(0, 0, 1), pd.DataFrame({"x": [HOSTILE]}), (None, None))])
    assert piece == Failed("ValueError")
    changed = coded_piece(encode, [(module.Cut(0, 0, 2), pd.DataFrame({"x": [HOSTILE]}), (None, None))])
    assert changed == Failed("a partition has changed")
    payload, _ = packed(_sum_of, [])
    with pytest.raises(ClusterError, match="ValueError") as caught:
        usable(summed(payload, {0: piece}))
    assert HOSTILE not in str(caught.value)


def test_a_task_of_spark_gives_its_error_back_too() -> None:
    def batches() -> Iterator[Any]:
        raise ValueError(HOSTILE)
        yield

    for task in (spark_frame._marks, spark_frame._joined, partial(spark_frame._summed, {})):
        (answer,) = task(batches())
        (what,) = answer.column(answer.num_columns - 1).to_pylist()
        assert pickle.loads(what) == Failed("ValueError")
        assert answer.column(0).to_pylist() == [-1]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="dpglm[dask] is not installed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as one,
    ):
        yield one


def partitioned(frame: pd.DataFrame, cuts: tuple[int, ...] = CUTS) -> Any:
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    parts = [dask.delayed(frame.iloc[start:stop]) for start, stop in pairwise(cuts)]
    return frames.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"penalty": "l1", "privacy": 1.0},
        {"privacy": None, "penalty": "l2", "strength": 0.01},
        pytest.param({"method": "dpsgd"}, marks=pytest.mark.papers),
        pytest.param(
            {"method": "dpsc", "privacy": dpglm.Privacy(1.0, 1e-6, relation="replace-one")},
            marks=pytest.mark.papers,
        ),
    ],
)
def test_a_fit_has_the_same_bits_as_of_one_frame(client: Any, how: dict[str, Any]) -> None:
    frame = table()
    asked = {"schema": SCHEMA, "privacy": (1.0, 1e-6), "seed": 3, "progress": False, **how}
    one, other = (dpglm.fit(FORMULA, data, **asked) for data in (frame, partitioned(frame)))
    assert one == other


@pytest.mark.slow
def test_persons_are_bounded_wherever_their_rows_are(client: Any) -> None:
    frame = table()
    asked: dict[str, Any] = {"schema": BY_PERSON, "privacy": (1.0, 1e-6), "seed": 3, "progress": False}
    assert dpglm.fit(FORMULA, frame, **asked) == dpglm.fit(FORMULA, partitioned(frame), **asked)


@pytest.mark.papers
@pytest.mark.slow
def test_tables_are_described_and_features_ranked_on_a_cluster(client: Any) -> None:
    frame = table()
    asked: dict[str, Any] = {"schema": SCHEMA, "privacy": (1.0, 1e-6), "seed": 3}
    one, other = (dpglm.describe(data, **asked) for data in (frame, partitioned(frame)))
    assert one == other
    assert dpglm.fit(FORMULA, partitioned(frame), profile=one, progress=False, **asked) == dpglm.fit(
        FORMULA, frame, profile=one, progress=False, **asked
    )
    ranked = [dpglm.rank_features("y ~ x + z + g", data, **asked) for data in (frame, partitioned(frame))]
    assert ranked[0] == ranked[1]


@pytest.mark.slow
def test_a_missing_column_is_found_before_the_charge(client: Any, tmp_path: Path) -> None:
    ledger = dpglm.Ledger(tmp_path / "a.ledger", budget=(1.0, 1e-6))
    with pytest.raises(SchemaError, match="no column z"):
        dpglm.fit(
            FORMULA,
            partitioned(table(100).drop(columns="z"), (0, 100)),
            schema=SCHEMA,
            privacy=(1.0, 1e-6),
            ledger=ledger,
        )
    assert not ledger.entries


@pytest.mark.slow
def test_a_hostile_cell_changes_no_other_row_and_stays_out_of_the_logs_of_workers(client: Any) -> None:
    frame = table(3000).astype(object)
    hostile = frame.copy()
    hostile.loc[1234, ["x", "z", "g"]] = [HOSTILE, 10**400, HOSTILE.encode()]
    coded = []
    for data in (frame, hostile):
        model = dpglm.plan(FORMULA, schema=SCHEMA, privacy=(1.0, 1e-6)).specification.coded_model
        chunks = list(model.design(partitioned(data, (0, 1000, 2000, 3000))).chunks())
        coded.append(np.concatenate([chunk.X for chunk in chunks], axis=1))
    places = np.delete(np.arange(3000), 1234)
    np.testing.assert_array_equal(coded[0][:, places], coded[1][:, places])
    assert not coded[1][:, 1234].any()
    logs = str(client.get_worker_logs()) + str(client.get_scheduler_logs())
    assert "Jane" not in logs
    assert "0000000000" not in logs


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing_and_is_charged_once(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table()
    ledger = dpglm.Ledger(tmp_path / "a.ledger", budget=(1.0, 1e-6))
    asked: dict[str, Any] = {"schema": SCHEMA, "privacy": (1.0, 1e-6), "progress": False}
    killed: list[str] = []
    whole = module.packed

    def killing(part: Any, stretch: Any) -> Any:
        """Kills a worker, twice, once sums have begun."""
        if len(killed) < 2 and stretch[0].home.piece == 1:
            address = sorted(client.scheduler_info()["workers"])[0]
            killed.append(address)
            with suppress(OSError):  # it may be gone before it answers
                client.run(_exit_soon, workers=[address])
        return whole(part, stretch)

    monkeypatch.setattr("dpglm.data.tables.dask_frame.packed", killing)
    found = dpglm.fit(FORMULA, partitioned(frame), seed=3, **asked)
    assert len(killed) == 2
    assert found == dpglm.fit(FORMULA, frame, seed=3, **asked)
    killed.clear()
    dpglm.fit(FORMULA, partitioned(frame), ledger=ledger, **asked)
    assert len(killed) == 2
    assert len(ledger.entries) == 1


def _exit_soon() -> None:
    threading.Timer(0.3, os._exit, (1,)).start()


@pytest.mark.slow
def test_a_cluster_that_is_gone_keeps_the_charge_and_its_own_words(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="dpglm[dask] is not installed")
    ledger = dpglm.Ledger(tmp_path / "a.ledger", budget=(1.0, 1e-6))
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        parts = partitioned(table(1000), (0, 500, 1000))
        broken = parts.map_partitions(_broken, meta=parts._meta)
        with pytest.raises(ClusterError, match="ValueError") as caught:
            dpglm.fit(FORMULA, broken, schema=SCHEMA, privacy=(1.0, 1e-6), ledger=ledger, progress=False)
        assert HOSTILE not in str(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None
        assert client.status == "running"
    assert len(ledger.entries) == 1


def _broken(frame: pd.DataFrame) -> pd.DataFrame:
    raise ValueError(HOSTILE)


def test_codes_of_factors_stay_codes_on_a_worker_and_in_a_scratch_file() -> None:
    corners = SimplexColumns(1, np.float32([-1, -1]), np.float32([1, 2]))

    def piece(codes: list[int]) -> ArrayChunk:
        numbers = np.float32([codes]) / 4
        rows = FactorRows(numbers, np.array([0]), (corners,), (np.array(codes),))
        return ArrayChunk(rows, np.array(codes, dtype=float), None)

    parts = [[piece([0, 1, 2])], [piece([3, 2])]]
    joined = module.joined(parts)
    assert not isinstance(joined, Failed)
    assert isinstance(joined[0].entries, FactorRows)
    whole = np.concatenate([chunk.X for part in parts for chunk in part], axis=1)
    np.testing.assert_array_equal(joined[0].X, whole)
    kept = KeptRows(lambda: [joined[0]], memory=0)
    for _ in range(2):  # as it is made, and from the file
        (chunk,) = kept.chunks()
        assert isinstance(chunk.entries, FactorRows)
        np.testing.assert_array_equal(chunk.X, whole)
        np.testing.assert_array_equal(chunk.y, [0, 1, 2, 3, 2])
    assert module.Piece.of(parts[0]) == module.Piece.of(parts[0])
    changed = [piece([0, 1, 1])]
    assert module.unchanged(module.Piece.of(changed), module.Piece.of(parts[0]).mark) == Failed(
        "a partition came out otherwise when made again"
    )
