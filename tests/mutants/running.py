"""Tests run in a forked process in which heavy packages are there already and the package is not."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HEAVY = (
    "numpy",
    "scipy.linalg",
    "scipy.special",
    "scipy.optimize",
    "scipy.stats",
    "scipy.integrate",
    "pandas",
    "patsy",
    "statsmodels.api",
    "dp_accounting.pld.privacy_loss_distribution",
    "matplotlib.figure",
    "jinja2",
    "pyarrow",
    "sklearn.linear_model",
    "click",
    "yaml",
    "tqdm",
    "hypothesis",
    "hypothesis.extra.numpy",
    "hypothesis.extra.pandas",
    "pytest",
    "_pytest.doctest",
    "_pytest.assertion.rewrite",
)
MEMORY = 8 * 2**30
PATIENCE, AWAY = 10.0, 5.0
OWN = ("dpglm", "tests", "studies", "vignettes", "conftest")


def warm_up() -> None:
    """Import what every process needs, once; nothing of ours."""
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


@dataclass(eq=False)
class Watch:
    """A pytest plugin: how each test ended, and which lines of the watched files it ran.

    Parameters
    ----------
    folder : Path
        The copy of the repository.
    watched : sequence of str
        Files, from the root; none for the ends alone.
    usual : mapping of str to float
        Seconds that tests take: one that takes ten times as long, and ten seconds, ends the process.
    """

    folder: Path
    watched: Sequence[str] = ()
    usual: Mapping[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, set[int]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    bad: list[str] = field(default_factory=list)
    good: list[str] = field(default_factory=list)
    spawning: set[str] = field(default_factory=set)
    said: str = ""
    _test: str = ""

    def __post_init__(self) -> None:
        self._names = {str(self.folder / name): name for name in self.watched}
        self._found: dict[str, set[int]] = defaultdict(set)
        self._known: dict[CodeType, set[int] | None] = {}
        if self.watched:
            sys.addaudithook(self._heard)

    def _heard(self, event: str, _: tuple[Any, ...]) -> None:
        if self._test and event in ("subprocess.Popen", "os.fork", "os.posix_spawn"):
            self.spawning.add(self._test)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Start to listen."""
        self._test = nodeid
        self._found.clear()
        self._known.clear()
        if nodeid in self.usual:  # processor time: the machine may be busy
            signal.setitimer(signal.ITIMER_PROF, PATIENCE * (1.0 + self.usual[nodeid]))
        if self.watched:
            threading.settrace(self._entered)
            sys.settrace(self._entered)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Keep what was heard."""
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        if self.watched:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            self.lines[nodeid] = {name: set(lines) for name, lines in self._found.items() if lines}
        self._test = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """How long a part of a test took and how it ended."""
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.bad.append(report.nodeid)
            self.said = self.said or str(report.longreprtext)[-300:]
        elif report.when == "call" and report.passed:
            self.good.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be imported."""
        if report.failed:
            self.bad.append(report.nodeid or "collection")
            self.said = self.said or str(report.longreprtext)[-300:]

    def _entered(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if code not in self._known:
            name = self._names.get(code.co_filename)
            self._known[code] = None if name is None or code.co_name == "<module>" else self._found[name]
        lines = self._known[code]
        if lines is None:
            return None

        def local(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
            return local

        return local


@dataclass(eq=False)
class Child:
    """A forked process that runs some tests in a copy of the repository.

    Parameters
    ----------
    folder : Path
        The copy.
    arguments : sequence of str
        For pytest.
    limit : float
        Seconds.
    watched : sequence of str
        Files whose lines are of interest.
    name : str
        Of the child, for the files it writes.
    usual : mapping of str to float
        Seconds that tests take.
    """

    folder: Path
    arguments: Sequence[str]
    limit: float
    watched: Sequence[str] = ()
    name: str = "child"
    usual: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._answer = self.folder / f".{self.name}.json"
        self._answer.unlink(missing_ok=True)
        self._started = time.monotonic()
        sys.stdout.flush()
        self._process = os.fork()
        if self._process == 0:
            code = 99
            try:
                code = _inside(self)
            finally:
                os._exit(code)

    def ended(self) -> dict[str, Any] | None:
        """What was found, or None while it runs. Past its limit it is stopped: ``code`` is None."""
        process, status = os.waitpid(self._process, os.WNOHANG)
        if process == 0:
            if time.monotonic() - self._started <= self.limit:
                return None
            self.stop()
            return self._found(None)
        return self._found(os.waitstatus_to_exitcode(status))

    def stop(self) -> None:
        """End it and what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._process, 0)

    def _found(self, code: int | None) -> dict[str, Any]:
        found: dict[str, Any] = {"bad": [], "said": ""}
        if self._answer.exists():
            found = json.loads(self._answer.read_text(encoding="utf-8"))
        return {**found, "code": code, "seconds": time.monotonic() - self._started}


def _inside(child: Child) -> int:
    folder = child.folder
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(folder)
    log = os.open(folder / f".{child.name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    here = str(Path(__file__).parent.parent.parent)
    sys.path[:] = [str(folder), *(entry for entry in sys.path if entry not in ("", here))]
    for name in [name for name in sys.modules if name.partition(".")[0] in OWN]:
        del sys.modules[name]
    importlib.invalidate_caches()
    sys.argv[:] = [str(folder / "pytest")]
    os.environ["PYTHONPATH"] = str(folder)
    import pytest

    watch = Watch(folder, child.watched, child.usual)
    code = int(pytest.main([*_fixed(child), *child.arguments], plugins=[watch]))
    child._answer.write_text(
        json.dumps(
            {
                "bad": watch.bad,
                "good": watch.good,
                "said": watch.said,
                "spawning": sorted(watch.spawning),
                "tests": {
                    test: {
                        "seconds": watch.seconds[test],
                        "lines": {n: sorted(at) for n, at in lines.items()},
                    }
                    for test, lines in watch.lines.items()
                },
            }
        ),
        encoding="utf-8",
    )
    return code


def _fixed(child: Child) -> list[str]:
    """What pytest is told in any case."""
    return [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--doctest-modules",
        f"--rootdir={child.folder}",
        f"--basetemp={child.folder / f'.temporary-{child.name}'}",
    ]


def each(children: Iterator[Child], jobs: int) -> Iterator[tuple[Child, dict[str, Any]]]:
    """Children as they end, ``jobs`` of them at a time; all are stopped when the loop is left."""
    running: list[Child] = []
    try:
        more, last = True, time.monotonic()
        while more or running:
            away = time.monotonic() - last
            if away > AWAY:  # this process was stopped for a while, and children with it
                for child in running:
                    child.limit += away
            last = time.monotonic()
            while more and len(running) < jobs:
                child = next(children, None)
                more = child is not None
                if child is not None:
                    running.append(child)
            for child in list(running):
                found = child.ended()
                if found is not None:
                    running.remove(child)
                    yield child, found
            time.sleep(0.02)
    finally:
        for child in running:
            child.stop()
