"""Which tests run which lines, how long they take, and so which can see a fault."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from tests.mutants.copies import ROOT
from tests.mutants.mutations import Mutant
from tests.mutants.running import Child, each

# A fingerprint of the code would see every fault there is; the others read no code or start a browser.
EXCLUDED = ("tests/test_proofs.py", "tests/browser/", "tests/test_vignettes.py", "tests/mutants/")
NEAR = ("dpglm/", "tests/laws/", "tests/oracles/", "tests/rooms/privacy/", "tests/rooms/curator/")
NEAR += ("tests/rooms/mechanisms/", "tests/rooms/ledger/", "tests/rooms/papers/", "tests/attacks/")
NEAR += ("tests/golden/test_golden_prices.py",)
# What runs first; all else only for faults that these do not find.
FIRST = (
    "dpglm/privacy",
    "dpglm/mechanisms",
    "dpglm/ledger",
    "dpglm/papers",
    "dpglm/curator",
    "tests/oracles/",
    "tests/attacks/",
    "tests/golden/test_golden_prices.py",
    "tests/test_fit.py",
    "tests/rooms/test_sites.py",
)
FIRST += (
    "tests/rooms/privacy/",
    "tests/rooms/curator/",
    "tests/rooms/mechanisms/",
    "tests/rooms/ledger/",
    "tests/rooms/papers/",
)
LAWS = ("accounting", "cross_validation", "draws", "moments", "neighbours", "noise_of_releases", "plans")
FIRST += tuple(f"tests/laws/test_{name}.py" for name in (*LAWS, "profiles", "worst_cases"))
QUICK_SECONDS, QUICK_TESTS = 10.0, 100


@dataclass(frozen=True)
class Reached:
    """What was found when all tests ran once on the code as it is.

    Parameters
    ----------
    tests : dict
        By name of the test: its seconds and, by file, its lines.
    spawning : set of str
        Tests that start processes: what these run is not known.
    """

    tests: dict[str, tuple[float, dict[str, frozenset[int]]]]
    spawning: frozenset[str]

    def quick(self, mutant: Mutant) -> list[str]:
        """The shortest tests that run the statement with the fault."""
        taken, seconds = list[str](), 0.0
        for test in self._sorted(self._that_run(mutant)):
            seconds += self.tests[test][0]
            if len(taken) >= QUICK_TESTS or (taken and seconds > QUICK_SECONDS):
                break
            taken.append(test)
        return taken

    def others(self, mutant: Mutant, limit: float, *, near: bool) -> list[str]:
        """Other tests that run it, in `FIRST` or not; and those near it that share a file with one that does.

        What runs once a file, a fixture or a cached value, is not seen to be run by tests that come after.
        """
        running = self._that_run(mutant)
        files = {test.partition("::")[0] for test in running}
        beside = {test for test in self.tests if test.partition("::")[0] in files and test.startswith(NEAR)}
        if mutant.path.startswith(("dpglm/privacy/", "dpglm/mechanisms/noise/", "dpglm/ledger/")):
            beside |= {test for test in self.spawning if test.startswith(NEAR)}
        # The first stages know the tests in `FIRST` only: none of the others has been run by them.
        done, taken, seconds = set(self.quick(mutant)) if near else set(), list[str](), 0.0
        for test in [*self._sorted(running - done), *self._sorted(beside - running - done)]:
            if test.startswith(FIRST) == near and seconds + self.tests[test][0] <= limit:
                seconds += self.tests[test][0]
                taken.append(test)
        return taken

    def usual(self, tests: Sequence[str]) -> dict[str, float]:
        """How many seconds each of these took."""
        return {test: self.tests[test][0] for test in tests}

    def _that_run(self, mutant: Mutant) -> set[str]:
        wanted = frozenset(range(mutant.first, mutant.last + 1))
        return {
            test
            for test, (_, lines) in self.tests.items()
            if (mutant.first == 0 and mutant.path in lines) or wanted & lines.get(mutant.path, frozenset())
        }

    def _sorted(self, tests: set[str]) -> list[str]:
        return sorted(tests, key=lambda test: (self.tests[test][0], test))


def reached(folder: Path, watched: Sequence[str], *, kept: Path, jobs: int, first: bool = False) -> Reached:
    """Run every test once, or those in `FIRST`; or read from file ``kept`` what is still true of the code."""
    old = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    code = _hash(path for path in sorted(ROOT.rglob("*.py")) if _is_code(path))
    answers = old.get("answers", {}) if old.get("code") == code else {}
    units = {unit: _hash(_files(unit)) for unit in _units() if not first or unit.startswith(FIRST)}
    missing = [unit for unit in units if answers.get(unit, {}).get("hash") != units[unit]]

    def children() -> Iterator[Child]:
        for number, unit in enumerate(missing):
            yield Child(folder, [unit, "-m", "not audit"], 900.0, watched, f"child{number}")

    if missing:
        for child, found in tqdm(each(children(), jobs), total=len(missing), desc="tests as they are"):
            unit = child.arguments[0]
            answers[unit] = {**found, "hash": units[unit]}
            kept.write_text(json.dumps({"code": code, "answers": answers}), encoding="utf-8")
    tests, spawning = {}, set()
    for unit in units:
        good = set(answers[unit].get("good", ())) - set(answers[unit]["bad"])
        for test, seen in answers[unit].get("tests", {}).items():
            if test in good:
                lines = {name: frozenset(at) for name, at in seen["lines"].items()}
                tests[test] = (float(seen["seconds"]), lines)
        spawning |= set(answers[unit].get("spawning", ())) & good
    return Reached(tests, frozenset(spawning))


def _units() -> list[str]:
    """Files of tests, and folders of the package for their examples."""
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if "audits" not in path.parts]
    names = [path.relative_to(ROOT).as_posix() for path in files]
    rooms = [f"dpglm/{path.name}" for path in (ROOT / "dpglm").iterdir() if path.name != "__pycache__"]
    rooms = [room for room in rooms if (ROOT / room).is_dir() or room.endswith(".py")]
    kept = [name for name in (*names, *rooms) if not name.startswith(EXCLUDED)]
    return sorted(kept, key=lambda name: not name.startswith(FIRST))


def _files(unit: str) -> list[Path]:
    path = ROOT / unit
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _is_code(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    if parts[0] in ("dpglm", "vignettes", "studies"):
        return True
    return parts[0] == "tests" and parts[1] != "mutants" and not path.name.startswith("test_")


def _hash(paths: Iterator[Path] | Sequence[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()
