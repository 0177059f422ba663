"""``python -m tests.mutants``: put faults into a copy of the package; do tests find them?"""

from __future__ import annotations

import argparse
import json
import signal
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tests.mutants.copies import ROOT, copied
from tests.mutants.judging import LEAST, ROOMS, Judge, population, sample
from tests.mutants.mutations import Mutant
from tests.mutants.page import page
from tests.mutants.reached import reached
from tests.mutants.running import warm_up

KEPT = ("path", "function", "line", "kind", "before", "text", "key")
STAGES = ("quick", "near", "full", "audit")


def main() -> None:
    """Read the command line, judge what is not judged yet, write the answers and the page."""
    # Also where a shell has told background work to ignore an interrupt: the copies are removed.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    asked = _arguments()
    everything = population(asked.rooms)
    counts = {name: len(mutants) for name, mutants in everything.items()}
    chosen = sample(everything, asked.sample, asked.seed)
    drawn = [mutant.key for mutant in chosen]
    if asked.only:
        chosen = [m for mutants in everything.values() for m in mutants if m.key in asked.only]
    old = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else {}
    answers: dict[str, dict[str, Any]] = old.get("answers", {})
    if asked.again:
        asked_for = {mutant.key for mutant in chosen}
        answers = {k: a for k, a in answers.items() if a["verdict"] == "killed" or k not in asked_for}

    # Answers about other rooms stay, and those about code that is still there.
    elsewhere = {key for key, answer in answers.items() if answer["path"].split("/")[1] not in asked.rooms}
    current = {mutant.key for mutants in everything.values() for mutant in mutants}
    answers = {key: answer for key, answer in answers.items() if key in current | elsewhere}
    drawn += [key for key in old.get("drawn", []) if key in elsewhere]
    head = {
        "counts": old.get("counts", {}) | counts,
        "seed": asked.seed,
        "least": LEAST,
        "drawn": sorted(drawn),
    }

    def keep(mutant: Mutant, verdict: dict[str, Any]) -> None:
        place = {name: value for name, value in asdict(mutant).items() if name in KEPT}
        answers[mutant.key] = {**place, **verdict}
        _write(asked.out, head | {"answers": answers})

    def waiting(stage: str) -> list[Mutant]:
        """Those that were last seen at this stage, alive."""
        fresh = {"stage": "", "verdict": ""}
        last = [(mutant, answers.get(mutant.key, fresh)) for mutant in chosen]
        return [m for m, answer in last if answer["stage"] == stage and answer["verdict"] != "killed"]

    with tempfile.TemporaryDirectory(prefix="dpglm-mutants-") as name:
        folder = Path(name)
        warm_up()
        place = copied(folder / "copy")
        for number, stage in enumerate(STAGES[: STAGES.index(asked.tests) + 1]):
            mutants = waiting(STAGES[number - 1] if number else "")
            if not mutants:
                continue
            first = stage in ("quick", "near")
            found = reached(place, sorted(counts), kept=asked.reached, jobs=asked.jobs, first=first)
            judge = Judge(found, folder, asked.jobs, asked.limit)
            bar = tqdm(judge.run(mutants, stage), total=len(mutants), desc=stage)
            for mutant, verdict in bar:
                keep(mutant, verdict)
                bar.set_postfix(Counter(answer["verdict"] for answer in answers.values()))
    _write(asked.out, head | {"answers": answers})
    asked.page.write_text(page(json.loads(asked.out.read_text(encoding="utf-8"))), encoding="utf-8")


def _write(path: Path, answers: dict[str, Any]) -> None:
    """One answer a line, so that two runs can be compared."""
    beside = path.with_name(path.name + ".new")
    lines = [f"{json.dumps(key)}: {json.dumps(found)}" for key, found in sorted(answers["answers"].items())]
    head = {name: value for name, value in answers.items() if name != "answers"}
    text = json.dumps(head)[:-1] + ', "answers": {\n' + ",\n".join(lines) + "\n}}\n"
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=list(ROOMS))
    parser.add_argument("--sample", type=int, default=300, metavar="N", help="about so many faults")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[], metavar="KEY", help="these faults instead")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tests", choices=STAGES, default="full", help="up to this stage")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of tests a fault, second stage")
    parser.add_argument("--again", action="store_true", help="judge survivors again, after adding tests")
    parser.add_argument("--out", type=Path, default=ROOT / "tests" / "mutants" / "mutants.json")
    parser.add_argument("--page", type=Path, default=ROOT / "tests" / "mutants" / "mutants.md")
    parser.add_argument(
        "--reached",
        type=Path,
        default=Path(tempfile.gettempdir()) / "dpglm-mutants-reached.json",
        help="keeps which test runs which line, from one run to the next",
    )
    asked = parser.parse_args()
    for name in ("out", "page", "reached"):
        setattr(asked, name, getattr(asked, name).absolute())
    return asked


if __name__ == "__main__":
    main()
