"""Fits on standardised rows without noise: scales of the table, weighted maximum likelihood, secants."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.special import expit

import dpglm
from dpglm.auditing.neighbours import Table
from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.errors import MethodError
from dpglm.glm.families import Binomial
from dpglm.glm.families.binomial import SHIFT, shifted_mean
from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.interval_model import secant_design, weight_ratio
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.coordinates import Coordinates
from dpglm.mechanisms.mapped import LengthClasses, RowMapping, Standardisation
from dpglm.methods import row_length, standardised
from dpglm.rows import ArrayChunk
from dpglm.typing import FloatMatrix, FloatVector
from tests.silence import Silence

SCHEMA = {"ill": ["no", "yes"], "age": (0, 400), "dose": (0, 50), "sex": ["F", "M"]}
FORMULA = "ill ~ age + dose + sex"
EXACT: dict[str, Any] = {"schema": SCHEMA, "penalty": "none", "privacy": (1e12, 1e-6), "progress": False}


@pytest.fixture
def _silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpglm.spec.arguments.OsNoise", Silence)


@pytest.fixture
def _tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows far out count less at every budget."""
    monkeypatch.setattr(row_length, "NEGLIGIBLE", 0.0)


def frame(n: int = 6000) -> pd.DataFrame:
    generator = np.random.default_rng(4)
    age, dose = generator.normal(50.0, 12.0, n), np.minimum(generator.exponential(2.0, n), 50.0)
    sex = generator.choice(["F", "M"], n)
    chance = expit(-1.0 + 0.03 * (age - 50.0) + 0.3 * dose + 0.4 * (sex == "M"))
    ill = np.where(generator.random(n) < chance, "yes", "no")
    return pd.DataFrame({"ill": ill, "age": age, "dose": dose, "sex": sex})


@pytest.mark.usefixtures("_silent")
def test_scales_are_those_of_the_rows_that_can_be_used() -> None:
    table = frame()
    table.loc[::7, "sex"] = None
    fit = dpglm.fit(FORMULA, table, **EXACT)
    scales, used = fit._record.scales, table.dropna()
    assert scales is not None
    assert scales.names == ("age", "dose")
    # Numbers are rounded to a grid of 2^-16 of half their range.
    np.testing.assert_allclose(scales.means, used[["age", "dose"]].mean(), atol=0.01)
    np.testing.assert_allclose(scales.deviations, used[["age", "dose"]].std(ddof=0), atol=0.01)


@pytest.mark.usefixtures("_silent")
def test_with_all_of_the_budget_no_row_loses_weight() -> None:
    fit = dpglm.fit(FORMULA, frame(), **EXACT)
    rows, _ = fit._record.row_map.coded(frame())
    assert (np.square(rows).sum(axis=1) <= 1.0).all()
    assert fit._record.scales.weight_lost == 0.0


@pytest.mark.usefixtures("_silent", "_tail")
def test_estimates_are_those_of_weighted_maximum_likelihood() -> None:
    table = frame()
    fit = dpglm.fit(FORMULA, table, **EXACT)
    rows, _ = fit._record.row_map.coded(table)
    weights = np.minimum(1.0, 1.0 / np.square(rows).sum(axis=1))
    assert np.mean(weights < 1.0) > 0.01
    # A class is as wide as a fifth of the length of numbers: the weight that is told is about what is lost.
    assert 0.0 < fit._record.scales.weight_lost <= row_length.MOST_LOST
    assert np.mean(1.0 - weights) == pytest.approx(fit._record.scales.weight_lost, abs=0.005)
    columns = np.column_stack([np.ones(len(table)), table["sex"] == "M", table["age"], table["dose"]])
    peer = sm.GLM(table["ill"] == "yes", columns, family=sm.families.Binomial(), freq_weights=weights).fit()
    order = ["Intercept", "sex[T.M]", "age", "dose"]
    close = 1e-4 * peer.bse.min()
    np.testing.assert_allclose(fit.params[order], peer.params, atol=close)
    plain = sm.GLM(table["ill"] == "yes", columns, family=sm.families.Binomial()).fit()
    assert np.abs(plain.params - peer.params).max() > 100.0 * close  # the weights tell


