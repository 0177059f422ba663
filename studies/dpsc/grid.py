"""What is run: the four experiments of the paper, full and quick, and the jobs they consist of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from studies.dpsc.fits import EXACT, KINDS, PENALTIES, PRINTED, STRENGTH
from studies.dpsc.tables import KDD, SIMULATION
from studies.jobs import Job, Result, key_of

Strengths = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Experiment:
    """One experiment: fits on all combinations of rows, epsilons, data sets and draws of noise.

    Parameters
    ----------
    table : {"simulation", "kddcup99"}
    columns : int
        Of the simulation.
    rows : tuple of int
    epsilons : tuple of float
    sets, draws : int
        Data sets, and draws of noise on each.
    iterations, inner : int
        K and M of the printed algorithm.
    c, alpha : float
        Its augmentation and step.
    """

    table: str
    columns: int
    rows: tuple[int, ...]
    epsilons: tuple[float, ...]
    sets: int
    draws: int
    iterations: int
    inner: int
    c: float
    alpha: float

    def jobs(self, strengths: Strengths) -> list[Job]:
        """Jobs in an order that uses each data set once."""
        return [
            self.job(kind, penalty, rows, number, epsilon, draw, strengths)
            for number in range(self.sets)
            for rows in self.rows
            for kind in KINDS
            for penalty in PENALTIES
            for epsilon in (self.epsilons if kind != EXACT else (None,))
            for draw in range(self.draws if kind != EXACT else 1)
        ]

    def job(
        self,
        kind: str,
        penalty: str,
        rows: int,
        number: int,
        epsilon: float | None,
        draw: int,
        strengths: Strengths,
    ) -> Job:
        """One fit, with what it depends on and nothing else: experiments share what they have in common."""
        job: dict[str, object] = {
            "table": self.table,
            "columns": self.columns,
            "kind": kind,
            "penalty": penalty,
            "rows": rows,
            "set": number,
        }
        if kind in (EXACT, PRINTED):
            job["strength"] = strengths[self.table, penalty]
        if kind == PRINTED:
            job |= {"iterations": self.iterations, "inner": self.inner, "c": self.c, "alpha": self.alpha}
        if kind != EXACT:
            job |= {"epsilon": epsilon, "draw": draw}
        return job


@dataclass(frozen=True)
class Design:
    """The experiments by name, and the rows on which a table's strengths are chosen.

    Parameters
    ----------
    experiments : mapping
        ``"simulation by epsilon"``, ``"simulation by rows"``, ``"kdd by epsilon"``, ``"kdd by rows"``.
    tuned_on : mapping
        Rows for the cross-validation, by table, on the first data set.
    strengths : tuple of float
        Per row, to choose among; the paper has five that it does not name.
    """

    experiments: Mapping[str, Experiment]
    tuned_on: Mapping[str, int]
    strengths: tuple[float, ...]

    def jobs(self, strengths: Strengths) -> dict[str, list[Job]]:
        """Jobs by experiment, for the tables whose strengths are known."""
        return {
            name: experiment.jobs(strengths)
            for name, experiment in self.experiments.items()
            if all((experiment.table, penalty) in strengths for penalty in PENALTIES)
        }

    def fits(self, tables: Sequence[str], strengths: Strengths) -> list[Job]:
        """All fits once, first draws of noise first."""
        known = {which: strength for which, strength in strengths.items() if which[0] in tables}
        jobs = {key_of(job): job for jobs in self.jobs(known).values() for job in jobs}
        return sorted(jobs.values(), key=_turn)

    def tuning(self, tables: Sequence[str]) -> list[Job]:
        """Jobs that find the strengths."""
        columns = {grid.table: grid.columns for grid in self.experiments.values()}
        return [
            {
                "table": table,
                "columns": columns[table],
                "kind": STRENGTH,
                "penalty": penalty,
                "rows": self.tuned_on[table],
                "set": 0,
                "strength": strength,
            }
            for table in tables
            for penalty in PENALTIES
            for strength in self.strengths
        ]


def strengths(tuned: Sequence[Result]) -> dict[tuple[str, str], float]:
    """The strength of least cross-validated loss, the larger one of two, by table and penalty.

    Examples
    --------
    >>> tuned = {"table": "simulation", "penalty": "l1"}
    >>> strengths([{**tuned, "strength": 0.1, "loss": 0.5}, {**tuned, "strength": 0.01, "loss": 0.4}])
    {('simulation', 'l1'): 0.01}
    """
    best: dict[tuple[str, str], Result] = {}
    for result in sorted(tuned, key=lambda result: (result["loss"], -result["strength"])):
        best.setdefault((str(result["table"]), str(result["penalty"])), result)
    return {which: float(result["strength"]) for which, result in best.items()}


def _turn(job: Job) -> tuple[float, bool, int, int]:
    """First draws before second ones, so that what a stop leaves can be looked at.

    LHA takes minutes on rows of KDD Cup: it waits for all first draws.
    """
    kdd = job["table"] != SIMULATION
    late = kdd and job["kind"] == EXACT and job["penalty"] == "l1/2"
    return (0.5 if late else float(job.get("draw", 0)), kdd, int(job["set"]), int(job["rows"]))


FULL = Design(
    {
        "simulation by epsilon": Experiment(
            SIMULATION, 100, (10_000,), (0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0), 10, 1, 100, 5, 2.5, 0.5
        ),
        "simulation by rows": Experiment(
            SIMULATION,
            100,
            (5_000, 10_000, 15_000, 20_000, 25_000, 30_000),
            (0.5, 1.5),
            10,
            1,
            150,
            5,
            2.5,
            0.5,
        ),
        "kdd by epsilon": Experiment(
            KDD, 0, (60_000,), (0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0), 1, 10, 150, 5, 1.0, 0.2
        ),
        "kdd by rows": Experiment(
            KDD, 0, (10_000, 20_000, 30_000, 40_000, 50_000, 60_000), (1.0,), 1, 5, 150, 5, 1.0, 0.2
        ),
    },
    {SIMULATION: 2_000, KDD: 1_000},
    (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7),
)
QUICK = Design(
    {
        "simulation by epsilon": Experiment(SIMULATION, 20, (1_000,), (1.0, 4.0), 1, 2, 10, 5, 2.5, 0.5),
        "simulation by rows": Experiment(SIMULATION, 20, (500, 1_000), (4.0,), 1, 2, 15, 5, 2.5, 0.5),
        "kdd by epsilon": Experiment(KDD, 0, (1_000,), (4.0,), 1, 1, 15, 5, 1.0, 0.2),
        "kdd by rows": Experiment(KDD, 0, (500, 1_000), (4.0,), 1, 1, 15, 5, 1.0, 0.2),
    },
    {SIMULATION: 200, KDD: 200},
    (3e-2, 1e-2),
)
