"""A study: which jobs answer its questions, what each computes, and the page that shows the results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from studies.jobs import Job, JobStore, Result, Work, key_of
from studies.page import Paper, Section, write

ROOT = Path(__file__).resolve().parents[1]
RUNS, KEPT, PAGES = ROOT / "studies" / "runs", ROOT / "studies" / "results", ROOT / "reports"
Grid = TypeVar("Grid")


@dataclass(frozen=True)
class Findings(Generic[Grid]):
    """What a page is made from.

    Parameters
    ----------
    grid : object
        The study's design, full or quick.
    quick : bool
    results : sequence of mapping
        Jobs with their results.
    absent : mapping
        Why tables are not there, by name.
    missing : int
        Jobs that have not been run yet.
    """

    grid: Grid
    quick: bool
    results: Sequence[Result]
    absent: Mapping[str, str]
    missing: int = 0

    @property
    def minutes(self) -> float:
        """Of all jobs."""
        return sum(float(result.get("seconds", 0.0)) for result in self.results) / 60.0

    def notes(self) -> list[str]:
        """What a reader must know before the numbers: a quick run, an unfinished one, tables left out."""
        texts = []
        if self.quick:
            texts.append("QUICK RUN: a small design that checks the machinery. Its numbers say nothing.")
        if self.missing:
            texts.append(f"INCOMPLETE: {self.missing} jobs have not been run yet.")
        return [*texts, *(f"Left out: {name}: {reason}." for name, reason in self.absent.items())]

    def refusals(self, label: Callable[[Result], str]) -> list[tuple[str, str, str]]:
        """What dpglm refused: label of the fit, its message, and the number of jobs."""
        counts: dict[tuple[str, str], int] = {}
        for result in self.results:
            if "refused" in result:
                key = (label(result), str(result["refused"]))
                counts[key] = counts.get(key, 0) + 1
        return [(name, message, str(count)) for (name, message), count in counts.items()]


@dataclass(frozen=True)
class Part:
    """What is asked for of a study; an empty entry asks for everything.

    Parameters
    ----------
    only : tuple of str
        Names of tables, or of kinds of them.
    epsilons, relations, definitions : tuple
        Budgets.
    replications : int or None
        Of each cell.
    """

    only: tuple[str, ...] = ()
    epsilons: tuple[float, ...] = ()
    relations: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    replications: int | None = None


# Jobs of a stage, from the design, the tables that are there, and the results of earlier stages.
Stage = Callable[[Grid, Sequence[str], Sequence[Result]], Sequence[Job]]


@dataclass(frozen=True)
class Study(Generic[Grid]):
    """A study that can be run, stopped, resumed and shown.

    Parameters
    ----------
    name : str
        Of its folder, its results and its page.
    title : str
        Heading of the page.
    about : str
        One sentence for the index.
    full, quick : object
        Its design, and a small one that checks the machinery.
    tables : callable
        Names of a design's tables.
    absence : callable
        Why a table is not on this machine, or None.
    stages : tuple of callable
        Jobs; a later stage may depend on results of earlier ones.
    work : callable
        Job to result.
    sections : callable
        Findings to the sections of the page.
    part : callable or None
        The part of a design that is asked for, where the study can be run in parts.
    lines : callable or None
        Findings to lines of text, which are printed after a run.
    paper : Paper or None
        Whose claims are asked about.
    """

    name: str
    title: str
    about: str
    full: Grid
    quick: Grid
    tables: Callable[[Grid], Sequence[str]]
    absence: Callable[[str], str | None]
    stages: tuple[Stage[Grid], ...]
    work: Work
    sections: Callable[[Findings[Grid]], Sequence[Section]]
    part: Callable[[Grid, Part], Grid] | None = None
    lines: Callable[[Findings[Grid]], Sequence[str]] | None = None
    paper: Paper | None = None

    def narrowed(self, asked: Part, *, quick: bool) -> Study[Grid]:
        """The study of that part; its results are kept with those of the whole.

        Raises
        ------
        ValueError
            The study has no parts, or not these.
        """
        if self.part is None:
            raise ValueError(f"the study {self.name} is run as a whole")
        grid = self.part(self._grid(quick), asked)
        return replace(self, quick=grid) if quick else replace(self, full=grid)

    def run(self, folder: Path, *, quick: bool, processes: int = 1) -> list[str]:
        """Run what is missing, stage by stage; the jobs that failed."""
        grid, store = self._grid(quick), self.store(folder)
        absent = self._absent(grid)
        for name, reason in absent.items():
            print(f"skipped: {name}: {reason}", file=sys.stderr)
        tables = [name for name in self.tables(grid) if name not in absent]
        failures: list[str] = []
        results: list[Result] = []
        for stage in self.stages:
            jobs = stage(grid, tables, results)
            failures += store.run(jobs, self.work, processes=processes, title=self.name)
            results += store.results(jobs)
        return failures

    def findings(self, folder: Path, *, quick: bool) -> Findings[Grid]:
        """What the store holds of this study; nothing is run."""
        grid = self._grid(quick)
        absent = self._absent(grid)
        wanted, results = self._wanted(folder, quick=quick)
        return Findings(grid, quick, results, absent, len(wanted) - len(results))

    def keep(self) -> int:
        """Write the results of full runs to a file that is part of the tree; how many there are."""
        folder = RUNS / "full"
        wanted, _ = self._wanted(folder, quick=False)
        return self.store(folder).keep(wanted.values())

    def _wanted(self, folder: Path, *, quick: bool) -> tuple[dict[str, Job], list[Result]]:
        """The jobs by their key, and the results that the store has of them."""
        grid, store = self._grid(quick), self.store(folder)
        absent = self._absent(grid)
        tables = [name for name in self.tables(grid) if name not in absent]
        results: list[Result] = []
        wanted: dict[str, Job] = {}
        for stage in self.stages:
            jobs = stage(grid, tables, results)
            wanted.update((key_of(job), job) for job in jobs)
            results += store.results(jobs)
        return wanted, results

    def write(self, path: Path, findings: Findings[Grid]) -> None:
        """Write the page."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, self.title, self.sections(findings), self.paper)

    def store(self, folder: Path) -> JobStore:
        """Results in a folder; to those of full runs belong the kept ones."""
        kept = KEPT / f"{self.name}.jsonl.gz" if folder == RUNS / "full" else None
        return JobStore(folder / f"{self.name}.jsonl", kept)

    def _grid(self, quick: bool) -> Grid:
        return self.quick if quick else self.full

    def _absent(self, grid: Grid) -> dict[str, str]:
        reasons = {name: self.absence(name) for name in self.tables(grid)}
        return {name: reason for name, reason in reasons.items() if reason is not None}
