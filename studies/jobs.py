"""Jobs of a study, one after the other or side by side; what is done is kept, a line a job."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from tqdm import tqdm

Job = Mapping[str, Any]
Result = dict[str, Any]
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def key_of(job: Job) -> str:
    """The job as text: jobs are mappings of JSON scalars.

    Examples
    --------
    >>> key_of({"method": "dpsc", "epsilon": 1.0})
    '{"epsilon": 1.0, "method": "dpsc"}'
    """
    return json.dumps(dict(job), sort_keys=True)


def run(
    jobs: Iterable[Job], work: Callable[[Job], Result], out: Path, *, processes: int = 1, title: str = "jobs"
) -> list[Result]:
    """Results of all jobs in their order, each the job's own entries and what ``work`` made of it.

    A run that was stopped goes on where it was. ``work`` must be a function of a module and depend on the job
    alone, its seed included.

    Parameters
    ----------
    jobs : iterable of mapping
        Distinct, of JSON scalars.
    work : callable
        Job to a mapping of JSON values.
    out : Path
        File of results, a JSON line each; lines of other jobs stay.
    processes : int
        Workers, each with one thread for linear algebra.
    """
    asked = list(jobs)
    done = read(out)
    waiting = [job for job in asked if key_of(job) not in done]
    out.parent.mkdir(parents=True, exist_ok=True)
    torn = out.exists() and out.read_bytes()[-1:] not in (b"", b"\n")
    with out.open("a", encoding="utf-8") as file, tqdm(total=len(waiting), desc=title, disable=None) as bar:
        if torn:  # a line that a stop cut short must not swallow the next one
            file.write("\n")
        for job, found in _answers(waiting, work, processes):
            done[key_of(job)] = found
            file.write(json.dumps({"job": dict(job), "found": found}) + "\n")
            file.flush()
            bar.update()
    return [{**job, **done[key_of(job)]} for job in asked]


def read(out: Path) -> dict[str, Result]:
    """What a file of results holds, by job; a line that a stop cut short is left out."""
    found = {}
    for line in out.read_text(encoding="utf-8").splitlines() if out.exists() else ():
        try:
            entry = json.loads(line)
            found[key_of(entry["job"])] = entry["found"]
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _answers(
    jobs: Sequence[Job], work: Callable[[Job], Result], processes: int
) -> Iterable[tuple[Job, Result]]:
    if processes == 1:
        for job in jobs:
            yield job, work(job)
        return
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        futures = {pool.submit(work, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