@pytest.mark.usefixtures("_silent", "_tail")
@pytest.mark.parametrize("steepness", [2.0, 4.0])
def test_a_steep_fit_solves_the_logistic_score_with_weights_of_its_predictors(
    steepness: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standardised, "STEEP_FROM", (0.0, math.inf if steepness == 2.0 else 0.0))
    table = frame()
    fit = dpglm.fit(FORMULA, table, **EXACT)
    assert fit._record.scales.steepness == steepness
    rows, _ = fit._record.row_map.coded(table)
    weights = np.minimum(1.0, 1.0 / np.square(rows).sum(axis=1))
    eta, y = rows @ fit._record.coded, np.asarray(table["ill"] == "yes")
    near = 1.0 / (1.0 + np.exp(-steepness * np.abs(eta)) / (2.0 * steepness - 1.0)) / expit(np.abs(eta))
    assert near.max() == pytest.approx(2.0 - 1.0 / steepness, rel=1e-3)
    size = np.linalg.norm(rows.T @ weights)
    assert np.linalg.norm(rows.T @ (weights * near * (expit(eta) - y))) < 1e-6 * size
    assert np.linalg.norm(rows.T @ (weights * (expit(eta) - y))) > 1e-4 * size  # the logistic score is not 0
    released = fit._record.released
    found = (rows.T * (weights * near * expit(eta) * expit(-eta))) @ rows
    np.testing.assert_allclose(released.information, found, atol=1e-5 * np.trace(found))
    assert released.dispersion == 2.0 - 1.0 / steepness


FEW = {"y": ["0", "1"], **{f"x{j}": {"bounds": (-4, 4), "mean": 0, "sd": 1} for j in range(3)}}


