"""All that a run lets anybody see, recorded, with the randomness played back.

Public control flow is every line of dpglm that runs, in order, but for those below `Curator.ask` and
`Design.row_count`: there rows are read, and the number of passes, of blocks and of a solver's steps may vary
with the data. What is released there is recorded by shape, and may be swapped for other numbers.
"""

from __future__ import annotations

import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import tqdm.auto
import tqdm.std

import dpglm
from dpglm.curator.curator import Curator
from dpglm.data.coding.design import Design
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import NoiseSource

ROOM = str(Path(dpglm.__file__).parent)
TEMPLATES = ("dpglm.tables", "dpglm.report")
NOW = "2024-02-29T12:00:00Z"


class Replayed(NoiseSource):
    """The same bytes for every run; it says that it is private, so that a result looks like a real one."""

    private: ClassVar[bool] = True

    def __init__(self, drawn: list[int], seed: int = 11) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._counts = drawn

    def bytes(self, count: int) -> bytes:
        self._counts.append(count)
        return self._generator.bytes(count)


@dataclass
class Seen:
    """What one run showed.

    Attributes
    ----------
    outcome : object
        What the run gave back, or the chain of its exception.
    flow : list of (str, int) or str
        Lines of dpglm in the order they ran, and the releases asked for.
    last : int
        Length of ``flow`` at the last release.
    drawn : list of int
        Bytes of noise, draw by draw.
    answers : list of ndarray
        What was released: not for comparison.
    """

    outcome: Any = None
    flow: list[Any] = field(default_factory=list)
    last: int = 0
    drawn: list[int] = field(default_factory=list)
    answers: list[np.ndarray[Any, Any]] = field(default_factory=list)
    shapes: list[Any] = field(default_factory=list)
    warned: list[Any] = field(default_factory=list)
    logged: list[Any] = field(default_factory=list)
    printed: str = ""
    steps: list[Any] = field(default_factory=list)

    def public(self, *, up_to_release: bool = False) -> dict[str, Any]:
        """What must not depend on a row; everything where releases were swapped."""
        kept: dict[str, Any] = {
            "flow": self.flow[: self.last] if up_to_release else self.flow,
            "drawn": self.drawn,
            "shapes": self.shapes,
            "warned": self.warned,
            "logged": self.logged,
            "printed": self.printed,
            "steps": self.steps,
        }
        return kept if up_to_release else kept | {"outcome": self.outcome}


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Where two runs differ: name and first place; empty if nowhere."""
    found = []
    for name, a in one.items():
        b = other[name]
        if a == b:
            continue
        place = ""
        if isinstance(a, list | str) and isinstance(b, list | str):
            at = next(
                (at for at, pair in enumerate(zip(a, b, strict=False)) if pair[0] != pair[1]),
                min(len(a), len(b)),
            )
            place = f" at {at}: {a[at : at + 80]!r:.300} against {b[at : at + 80]!r:.300}"
        else:
            place = f": {a!r:.600} against {b!r:.600}"
        found.append(name + place)
    return found


def watched(
    action: Callable[[], Any],
    then: Callable[[Any], Any] | None = None,
    *,
    swapped: list[np.ndarray[Any, Any]] | None = None,
    trace: bool = True,
) -> Seen:
    """Run ``action`` with played-back noise and record what it shows.

    Parameters
    ----------
    action : callable
        Uses the public interface to read data.
    then : callable, optional
        Uses what that gave; its lines are not recorded, since all that it can depend on is compared.
    swapped : list of ndarray, optional
        Released numbers of another run: the releases run as ever, then these take the place of their answers.
    trace : bool
        Whether lines are recorded, which is slow.
    """
    seen = Seen()
    _forget()
    with ExitStack() as stack:
        out = io.StringIO()
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(out))
        stack.enter_context(_logging(seen.logged))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        stack.enter_context(
            mock.patch("dpglm.spec.arguments.noise_of", side_effect=lambda seed: Replayed(seen.drawn))
        )
        stack.enter_context(mock.patch("dpglm.ledger.lines.now", return_value=NOW))
        for home in (tqdm.auto, tqdm.std):  # the second one where there is no ipywidgets
            stack.enter_context(mock.patch.object(home, "tqdm", _bar(seen.steps)))
        _patch_readers(stack, seen, swapped)
        try:
            with _tracing(seen.flow if trace else None):
                seen.outcome = action()
            if then is not None:
                seen.outcome = then(seen.outcome)
        except Exception as error:
            seen.outcome = chain(error)
    seen.warned = [(w.category.__name__, str(w.message), w.filename, w.lineno) for w in caught]
    seen.printed = out.getvalue()
    return seen


def _forget() -> None:
    """Empty the caches of public functions: what an earlier run computed is no difference between two runs.

    Templates stay: they are compiled once in a process, and take long.
    """
    for name in [name for name in sys.modules if name.startswith("dpglm.")]:
        for value in vars(sys.modules[name]).values():
            if isinstance(value, _lru_cache_wrapper) and not value.__module__.startswith(TEMPLATES):
                value.cache_clear()


def chain(error: BaseException | None, depth: int = 0) -> tuple[Any, ...]:
    """Type and text of an exception, of its cause and of its context, shown or suppressed, all the way."""
    if error is None or depth > 10:
        return ()
    return (
        type(error).__qualname__,
        str(error),
        repr(error.args),
        tuple(getattr(error, "__notes__", ())),
        error.__suppress_context__,
        chain(error.__cause__, depth + 1),
        chain(error.__context__, depth + 1),
    )


def _patch_readers(stack: ExitStack, seen: Seen, swapped: list[Any] | None) -> None:
    ask, count = Curator.ask, Design.row_count

    def asked(self: Curator, release: Release, at: Any = None) -> Any:
        with _untraced():
            answer = ask(self, release, at)
        seen.flow.append(f"release {release.name}")
        seen.shapes.append((answer.shape, str(answer.dtype), bool(np.isfinite(answer).all())))
        seen.answers.append(answer.copy())
        seen.last = len(seen.flow)
        return answer if swapped is None else swapped[len(seen.answers) - 1].copy()

    def counted(self: Design) -> int:
        with _untraced():
            return count(self)

    stack.enter_context(mock.patch.object(Curator, "ask", asked))
    stack.enter_context(mock.patch.object(Design, "row_count", counted))


@contextmanager
def _tracing(flow: list[Any] | None) -> Iterator[None]:
    if flow is None:
        yield
        return
    ours: dict[CodeType, str | None] = {}

    def local(frame: FrameType, event: str, value: Any) -> Any:
        if event == "line":
            flow.append((ours[frame.f_code], frame.f_lineno))
        return local

    def enter(frame: FrameType, event: str, value: Any) -> Any:
        code = frame.f_code
        if code not in ours:
            name = code.co_filename
            ours[code] = name[len(ROOM) :] if name.startswith(ROOM) else None
        return None if ours[code] is None else local

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def _untraced() -> Iterator[None]:
    before = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def _logging(records: list[Any]) -> Iterator[None]:
    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append((record.name, record.levelno, record.getMessage(), record.exc_text))

    keeper, root = Keeper(0), logging.getLogger()
    level = root.level
    root.addHandler(keeper)
    root.setLevel(0)
    try:
        yield
    finally:
        root.removeHandler(keeper)
        root.setLevel(level)


def _bar(steps: list[Any]) -> type:
    class Bar:
        """Stands in for a progress bar: drawn nowhere, and keeps what it is told."""

        def __init__(self, *args: Any, **options: Any) -> None:
            steps.append(("bar", args, sorted(options.items())))
            self.n = 0

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *error: object) -> None:
            steps.append(("closed", self.n))

        def update(self, n: int = 1) -> None:
            steps.append(("update", n))
            self.n += n

        def set_description_str(self, text: str) -> None:
            steps.append(("description", text))

    return Bar
