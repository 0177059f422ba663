"""Consensus over sites: without noise it ends at the minimiser over all rows, on every connected graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.auditing.neighbours import Table
from dpglm.curator.curator import Curator
from dpglm.errors import MethodError
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.gradient import Gradient
from dpglm.mechanisms.output_perturbation import PerturbedOutput
from dpglm.papers.dlr.consensus import neighbourhoods, spectral_gap
from dpglm.papers.dlr.dla import DLA
from dpglm.papers.dlr.dlvp import DLP, DLVP
from dpglm.papers.radmm.admm import DPADMM
from dpglm.rows import JoinedRows
from dpglm.typing import FloatVector
from tests.effort import quick

pytestmark = pytest.mark.papers

COLUMNS = {"a": (-2, 2), "b": (-2, 2), "y": ["no", "yes"]}
SCHEMA = dpglm.Schema.of(COLUMNS, sites="disjoint")
FORMULA, STRENGTH = "y ~ a + b", 0.01
LOUD = dpglm.Privacy.gdp(1.0, delta=1e-6)


def table(seed: int, rows: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    a, b = random.uniform(-2, 2, (2, rows))
    ill = random.uniform(size=rows) < 1.0 / (1.0 + np.exp(-(a - b + 0.3)))
    return pd.DataFrame({"a": a, "b": b, "y": np.where(ill, "yes", "no")})


def tables(count: int, rows: int = 40) -> dict[str, pd.DataFrame]:
    """Sites of different sizes."""
    return {f"s{place}": table(place, rows + 10 * (place % 3)) for place in range(count)}


def complete(count: int) -> Any:
    return None


def ring(count: int) -> Any:
    return {f"s{k}": [f"s{(k + 1) % count}", f"s{(k - 1) % count}"] for k in range(count)}


def star(count: int) -> Any:
    leaves = [f"s{k}" for k in range(1, count)]
    return {"s0": leaves} | {leaf: ["s0"] for leaf in leaves}


def central(data: dict[str, pd.DataFrame], **options: Any) -> FloatVector:
    whole = pd.concat(data.values(), ignore_index=True)
    chosen = {"schema": SCHEMA, "privacy": None, "penalty": "l2", "strength": STRENGTH} | options
    return np.asarray(dpglm.fit(FORMULA, whole, **chosen).params)


def fit(data: Any, method: Any, **options: Any) -> dpglm.FitResult:
    chosen = {"schema": SCHEMA, "penalty": "l2", "strength": STRENGTH, "progress": False} | options
    found: Any = dpglm.fit(FORMULA, data, method=method, **chosen)
    assert isinstance(found, dpglm.FitResult)
    return found


class Exact:
    """Curators that answer gradients without their noise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def ask(self: Any, release: Release, at: FloatVector | None = None) -> FloatVector:
            assert isinstance(release, Gradient)
            assert release.parts == 1
            assert at is not None
            self._permit.use(release)
            total = np.zeros(len(at))
            for chunk in self._rows.chunks():
                wide = chunk.X.astype(np.float64)
                total += wide @ release.family.slope(at @ wide, chunk.y)
            return total

        monkeypatch.setattr(Curator, "ask", ask)


SHAPES = [(2, complete), (2, ring), (5, complete), (5, ring), (5, star)]
MANY = [(50, complete), (50, star), (50, ring)]


@pytest.mark.parametrize(("count", "graph"), quick(SHAPES + MANY, (2, ring), (5, star)))
def test_dla_reaches_the_minimiser_over_all_rows(count: int, graph: Any) -> None:
    data = tables(count)
    found = fit(data, DLA(graph=graph(count)), privacy=None)
    np.testing.assert_allclose(found.params, central(data), rtol=0, atol=1e-6)
    assert not found.private
    assert "NOT PRIVATE" in str(found)


def test_dla_without_a_ridge_is_maximum_likelihood() -> None:
    data = tables(3, rows=100)
    found = fit(data, "dla", privacy=None, penalty="none", strength=None)
    np.testing.assert_allclose(found.params, central(data, penalty="none", strength=None), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("count", "graph"), quick([(2, complete), (5, ring), (5, star)], (2, complete)))