def test_with_few_rows_intervals_of_a_steep_loss_cover() -> None:
    """800 rows, 150 fits, standard normal columns and slopes of .5, -.5 and 0; seeds are fixed.

    Intervals that cover .95 fail here with a probability below 1e-6 for each slope; those half as long as
    they should be, which cover .67, pass with one below 1e-5.
    """
    truth, held, names = np.array([0.5, -0.5, 0.0]), np.zeros(3), ["x0", "x1", "x2"]
    X = np.random.default_rng(7).normal(size=(800, 3)).clip(-4, 4)
    for seed in range(150):
        y = np.random.default_rng(1000 + seed).random(800) < expit(0.2 + X @ truth)
        table = pd.DataFrame(X, columns=names).assign(y=np.where(y, "1", "0"))
        fit = dpglm.fit("y ~ x0 + x1 + x2", table, schema=FEW, privacy=(1.0, 1e-6), seed=seed, progress=False)
        assert fit._record.scales.steepness > 1.0
        ends = fit.conf_int().loc[names].to_numpy()
        held += (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    assert (held >= 126).all(), held
    assert "even odds count more" in " ".join(str(fit.summary()).split())


@pytest.mark.parametrize(("scores", "share"), [(1, 0.8), (2, 0.95)])
def test_a_plan_expects_the_loss_that_so_few_rows_lead_to(
    monkeypatch: pytest.MonkeyPatch, scores: int, share: float
) -> None:
    """A steep loss makes noise of a score smaller; with two scores less of an error is that noise: .92."""

    def slopes() -> FloatVector:
        plan = dpglm.plan("y ~ x0 + x1 + x2", FEW, n=800, privacy=(1.0, 1e-6))
        return np.asarray(plan.expected().std_error)[1:]

    if scores == 1:
        monkeypatch.setattr(Binomial, "score_weight", 0.0)
    steep = slopes()
    monkeypatch.setattr(standardised, "STEEP_FROM", (math.inf, math.inf))
    assert (steep < share * slopes()).all()


@pytest.mark.usefixtures("_tail")
def test_a_saved_fit_predicts_refits_and_says_the_same(tmp_path: Path) -> None:
    table = frame(3000)
    fit = dpglm.fit(FORMULA, table, **EXACT | {"privacy": (1.0, 1e-6), "seed": 1})
    again = dpglm.load(fit.save(tmp_path / "fit.json"))
    assert again.plan_fingerprint == fit.plan_fingerprint
    np.testing.assert_array_equal(again.predict(table), fit.predict(table))
    assert str(again.summary()) == str(fit.summary())
    assert "count less" in str(fit.summary())
    eta = fit.params["Intercept"] + fit.params["age"] * table["age"] + fit.params["dose"] * table["dose"]
    eta += fit.params["sex[T.M]"] * (table["sex"] == "M")
    np.testing.assert_allclose(fit.predict(table), expit(eta), rtol=1e-6)
    assert (again.refit("l1", strength=1e6).params.drop("Intercept") == 0.0).all()


@pytest.mark.parametrize("privacy", [(1.0, 1e-6), 2.0], ids=str)
def test_ten_times_wider_bounds_cost_little(privacy: Any) -> None:
    narrow = {**SCHEMA, "age": {"bounds": (0, 100), "mean": 50, "sd": 12}}
    wide = {**SCHEMA, "age": {"bounds": (-450, 550), "mean": 50, "sd": 12}}
    errors = [
        dpglm.plan(FORMULA, schema, n=6000, privacy=privacy, penalty="none").expected().std_error
        for schema in (narrow, wide)
    ]
    np.testing.assert_allclose(errors[1], errors[0], rtol=0.02)


@pytest.mark.usefixtures("_silent")
def test_a_fit_for_predictions_minimises_the_shifted_loss_of_shortened_rows() -> None:
    table = frame()
    fit = dpglm.fit(FORMULA, table, **EXACT | {"goal": "predict", "penalty": "l2"})
    rows, _ = fit._record.row_map.coded(table)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.mean(lengths > 1.0) > 0.8
    # A row of which no number is far out is as long as half of all rows together say it is.
    assert np.mean(np.square(lengths)) == pytest.approx(1.0 / standardised.SHORTENED**2, rel=0.05)
    short, margin = rows / np.maximum(lengths, 1.0), np.where(table["ill"] == "yes", 1.0, -1.0)
    found = minimize(
        lambda at: np.logaddexp(0.0, SHIFT - margin * (short @ at)).mean(),
        np.zeros(4),
        jac=lambda at: short.T @ (-margin * expit(SHIFT - margin * (short @ at))) / len(short),
        options={"gtol": 1e-9},
    )
    np.testing.assert_allclose(fit._record.coded, standardised.SHORTENED * found.x, rtol=1e-4, atol=1e-4)
    link = fit.predict(table, what="link")
    np.testing.assert_allclose(link, rows @ fit._record.coded, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fit.predict(table), shifted_mean(link), rtol=1e-9)
    assert (fit.predict(table, what="class") == np.where(link > 0.0, "yes", "no")).all()
    # Chances are about right, though the loss is no likelihood.
    assert fit.predict(table).mean() == pytest.approx(np.mean(table["ill"] == "yes"), abs=0.03)
    text = " ".join(str(fit.summary()).split())
    assert "(shifted logit" in text
    assert "no log odds" in text
    with pytest.raises(MethodError, match="odds ratios"):
        fit.odds_ratios()


def test_a_fit_for_predictions_saves_loads_and_does_not_depend_on_wide_bounds(tmp_path: Path) -> None:
    table, found = frame(), []
    for bounds in (SCHEMA["age"], (-400, 500)):
        asked = EXACT | {"schema": SCHEMA | {"age": bounds}, "privacy": (1.0, 1e-6), "seed": 3}
        fit = dpglm.fit(FORMULA, table, **asked | {"goal": "predict", "penalty": None})
        assert fit.specification.penalty.name == "l1"
        again = dpglm.load(fit.save(tmp_path / "fit.json"))
        np.testing.assert_array_equal(again.predict(table), fit.predict(table))
        assert again._record.rows_clipped.startswith("rows longer than ")
        assert fit.spend["release"].tolist()[::2] == ["means and standard deviations", "perturbed minimiser"]
        found.append(fit.auc(table))
    assert min(found) > 0.66
    assert abs(found[1] - found[0]) < 0.03


def test_a_list_is_short_in_the_contrasts_of_the_user() -> None:
    asked = {"n": 5000, "privacy": (1.0, 1e-6), "goal": "select"}
    for formula, measured in (("ill ~ age + dose + sex", True), ("ill ~ age * dose + sex", False)):
        named = [line.name for line in dpglm.plan(formula, SCHEMA, **asked).description.releases]
        assert ("means and standard deviations" in named) is measured
    # Predictions do not mind.
    named = dpglm.plan("ill ~ age * dose", SCHEMA, **asked | {"goal": "predict"}).description.releases
    assert named[0].name == "means and standard deviations"


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("ill ~ sex", {}),
        ("ill ~ age - 1", {}),
        ("ill ~ sex:age", {}),
        (FORMULA, {"goal": "predict"}),
        (FORMULA, {"goal": "predict", "penalty": "l2", "strength": 0.1}),
        (FORMULA, {"privacy": dpglm.Privacy.gdp(0.5)}),
        (FORMULA, {"method": dpglm.methods.Objective(scales="declared")}),
    ],
    ids=str,
)
def test_nothing_is_measured_where_that_would_not_pay_or_not_be_possible(
    formula: str, options: dict[str, Any]
) -> None:
    asked = {"privacy": (1.0, 1e-6), "penalty": "none"} | options
    plan = dpglm.plan(formula, SCHEMA, n=5000, **asked)
    assert "means and standard deviations" not in [line.name for line in plan.description.releases]


