"""Kept rows: the same bits from memory, from a scratch file and made again; and what is left of the file."""

from __future__ import annotations

import errno
import gc
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.data.coding.design import Design
from dpglm.errors import DpglmError
from dpglm.kept_rows import KeptRows
from dpglm.rows import ArrayChunk, Home, LazyChunk, RowChunk, Together, home_of, total

LINUX = sys.platform == "linux"


class Table:
    """Chunks of rows, and how often they were made."""

    def __init__(
        self, count: int, *, offsets: bool = False, shares: bool = False, weights: bool = False
    ) -> None:
        self.count, self.offsets, self.shares, self.weights = count, offsets, shares, weights
        self.made = 0

    def chunks(self) -> Iterator[RowChunk]:
        for place in range(self.count):
            yield LazyChunk(3 + place % 2, lambda place=place: self.chunk(place))  # type: ignore[misc]

    def chunk(self, place: int) -> RowChunk:
        self.made += 1
        rng, rows = np.random.default_rng(place), 3 + place % 2
        share = rng.random(rows) if self.shares else None
        return ArrayChunk(
            rng.normal(size=(5, rows)).astype(np.float32),
            np.where(rng.random(rows) < 0.3, -0.0, np.nan),  # bits that arithmetic would lose
            rng.normal(size=rows) if self.offsets else None,
            rng.random(rows) if self.weights else share,
            share,
        )


class Elsewhere:
    """A cluster that is not asked."""

    def sums(self, part: Any, stretches: Any) -> Iterator[Any]:
        raise AssertionError("asked")


