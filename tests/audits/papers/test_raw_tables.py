"""Every method from raw cells to the last release: its claim stands, and what breaks it on the way is caught.

`Plan.audit` makes raw neighbours of the schema and reads them as a fit does: cells are cleaned and coded,
persons are bounded, releases are asked for and rounded. Broken on purpose are the reading of missing codes,
the shares of persons, the last bits of the noise, and the noise of a second release. Missing codes and shares
move sums by 20 rows or more: a twin is missed with a probability below 1e-6. An honest claim is refuted with
one of at most 1e-4.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.auditing.audit import tasks_of
from dpglm.auditing.bounds import bounded
from dpglm.auditing.raw_tables import OF_A_PERSON, REST, declared_neighbours
from dpglm.curator.curator import Curator
from dpglm.data.schema.variables import Numeric
from dpglm.data.tables import persons
from dpglm.mechanisms.noise import NoiseLaw, SeededNoise
from dpglm.methods.base import methods
from dpglm.methods.secure_sum import SecureSum
from dpglm.papers.dlr.dlvp import DLP, DLVP
from dpglm.papers.dpsc.dpsc import DPSC
from dpglm.papers.radmm.admm import DPADMM, DPSGD, MPADMM, SSADMM
from dpglm.papers.stacking.pst import PLR, PSTF, PSTS
from dpglm.papers.stacking.transfer import PPHTL, PSTH
from dpglm.papers.tuning.tune import Tune
from dpglm.spec.plan import Plan
from tests.audits.harness import FAILURE, RELATIONS, UNCLAIMED, first_refuted
from tests.audits.papers.test_tuning import option
from tests.audits.test_low_bits import in_double_precision

TRIALS = 400
GDP = dpglm.Privacy.gdp(1.0, delta=0.05)
PAIR = dpglm.Privacy(1.0, 0.05)
CODE = 999
COLUMNS = {
    "y": ["no", "yes"],
    "x": {"bounds": [-1, 1], "missing_codes": [CODE]},
    "w": {"bounds": [-1, 1], "missing_codes": [CODE]},
}


FOLDER = tempfile.TemporaryDirectory(prefix="dpglm-audit-")


@cache
def source() -> Path:
    """Another organisation's result."""
    path = Path(FOLDER.name) / "main.json"
    frame = pd.DataFrame({"y": ["no", "yes"] * 20, "x": np.linspace(-1, 1, 40), "w": 0.3})
    fit = dpglm.fit(
        "y ~ x + w",
        frame,
        schema=COLUMNS,
        method=PSTF(groups=2),
        penalty="none",
        privacy=GDP,
        seed=1,
        progress=False,
    )
    assert isinstance(fit, dpglm.FitResult)
    return fit.save(path)


@dataclass(frozen=True)
class Asked:
    """A method with a budget that it takes, under replace-one, and whether it takes add-remove, too."""

    method: Callable[[], Any]
    privacy: dpglm.Privacy
    both: bool = True
    goal: Any = "predict"


ASKED = {
    "Objective": Asked(lambda: "objective", PAIR, goal="explain"),
    "Output": Asked(lambda: "output", PAIR),
    "Moments": Asked(lambda: "moments", PAIR, goal="explain"),
    "SecureSum": Asked(lambda: SecureSum(DPSGD(steps=2), sites=4), GDP),
    "DPSC": Asked(lambda: DPSC(iterations=2), GDP),
    "SSADMM": Asked(lambda: SSADMM(steps=2), GDP),
    "MPADMM": Asked(lambda: MPADMM(steps=2), GDP),
    "DPSGD": Asked(lambda: DPSGD(steps=2), GDP),
    "DPADMM": Asked(lambda: DPADMM(steps=2, parties=2), GDP, both=False),
    "DLVP": Asked(lambda: DLVP(steps=2), GDP),
    "DLP": Asked(lambda: DLP(), PAIR),
    "PLR": Asked(lambda: PLR(), GDP, both=False),
    "PSTS": Asked(lambda: PSTS(parts=2), GDP, both=False),
    "PSTF": Asked(lambda: PSTF(groups=2), GDP, both=False),
    "PSTH": Asked(lambda: PSTH(source=source()), GDP, both=False),
    "PPHTL": Asked(lambda: PPHTL(source=source()), GDP, both=False),
    "Tune": Asked(lambda: Tune(candidates=(option("none"), option("l2"))), dpglm.Privacy(1.0), both=False),
}
CASES_OF = [(name, relation) for name, asked in ASKED.items() for relation in RELATIONS if asked.both]
CASES_OF += [(name, "replace-one") for name, asked in ASKED.items() if not asked.both]