FAR = {
    "y": ["no", "yes"],
    "x": (-1, 1),
    "z": (-1, 1.5),
    "t": (1980, 2020),
    "u": (1999, 2001),
    "g": ["a", "b", "c"],
}


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ x * g + z + x:z", ("x", "z")),
        ("y ~ x:z + x + z + g", ("x", "z")),
        ("y ~ t * u * g", ("t", "u")),
        ("y ~ t * u * x * z", ("t", "u", "x", "z")),
        ("y ~ z + I(z**2) + np.log1p(x + 2)", ("z", "np.log1p(x + 2)")),
        ("y ~ t + I(t**2) + g", ("t",)),
        ("y ~ u + I(u**2)", ("u", "I(u ** 2)")),  # in float32, a parabola so far from 0 is a line
        ("y ~ t * g + I(t**2):g", ("t", "I(t ** 2)")),
        ("y ~ I(t**2) + u", ("I(t ** 2)", "u")),
        ("y ~ z + I(z**2) + I(z**3) + g", ("z",)),
        ("y ~ z + I(z**3)", ("z", "I(z ** 3)")),  # of little use without the square
        ("y ~ x + x:z", ()),  # z has no column of its own, and x:z needs it once x is centred elsewhere
        ("y ~ x + g:x", ()),
        ("y ~ x + z:g + g", ("x", "z")),
    ],
)
def test_standardised_rows_are_a_linear_map_of_coded_ones(formula: str, names: tuple[str, ...]) -> None:
    coding = Coding.of(parse(formula, dpglm.Schema.of(FAR)))
    assert set(coding.standardisable) == set(names)
    moments = coding.moments_at(dict.fromkeys(names, (0.4, 0.01)))
    generator, count = np.random.default_rng(3), 20
    columns = {
        name: generator.uniform(*bounds, count)
        if isinstance(bounds, tuple)
        else generator.integers(3, size=20)
        for name, bounds in FAR.items()
    }
    other, matrix = coding.standardised(moments, 1.5), coding.row_matrix(moments, 1.5)
    rows, found = coding.coded(columns)[0], other.coded(columns)[0]
    np.testing.assert_allclose(rows @ matrix.T, found, rtol=1e-9, atol=1e-9 * np.abs(found).max())
    np.testing.assert_allclose(other.user_from_coded @ other.coded_from_user, np.eye(coding.size), atol=1e-6)
    # Labels, places and priors are those that the plan was made with, wherever the means turn out to lie.
    usual = coding.standardised(dict.fromkeys(names, (0.0, 1.0)), 1.5)
    for one, another in zip(usual.term_columns, other.term_columns, strict=True):
        assert (one.label, one.kind, one.start, one.bound) == (
            another.label,
            another.kind,
            another.start,
            another.bound,
        )
        np.testing.assert_array_equal(one.prior, another.prior)


