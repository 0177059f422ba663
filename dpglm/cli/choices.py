"""What can be chosen by name on the command line: families, penalties, methods and goals."""

from __future__ import annotations

import textwrap
from typing import Final, get_args

import dpglm
from dpglm.postprocessing.record import Goal
from dpglm.spec.defaults import DEFAULT_METHOD, MULTINOMIAL

# They need options, tables by site or a grid, or no privacy at all.
PYTHON_ONLY: Final = {"dla", "lha", "nonprivate", "pphtl", "pst-h", "secure-sum", "tune"}
WIDTH: Final = 100


def names() -> dict[str, list[str]]:
    """Names by option."""
    return {
        "family": [*dpglm.families.families, MULTINOMIAL],
        "penalty": list(dpglm.penalties.penalties),
        "method": [DEFAULT_METHOD, *(name for name in dpglm.methods.methods if name not in PYTHON_ONLY)],
        "goal": list(get_args(Goal)),
    }


def listed() -> str:
    """The names as text, an option a paragraph."""
    lines = [
        textwrap.fill(
            ", ".join(known), WIDTH, initial_indent=f"--{option:<9}", subsequent_indent=" " * 11,
            break_on_hyphens=False,
        )
        for option, known in names().items()
    ]  # fmt: skip
    return "\n".join([*lines, "", "docs/methods.md says what each of them is for."])
