"""Releases that read weighted rows keep their claims beside long rows; with 20 % less noise they are caught.

A long row moves a score by 1 / |x| at most, and a curvature by as much as a row of norm 1 does. So minimisers
and outputs are audited on a row of norm 1 beside long ones, and on long rows alone, which a twin could hide;
the information matrix, and gradients that are cut where long rows are, on long rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

import dpglm
from dpglm.auditing.neighbours import Neighbours, Table
from dpglm.glm.families import families
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.base import FAR
from dpglm.mechanisms.gradient import Gradient
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.output_perturbation import PerturbedOutput
from dpglm.mechanisms.rows import DownWeightedRows
from dpglm.mechanisms.span import Span
from dpglm.privacy.budget import Relation
from dpglm.rows import ArrayChunk
from dpglm.typing import FloatVector
from tests.audits.harness import RELATIONS, Case, check, of_releases, under_both
from tests.audits.test_minimiser import calibrated
from tests.audits.test_output import one_column

LONG = (5.0, 20.0)
# Rows that both tables hold: long ones, some where their slopes change.
BESIDE = tuple((sign * length, offset) for length in LONG for sign in (1.0, -1.0) for offset in (0.0, FAR))
# The same with slopes of 1 wherever the fit is.
FIXED = tuple((sign * length, -FAR) for length in LONG for sign in (1.0, -1.0))


def table(rows: Sequence[tuple[float, float]], size: int = 1, axis: int = 0) -> Table:
    """Down-weighted rows along an axis from (coordinate, offset); each has a response of 1."""
    X = np.zeros((size, len(rows)))
    X[axis] = [coordinate / max(LONG) for coordinate, _ in rows]
    offsets = np.array([offset for _, offset in rows])
    coded = ArrayChunk(X.astype(np.float32), np.ones(len(rows)), offsets)
    (chunk,) = DownWeightedRows(Table(coded), max(LONG) * np.eye(size)).chunks()
    return Table(chunk)


def pair(
    relation: Relation,
    length: float,
    rest: Sequence[tuple[float, float]] = (),
    at: FloatVector | None = None,
) -> Neighbours:
    """A row at full slope against none or its opposite, beside a rest."""
    first = [(length, -FAR), *rest]
    second = list(rest) if relation == "add-remove" else [(-length, -FAR), *rest]
    return Neighbours(f"a row of length {length:g}", table(first), table(second), np.ones(1), at)


def cases() -> list[Case]:
    found = []
    lengths = {"pure": LONG[0], "approximate": LONG[1], "Gaussian": LONG[0]}
    for title, privacy in under_both():
        relation, length = privacy.relation, lengths[title]
        near = [pair(relation, 1.0, BESIDE), pair(relation, length)]
        words, release = f"{title}, long rows", calibrated(privacy)
        found.append(of_releases(PerturbedMinimiser, words, privacy, [release], near, trials=9000))
        if title == "Gaussian":
            near = [pair(relation, 1.0, FIXED), pair(relation, 20.0)]
            output = one_column("binomial", relation)
            found.append(of_releases(PerturbedOutput, "long rows", privacy, [output], near, trials=9000))
    for relation in RELATIONS:
        found += [gradients(relation, length) for length in LONG]
        found += [curvatures(relation, length) for length in LONG]
    return found


def gradients(relation: Relation, length: float) -> Case:
    """Cut where a row of this length has its largest gradient."""
    one = Gradient(families["binomial"](), 1.0, clip=1.0 / length)
    release = replace(one, scale=one.sensitivity(relation))
    privacy = dpglm.Privacy.gdp(1.0, delta=0.05, relation=relation)
    near = [pair(relation, length, at=np.zeros(1))]
    return of_releases(Gradient, f"rows of length {length:g}", privacy, [release], near, trials=8000)


def curvatures(relation: Relation, length: float) -> Case:
    """A long row of full curvature against none, or against one at a right angle."""
    block = TermColumns("x", "other", 0, 2, 1.0, np.eye(2), np.ones(2))
    release = Information(families["binomial"](), 1.0, "gaussian", Span((block,)))
    release = replace(release, scale=release.sensitivity(relation))
    privacy = dpglm.Privacy.gdp(1.0, delta=0.05, relation=relation)
    first, direction = table([(length, 0.0)], size=2), np.zeros((2, 2))
    second = table([], size=2) if relation == "add-remove" else table([(length, 0.0)], size=2, axis=1)
    direction[0, 0] = 1.0
    direction[1, 1] = -1.0 if relation == "replace-one" else 0.0
    near = [Neighbours(f"rows of length {length:g}", first, second, direction.ravel(), np.zeros(2))]
    return of_releases(Information, f"rows of length {length:g}", privacy, [release], near, trials=6000)


CASES = cases()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)
