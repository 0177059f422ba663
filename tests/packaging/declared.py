"""What pyproject.toml declares: requirements and their lower bounds, which other files repeat."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).parents[2]
PYPROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT: Final[dict[str, Any]] = PYPROJECT["project"]


def parsed(lines: list[str]) -> list[Requirement]:
    """Requirements, without the package's own extras."""
    return [asked for asked in map(Requirement, lines) if asked.name != PROJECT["name"]]


def needed() -> list[Requirement]:
    """What every installation needs."""
    return parsed(PROJECT["dependencies"])


def extras() -> dict[str, list[Requirement]]:
    """What each extra adds."""
    return {name: parsed(lines) for name, lines in PROJECT["optional-dependencies"].items()}


def lower(asked: Requirement) -> str | None:
    """The lower bound, which is all that a requirement may say of versions; None where it says nothing."""
    if not asked.specifier:
        return None
    (only,) = asked.specifier
    assert only.operator == ">=", str(asked)
    return only.version