def test_powers_of_a_number_are_polynomials_that_tell_nothing_of_each_other() -> None:
    """Those of Hermite, of the number in standard deviations; a cube too far from 0 is a number itself."""
    far = Coding.of(parse("y ~ t + I(t**2) + I(t**3)", dpglm.Schema.of(FAR)))
    assert far.standardisable == ("t", "I(t ** 3)")
    coding = Coding.of(parse("y ~ z + I(z**2) + I(z**3)", dpglm.Schema.of(FAR)))
    z = np.random.default_rng(1).uniform(-1.0, 1.5, 50)
    other = coding.standardised({"z": (0.9, 0.3)}, 1.0)
    rows, away = other.coded({"z": z})[0], (z - 0.9) / 0.3
    expected = {
        "z": away,
        "I(z ** 2)": (away**2 - 1.0) / math.sqrt(2.0),
        "I(z ** 3)": (away**3 - 3.0 * away) / math.sqrt(6.0),
    }
    unit = rows[0, next(term.start for term in other.term_columns if term.label == "z")] / away[0]
    for label, values in expected.items():
        (place,) = (term.start for term in other.term_columns if term.label == label)
        np.testing.assert_allclose(rows[:, place], unit * values, rtol=1e-9, atol=1e-9 * abs(unit))


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ z + I(z**2) + I(z**3)",
        "y ~ t * u * g",
        "y ~ x + x:z",
        "y ~ t * u * x * z",
        "y ~ x:z + x + z",
        "y ~ t + I(t**2)",
        "y ~ u + I(u**2)",
    ],
)
@pytest.mark.parametrize("rows", [0, 1, 300])
def test_a_fit_far_from_zero_with_narrow_columns_runs_to_its_end(formula: str, rows: int) -> None:
    generator = np.random.default_rng(6)
    table = pd.DataFrame(
        {
            "y": generator.choice(["no", "yes"], rows),
            "x": np.full(rows, 0.9),
            "z": np.full(rows, 1.5),
            "t": np.full(rows, 1980.0),
            "u": np.full(rows, 2001.0),
            "g": generator.choice(["a", "b", "c"], rows),
        }
    )
    privacy = dpglm.Privacy(5.0, 1e-6, "replace-one" if rows else "add-remove")
    fit = dpglm.fit(formula, table, schema=FAR, penalty="none", privacy=privacy, seed=1, progress=False)
    assert np.isfinite(fit._record.estimates).all()


MAPPINGS: list[tuple[RowMapping, FloatMatrix | None]] = [
    (Coordinates((0, 0.5), ((1, 0.4), (2, 0.3))), None),
    (Coordinates((0, 0.5), ((1, 0.4), (2, 0.3)), closer=True), np.array([[0.3, 0.2], [-1.0, 1.5]])),
    (Standardisation(), np.array([[1.0, 0.0, 0.0], [-2.0, 9.0, 0.0], [0.5, 0.0, 30.0]])),
    (Standardisation(shortens=True), np.array([[1.0, 0.0, 0.0], [-2.0, 9.0, 0.0], [0.5, 0.0, 30.0]])),
    (
        LengthClasses((0.5, 1.0, 9.0), (0, 0.5)),
        np.array([[1.0, 0.0, 0.0], [-2.0, 9.0, 0.0], [0.5, 0.0, 30.0]]),
    ),
]


