"""Study of speed: ratios of CPU seconds to peers, and what a fit costs as its table grows."""

from __future__ import annotations

from studies.jobs import Job, Result
from studies.speed.grid import FULL, QUICK, absence, jobs, part
from studies.speed.machine import machine
from studies.speed.measure import CONTESTANTS
from studies.speed.page import lines, sections
from studies.speed.rows import contest
from studies.study import Study


def work(job: Job) -> Result:
    """One round: each contestant takes its turn; and what that was measured with."""
    used, turns = machine(), contest(job).turns
    CONTESTANTS.leave({turn.seat for turn in turns if turn.seat is not None})
    return {"turns": {turn.name: turn.taken(CONTESTANTS) for turn in turns}, "machine": used}


STUDY = Study(
    name="speed",
    title="Speed and memory",
    about="How long do fits take beside diffprivlib and other peers, and what do they cost as tables grow?",
    full=FULL,
    quick=QUICK,
    tables=lambda grid: grid.names,
    absence=absence,
    stages=(jobs,),
    work=work,
    sections=sections,
    part=part,
    lines=lines,
)
