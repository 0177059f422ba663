"""What is run: a method at all branches of a network, under one kind of budget, on one split."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from studies.jobs import Job, key_of

EPSILON, DELTA = 1.0, 1e-6
LAWS: Final = {"pure": 0.0, "Gaussian": DELTA}
# The paper's own algorithms, which tune and scale on the rows, and spend K epsilons: NOT PRIVATE.
PRINTED: Final = "as printed"
K = 5
# How strongly PPHTL pulls to the main hospital's model where it pulls strongly, sum units.
RIDGE = 30.0
# Strength of the fit without privacy, per row: hardly any.
STRENGTH = 1e-4
METHODS: Final = {
    "pst-h-w": "PST-H(W)",
    "pst-h-u": "PST-H(U)",
    "pphtl": "PPHTL",
    "pphtl-strong": "PPHTL, strong",
    "plr-target": "PLR(target)",
    "auto": "default(target)",
    "plr-main": "PLR(main)",
    "plr-pooled": "PLR(pooled)",
    "nonprivate": "no privacy(pooled)",
}
# What a branch may do: with its own rows, and with what the main hospital released.
ALLOWED: Final = ("pst-h-w", "pst-h-u", "pphtl", "pphtl-strong", "plr-target", "auto", "plr-main")
TRANSFERS: Final = ("pst-h-w", "pst-h-u", "pphtl", "pphtl-strong")
# What the paper compares.
OF_PAPER: Final = ("pst-h-w", "pst-h-u", "pphtl", "plr-target")
# What starts from, or is, the main hospital's PLR.
ALONE: Final = ("pphtl", "pphtl-strong", "plr-main")


@dataclass(frozen=True)
class Grid:
    """How much is run.

    Parameters
    ----------
    tables : tuple of str
    repeats : int
        Splits, each with noise of its own.
    branches : int or None
        Most branches, with a quarter of their rows; None for all of everything.
    """

    tables: tuple[str, ...]
    repeats: int
    branches: int | None


FULL = Grid(("cohort", "gusto", "heart_disease"), repeats=10, branches=None)
QUICK = Grid(("cohort", "heart_disease"), repeats=2, branches=1)


def jobs(grid: Grid, tables: Sequence[str]) -> list[Job]:
    """All jobs, those of one repetition after the other, so that a run that is stopped has whole ones."""
    found: list[Job] = []
    for repeat, table in product(range(grid.repeats), tables):
        for law, method in [*product(LAWS, METHODS), *product((PRINTED,), OF_PAPER)]:
            if method == "nonprivate" and law != "pure":
                continue
            found.append(
                {
                    "table": table,
                    "repeat": repeat,
                    "branches": grid.branches,
                    "law": None if method == "nonprivate" else law,
                    "method": method,
                }
            )
    return found


def seed_of(job: Job, site: str) -> int:
    """A seed of the fit's own; the main hospital's model is the same for what uses it as it is."""
    which = {**job, "site": site}
    if site == "source" and job["method"] in ALONE:
        which["method"] = "plr"
    return int.from_bytes(hashlib.sha256(key_of(which).encode()).digest()[:6], "big")
