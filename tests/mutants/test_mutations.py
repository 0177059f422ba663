"""The catalogue of faults: each changes the meaning of code, none its texts, and each can be found."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import pytest

from tests.mutants.copies import ROOT, faulty
from tests.mutants.judging import ROOMS, population, sample
from tests.mutants.mutations import mutants_of
from tests.mutants.page import page

SOURCE = '''
"""A docstring with 1 number."""
from typing import Literal

__all__ = ["price"]
LIMIT = 0.5
Word = Literal["gaussian", "gamma"]


def price(mu: float, steps: int = 2) -> float:
    """Twice 1 number."""
    check(mu)
    if not 0.0 <= mu < LIMIT:
        raise ValueError(f"mu={mu} is above {1 + 1}")
    total = min(mu, 1.0) * steps
    total += max(mu, 3)
    assert total > 0, "never 1"
    return np.sqrt(total) if law == "gaussian" and not quiet else -total
'''


def faults() -> dict[tuple[str, str], str]:
    return {(m.before, m.text): m.kind for m in mutants_of(SOURCE.encode(), "price.py")}


@pytest.mark.parametrize(
    ("before", "text", "kind"),
    [
        ("0.5", "1.0", "number"),
        ("2", "3", "number"),
        ("check(mu)", "pass", "call removed"),
        ("0.0 <= mu < LIMIT", "(0.0 <= mu <= LIMIT)", "boundary"),
        ("0.0 <= mu < LIMIT", "(0.0 > mu < LIMIT)", "comparison"),
        ("min(mu, 1.0)", "(max(mu, 1.0))", "max for min"),
        ("total += max(mu, 3)", "total -= max(mu, 3)", "arithmetic"),
        ("total += max(mu, 3)", "pass", "statement removed"),
        ("np.sqrt(total)", "(total)", "root removed"),
        ("'gaussian'", "'gamma'", "word"),
        ("-total", "(total)", "sign"),
    ],
)
def test_the_catalogue_has_this_fault(before: str, text: str, kind: str) -> None:
    found = {(old.replace('"', "'"), new): what for (old, new), what in faults().items()}
    assert found[before, text] == kind


def test_texts_types_and_asserts_get_no_fault() -> None:
    spared = [
        place for place, line in enumerate(SOURCE.splitlines(), 1) if "1 num" in line or "assert" in line
    ]
    lines = {m.line for m in mutants_of(SOURCE.encode(), "price.py")}
    assert not lines & {*spared, 3, 5, 7}
    assert [m.text for m in mutants_of(SOURCE.encode(), "price.py") if "raise" in m.before] == ["pass"]


def test_every_fault_of_the_package_is_code_that_differs_and_has_its_own_key() -> None:
    everything = population(ROOMS)
    for name, mutants in everything.items():
        source = (ROOT / name).read_bytes()
        whole = ast.dump(ast.parse(source))
        for mutant in mutants[:: max(1, len(mutants) // 3)]:
            assert ast.dump(ast.parse(mutant.applied(source))) != whole, mutant
    keys = [mutant.key for mutants in everything.values() for mutant in mutants]
    assert len(set(keys)) == len(keys)


def test_a_key_stays_when_other_code_is_added_above() -> None:
    moved = SOURCE.replace("LIMIT = 0.5", "OTHER = 7\nLIMIT = 0.5").encode()
    before = {m.key for m in mutants_of(SOURCE.encode(), "price.py")}
    assert before < {m.key for m in mutants_of(moved, "price.py")}


def test_a_sample_has_faults_of_every_file_and_a_larger_one_holds_it() -> None:
    everything = population(["privacy", "curator"])
    small, large = sample(everything, 100, 1), sample(everything, 200, 1)
    assert {m.path for m in small} == set(everything)
    assert {m.key for m in small} < {m.key for m in large}
    assert {m.key for m in small} != {m.key for m in sample(everything, 100, 2)}


def test_a_copy_is_as_it_was_after_a_fault(tmp_path: Path) -> None:
    mutant = population(["curator"])["dpglm/curator/curator.py"][0]
    (tmp_path / mutant.path).parent.mkdir(parents=True)
    shutil.copy(ROOT / mutant.path, tmp_path / mutant.path)
    with faulty(tmp_path, mutant):
        assert (tmp_path / mutant.path).read_bytes() != (ROOT / mutant.path).read_bytes()
    assert (tmp_path / mutant.path).read_bytes() == (ROOT / mutant.path).read_bytes()


def test_the_page_counts_and_lists_what_was_not_found() -> None:
    fault = {
        "path": "dpglm/mechanisms/noise.py",
        "line": 3,
        "function": "f",
        "before": "1",
        "text": "2",
    }
    answers = {
        "a": {**fault, "key": "a", "verdict": "killed", "stage": "quick"},
        "b": {**fault, "key": "b", "verdict": "survived", "stage": "full"},
        "asked for by hand": {**fault, "key": "c", "verdict": "killed", "stage": "quick"},
    }
    shown = page(
        {
            "counts": {"dpglm/mechanisms/noise.py": 9},
            "seed": 1,
            "least": 6,
            "drawn": ["a", "b"],
            "answers": answers,
        }
    )
    assert "| mechanisms | 9 | 2 | 1 | 0 | 0 | 0 | 1 |" in shown
    assert "1 of 2, 50.0 %" in shown
    assert "## Not argued yet" in shown
    assert "`1` to `2` (b, last stage full)" in shown


def test_the_page_in_the_repository_is_that_of_its_answers() -> None:
    answers = ROOT / "tests" / "mutants" / "mutants.json"
    if not answers.exists():
        pytest.skip("no run was kept")
    shown = (ROOT / "tests" / "mutants" / "mutants.md").read_text(encoding="utf-8")
    assert shown == page(json.loads(answers.read_text(encoding="utf-8")))