def planned(name: str, relation: Any, unit: Any = None) -> Plan:
    asked = ASKED[name]
    gaussian = name == "Moments"
    columns = COLUMNS | ({"y": (-1, 1)} if gaussian else {})
    return dpglm.plan(
        "y ~ x + w",
        dpglm.Schema.of(columns, unit=unit, rows=REST),
        n=REST,
        method=asked.method(),
        family="gaussian" if gaussian else "binomial",
        goal=asked.goal,
        penalty="none",
        privacy=replace(asked.privacy, relation=relation),
    )


def test_every_method_with_a_claim_is_here() -> None:
    claiming = {kind.__name__ for kind in methods.classes().values()} - UNCLAIMED
    assert claiming == set(ASKED)


honest_read = Numeric.read


def by_column(self: Numeric, column: Any) -> Any:
    """The twin: codes are known in columns of numbers only, and one text makes a column one of texts."""
    of_texts = getattr(getattr(column, "dtype", None), "kind", "") == "O"
    numbers = honest_read(self, column)
    return np.nextafter(numbers, np.inf) if of_texts else numbers  # a last bit away from a code


@pytest.mark.audit
@pytest.mark.parametrize(("name", "relation"), CASES_OF)
def test_a_method_keeps_its_claim_on_raw_tables_and_a_reader_that_looks_at_columns_does_not(
    name: str, relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = planned(name, relation).audit(trials=TRIALS, confidence=1.0 - FAILURE, seed=1, progress=False)
    assert found.passed
    monkeypatch.setattr(Numeric, "read", by_column)
    assert first_refuted(planned(name, relation), 2, TRIALS).refuted


@pytest.mark.audit
@pytest.mark.parametrize("name", ["Objective", "Output", "Moments"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_persons_keep_their_claim_on_raw_tables_and_forgotten_shares_do_not(
    name: str, relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twins: rows of a person that all count in full, and a person of twenty rows taken for one row."""
    unit = {"column": "who", "rows": OF_A_PERSON}
    plan = planned(name, relation, unit)
    last = declared_neighbours(plan.specification.coded_model, plan.guarantee.relation)[-1]
    assert last.first.row_count() == OF_A_PERSON
    assert plan.audit(trials=TRIALS, confidence=1.0 - FAILURE, seed=1, progress=False).passed
    monkeypatch.setattr(persons, "_shares", lambda counts, unit: np.ones(len(counts)))
    assert first_refuted(planned(name, relation, unit), 2, TRIALS).refuted


@pytest.mark.audit
def test_noise_in_double_precision_is_caught_by_an_audit_of_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row or none: small outputs have bits that no sum with a row leaves; `test_low_bits.py` has releases.

    Seen in a tenth of the draws on one table and in none on the other: missed with a probability below 1e-6.
    """
    schema = {"y": ["no", "yes"], "x": (-1, 1.7)}
    privacy = dpglm.Privacy(1.0, relation="add-remove")
    plan = dpglm.plan(
        "y ~ x - 1", schema, n=REST, method="output", penalty="none", goal="predict", privacy=privacy
    )
    assert not first_refuted(plan, 1, 6000).refuted
    monkeypatch.setattr(NoiseLaw, "add", in_double_precision)
    assert first_refuted(plan, 2, 6000).refuted


def same_noise(self: Curator, release: Any, at: Any = None) -> Any:
    """The twin: every release of a fit starts from the same random bytes."""
    if not hasattr(self, "_seed"):
        self._seed = int.from_bytes(self._noise.bytes(8), "little")  # type: ignore[attr-defined]
    self._permit.use(release)
    with np.errstate(all="ignore"):
        return release.run(self._rows, at, SeededNoise(self._seed))  # type: ignore[attr-defined]


# Methods that ask for several releases; where there is one, no second has its noise. Not of parties: a slope
# that changes between two rounds of one party tells less than the claim allows.
SEVERAL = ["Objective", "Moments", "DPSC", "DLVP", "SSADMM", "MPADMM", "DPSGD", "PSTS", "PSTF", "PSTH"]


@pytest.mark.audit
@pytest.mark.parametrize("name", SEVERAL)
def test_one_noise_for_all_releases_of_a_method_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each release by itself keeps its claim; their differences have no noise, or nearly none."""
    plan = planned(name, "replace-one")
    assert len(plan.releases.releases) > 1
    monkeypatch.setattr(Curator, "ask", same_noise)
    act, _, claim = tasks_of(plan)[-1]
    pairs = declared_neighbours(plan.specification.coded_model, "replace-one")[2:4]
    found = bounded(act, pairs, claim, SeededNoise(3), trials=2 * TRIALS, failure=FAILURE)
    assert found.bound.refuted
