"""Job store: what a study has run, one JSON line per job, and the runner that resumes it."""

from __future__ import annotations

import base64
import gzip
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

Job = Mapping[str, Any]
Result = dict[str, Any]
Work = Callable[[Job], Result]


def key_of(job: Job) -> str:
    """The job as text: jobs are mappings of JSON scalars.

    Examples
    --------
    >>> key_of({"method": "dpsc", "epsilon": 1.0})
    '{"epsilon": 1.0, "method": "dpsc"}'
    """
    return json.dumps(dict(job), sort_keys=True)


@dataclass(frozen=True)
class JobStore:
    """A file of results. Lines of other jobs stay, and a line that a stop cut short is passed over.

    Parameters
    ----------
    path : Path
        One JSON line per job; arrays of numbers are kept in single precision.
    kept : Path or None
        Compressed lines of earlier runs, on whatever machine, which are not run again.
    """

    path: Path
    kept: Path | None = None

    def read(self) -> dict[str, Result]:
        """All results by the key of their job."""
        return {key: entry["found"] for key, entry in self._entries().items()}

    def keep(self, jobs: Iterable[Job]) -> int:
        """Write what these jobs found to ``kept``; how many there are."""
        assert self.kept is not None, "a store with a place for kept results"
        entries = self._entries()
        lines = [
            json.dumps(entries[key], default=_plain) for key in sorted(map(key_of, jobs)) if key in entries
        ]
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        self.kept.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
        return len(lines)

    def _entries(self) -> dict[str, Any]:
        """Jobs with what they found, by key; what was run here comes before what was kept."""
        lines = []
        if self.kept is not None and self.kept.exists():
            lines += gzip.decompress(self.kept.read_bytes()).decode().splitlines()
        if self.path.exists():
            lines += self.path.read_text(encoding="utf-8").splitlines()
        entries = {}
        for line in lines:
            try:
                entry = json.loads(line, object_hook=_array)
                entries[key_of(entry["job"])] = {"job": entry["job"], "found": entry["found"]}
            except (ValueError, KeyError, TypeError):
                continue
        return entries

    def results(self, jobs: Iterable[Job]) -> list[Result]:
        """Results of those jobs that have been run, each with the job's own entries."""
        done = self.read()
        return [{**job, **done[key]} for job in jobs if (key := key_of(job)) in done]

    def run(self, jobs: Sequence[Job], work: Work, *, processes: int = 1, title: str = "jobs") -> list[str]:
        """Run the jobs that have no result yet.

        Parameters
        ----------
        jobs : sequence of mapping
            Distinct, of JSON scalars.
        work : callable
            Job to a mapping of JSON values and arrays. A function of a module that depends on the job
            alone, its seed included.
        processes : int
            Workers, each with one thread for linear algebra.

        Returns
        -------
        list of str
            The jobs that failed, with their errors; one bad job does not stop a long run.
        """
        done = self.read()
        waiting = [job for job in jobs if key_of(job) not in done]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        torn = self.path.exists() and self.path.read_bytes()[-1:] not in (b"", b"\n")
        failures = []
        with (
            self.path.open("a", encoding="utf-8") as file,
            tqdm(total=len(waiting), desc=title, disable=None) as bar,
        ):
            if torn:  # a line that a stop cut short must not swallow the next one
                file.write("\n")
            for job, result, error in _answers(waiting, work, processes):
                if error is None:
                    file.write(json.dumps({"job": dict(job), "found": result}, default=_plain) + "\n")
                    file.flush()
                else:
                    failures.append(f"{key_of(job)}: {error!r}")
                bar.update()
        return failures


Answer = tuple[Job, Result, Exception | None]


def _answers(jobs: Sequence[Job], work: Work, processes: int) -> Iterator[Answer]:
    """Jobs as they end, with their result or error."""
    if processes == 1:
        for job in jobs:
            yield _attempt(job, lambda job=job: work(job))  # type: ignore[misc]
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_follow_parent) as pool:
        futures = {pool.submit(work, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                yield _attempt(futures[future], future.result)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)  # jobs that were begun are still finished
            raise


def _attempt(job: Job, result: Callable[[], Result]) -> Answer:
    try:
        return job, result(), None
    except Exception as error:
        return job, {}, error


def _follow_parent() -> None:
    """Leave Ctrl-C to the process that started the worker, and end with it if it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch(sentinel: int) -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, args=(parent.sentinel,), daemon=True).start()


def _plain(value: object) -> Any:
    """An array as JSON: Booleans and single precision, in base 64."""
    if isinstance(value, np.ndarray):
        kind = "bool" if value.dtype == np.bool_ else "float32"
        return {kind: base64.b64encode(value.astype(kind).tobytes()).decode()}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"no JSON for {type(value).__name__}")


def _array(entry: dict[str, Any]) -> Any:
    for kind in ("bool", "float32"):
        if entry.keys() == {kind}:
            return np.frombuffer(base64.b64decode(entry[kind]), dtype=kind)
    return entry
