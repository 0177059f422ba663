"""Sums over rows: the same to the last bit whatever the number of threads, and as quiet as their maker."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.glm.families.binomial import Binomial
from dpglm.optim.loss import ChunkLoss
from dpglm.rows import STRETCH, ArrayChunk, LazyChunk, RowChunk, Together, total

THREADS = ("1", "2", "8")


def chunks(count: int, size: int = 5, rows: int = 300) -> list[RowChunk]:
    rng = np.random.default_rng(count)
    return [
        ArrayChunk(
            rng.normal(size=(size, rows)).astype(np.float32), (rng.random(rows) < 0.5).astype(float), None
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("count", [0, 1, STRETCH, STRETCH + 1, 7 * STRETCH + 3])
def test_no_bit_depends_on_the_number_of_threads(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table, theta, found = chunks(count), np.linspace(-1.0, 1.0, 5), set()
    for threads in THREADS:
        monkeypatch.setenv("DPGLM_THREADS", threads)
        loss = ChunkLoss(lambda: table, Binomial(), 5)
        gradient, hessian = loss.gradient_and_hessian(theta, precise=True)
        found.add((loss.gradient(theta).tobytes(), gradient.tobytes(), hessian.tobytes()))
    assert len(found) == 1


def test_stretches_are_added_in_the_order_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPGLM_THREADS", "8")
    table = list(range(10 * STRETCH + 1))
    assert total(table, lambda items: Together([tuple(items)]))[0] == tuple(table)
    assert total((), lambda items: Together([tuple(items)]))[0] == ()


def test_chunks_are_made_once_by_threads_that_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPGLM_THREADS", "2")
    made: list[int] = []
    both = threading.Barrier(2, timeout=20.0)  # two threads at once, or the test fails

    def make(place: int) -> RowChunk:
        made.append(place)
        if place in (0, STRETCH):
            both.wait()
        return ArrayChunk(np.ones((1, 2), dtype=np.float32), np.zeros(2), None)

    lazy = [LazyChunk(2, partial(make, place)) for place in range(2 * STRETCH)]
    assert made == [], "nothing before it is read"

    def part(items: Iterable[RowChunk]) -> int:
        return sum(int(chunk.X.sum() + len(chunk.y)) for chunk in items)

    assert total(lazy, part) == 2 * 4 * STRETCH
    assert sorted(made) == list(range(2 * STRETCH))
    assert total(lazy, part) == 2 * 4 * STRETCH
    assert len(made) == 2 * STRETCH, "and once"


@pytest.mark.parametrize("threads", THREADS)
def test_threads_warn_where_their_maker_would(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy's own state does not reach a thread by itself: its warnings would tell of rows."""
    monkeypatch.setenv("DPGLM_THREADS", threads)

    def part(items: Iterable[int]) -> Any:
        return sum(np.exp(np.float64(1000.0)) for _ in items)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        assert total(range(3 * STRETCH), part) == np.inf
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        total(range(3 * STRETCH), part)


@pytest.mark.parametrize("threads", THREADS)
def test_an_error_of_a_part_is_the_callers(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPGLM_THREADS", threads)

    def part(items: Iterable[int]) -> int:
        if STRETCH in items:
            raise ValueError("of the second stretch")
        return 0

    with pytest.raises(ValueError, match="second stretch"):
        total(range(5 * STRETCH), part)


def fitted(monkeypatch: pytest.MonkeyPatch, threads: str, **changed: Any) -> Any:
    monkeypatch.setenv("DPGLM_THREADS", threads)
    rng = np.random.default_rng(1)
    n = 70_000
    columns = {"x": rng.normal(size=n), "z": rng.normal(size=n), "g": rng.choice(["a", "b", "c"], n)}
    columns["x"][::97] = np.nan
    columns["y"] = np.where(rng.random(n) < 1 / (1 + np.exp(-columns["z"])), "yes", "no")
    schema = dpglm.Schema.of(
        {"x": (-3, 3), "z": (-3, 3), "g": ["a", "b", "c"], "y": ["no", "yes"]}, rows=n, unit="one row"
    )
    import pandas as pd

    asked: dict[str, Any] = {"privacy": (1.0, 1e-6), "seed": 3, **changed}
    return dpglm.fit("y ~ x + z + g", pd.DataFrame(columns), schema=schema, progress=False, **asked)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"penalty": "l1/2", "goal": "predict"},
        pytest.param({"method": "dpsgd"}, marks=pytest.mark.papers),
        {"privacy": None},
    ],
    ids=["default", "predict", "dpsgd", "none"],
)
def test_a_fit_is_the_same_whatever_the_threads(
    changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = (fitted(monkeypatch, threads, **changed).tidy() for threads in THREADS)
    for other in others:
        assert first.equals(other)


@pytest.mark.parametrize("rows", [1, STRETCH, STRETCH + 1])
def test_a_machine_without_threads_is_no_error_whatever_the_rows(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    for threads in THREADS:
        monkeypatch.setenv("DPGLM_THREADS", threads)
        assert total([1] * rows, sum) == rows


@pytest.mark.parametrize("asked", ["0", "-1", "two", "", "9" * 5000])
def test_any_words_for_threads_are_a_number(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPGLM_THREADS", asked)
    assert total([1] * (3 * STRETCH), sum) == 3 * STRETCH


def test_sums_at_once_leave_a_linear_algebra_library_as_it_was() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    def blas() -> list[int]:
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    with threadpool_limits(2, "blas"):
        before = blas()
        inside = threading.Event()

        def slow(items: Iterable[int]) -> int:
            inside.set()
            return sum(items)

        threads = [threading.Thread(target=lambda: total([1] * 200, slow)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert inside.is_set()
        assert blas() == before


def test_cells_are_read_in_the_thread_of_the_curator(monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas changes filters of warnings, which all threads share."""
    seen: set[str] = set()
    honest = dpglm.Schema.read

    def read(self: Any, *arguments: Any) -> Any:
        seen.add(threading.current_thread().name)
        return honest(self, *arguments)

    monkeypatch.setattr(dpglm.Schema, "read", read)
    fitted(monkeypatch, "2")
    assert seen == {"MainThread"}
