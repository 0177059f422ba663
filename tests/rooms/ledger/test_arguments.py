"""Every argument of a ledger that is something else: a documented error, and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpglm.errors import DpglmError
from dpglm.ledger.ledger import Ledger
from tests.attacks.ledgers import pure

SECRET = "987.654 secret"


class Hostile:
    """Raises whatever is done with it."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError(SECRET)

    def __len__(self) -> int:
        raise AssertionError(SECRET)

    __hash__ = None  # type: ignore[assignment]


WRONG: tuple[Any, ...] = (
    True, 7, -1.5, float("nan"), b"bytes", "", " ", 1j, "\0", "\ud800", "\x1b[31m", SECRET * 2000, [],
    [SECRET], (), {}, {SECRET: 1}, {SECRET}, object(), object, len, Ledger, Hostile(), np.array([1.0, 2.0]),
    np.float64(2.0), pd.Series([SECRET]), pd.DataFrame({"x": [SECRET]}), 10**400, range(3),
    Path("/nowhere/at/all"),
)  # fmt: skip
CHARGE = (pure(0.1), "y ~ x", "")
USES: dict[str, Callable[[Ledger, Any], object]] = {
    "path": lambda ledger, value: Ledger(value, 1.0, dataset="x"),
    "budget": lambda ledger, value: Ledger(ledger.path, value),
    "dataset": lambda ledger, value: Ledger(ledger.path, dataset=value),
    "head": lambda ledger, value: Ledger(ledger.path, head=value),
    "table": lambda ledger, value: Ledger(ledger.path, table=value),
    "public_key": lambda ledger, value: Ledger(ledger.path, head=ledger.head, public_key=value),
    "verify head": lambda ledger, value: ledger.verify(head=value),
    "verify public_key": lambda ledger, value: ledger.verify(head=ledger.head, public_key=value),
    "sign_head": lambda ledger, value: ledger.sign_head(value),
    "guarantee": lambda ledger, value: ledger.charge(value, what="y ~ x"),
    "epsilon": lambda ledger, value: ledger.charge(_with(epsilon=value), what="y ~ x"),
    "delta": lambda ledger, value: ledger.charge(_with(delta=value), what="y ~ x"),
    "mu": lambda ledger, value: ledger.charge(_with(mu=value), what="y ~ x"),
    "unit": lambda ledger, value: ledger.charge(_with(unit=value), what="y ~ x"),
    "relation": lambda ledger, value: ledger.charge(_with(relation=value), what="y ~ x"),
    "plan": lambda ledger, value: ledger.charge(pure(0.1), what="y ~ x", plan=value),
    "key": lambda ledger, value: ledger.charge(pure(0.1), what="y ~ x", key=value),
    "charges": lambda ledger, value: ledger.charge_all(value),
    "one charge": lambda ledger, value: ledger.charge_all([CHARGE, value]),
    "keep key": lambda ledger, value: ledger.keep(value, {"": "text"}),
    "keep answers": lambda ledger, value: ledger.keep("charged", value),
    "keep site": lambda ledger, value: ledger.keep("charged", {value: "text"}),
    "keep text": lambda ledger, value: ledger.keep("charged", {"": value}),
    "kept key": lambda ledger, value: ledger.kept(value, [CHARGE]),
    "kept charges": lambda ledger, value: ledger.kept("charged", value),
    "state": lambda ledger, value: ledger.state(at=value),
}  # fmt: skip
# What one of these may be, and is not refused for.
SOUND: dict[str, tuple[type, ...]] = {
    "path": (str, Path),
    "epsilon": (bool, int, float),
    "mu": (bool, int, float),
    "plan": (str,),
    "keep site": (str, Path),
    "keep text": (str,),
}


def _with(**fields: Any) -> Any:
    """A guarantee that no plan would make."""
    return SimpleNamespace(**{**vars(pure(0.1)), **fields})


@pytest.mark.parametrize("use", USES)
def test_an_argument_of_any_kind_is_refused_in_three_parts(tmp_path: Path, use: str) -> None:
    ledger = Ledger(tmp_path / "ward-7.ledger", 3.0, dataset="ward-7")
    ledger.charge(pure(0.1), what="y ~ x", key="charged")
    before = ledger.path.read_bytes()
    for value in WRONG:
        if isinstance(value, SOUND.get(use, ())) and value != "\ud800":
            continue
        if use == "keep site" and getattr(value, "__hash__", None) is None:
            continue  # no key of a mapping
        with pytest.raises(DpglmError) as caught:
            USES[use](ledger, value)
        error = caught.value
        assert all(part.strip() for part in (error.found, error.expected, error.remedy))
        # Words of budgets are public, and are quoted; no array or frame is, whatever it stands for.
        quoted = use in ("budget", "relation") and isinstance(value, str | list | dict | set)
        assert quoted or SECRET not in str(error)
    assert ledger.path.read_bytes() == before