@pytest.mark.parametrize(("mapping", "matrix"), MAPPINGS, ids=lambda one: type(one).__name__)
def test_a_row_is_mapped_alike_whatever_rows_are_beside_it(mapping: RowMapping, matrix: Any) -> None:
    generator = np.random.default_rng(2)
    X = np.vstack([np.full(900, 0.5), generator.uniform(-0.5, 0.5, (2, 900))]).astype(np.float32)
    X[:, ::50] = 0.0  # rows that cannot be used
    at = None if matrix is None else matrix.ravel()

    def images(columns: Any) -> Any:
        piece = ArrayChunk(np.ascontiguousarray(columns), np.zeros(columns.shape[1]), None)
        rows, inside = mapping.mapped(Table(piece), at)
        assert inside is None
        (first,), (second,) = list(rows.chunks()), list(rows.chunks())
        np.testing.assert_array_equal(first.X, second.X)
        weights = np.ones(len(first.y)) if first.weight is None else first.weight
        return np.vstack([first.X.astype(np.float64), weights])

    whole = images(X)
    for gone in (0, 1, 450, 899):
        np.testing.assert_array_equal(images(np.delete(X, gone, axis=1)), np.delete(whole, gone, axis=1))


def test_classes_of_length_are_counted_from_the_rows_that_can_be_used() -> None:
    X = np.array([[0.5, 0.5, 0.0], [0.0, 0.4, 0.4]], dtype=np.float32)
    mapping = LengthClasses((0.3, 9.0), (0, 0.5))
    rows, _ = mapping.mapped(Table(ArrayChunk(X, np.zeros(3), None)), np.diag([1.0, 10.0]).ravel())
    (chunk,) = rows.chunks()
    np.testing.assert_array_equal(chunk.X, [[0.0, 0.0, -1.0], [0.0, 2.0, 2.0]])


