"""Smooth hinges against SciPy's minimisers, scikit-learn's machine and the hinge itself; fits end to end."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

import dpglm
from dpglm.errors import MethodError
from dpglm.glm.families import families
from dpglm.glm.families.margin import HuberSvm, SoftplusHinge
from dpglm.glm.penalties.elastic_net import L1
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import minimise
from dpglm.rows import ArrayChunk
from dpglm.spec.planned_again import plan_of
from tests.effort import quick

law = settings(derandomize=True, deadline=None, max_examples=200)
both = pytest.mark.parametrize("kind", [HuberSvm, SoftplusHinge])
NAMES = ("huber_svm", "softplus_hinge")
every_name = pytest.mark.parametrize("name", NAMES)
SCHEMA = {"y": {"levels": ["no", "yes"]}, "a": {"bounds": [-3, 3]}, "b": {"bounds": [-3, 3]}}
margins = arrays(np.float64, 7, elements=st.floats(-1e3, 1e3))
# Responses other than 0 and 1 never come from a response with two levels; the bounds hold for them too.
anything = arrays(np.float64, 7, elements=st.sampled_from([0.0, 1.0, 0.3, 0.5, -7.0, 1e9]))


def rows(seed, n=400, p=4):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(p, n))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=0))
    X[0] = 0.3
    y = (X.T @ np.array([0.5, 4.0, -4.0, 0.0]) + generator.normal(size=n) > 0.0).astype(np.float64)
    return ArrayChunk(X.astype(np.float32), y, None)


def frame(n=3000, seed=0):
    generator = np.random.default_rng(seed)
    a, b = generator.normal(size=(2, n)).clip(-3, 3)
    y = np.where(a - b + 0.5 + 0.7 * generator.normal(size=n) > 0, "yes", "no")
    return pd.DataFrame({"y": y, "a": a, "b": b})


@both
@law
@given(eta=margins, y=anything, width=st.floats(0.5, 50.0))
def test_theorem_c_has_its_premises_at_every_width(kind, eta, y, width):
    family = kind(width)
    ends = [family.slope(np.full(7, end), y) for end in (-1e9, 1e9)]
    slope = family.slope(eta, y)
    assert (ends[0] <= slope).all()
    assert (slope <= ends[1]).all()
    assert (ends[1] - ends[0] <= 1.0).all()
    assert ((ends[0] <= 0.0) & (ends[1] >= 0.0)).all()
    curvature = family.curvature(eta, y)
    assert (curvature >= 0.0).all()
    assert (curvature <= family.curvature_max * (1 + 4e-16)).all()
    assert family.curvature_max <= 1.0


@both
@law
@given(eta=margins, y=arrays(np.float64, 7, elements=st.sampled_from([0.0, 1.0])), width=st.floats(0.5, 2.0))
def test_they_lie_above_the_hinge_by_no_more_than_their_width_allows(kind, eta, y, width):
    hinge = np.maximum(1.0 - (2 * y - 1) * eta, 0.0)
    gap = kind(width).loss(eta, y) - hinge
    most = width * (0.25 if kind is HuberSvm else np.log(2.0))
    rounding = 1e-12
    assert (gap >= -rounding).all()
    assert (gap <= most + rounding).all()
    corner = kind(width).loss(np.ones(1), np.ones(1))
    np.testing.assert_allclose(corner, most, rtol=1e-14)


@both
def test_they_are_finite_for_the_largest_numbers(kind):
    eta, y = np.array([-1.0, 1.0, -1.0, 1.0]) * np.finfo(float).max, np.array([0.0, 1.0, 1.0, 0.0])
    for width in (kind.least_width, 0.5, 1e100):
        family = kind(width)
        with np.errstate(over="ignore"):
            for values in (family.loss(eta, y), family.slope(eta, y), family.curvature(eta, y)):
                assert np.isfinite(values).all()


@both
@pytest.mark.parametrize("width", [0.0, 0.2499, -1.0, np.nan, np.inf, True, "0.5", None])
def test_a_width_that_breaks_the_bound_is_refused(kind, width):
    with pytest.raises(MethodError, match="width"):
        kind(width)
    assert kind(kind.least_width).curvature_max == 1.0


@both
@pytest.mark.parametrize("ridge", [0.1, 5.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_minimiser_is_scipys(kind, ridge, seed):
    piece, family = rows(seed), kind()
    X, p = piece.X.astype(np.float64), len(piece.X)
    tilt = np.linspace(-2.0, 2.0, p)

    def value(theta):
        eta = theta @ X
        gradient = X @ family.slope(eta, piece.y) + tilt + ridge * theta
        return family.loss(eta, piece.y).sum() + tilt @ theta + 0.5 * ridge * theta @ theta, gradient

    peer = minimize(
        value,
        np.zeros(p),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-9, "maxiter": 10_000, "maxfun": 10**5, "maxcor": 30},
    )
    ours = minimise(ChunkLoss(lambda: [piece], family, p), linear=tilt, ridge=ridge, tolerance=1e-9)
    assert ours.certified
    assert np.linalg.norm(value(ours.theta)[1]) <= 1e-9 * 1.001
    np.testing.assert_allclose(ours.theta, peer.x, atol=1e-6)


@both
@pytest.mark.parametrize("l1", [0.0, 2.0])
@pytest.mark.parametrize("ridge", [1e-8, 1e-2, 5.0])
@pytest.mark.parametrize("case", ["plain", "separable", "one class", "identical", "offsets"])
def test_the_solver_certifies_where_no_row_has_curvature(kind, case, ridge, l1):
    """At zero every margin is 0, on the straight part of the huberised hinge: its curvature is 0."""
    for seed, n in ((3, 30), (4, 5000)):
        piece = rows(seed, n)
        generator = np.random.default_rng(seed)
        X, y, offset = piece.X.copy(), piece.y.copy(), None
        if case == "separable":
            y = (X[1] > 0.0).astype(np.float64)
        if case == "one class":
            y[:] = 1.0
        if case == "identical":
            X[:] = X[:, :1]
        if case == "offsets":
            offset = 100.0 * generator.normal(size=n)
        block = ArrayChunk(X, y, offset)
        loss = ChunkLoss(lambda block=block: [block], kind(), len(X))
        found = minimise(loss, linear=np.zeros(4), ridge=ridge, penalty=L1(l1), tolerance=1e-8)
        assert found.certified


def test_it_classifies_as_scikit_learns_hinge_does():
    """On 20,000 new rows, errors of both differ by less than one in a hundred; guessing errs on a third."""
    train, new = frame(4000), frame(20_000, seed=1)
    peer = LinearSVC(loss="hinge", C=1.0, max_iter=100_000, random_state=0)
    peer.fit(train[["a", "b"]], train["y"])
    rate = np.mean(peer.predict(new[["a", "b"]]) == new["y"])
    assert rate > 0.85
    assert (new["y"] == "yes").mean() < 0.7
    for name in NAMES:
        fit = dpglm.fit("y ~ a + b", train, schema=SCHEMA, family=name, penalty="none", privacy=None)
        ours = np.mean(fit.predict(new, what="class") == new["y"])
        assert abs(ours - rate) < 0.01


@every_name
@pytest.mark.parametrize("privacy", [1.0, (1.0, 1e-6)])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("penalty", ["l1", "none", "l1/2"])
def test_a_private_fit_spends_all_on_the_estimate_and_classifies(name, privacy, relation, penalty, tmp_path):
    """Classes are 6 to 4, so that guessing is right for 0.61 of the rows; the seed is fixed."""
    epsilon, delta = privacy if isinstance(privacy, tuple) else (privacy, 0.0)
    data = frame()
    fit = dpglm.fit(
        "y ~ a + b",
        data,
        schema=SCHEMA,
        family=name,
        penalty=penalty,
        privacy=dpglm.Privacy(epsilon, delta, relation),
        seed=3,
    )
    assert "(Theorem C, " in fit.privacy.theorem
    assert fit.specification.family.options.get("width", 0.5) == 0.5
    assert fit._record.released is None
    assert not any("information matrix" in line.release for line in fit._record.spend_lines)
    assert np.isnan(fit.bse).all()
    assert np.mean(fit.predict(data, what="class") == data["y"]) > 0.8
    fit.save(tmp_path / "fit.json")
    again = dpglm.load(tmp_path / "fit.json")
    assert (again.predict(data, what="class") == fit.predict(data, what="class")).all()


@every_name
def test_what_needs_a_likelihood_is_refused_or_says_why(name):
    data = frame(500)
    fit = dpglm.fit("y ~ a + b", data, schema=SCHEMA, family=name, privacy=(1.0, 1e-6))
    np.testing.assert_array_equal(
        fit.predict(data, what="class") == "yes", np.asarray(fit.predict(data, what="link")) > 0.0
    )
    for what in ("mean", "class", "link"):
        with pytest.raises(MethodError, match=r"likelihood|probability"):
            fit.predict(data, what=what, interval=None if what == "mean" else 0.9)
    with pytest.raises(MethodError, match="margin"):
        fit.odds_ratios()
    with pytest.raises(MethodError, match="margin loss"):
        fit.refit("l1/2")
    text = " ".join(str(fit.summary()).split())
    assert "not a likelihood" in text
    assert "classifier" in text
    page = fit.to_html()
    assert "not a likelihood" in page
    assert "odds ratio" not in page
    plan = dpglm.plan("y ~ a + b", SCHEMA, n=500, privacy=1.0, family=name)
    assert not plan.expected().has_intervals
    with pytest.raises(MethodError, match="gdp"):
        dpglm.fit("y ~ a", data, schema=SCHEMA, family=name, privacy=dpglm.Privacy.gdp(1.0))


@every_name
@pytest.mark.parametrize("trials", quick([200, 2000], 200))
def test_an_audit_of_another_width_rebuilds_the_plan_from_the_result(name, trials):
    data, family = frame(300), families[name](2.0)
    fit = dpglm.fit("y ~ a", data, schema=SCHEMA, family=family, penalty="none", privacy=(1.0, 1e-6), seed=1)
    assert fit.specification.family.options == {"width": 2.0}
    (release,) = plan_of(fit).releases.releases
    assert isinstance(release, PerturbedMinimiser)
    assert release.family == family
    assert dpglm.audit(fit, trials=trials, seed=1).passed


@every_name
def test_an_offset_is_part_of_the_margin(name):
    data = frame(2000)
    data["shift"] = 0.5 * data["a"]
    schema = {**SCHEMA, "shift": {"bounds": [-1.5, 1.5]}}
    options = {"schema": schema, "family": name, "penalty": "none", "privacy": None}
    plain = dpglm.fit("y ~ a + b", data, **options)
    moved = dpglm.fit("y ~ a + b + offset(shift)", data, **options)
    np.testing.assert_allclose(
        moved._record.estimates, plain._record.estimates - np.array([0.0, 0.5, 0.0]), atol=1e-5
    )
