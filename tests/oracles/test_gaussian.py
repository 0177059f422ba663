"""Linear regression: without noise it is least squares, with noise it is closer to it than AdaSSP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import dpglm
from dpglm.curator.curator import Curator
from dpglm.data.coding.coding import Coding
from dpglm.data.coding.design import Design
from dpglm.data.coding.response import Response
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import open_source
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.interval_model import interval_model
from dpglm.mechanisms.moments import MomentSums, SecondMoments
from dpglm.mechanisms.noise import NoiseSource, SeededNoise
from dpglm.methods.base import Estimate, Method, Problem, to_response_scale
from dpglm.methods.moments import Moments
from dpglm.methods.nonprivate import NonPrivate
from dpglm.privacy.gdp import gdp_mu
from dpglm.rows import ArrayChunk
from dpglm.typing import SHARES
from studies.real_tables import quoted, require
from tests.oracles.reference_adassp import adassp, adassp_exact
from tests.silence import Silence

SCHEMA: dict[str, Any] = {
    "x": (-1.0, 3.0),
    "w": {"bounds": (0.0, 100.0), "missing": 50.0},
    "g": ["a", "b", "c"],
    "y": (-10.0, 60.0),
}
FORMULAS = [
    "y ~ 1",
    "y ~ x + w + g",
    "y ~ x * g + w",
    "y ~ x + np.log1p(w) + C(g, Sum)",
    "y ~ 0 + x + w",
    "y ~ 0 + C(g) + x",
    "y ~ C(g, Helmert) + I(x ** 2) + x",
]


@dataclass(frozen=True)
class Pieces:
    """A linear regression taken apart."""

    coding: Coding
    response: Response
    design: Design
    problem: Problem

    @classmethod
    def of(cls, formula: str, frame: pd.DataFrame, schema: Any, penalty: str = "l2") -> Pieces:
        declared = Schema.of(schema)
        model = parse(formula, declared)
        coding = Coding.of(model)
        centred = not coding.penalised.all()
        response = Response.of(declared, model.response, "number", centred=centred)
        design = Design(open_source(frame), declared, coding, response)
        chosen = {"none": dpglm.penalties.NoPenalty(), "l2": dpglm.penalties.L2()}[penalty]
        return cls(coding, response, design, Problem(coding, dpglm.families.Gaussian(), chosen))

    def fit(self, privacy: dpglm.Privacy | None, noise: NoiseSource) -> Estimate:
        method: Method = NonPrivate() if privacy is None else Moments()
        plan = method.plan(self.problem, privacy)
        found = method.solve(self.problem, plan, Curator(self.design, plan, noise).ask)
        return to_response_scale(
            found, self.coding_of(found), unit=self.response.unit, shift=self.response.shift
        )

    def coding_of(self, found: Estimate) -> Coding:
        """The coding of an estimate's coefficients."""
        scales = found.scales
        return self.coding if scales is None else self.coding.standardised(scales.moments, scales.longer)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = 3000
    found = pd.DataFrame(
        {
            "x": rng.uniform(-1, 3, size),
            "w": rng.uniform(0, 100, size),
            "g": rng.choice(list("abc"), size, p=[0.6, 0.3, 0.1]),
        }
    )
    mean = 20 + 3 * found["x"] + 0.1 * found["w"] - 4 * (found["g"] == "b")
    found["y"] = np.clip(mean + rng.normal(0, 4, size), -10, 60)
    return found


NOISELESS = [
    None,
    dpglm.Privacy(1e12),
    dpglm.Privacy(1e12, relation="add-remove"),
    dpglm.Privacy(1e12, 1e-6),
    dpglm.Privacy(1e12, 1e-6, relation="add-remove"),
]