def test_the_secant_is_the_mean_information_of_normal_rows() -> None:
    generator = np.random.default_rng(8)
    n, theta = 400_000, np.array([0.3, 2.0, -1.5, 0.5])
    mixed = generator.normal(size=(n, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
    X = np.column_stack([np.ones(n), mixed])
    centre = 0.6 * theta
    at = expit(X @ centre)
    information = (X * (at * (1.0 - at))[:, None]).T @ X
    step = X @ (theta - centre)
    exact = (X * ((expit(X @ theta) - at) / step)[:, None]).T @ X
    blocks = [TermColumns("Intercept", "intercept", 0, 1, 1.0, np.ones((1, 1)), np.array([5.0]))]
    blocks += [TermColumns(f"x{j}", "slope", j, j + 1, 1.0, np.array([[4.0]]), np.ones(1)) for j in (1, 2, 3)]
    released = ScoreAndInformation(
        tuple(blocks), centre, np.zeros(4), information, 1e-9, 1e-9, 1.0, np.ones(4), 1.0, logistic=True
    )
    model = LinearModel(released)
    found = secant_design(model, theta - centre)
    error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
    assert error < 0.03
    assert np.linalg.norm(information - exact) / np.linalg.norm(exact) > 0.1
    np.testing.assert_array_equal(secant_design(model, np.zeros(4)), model.design)


def test_the_secant_moves_each_level_by_itself() -> None:
    """Levels of 3, -3 and 0 log odds: together their predictors are not normal."""
    generator = np.random.default_rng(9)
    n, corners = 400_000, 0.5 * np.array([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
    X = np.column_stack(
        [np.ones(n), generator.normal(size=n), corners[generator.choice(3, size=n, p=[0.5, 0.3, 0.2])]]
    )
    theta = np.array([0.0, 0.5, *np.linalg.lstsq(corners, [3.0, -3.0, 0.0], rcond=None)[0]])
    centre = 0.3 * theta
    at, step = expit(X @ centre), X @ (theta - centre)
    information = (X * (at * (1.0 - at))[:, None]).T @ X
    exact = (X * ((expit(X @ theta) - at) / step)[:, None]).T @ X
    first = [
        TermColumns("Intercept", "intercept", 0, 1, 1.0, np.ones((1, 1)), np.array([5.0])),
        TermColumns("x", "slope", 1, 2, 1.0, np.array([[4.0]]), np.ones(1)),
    ]
    errors = []
    for last in (
        TermColumns("g", "levels", 2, 4, 0.25, corners, np.ones(2)),
        TermColumns("g", "other", 2, 4, 0.25, np.eye(2), np.ones(2)),
    ):
        released = ScoreAndInformation(
            (*first, last), centre, np.zeros(4), information, 1e-9, 1e-9, 1.0, np.ones(4), 1.0, logistic=True
        )
        found = secant_design(LinearModel(released), theta - centre)
        errors.append(np.linalg.norm(found - exact) / np.linalg.norm(exact))
    assert errors[0] < 0.01
    assert errors[1] > 0.1


def test_the_ratio_of_weights_is_continuous_where_it_is_expanded() -> None:
    eta = np.linspace(-30.0, 30.0, 41)
    for change in (0.9e-4, -0.9e-4):
        np.testing.assert_allclose(
            weight_ratio(eta, np.full(41, change)), weight_ratio(eta, np.full(41, 1.2 * change)), rtol=1e-4
        )
    assert (weight_ratio(eta, np.full(41, 5.0)) > 0.0).all()


@pytest.mark.usefixtures("_silent")
def test_an_estimate_beyond_two_prior_scales_is_reliable_where_it_is_many_standard_errors() -> None:
    table, generator = frame(), np.random.default_rng(5)
    table["ill"] = np.where(generator.random(6000) < expit((table["age"] - 50.0) / 3.0), "yes", "no")
    fit = dpglm.fit("ill ~ age + sex", table, **EXACT)
    told = fit.tidy().set_index("term")
    assert told["std_error"].notna().all()
    assert told["reliable"].all()
    assert "Told:       3 of 3 coefficients" in str(fit.summary())


WIDE_SCHEMA = {**{f"x{place}": (-20.0, 20.0) for place in range(24)}, "y": [0, 1]}
WIDE = "y ~ " + " + ".join(list(WIDE_SCHEMA)[:-1])


def wide_table(rows: int) -> pd.DataFrame:
    random = np.random.default_rng(6)
    X = random.normal(size=(rows, 24))
    eta = X[:, :4] @ [0.8, -0.6, 0.5, 0.4] - 0.3
    y = (random.random(rows) < 1.0 / (1.0 + np.exp(-eta))).astype(int)
    return pd.DataFrame(X, columns=list(WIDE_SCHEMA)[:-1]).assign(y=y)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("penalty", [None, "l2"])
def test_maximum_likelihood_is_scaled_where_intervals_are_not_paid_for(penalty: Any, relation: Any) -> None:
    budget = dpglm.Privacy(1.0, relation=relation)
    plan = dpglm.plan(WIDE, WIDE_SCHEMA, penalty=penalty, privacy=budget)
    looks = "means and standard deviations", "means and standard deviations in closer ranges"
    first = *looks, "classes of row length", "perturbed minimiser"
    assert tuple(release.name for release in plan.releases.releases) == first
    assert 0.99 < plan.guarantee.epsilon <= 1.0
    declared = dpglm.methods.Objective(scales="declared")
    (alone,) = dpglm.plan(WIDE, WIDE_SCHEMA, privacy=budget, method=declared).releases.releases
    assert alone.name == "perturbed minimiser"


def test_it_is_that_of_statsmodels_where_noise_is_small() -> None:
    """Rows are down-weighted and the model is right: both estimate one vector, up to sampling errors."""
    frame = wide_table(40_000)
    fit = dpglm.fit(WIDE, frame, schema=WIDE_SCHEMA, privacy=dpglm.Privacy(300.0), seed=2, progress=False)
    other = sm.Logit(frame["y"], sm.add_constant(frame.drop(columns="y"))).fit(disp=0)
    away = (fit.params.to_numpy() - other.params.to_numpy()) / other.bse.to_numpy()
    assert np.abs(away).max() < 2.0


def test_scales_predict_better_than_ranges_of_twenty_deviations() -> None:
    train, test = wide_table(20_000)[:15_000], wide_table(20_000)[15_000:]
    areas = {
        scales: np.mean(
            [
                dpglm.fit(
                    WIDE,
                    train,
                    schema=WIDE_SCHEMA,
                    privacy=1.0,
                    seed=seed,
                    progress=False,
                    method=dpglm.methods.Objective(scales=scales),  # type: ignore[arg-type]
                ).auc(test)
                for seed in range(6)
            ]
        )
        for scales in ("measured", "declared")
    }
    assert areas["measured"] > areas["declared"] + 0.05, areas