def test_without_noise_dlvp_ends_at_the_minimiser_over_all_rows(
    count: int, graph: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tables(count)
    expected = central(data)
    Exact(monkeypatch)
    found = fit(data, DLVP(steps=2500, graph=graph(count), clip=10.0), privacy=LOUD)
    np.testing.assert_allclose(found.params, expected, rtol=0, atol=1e-6)


def test_without_noise_dp_admm_of_sites_ends_at_the_minimiser_over_all_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sites of 40, 50 and 60 rows: each counts by its rows, not as one of three."""
    data = tables(3)
    expected = central(data)
    Exact(monkeypatch)
    found = fit(data, DPADMM(steps=3000, eta=2.0, rho=0.3, clip=10.0, coding="centred"), privacy=LOUD)
    np.testing.assert_allclose(found.params, expected, rtol=0, atol=1e-6)


def test_with_hardly_any_noise_dlp_is_output_perturbation_of_all_rows() -> None:
    data = tables(3)
    faint = {"privacy": dpglm.Privacy.gdp(1e9, delta=1e-6), "strength": None, "seed": 1}
    joint = fit(data, DLP(ridge=3.0), **faint)
    whole = pd.concat(data.values(), ignore_index=True)
    alone = fit(whole, dpglm.methods.Output(ridge=3.0), **faint)
    np.testing.assert_allclose(joint.params, alone.params, rtol=0, atol=1e-6)
    assert joint.n_rows == len(whole)


@pytest.mark.parametrize("method", [DLA(), DLVP(steps=30), DPADMM(steps=30)], ids=lambda m: m.name)
def test_the_order_of_sites_changes_nothing_but_roundings(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tables(3)
    if method.name != "dla":
        Exact(monkeypatch)
    budget = None if method.name == "dla" else LOUD
    first, second = (
        fit(given, method, privacy=budget) for given in (data, dict(reversed(list(data.items()))))
    )
    np.testing.assert_allclose(first.params, second.params, rtol=0, atol=1e-8)


def test_a_person_at_both_sites_moves_the_minimiser_by_more_than_one_noise_hides() -> None:
    """Why DLP asks for ``sites: disjoint``: two rows of one person, exchanged together."""
    budget = dpglm.Privacy(1.0)
    plan = dpglm.plan("y ~ a - 1", SCHEMA, method=DLP(ridge=2.0), penalty="none", privacy=budget)
    (release,) = plan.releases.releases
    case = release.worst_case("replace-one", 1)
    assert isinstance(release, PerturbedOutput)

    def moved(sites: int) -> float:
        ends = [
            release.certified_minimum(JoinedRows((Table(row),) * sites), np.zeros(1))
            for row in (case.first, case.second)
        ]
        assert all(isinstance(end, np.ndarray) for end in ends)
        return float(np.linalg.norm(ends[0] - ends[1]))  # type: ignore[operator]

    assert moved(1) == pytest.approx(release.sensitivity("replace-one"), rel=1e-6)
    assert moved(2) == pytest.approx(2.0 * release.sensitivity("replace-one"), rel=1e-6)


def test_a_ridge_is_chosen_by_folds_over_all_sites() -> None:
    """Twenty columns of noise beside one that tells: the least of the ridges is not the best."""
    random = np.random.default_rng(5)
    names = [f"x{k}" for k in range(12)]
    schema = dpglm.Schema.of({"y": ["no", "yes"], **dict.fromkeys(names, (-1, 1))})
    data = {}
    for site in ("north", "south"):
        columns = random.uniform(-1, 1, (60, 12))
        ill = random.uniform(size=60) < 1.0 / (1.0 + np.exp(-2.0 * columns[:, 0]))
        data[site] = pd.DataFrame(columns, columns=names).assign(y=np.where(ill, "yes", "no"))
    formula = "y ~ " + " + ".join(names)
    found: Any = dpglm.fit(formula, data, schema=schema, method=DLA(folds=2), penalty="l2", privacy=None)
    assert found._record.strength > 1e-3
    whole = pd.concat(data.values(), ignore_index=True)
    again = dpglm.fit(
        formula, whole, schema=schema, penalty="l2", strength=found._record.strength, privacy=None
    )
    np.testing.assert_allclose(found.params, again.params, rtol=0, atol=1e-6)


def test_neighbourhoods_are_closed() -> None:
    near = neighbourhoods({"a": ["b"], "b": ["a"]}, ("a", "b"))
    np.testing.assert_array_equal(near, np.ones((2, 2)))
    assert spectral_gap(np.ones((4, 4))) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("graph", "match"),
    [
        ({"s0": ["s1"], "s1": [], "s2": ["s1"]}, "'s0' has the neighbour 's1', and 's1' not 's0'"),
        ({"s0": ["s1"], "s1": ["s0"], "s2": []}, "without a path from site 's0' to site 's2'"),
        ({"s0": ["s1"], "s1": ["s0"]}, "no neighbours of site 's2'"),
        ({"s0": ["s9"], "s1": ["s0"], "s2": []}, "'s9', which is no site"),
        ({"s0": "s1"}, "no list of names"),
        ([("s0", "s1")], "graph of type list"),
    ],
)
def test_a_graph_that_connects_nobody_is_refused_in_words(graph: Any, match: str) -> None:
    with pytest.raises(MethodError, match=match):
        fit(tables(3), DLVP(graph=graph), privacy=LOUD)


@pytest.mark.parametrize(
    ("method", "options", "match"),
    [
        (DLVP(), {"penalty": "l1"}, "penalty 'l1' with method='dlvp'"),
        (DLVP(), {"penalty": "l1/2", "strength": None}, "ridge or none"),
        (DLVP(c=-1.0), {}, "c out of range"),
        (DLVP(steps=0), {}, "steps out of range"),
        (DLVP(share=1.5), {}, "share out of range"),
        (DLVP(clip=0.0), {}, "clip out of range"),
        (DLVP(), {"privacy": 1.0}, "pure epsilon with method='dlvp'"),
        (DLVP(), {"privacy": None}, "privacy=None"),
        (DLVP(), {"strength": "cv"}, "cv"),
        (DLA(), {}, "method='dla' with a privacy budget"),
        (DLA(folds=1), {"privacy": None}, "folds out of range"),
        (DLP(), {"schema": dpglm.Schema.of(COLUMNS)}, "a person may be at several sites"),
        (DLP(), {"privacy": dpglm.Privacy(1.0, relation="add-remove")}, "a strength per row"),
        (DPADMM(parties=3), {}, "parties=3 beside tables by site"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(
    method: Any, options: Any, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpglm.data.tables.sources.FrameSource.chunks", None)
    with pytest.raises(MethodError, match=match):
        fit(tables(2), method, **({"privacy": LOUD} | options))
