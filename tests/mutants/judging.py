"""Every fault of a sample is put into a copy, and tests say whether they see it."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.copies import ROOT, copied, put, restore
from tests.mutants.mutations import Mutant, mutants_of
from tests.mutants.reached import Reached
from tests.mutants.running import Child, each

ROOMS = ("privacy", "mechanisms", "curator", "ledger", "papers")
LEAST = 6  # faults a file, where it has so many
# Seconds on the clock, for tests that wait for something; those that compute have less (`running.py`).
START, PATIENCE, LONGEST = 120.0, 10.0, 1800.0
AUDITS = {
    "dpglm/mechanisms/information.py": ("tests/audits/test_curvature.py",),
    "dpglm/mechanisms/moments.py": ("tests/audits/test_moments.py",),
    "dpglm/mechanisms/mapped.py": ("tests/audits/test_mapped.py",),
    "dpglm/mechanisms/objective_perturbation.py": (
        "tests/audits/test_minimiser.py",
        "tests/audits/test_counts.py",
    ),
    "dpglm/mechanisms/rows.py": ("tests/audits/test_minimiser.py",),
    "dpglm/mechanisms/span.py": ("tests/audits/test_curvature.py",),
    "dpglm/privacy/calibration.py": ("tests/audits/test_pair.py", "tests/audits/test_minimiser.py"),
    "dpglm/privacy/joint_profile.py": ("tests/audits/test_pair.py", "tests/audits/test_minimiser.py"),
    "dpglm/privacy/events.py": ("tests/audits/test_counts.py", "tests/audits/test_minimiser.py"),
    "dpglm/mechanisms/noise.py": (
        "tests/audits/test_minimiser.py",
        "tests/audits/test_moments.py",
        "tests/audits/test_curvature.py",
    ),
}
# Every file has part in what the methods release.
ALWAYS = ("tests/audits/test_methods.py", "tests/audits/test_attacks.py")


def population(rooms: Sequence[str]) -> dict[str, list[Mutant]]:
    """All faults of these rooms, by file."""
    found = {}
    for room in rooms:
        for path in sorted((ROOT / "dpglm" / room).glob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            mutants = mutants_of(path.read_bytes(), name)
            if mutants:
                found[name] = mutants
    return found


def sample(everything: dict[str, list[Mutant]], size: int, seed: int) -> list[Mutant]:
    """About ``size`` faults: of each file its share, by a hash, so that a larger sample holds a smaller.

    Files in turn, so that a run that is cut short is a sample too.
    """
    total = sum(len(mutants) for mutants in everything.values())
    drawn: list[tuple[float, Mutant]] = []
    for mutants in everything.values():
        count = min(len(mutants), max(LEAST, round(size * len(mutants) / total)))
        shuffled = sorted(mutants, key=lambda m: hashlib.sha256(f"{seed}\0{m.key}".encode()).hexdigest())
        drawn += [((place + 0.5) / count, mutant) for place, mutant in enumerate(shuffled[:count])]
    return [mutant for _, mutant in sorted(drawn, key=lambda pair: (pair[0], pair[1].key))]


@dataclass(frozen=True)
class Judge:
    """Runs stages of tests on faults, ``jobs`` at a time.

    Parameters
    ----------
    reached : Reached
        Which tests can see what.
    folder : Path
        For copies.
    jobs : int
    limit : float
        Seconds of tests for the second stage of one fault.
    """

    reached: Reached
    folder: Path
    jobs: int
    limit: float

    def run(self, mutants: Sequence[Mutant], stage: str) -> Iterator[tuple[Mutant, dict[str, Any]]]:
        """Verdicts of "quick", "near", "full" or "audit" as they come."""
        free = [self.folder / f"copy{number}" for number in range(self.jobs)]
        for place in free:
            if not place.exists():
                copied(place)
        at_work: dict[int, Mutant] = {}
        nothing = []

        def children() -> Iterator[Child]:
            for mutant in mutants:
                arguments, usual = self._arguments(mutant, stage)
                if not arguments:
                    nothing.append(mutant)
                    continue
                place = free.pop()
                put(place, mutant)
                limit = LONGEST if stage == "audit" else START + PATIENCE * sum(usual.values())
                child = Child(place, arguments, limit, usual=usual)
                at_work[id(child)] = mutant
                yield child

        for child, found in each(children(), self.jobs):
            mutant = at_work.pop(id(child))
            restore(child.folder, mutant)
            free.append(child.folder)
            yield mutant, _verdict(found, stage)
        for mutant in nothing:
            yield mutant, {"verdict": "survived", "stage": stage, "by": "", "tests": 0, "seconds": 0.0}

    def _arguments(self, mutant: Mutant, stage: str) -> tuple[list[str], dict[str, float]]:
        if stage == "audit":
            return ["-x", "-m", "audit", *AUDITS.get(mutant.path, ()), *ALWAYS], {}
        if stage == "quick":
            tests = self.reached.quick(mutant)
        else:
            tests = self.reached.others(mutant, self.limit, near=stage == "near")
        return (["-x", *tests] if tests else []), self.reached.usual(tests)


def _verdict(found: dict[str, Any], stage: str) -> dict[str, Any]:
    """Killed by a test, by not being importable, by a crash, or by never ending; or not."""
    code, bad = found["code"], found["bad"]
    if code is None:
        verdict, by = "killed", "no end"
    elif code == 0:
        verdict, by = "survived", ""
    elif bad:
        verdict, by = "killed", bad[0]
    elif code == -signal.SIGPROF:
        verdict, by = "killed", "no end"
    elif code == 2:  # an interrupt that a test meant to be stopped before
        verdict, by = "killed", "interrupt"
    elif code == 4:  # a test that was there is not: its file cannot be imported
        verdict, by = "killed", "collection"
    elif code < 0:
        verdict, by = "killed", "crash"
    else:
        verdict, by = "error", f"pytest ended with {code}"
    return {
        "verdict": verdict,
        "stage": stage,
        "by": by,
        "tests": len(found.get("good", ())) + len(bad),
        "seconds": round(found["seconds"], 1),
    }
