"""Extras, lower bounds and versions of Python: each is said once, and what repeats it agrees."""

from __future__ import annotations

import re

from packaging.requirements import Requirement

from tests.packaging.declared import PROJECT, PYPROJECT, ROOT, extras

DEVELOPERS = {"docs", "lint", "test"}
CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)")
SUPPORTED = sorted(
    (match[1] for text in PROJECT["classifiers"] if (match := CLASSIFIER.fullmatch(text))),
    key=lambda version: int(version.split(".")[1]),
)


def test_the_extra_all_joins_every_extra_that_users_want() -> None:
    (joined,) = PROJECT["optional-dependencies"]["all"]
    asked = Requirement(joined)
    assert asked.name == PROJECT["name"]
    assert not asked.specifier
    assert asked.extras == extras().keys() - DEVELOPERS - {"all"}


def test_every_requirement_of_users_has_a_lower_bound() -> None:
    users = [*PROJECT["dependencies"]]
    users += [
        line
        for name, lines in PROJECT["optional-dependencies"].items()
        if name not in DEVELOPERS | {"all"}
        for line in lines
    ]
    assert [line for line in users if not Requirement(line).specifier] == []


def test_the_oldest_python_is_said_alike_everywhere() -> None:
    oldest = SUPPORTED[0]
    assert PROJECT["requires-python"] == f">={oldest}"
    assert PYPROJECT["tool"]["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"
    for page in ("README.md", "Makefile"):
        assert f"Python >= {oldest}" in (ROOT / page).read_text(encoding="utf-8"), page


def test_contributing_tells_which_pythons_the_tests_were_run_with() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"The tests were run with Python ([\d., and]+\d)[:;,.]? ", text)
    assert re.findall(r"3\.\d+", told) == SUPPORTED