@pytest.mark.parametrize("privacy", NOISELESS, ids=str)
@pytest.mark.parametrize("formula", FORMULAS)
def test_without_noise_the_fit_is_least_squares(
    formula: str, privacy: dpglm.Privacy | None, frame: pd.DataFrame
) -> None:
    pieces = Pieces.of(formula, frame, SCHEMA, "none" if privacy is None else "l2")
    found = pieces.fit(privacy, Silence())
    peer = smf.ols(formula, frame).fit()
    assert list(pieces.coding.names) == list(peer.params.index)
    # Rows are float32, which moves coefficients by about 1e-7 of the response's range of 70.
    np.testing.assert_allclose(found.estimates, peer.params.to_numpy(), rtol=1e-6, atol=2e-6)
    cleaned = Schema.of(SCHEMA).clean(frame, ["x", "w", "g"])
    rows, _ = pieces.coding_of(found).coded(cleaned)
    predicted = rows @ found.coded
    np.testing.assert_allclose(predicted, peer.fittedvalues, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("privacy", NOISELESS[1:], ids=str)
def test_without_noise_standard_errors_are_those_of_least_squares(
    privacy: dpglm.Privacy, frame: pd.DataFrame
) -> None:
    formula = "y ~ x + w + g"
    pieces = Pieces.of(formula, frame, SCHEMA, "none")
    found = pieces.fit(privacy, Silence())
    assert found.released is not None
    peer = smf.ols(formula, frame).fit()
    contrasts = Contrasts(interval_model(found.released), pieces.coding_of(found).user_from_coded)
    # The declared prior on the other coefficients moves an estimate by less than a twentieth of its error.
    gap = np.abs(contrasts.estimates - peer.params.to_numpy())
    assert (gap < 0.05 * peer.bse.to_numpy()).all()
    np.testing.assert_allclose(contrasts.deviations, peer.bse.to_numpy(), rtol=0.01)
    np.testing.assert_allclose(found.released.dispersion, peer.mse_resid, rtol=0.01)


def test_values_outside_the_bounds_become_the_bound_and_missing_ones_count_for_nothing(
    frame: pd.DataFrame,
) -> None:
    wild = frame.copy()
    wild["y"] = wild["y"].astype(object)
    wild.loc[:9, "y"] = [1e300, -1e300, 1e299, 61.0, -11, "1e5", 70, 80, 90, "-400"]
    wild.loc[10:19, "y"] = [None, np.nan, "", "unknown", "x", None, np.nan, "?", "-", "NA"]
    tame = frame.copy()
    tame.loc[:9, "y"] = [60.0, -10, 60, 60, -10, 60, 60, 60, 60, -10]
    tame = tame.drop(index=range(10, 20))
    privacy = dpglm.Privacy(1.0, 1e-6)
    both = [Pieces.of("y ~ x + w + g", each, SCHEMA).fit(privacy, SeededNoise(4)) for each in (wild, tame)]
    np.testing.assert_allclose(both[0].estimates, both[1].estimates, rtol=1e-10)


def test_an_offset_is_taken_off_in_units_of_the_response(frame: pd.DataFrame) -> None:
    known = frame.assign(o=frame["w"] / 20.0)
    schema = SCHEMA | {"o": (0.0, 5.0)}
    peer = smf.ols("I(y - o) ~ x + g", known).fit()
    for privacy in NOISELESS[:2]:
        found = Pieces.of("y ~ x + g + offset(o)", known, schema, "none" if privacy is None else "l2")
        np.testing.assert_allclose(
            found.fit(privacy, Silence()).estimates, peer.params.to_numpy(), rtol=1e-6, atol=2e-6
        )


@pytest.mark.audit
def test_intervals_cover_what_least_squares_gives_on_simulated_tables() -> None:
    # The target is the truth; 60 tables, 5 coefficients. At coverage .95 fewer than 260 of 300 has
    # probability below 1e-6 if coefficients are independent, and below 1e-3 if pairs of them fail together.
    rng = np.random.default_rng(8)
    truth = np.array([20.0, -4.0, 2.0, 3.0, 0.1])
    hits = 0
    for seed in range(60):
        size = 20_000
        x, w = rng.uniform(-1, 3, size), rng.uniform(0, 100, size)
        g = rng.integers(0, 3, size)
        y = 20 - 4.0 * (g == 1) + 2.0 * (g == 2) + 3 * x + 0.1 * w + rng.normal(0, 4, size)
        table = pd.DataFrame({"x": x, "w": w, "g": np.array(list("abc"))[g], "y": y})
        pieces = Pieces.of("y ~ g + x + w", table, SCHEMA, "none")
        relation = "add-remove" if seed % 2 else "replace-one"
        found = pieces.fit(dpglm.Privacy(1.0, 1e-6, relation=relation), SeededNoise(seed))  # type: ignore[arg-type]
        assert found.released is not None
        contrasts = Contrasts(interval_model(found.released), pieces.coding_of(found).user_from_coded)
        hits += int((np.abs(contrasts.estimates - truth) < 1.96 * contrasts.deviations).sum())
    assert hits >= 260


@dataclass(frozen=True)
class Bench:
    """A real table's exact moments, and its coefficients in units of the response and of declared ranges."""

    pieces: Pieces
    flat: Any
    plan: Any
    units: Any
    rows_bound: float
    target: Any
    estimable: Any

    @classmethod
    def of(cls, name: str, response: str, left_out: tuple[str, ...]) -> Bench:
        real = require(name)
        declared = real.schema()
        terms = [each for each in declared.variables if each not in {response, *left_out}]
        formula = f"{quoted(response)} ~ " + " + ".join(quoted(each) for each in terms)
        pieces = Pieces.of(formula, real.frame(), declared)
        privacy = dpglm.Privacy(1.0, 1e-6, relation="add-remove")
        plan = Moments(scales="declared").plan(pieces.problem, privacy)
        (release,) = plan.releases
        assert isinstance(release, SecondMoments)
        products, count = release._sums(pieces.design)
        total, size = products.floats(), release.size
        sums = MomentSums(total[:size, :size], total[:size, size], total[size, size], count / SHARES)
        model = parse(formula, declared)
        ranges = np.ones(model.size)
        for term in model.terms:
            usages = [usage for subterm in term.subterms for usage in subterm]
            if len(usages) == 1 and usages[0].table is None:
                factor = model.factors[usages[0].factor]
                ranges[term.start : term.stop] = factor.high - factor.low  # type: ignore[union-attr]
        units = ranges[:, None] * np.asarray(pieces.coding.user_from_coded)
        # A level that no row has, or a column that is a combination of others, has no least squares to miss.
        values, vectors = np.linalg.eigh(sums.gram)
        null = vectors[:, values < 1e-6]
        estimable = np.abs(units @ null).max(axis=1, initial=0.0) < 1e-6 * np.abs(units).max(axis=1)
        target = units @ np.linalg.pinv(sums.gram, rcond=1e-10, hermitian=True) @ sums.cross
        return cls(pieces, sums, plan, units, float(len(model.terms)), target, estimable)

    def error(self, coded: Any) -> float:
        """Root mean squared distance from least squares, units of the response."""
        gap = (self.units @ coded - self.target)[self.estimable]
        return float(self.pieces.response.unit * np.sqrt(np.mean(gap**2)))

    def ours(self, seed: int) -> float:
        """One private fit."""
        (release,) = self.plan.releases
        size = release.size
        empty = Rowless(size)

        def ask(kind: Any, at: Any = None) -> Any:
            # Sums are linear: the noise alone is what an empty table gives.
            exact = self.flat.packed()
            return exact + kind.run(empty, None, SeededNoise(seed))

        return self.error(Moments().solve(self.pieces.problem, self.plan, ask).coded)

    def reference(self, seed: int) -> dict[str, float]:
        """AdaSSP as printed and with exact accounting, on the centred and on the user's own columns."""
        gram, cross = self.flat.gram, self.flat.cross
        back = np.linalg.inv(self.units)
        found = {}
        for coding, (one, two, bound) in {
            "centred": (gram, cross, 1.0),
            "own": (back.T @ gram @ back, back.T @ cross, self.rows_bound),
        }.items():
            rng = np.random.default_rng(seed)
            printed = adassp(one, two, bound=bound, epsilon=1.0, delta=1e-6, rng=rng)
            exact = adassp_exact(one, two, bound=bound, mu=gdp_mu(1.0, 1e-6), delta=1e-6, rng=rng)
            for accounting, answer in (("printed", printed), ("exact", exact)):
                coded = answer if coding == "centred" else back @ answer
                found[f"{accounting}, {coding} columns"] = self.error(coded)
        return found


class Rowless:
    """A table without rows."""

    def __init__(self, size: int) -> None:
        self.size = size

    def chunks(self) -> list[ArrayChunk]:
        return [ArrayChunk(np.zeros((self.size, 0), dtype=np.float32), np.zeros(0), None)]

    def row_count(self) -> int:
        return 0


@pytest.mark.audit
@pytest.mark.parametrize(
    ("name", "response", "left_out"),
    # education-num is the number of the level of education.
    [("adult", "hours-per-week", ("education-num",)), ("diabetes130", "time_in_hospital", ())],
)
def test_coefficients_are_closer_to_least_squares_than_those_of_adassp(
    name: str, response: str, left_out: tuple[str, ...]
) -> None:
    bench = Bench.of(name, response, left_out)
    seeds = range(20)
    ours = np.array([bench.ours(seed) for seed in seeds])
    peers = pd.DataFrame([bench.reference(seed) for seed in seeds])
    print(f"\n{name}: {response}, {bench.estimable.sum()} coefficients; ours {ours.mean():.3f}")
    print(peers.mean().round(3).to_string())
    assert ours.mean() <= peers.mean().min()
