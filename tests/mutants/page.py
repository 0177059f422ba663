"""``tests/mutants/mutants.md``: how many faults were found, and why the others were not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from scipy.special import betaincinv

ARGUMENTS = Path(__file__).parent / "arguments.yaml"
HEAD = """\
# Small faults put into the code, and what finds them

A number changed, a comparison turned, a sum made a difference, a check or a raise taken out, a word
swapped: one such fault at a time is put into a copy of the rooms that privacy rests on, and the tests are run
until one of them fails. `tests/mutants/mutations.py` is the catalogue. The answers kept here are of the code
before its files moved, under the names that the files have now.

    python -m tests.mutants                          # goes on where it stopped; about 5 s a fault
    python -m tests.mutants --rooms privacy --sample 500 --seed 2
    python -m tests.mutants --again                  # survivors once more, after tests were added
    python -m tests.mutants --tests audit --again    # and the audits of what the file is for

Faults are drawn by file, each file its share and at least {least}, by a hash of the seed and the fault.
*Quick* are the shortest tests that run the statement with the fault (found by running the tests once and
noting their lines), *near* the others in the tests of these rooms, laws and oracles that run it or share a
file with one that does, *full* those in all other tests; *audit* are the audits of that file. A fault is
found when a test fails, a module cannot be imported, or a test takes ten times as long as it did, and ten
seconds.

A fault below may have been through the quick stage only: its last stage is said. That it changes no answer is
an argument, not a result; the second rate leans on it.

Not counted: `tests/test_proofs.py`, whose fingerprints of the proved files would find every fault in them,
the browser and the vignettes. The texts of errors, docstrings, annotations, asserts, decorators and what
only prints an object get no faults.
"""
KINDS = {
    "same": "No answer changes",
    "digits": "Digits below the accuracy that is promised",
    "wide": "Not a promise: speed, waiting, or how much is printed",
    "open": "Open",
    "unsaid": "Not argued yet",
}


def page(found: Mapping[str, Any]) -> str:
    """The page for answers as ``python -m tests.mutants`` keeps them."""
    rules = yaml.safe_load(ARGUMENTS.read_text(encoding="utf-8")) or []
    answers = [answer for key, answer in found["answers"].items() if key in set(found["drawn"])]
    answers.sort(key=lambda answer: (answer["path"], answer["line"], answer["key"]))
    survivors = [answer for answer in answers if answer["verdict"] != "killed"]
    told = {answer["key"]: _argument(answer, rules) for answer in survivors}
    same = [answer for answer in survivors if told[answer["key"]]["kind"] == "same"]
    lines = [HEAD.format(least=found["least"]), "## Counts", "", *_counts(found["counts"], answers), ""]
    told_apart = [answer for answer in answers if answer not in same]
    lines += [
        f"Found: {_rate(answers)}. Of the {len(told_apart)} faults that change an answer:",
        f"{_rate(told_apart)}. (Clopper-Pearson, 95 %; seed {found['seed']}.)",
        "",
    ]
    for kind, title in KINDS.items():
        group = [answer for answer in survivors if told[answer["key"]]["kind"] == kind]
        if group:
            lines += [f"## {title}", "", "| fault | where | why |", "| --- | --- | --- |"]
            lines += [*(_row(answer, told[answer["key"]]["why"]) for answer in group), ""]
    return "\n".join(lines).rstrip() + "\n"


def _argument(answer: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The first rule whose file, function, code and replacement are this fault's."""
    for rule in rules:
        if (
            answer["path"] == f"dpglm/{rule['file']}"
            and answer["function"] == rule.get("function", answer["function"])
            and " ".join(answer["before"].split()) in rule.get("code", [" ".join(answer["before"].split())])
            and answer["text"] in rule.get("faults", [answer["text"]])
        ):
            return rule
    return {"kind": "unsaid", "why": "-"}


def _counts(counts: Mapping[str, int], answers: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [
        "| room | faults there are | drawn | quick | near | full | audit | not found |",
        "|" + " --- |" * 8,
    ]
    rooms = sorted({path.split("/")[1] for path in counts})
    for room in [*rooms, "all"]:
        here = [a for a in answers if room in ("all", a["path"].split("/")[1])]
        all_there = sum(n for path, n in counts.items() if room in ("all", path.split("/")[1]))
        stages = [
            sum(a["verdict"] == "killed" and a["stage"] == s for a in here)
            for s in ("quick", "near", "full", "audit")
        ]
        left = sum(a["verdict"] != "killed" for a in here)
        rows.append("| " + " | ".join([room, f"{all_there:,}", *map(str, [len(here), *stages, left])]) + " |")
    return rows


def _rate(answers: Sequence[Mapping[str, Any]]) -> str:
    n, k = len(answers), sum(answer["verdict"] == "killed" for answer in answers)
    low = float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0
    return f"{k} of {n}, {100 * k / max(n, 1):.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def _row(answer: Mapping[str, Any], why: str) -> str:
    change = f"`{_cell(answer['before'])}` to `{_cell(answer['text'])}`"
    place = f"`{answer['path'].removeprefix('dpglm/')}` {answer['function']}"
    seen = f"{answer['key']}, last stage {answer['stage']}"
    return f"| {change} ({seen}) | {place} | {why} |"


def _cell(text: str) -> str:
    short = " ".join(text.split()).replace("|", "\\|")
    return short if len(short) <= 90 else short[:87] + "..."
