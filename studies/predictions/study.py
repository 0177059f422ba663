"""Study of predictions: the default call beside the best call and beside peers, at several budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from studies.jobs import Job, Result
from studies.predictions.fits import CALLS, NONPRIVATE, PEER, STRENGTHS, work
from studies.predictions.page import sections
from studies.predictions.tables import FEW_ROWS, REAL, SIMULATED, absence
from studies.study import Study

PURE, APPROXIMATE = ("replace-one", 0.0), ("add-remove", 1e-6)


@dataclass(frozen=True)
class Grid:
    """What is run.

    Parameters
    ----------
    tables : tuple of str
    epsilons : tuple of float
        Each as (epsilon, 1e-6) under add-remove, and pure under replace-one.
    repeats : int
        Seeds of noise.
    repeats_of : mapping
        Those of tables of few rows, by name: noise decides there, and a fit takes no time.
    calls : tuple of str
        Of `studies.predictions.fits.CALLS`; those of gradient descent are run with a delta only.
    peer : bool
        Whether diffprivlib is run, for which `make benchmark` makes an environment.
    """

    tables: tuple[str, ...]
    epsilons: tuple[float, ...]
    repeats: int
    calls: tuple[str, ...]
    peer: bool
    repeats_of: Mapping[str, int] = field(default_factory=dict)

    def repeats_at(self, table: str) -> int:
        """Seeds of a table."""
        return self.repeats_of.get(table, self.repeats)


FULL = Grid(
    (*REAL, *SIMULATED),
    (0.1, 0.5, 1.0, 4.0),
    2,
    tuple(CALLS),
    peer=True,
    repeats_of=dict.fromkeys(FEW_ROWS, 30),
)
QUICK = Grid(("first simulation",), (1.0,), 2, ("default", "predict"), peer=False)


def jobs(grid: Grid, tables: Sequence[str], results: Sequence[Result]) -> list[Job]:
    """All fits, those of one seed after the other, so that what a stop leaves can be looked at."""
    found: list[Job] = [{"table": name, "call": NONPRIVATE, "repeat": 0} for name in tables]
    return found + [
        job
        for repeat in range(max(map(grid.repeats_at, tables), default=0))
        for name in tables
        if repeat < grid.repeats_at(name)
        for job in _seed(grid, name, repeat)
    ]


def _seed(grid: Grid, name: str, repeat: int) -> list[Job]:
    """All fits of a table with one seed."""
    found: list[Job] = []
    for epsilon in grid.epsilons:
        for relation, delta in (APPROXIMATE, PURE):
            about = {"table": name, "epsilon": epsilon, "relation": relation, "delta": delta}
            found += [
                {**about, "call": call, "repeat": repeat}
                for call in grid.calls
                if delta > 0.0 or CALLS[call].group == "own"
            ]
            if delta == 0.0 and grid.peer:
                found += [
                    {**about, "call": PEER, "strength": strength, "repeat": repeat} for strength in STRENGTHS
                ]
    return found


STUDY = Study(
    name="predictions",
    title="How well fits predict",
    about="Is the default call as good as any other, and is it better than gradient descent and diffprivlib?",
    full=FULL,
    quick=QUICK,
    tables=lambda grid: grid.tables,
    absence=absence,
    stages=(jobs,),
    work=work,
    sections=sections,
)
