"""What pyproject.toml declares: requirements and their lower bounds, which other files repeat.

``python -m tests.packaging.declared`` writes `.ci/oldest.txt`, the constraints of ``make oldest``.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).parents[2]
PYPROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT: Final[dict[str, Any]] = PYPROJECT["project"]
OLDEST: Final = ROOT / ".ci" / "oldest.txt"
HEAD: Final = """\
# The oldest supported versions: the lower bounds of pyproject.toml, for `make oldest`.
# Written by python -m tests.packaging.declared; a test compares the two.
"""


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


def constraints() -> str:
    """The text of `.ci/oldest.txt`: one line for each package with a lower bound."""
    bounds: dict[str, set[str]] = {}
    for asked in [*needed(), *(one for more in extras().values() for one in more)]:
        if bound := lower(asked):
            bounds.setdefault(asked.name, set()).add(bound)
    twice = {name: versions for name, versions in bounds.items() if len(versions) > 1}
    assert not twice, f"lower bounds that differ: {twice}"
    return HEAD + "".join(f"{name}=={min(bounds[name])}\n" for name in sorted(bounds))


if __name__ == "__main__":
    OLDEST.write_text(constraints(), encoding="utf-8")