def bits(chunks: Any) -> list[tuple[Any, ...]]:
    return [
        tuple(None if array is None else (array.shape, array.dtype, array.tobytes()) for array in arrays)
        for arrays in ((one.X, one.y, one.offset, one.weight, one.share) for one in chunks)
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPGLM_SCRATCH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("memory", [0, 300, 10**6])
@pytest.mark.parametrize(
    "parts", [{}, {"offsets": True}, {"shares": True}, {"weights": True}, {"shares": True, "weights": True}]
)
def test_no_bit_depends_on_where_rows_are_kept(memory: int, parts: dict[str, bool], folder: Path) -> None:
    expected = bits(Table(9, **parts).chunks())
    kept = KeptRows(Table(9, **parts).chunks, memory)
    for _ in range(4):
        chunks = list(kept.chunks())
        assert [chunk.count for chunk in chunks] == [chunk.y.size for chunk in chunks]
        assert bits(chunks) == expected
        # Releases tell weights from shares by identity.
        assert all((one.weight is one.share) == ("weights" not in parts) for one in chunks)


def test_chunks_are_made_once(folder: Path) -> None:
    table = Table(9)
    kept = KeptRows(table.chunks, 300)
    for _ in range(5):
        bits(kept.chunks())
    assert table.made == 9


@pytest.mark.parametrize("scratch", ["off", "OFF", "/no/such/folder"])
def test_where_a_file_is_forbidden_rows_are_made_again(scratch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPGLM_SCRATCH", scratch)

    def refused(**options: Any) -> None:
        raise AssertionError("a file")

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    table = Table(9)
    kept = KeptRows(table.chunks, 300)
    expected = bits(Table(9).chunks())
    for number in range(1, 4):
        assert bits(kept.chunks()) == expected
        assert table.made == 9 * number


def test_a_full_disk_is_no_news(
    folder: Path, monkeypatch: pytest.MonkeyPatch, recwarn: Any, capfd: Any
) -> None:
    left, write = [500], os.pwrite

    def full(file: int, data: memoryview, place: int) -> int:
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= (written := write(file, data[:100], place))
        return written

    monkeypatch.setattr(os, "pwrite", full)
    table = Table(9)
    kept = KeptRows(table.chunks, 0)
    expected = bits(Table(9).chunks())
    for number in range(1, 4):
        assert bits(kept.chunks()) == expected
        assert table.made == 9 * number
    assert not recwarn.list
    assert capfd.readouterr() == ("", "")


def test_a_pass_that_is_broken_off_or_not_read_keeps_nothing(folder: Path) -> None:
    table = Table(9)
    kept = KeptRows(table.chunks, 0)
    next(kept.chunks())
    assert [chunk.count for chunk in kept.chunks()] == [3 + place % 2 for place in range(9)]
    assert table.made == 0
    assert bits(kept.chunks()) == bits(kept.chunks()) == bits(Table(9).chunks())
    assert table.made == 9


@pytest.mark.parametrize("memory", [0, 300, 10**6])
def test_chunks_keep_their_homes_and_those_of_a_cluster_stay_there(memory: int, folder: Path) -> None:
    """Sums are made piece by piece, so that their order must not depend on where rows are kept."""

    def away() -> RowChunk:
        raise AssertionError("rows of a worker were fetched")

    cluster = Elsewhere()

    def chunks() -> list[RowChunk]:
        here = [LazyChunk(3, lambda: Table(9).chunk(0), Home(None, piece // 4)) for piece in range(9)]
        return [*here, LazyChunk(7, away, Home(cluster, 3))]

    kept = KeptRows(chunks, memory)
    for _ in range(3):
        found = list(kept.chunks())
        assert [home_of(chunk) for chunk in found] == [home_of(chunk) for chunk in chunks()]
        assert [chunk.count for chunk in found] == [3] * 9 + [7]
        bits(found[:9])


@pytest.mark.parametrize("threads", ["1", "2", "8"])
def test_threads_store_and_read_side_by_side(
    threads: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPGLM_THREADS", threads)
    kept = KeptRows(Table(500).chunks, 4000)

    def found() -> list[Any]:
        return list(total(kept.chunks(), lambda chunks: Together([tuple(bits(chunks))]))[0])

    assert found() == found() == found() == bits(Table(500).chunks())


@pytest.mark.skipif(not LINUX, reason="open files are listed in /proc on Linux alone")
def test_the_file_has_no_name_and_is_open_to_its_owner_alone(folder: Path) -> None:
    def scratch() -> list[os.stat_result]:
        links = [Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
        return [link.stat() for link in links if link.is_symlink() and str(folder) in os.readlink(link)]

    kept = KeptRows(Table(9).chunks, 0)
    bits(kept.chunks())
    (file,) = scratch()
    assert file.st_nlink == 0
    assert stat.S_IMODE(file.st_mode) == 0o600
    assert not os.listdir(folder)
    del kept
    assert not scratch()


KILLED = """
import os, signal
import numpy as np
from dpglm.kept_rows import KeptRows
from dpglm.rows import ArrayChunk
kept = KeptRows(lambda: [ArrayChunk(np.ones((5, 3), dtype=np.float32), np.zeros(3), None)] * 9, 0)
[chunk.X for chunk in kept.chunks()]
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="the signal is one of POSIX")
def test_nothing_is_left_of_a_process_that_was_killed(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], check=False)
    assert done.returncode < 0
    assert not os.listdir(folder)


def test_a_file_that_gives_back_less_is_an_error_that_tells_no_row(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[Any] = []
    start = tempfile.TemporaryFile
    monkeypatch.setattr(
        tempfile, "TemporaryFile", lambda **options: files.append(start(**options)) or files[-1]
    )
    kept = KeptRows(Table(9).chunks, 0)
    bits(kept.chunks())
    files[0].truncate(7)
    with pytest.raises(DpglmError, match="DPGLM_SCRATCH") as caught:
        bits(kept.chunks())
    assert caught.value.__suppress_context__
    assert not set("123456789") & set(str(caught.value))


def rows_in_memory() -> dict[int, object]:
    return {id(each): each for each in gc.get_objects() if isinstance(each, KeptRows | Design)}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"penalty": "l2", "privacy": 1.0},
        {"family": "gaussian"},
        pytest.param({"penalty": "l2", "method": "dpsgd"}, marks=pytest.mark.papers),
        {"goal": "select"},
    ],
    ids=["default", "pure", "gaussian", "gradients", "select"],
)
def test_a_fit_leaves_no_rows_behind_before_garbage_is_collected(options: dict[str, Any]) -> None:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"x": draw.uniform(-1, 1, 500), "z": draw.uniform(-1, 1, 500)})
    frame["y"] = (draw.random(500) < 0.5) * 1
    schema = {"x": (-1, 1), "z": (-1, 1), "y": (0, 1) if "family" in options else [0, 1]}
    chosen = {"privacy": (1.0, 1e-6), **options}
    gc.collect()
    gc.disable()
    before = rows_in_memory()  # a dask scheduler in this process keeps tasks of tests that are done
    try:
        fit = dpglm.fit("y ~ x + z", frame, schema=schema, progress=False, seed=1, **chosen)
        left = [type(each).__name__ for at, each in rows_in_memory().items() if at not in before]
        assert not left
        assert fit.names == ("Intercept", "x", "z")
    finally:
        gc.enable()
