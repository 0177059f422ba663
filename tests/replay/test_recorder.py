"""The recorder sees a leak of every kind: each of these twins lets one value of a row show."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpglm.curator.curator import Curator
from dpglm.data.coding.design import Design
from dpglm.data.schema.variables import Numeric
from dpglm.errors import StoreError
from dpglm.methods.objective import Objective
from dpglm.spec.arguments import is_sites
from tests.replay.recorder import Seen, differences, watched
from tests.replay.studies import Study, everything
from tests.replay.test_frames import ODD_ROW, SOUND_ROW, dressed

READ, ASK, SOLVE = Numeric.read, Curator.ask, Objective.solve


def outside(column: Any) -> int:
    """Numbers far outside the declared bounds: private."""
    values = np.array([cell if isinstance(cell, int | float) else 0.0 for cell in column], dtype=object)
    return sum(abs(value) > 1e12 for value in values)


def on_read(leak: Callable[[int], None]) -> Callable[[pytest.MonkeyPatch], None]:
    def plant(patch: pytest.MonkeyPatch) -> None:
        def read(self: Numeric, column: Any) -> Any:
            if count := outside(column):
                leak(count)
            return READ(self, column)

        patch.setattr(Numeric, "read", read)

    return plant


def fail(count: int) -> None:
    raise ValueError(f"{count} values outside bounds")


def fail_quietly(count: int) -> None:
    """The same message for all tables, the value in a suppressed context."""
    raise StoreError("a table", expected="another", remedy="None.") from ValueError(count)


def private_rows(ask: Any) -> int:
    """Number of usable rows, which only a curator should know."""
    design = ask.__self__._rows
    return sum(int(block.X.any(axis=0).sum()) for block in design.chunks())


def branch(patch: pytest.MonkeyPatch) -> None:
    def solve(self: Objective, problem: Any, plan: Any, ask: Any) -> Any:
        if private_rows(ask) % 2:
            is_sites(())  # any line of the package
        return SOLVE(self, problem, plan, ask)

    patch.setattr(Objective, "solve", solve)


def fact(patch: pytest.MonkeyPatch) -> None:
    def solve(self: Objective, problem: Any, plan: Any, ask: Any) -> Any:
        return replace(SOLVE(self, problem, plan, ask), residual=float(private_rows(ask)))

    patch.setattr(Objective, "solve", solve)


def draw(patch: pytest.MonkeyPatch) -> None:
    def ask(self: Curator, release: Any, at: Any = None) -> Any:
        if sum(int(block.X.any(axis=0).sum()) for block in self._rows.chunks()) % 2:
            self._noise.bytes(1)
        return ASK(self, release, at)

    patch.setattr(Curator, "ask", ask)


def step(patch: pytest.MonkeyPatch) -> None:
    blocks = Design.chunks

    def counted(self: Design) -> Any:
        from tqdm.auto import tqdm

        found = list(blocks(self))
        with tqdm(total=1) as bar:
            bar.update(sum(int(block.X.any(axis=0).sum()) for block in found))
        return iter(found)

    patch.setattr(Design, "chunks", counted)


LEAKS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "warned": on_read(lambda count: warnings.warn(f"{count} values clipped", stacklevel=1)),
    "logged": on_read(lambda count: logging.getLogger("dpglm.data").debug("clipped %d", count)),
    "printed": on_read(lambda count: print("clipped", count)),
    "outcome": on_read(fail),
    "outcome in a context": on_read(fail_quietly),
    "flow": branch,
    "outcome in a field": fact,
    "drawn": draw,
    "steps": step,
}


STUDY = Study(budget="approximate")


def odd_pair() -> tuple[Any, Any]:
    table = [SOUND_ROW] * 4
    first, second = dressed("objects", [*table, SOUND_ROW], [*table, ODD_ROW])
    return first, second


@pytest.fixture(scope="module")
def honest() -> Seen:
    first, second = odd_pair()
    found = watched(lambda: STUDY.fit(first), everything)
    same = watched(lambda: STUDY.fit(second), everything, swapped=found.answers)
    assert not differences(found.public(), same.public())
    return found


@pytest.mark.parametrize("kind", LEAKS)
def test_a_planted_leak_is_seen(kind: str, honest: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = odd_pair()
    LEAKS[kind](monkeypatch)
    one = watched(lambda: STUDY.fit(first), everything)
    other = watched(lambda: STUDY.fit(second), everything, swapped=one.answers or honest.answers)
    found = {line.split(" at ")[0].split(":")[0] for line in differences(one.public(), other.public())}
    assert kind.split(" ")[0] in found, found


def test_released_numbers_do_differ() -> None:
    """Without swapping the two results differ: the comparison is not of constants."""
    first, second = dressed("objects", [SOUND_ROW] * 5, [SOUND_ROW] * 4 + [ODD_ROW])
    one, other = (watched(lambda data=data: Study().fit(data), everything) for data in (first, second))
    assert one.outcome["json"] != other.outcome["json"]
    assert any((a != b).any() for a, b in zip(one.answers, other.answers, strict=True))
