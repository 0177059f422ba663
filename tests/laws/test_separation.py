"""Intervals near separation: what holds for all of them, and when they are those of the linear model."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit, ndtri

import dpglm
from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.interval_model import interval_model, with_own_scales
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.score_and_information import OWN_SCALE, ScoreAndInformation
from dpglm.postprocessing.intervals import FURTHER, caveats
from dpglm.postprocessing.outer_ends import FAR, SEPARATED, SHORT, SHORT_LARGE, OuterEnds

LEVELS = (0.5, 0.8, 0.95, 0.99, 0.999)


def random_functions(seed: int, count: int = 400) -> tuple[OuterEnds, np.ndarray, np.ndarray]:
    """Functions as `OuterEnds.of` can find them, with estimates and standard errors.

    Of the first half the way to separation leads away from zero, of the others as it may.
    """
    random = np.random.default_rng(seed)
    outward = random.choice([-1.0, 0.0, 1.0], count, p=[0.4, 0.2, 0.4])
    start = random.normal(0, 2, count)
    away = (outward != 0.0) & (np.arange(count) < count // 2)
    start = np.where(away, outward * np.abs(start), start)
    near = OuterEnds(outward, start, random.uniform(0.0, 0.5, count))
    return near, start + random.normal(0.0, 0.8, count), random.exponential(0.3, count) + 0.01


def reaches() -> list[float]:
    return [float(ndtri(0.5 + level / 2.0)) for level in LEVELS]


def assert_rejected_where_left_out(
    near: OuterEnds, estimates: np.ndarray, errors: np.ndarray, value: float
) -> None:
    """`reach_of` is the least reach with which `ends` contain the value, but for rounding."""
    least = near.reach_of(estimates, np.full(len(estimates), value))
    for critical in reaches():
        reach = critical * errors
        low, high = near.ends(estimates, reach).T
        clear = np.abs(reach - least) > 1e-9
        np.testing.assert_array_equal((low <= value) & (value <= high) & clear, (reach >= least) & clear)


@pytest.mark.parametrize("seed", range(5))
def test_an_interval_contains_that_of_the_linear_model_and_shares_its_inner_end(seed: int) -> None:
    near, estimates, errors = random_functions(seed)
    for critical in reaches():
        low, high = near.ends(estimates, critical * errors).T
        assert (low <= estimates - critical * errors).all()
        assert (high >= estimates + critical * errors).all()
        moved_low, moved_high = low < estimates - critical * errors, high > estimates + critical * errors
        both = moved_low & moved_high  # the step went through zero, or the way outward does
        assert ((estimates * near.start < 0.0) | (near.outward * near.start < 0.0))[both].all()
        away = np.sign(estimates) * (estimates - near.start) > 0.0
        assert ((near.outward == -1.0) | away)[moved_low].all()
        assert ((near.outward == 1.0) | away)[moved_high].all()


@pytest.mark.parametrize("seed", range(5))
def test_intervals_grow_with_their_level(seed: int) -> None:
    near, estimates, errors = random_functions(seed)
    ends = [near.ends(estimates, critical * errors) for critical in reaches()]
    for smaller, larger in pairwise(ends):
        assert (larger[:, 0] <= smaller[:, 0]).all()
        assert (larger[:, 1] >= smaller[:, 1]).all()


@pytest.mark.parametrize("seed", range(5))
def test_far_from_separation_only_a_step_away_from_zero_makes_an_interval_longer(seed: int) -> None:
    near, estimates, errors = random_functions(seed)
    reach = 1.96 * errors
    step = near.outward * (estimates - near.start)
    left = np.where(estimates * (estimates - near.start) > 0.0, SHORT * np.abs(estimates - near.start), 0.0)
    low = estimates - reach - np.where(estimates < 0.0, left, 0.0)
    high = estimates + reach + np.where(estimates > 0.0, left, 0.0)
    linear = np.column_stack([low, high])
    short = (near.outward == 0.0) | (step + reach <= FAR)
    np.testing.assert_array_equal(near.ends(estimates, reach)[short], linear[short])
    mapped = near.ends(estimates, reach)[~short] != linear[~short]
    assert mapped.any(axis=1).mean() > 0.8
    assert (left > 0.0).any()
    assert (left == 0.0).any()


@pytest.mark.parametrize("seed", range(5))
def test_an_interval_leaves_zero_out_where_the_linear_model_rejects_it_unless_the_way_out_leads_there(
    seed: int,
) -> None:
    near, estimates, errors = random_functions(seed)
    there = near.outward * near.start < 0.0
    let_in = 0
    for critical in reaches():
        low, high = near.ends(estimates, critical * errors).T
        contains, linear = (low <= 0.0) & (high >= 0.0), np.abs(estimates) <= critical * errors
        np.testing.assert_array_equal(contains[~there], linear[~there])
        assert (contains | ~linear)[there].all()
        let_in += int((contains & ~linear)[there].sum())
    assert let_in > 0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("value", [-6.0, -1.0, 0.0, 0.7, 3.0, 9.0])
def test_a_value_is_rejected_exactly_where_the_interval_leaves_it_out(seed: int, value: float) -> None:
    near, estimates, errors = random_functions(seed)
    assert_rejected_where_left_out(near, estimates, errors, value)


@pytest.mark.parametrize("rarer", [0.001, 0.06, 0.42, 0.5])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_the_rarer_response_falls_on_the_way_to_the_end_by_what_the_linear_model_says(
    rarer: float, way: float
) -> None:
    near = OuterEnds(np.array([way]), np.array([way * 0.1]), np.array([rarer]), short=0.0)
    estimate, reach = np.array([way * 0.6]), np.array([0.3])  # 0.8 from t
    place = 1 if way > 0.0 else 0
    end = float(near.ends(estimate, reach)[0, place])
    fall = rarer - float(expit(logit(rarer) - abs(end - way * 0.1)))
    assert fall == pytest.approx(0.8 * rarer * (1.0 - rarer), rel=1e-9)
    # To nothing where that is all of it.
    all_of_it = 1.0 / (1.0 - rarer)
    for further, endless in ((-1e-6, False), (1e-6, True)):
        reach = np.array([all_of_it - 0.5 + further])
        assert np.isinf(near.ends(estimate, reach)[0, place]) == endless


@pytest.mark.parametrize("seed", range(3))
def test_ends_and_tests_do_not_depend_on_the_unit_of_a_contrast(seed: int) -> None:
    near, estimates, errors = random_functions(seed)
    units = np.random.default_rng(seed).choice([0.01, 0.2, 5.0, 100.0], len(estimates))
    other = replace(near, start=units * near.start, unit=units)
    for wide in (False, True):
        ends = near.ends(estimates, 1.96 * errors, wide=wide)
        found = other.ends(units * estimates, 1.96 * units * errors, wide=wide)
        np.testing.assert_allclose(found, units[:, None] * ends, rtol=1e-9)
    values = np.full(len(estimates), 0.7)
    reach = other.reach_of(units * estimates, units * values)
    np.testing.assert_allclose(reach, units * near.reach_of(estimates, values), rtol=1e-9, atol=1e-9)
    model = near_model(7.0)
    assert np.asarray(near_of(model).unit).tolist() == [1.0, 1.0, 1.0]  # one level against the other
    assert np.asarray(near_of(model, -3.0 * ROWS).unit)[2] == pytest.approx(3.0)


def test_intervals_of_a_list_are_those_of_all_at_another_level() -> None:
    """The intercept has the end of a contrast that is not in the list, too."""
    random = np.random.default_rng(1)
    g, x = random.choice(["a", "b"], 20_000), random.uniform(-1.0, 1.0, 20_000)
    y = np.where(random.random(20_000) < 1.0 / (1.0 + np.exp(5.0)), "yes", "no")
    fit = dpglm.fit(
        "y ~ g + x",
        pd.DataFrame({"y": y, "g": g, "x": x}),
        schema={"y": ["no", "yes"], "g": ["a", "b"], "x": (-1, 1)},
        privacy=dpglm.Privacy(2.0, 1e-6, "add-remove"),
        penalty="l1",
        seed=1,
        progress=False,
    )
    listed = fit.conf_int(adjust="fcr")
    chosen = listed[0].notna()
    assert 0 < chosen.sum() < len(chosen)
    given = int(fit.bse.notna().sum())
    level = 1.0 - 0.05 * chosen.sum() / given
    pd.testing.assert_frame_equal(listed[chosen], fit.conf_int(level)[chosen])


def test_no_estimate_no_ends() -> None:
    near = OuterEnds(np.ones(2), np.full(2, 3.0), np.full(2, 0.01))
    ends = near.ends(np.array([np.nan, 4.2]), np.array([np.nan, 0.1]))
    assert np.isnan(ends[0]).all()
    assert ends[1].tolist() == [pytest.approx(4.1), np.inf]


def released(centre: tuple[float, float, float], noise: float = 1.0) -> ScoreAndInformation:
    """A constant, a slope and a factor of two levels."""
    corners = np.array([[0.5], [-0.5]])
    terms = (
        TermColumns("Intercept", "intercept", 0, 1, 0.25, np.array([[0.5]]), np.array([10.0])),
        TermColumns("x", "slope", 1, 2, 0.25, np.array([[1.0]]), np.array([3.0])),
        TermColumns("g", "levels", 2, 3, 0.25, corners, np.array([2.0])),
    )
    information = np.diag([200.0, 60.0, 150.0])
    information[0, 2] = information[2, 0] = 40.0
    return ScoreAndInformation(
        term_columns=terms,
        centre=np.array(centre),
        score=2.0 * np.array(centre),
        information=information,
        score_scale=noise,
        information_scale=noise,
        dispersion=1.0,
        initial_variance=np.full(3, (noise / 2.0) ** 2),
        third_derivative_bound=1.0,
    )


ROWS = np.array([[0.5, 0.0, -0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # intercept, slope, level 1 against 2


def near_model(level: float) -> LinearModel:
    return interval_model(released((0.5, 1.0, level)))


def near_of(model: LinearModel, rows: np.ndarray = ROWS) -> OuterEnds:
    return OuterEnds.of(Contrasts(model, rows), model.released.prior_variance)


@pytest.mark.parametrize(("level", "way"), [(7.0, 1.0), (-7.0, -1.0)])
def test_outward_is_away_from_zero_for_levels_and_for_the_intercept_at_one(level: float, way: float) -> None:
    """Both levels are nearly alike in their responses, to opposite sides; the intercept is the second one."""
    near = near_of(near_model(level))
    assert near.outward.tolist() == [0.0, 0.0, way]
    assert near.start[2] == level
    assert near.rarer[2] < SEPARATED
    assert near.rarer[0] == near.rarer[1] == 1.0
    between = ROWS * [1.0, 1.0, 0.5]  # as in a coding by deviations: the intercept is at no level
    assert near_of(near_model(level), between).predictors == ()
    # The intercept goes out the other way, as far as the contrast does, and without end where that has none.
    assert near.predictors == ((0, -way, (2,)),)
    step = near.start + np.array([0.0, 0.0, 0.2 * way])
    ends, far = (near.ends(step, np.full(3, reach)) for reach in (0.3, 0.9))
    place, other = (1, 0) if way > 0.0 else (0, 1)
    further = abs(ends[2, place] - (step[2] + way * 0.3)) - SHORT * 0.2
    np.testing.assert_allclose(abs(ends[0, other] - (step[0] - way * 0.3)), further)
    assert further > 0.1
    assert ends[0, place] == step[0] + way * 0.3
    assert np.isinf([far[2, place], far[0, other]]).all()
    # Not where it would let zero in, which the test of zero leaves out: there the end is the linear one.
    across = near.ends(np.array([way * 9.0, 1.0, step[2]]), np.full(3, 0.9))
    assert across[0].tolist() == pytest.approx(sorted([way * 8.1, across[0, place]]))


def test_the_level_that_tells_least_says_which_way_is_out() -> None:
    """Both have next to no successes, and t says that the first has more; either may have fewer rows."""
    base = released((-12.0, 0.0, 0.4))
    rare_first = base.information.copy()
    rare_first[0, 2] = rare_first[2, 0] = -40.0
    second, first = (
        near_of(interval_model(base)),
        near_of(interval_model(replace(base, information=rare_first))),
    )
    assert (second.outward[2], first.outward[2]) == (1.0, -1.0)
    assert second.start[2] == first.start[2] == 0.4
    # The share is that of the level whose information falls on the way out.
    assert second.rarer[2] < first.rarer[2] < SEPARATED


@pytest.mark.parametrize("truth", [-1.0, 0.0, 0.5])
def test_a_level_is_covered_on_whichever_side_of_zero_noise_has_taken_t(truth: float) -> None:
    """A level with few successes: 30 where its coefficient is 0, and the others are known.

    Its score is 30 exp(theta), with noise of standard deviation 8. The mapped end is above the truth where
    the score is 1.96 standard errors too high, counted there, where they are larger: in less than 2.5 % of
    draws, 1.4 to 1.7 % seen; more than 2.5 % of 10,000 are with probability 1e-8. The linear model's end is
    in 3.5 to 7 %.
    """
    random = np.random.default_rng(5)
    noisy = random.poisson(30.0 * np.exp(truth), 10_000) + 8.0 * random.standard_normal(10_000)
    noisy = np.maximum(noisy, 1.0)  # the level tells nothing there, and no end is mapped further
    t, error = np.log(noisy / 30.0), np.sqrt(noisy + 64.0) / noisy
    near = OuterEnds(np.full(10_000, -1.0), t, np.full(10_000, 0.01))
    low = near.ends(t, 1.96 * error)[:, 0]
    assert (low > truth).mean() < 0.025
    assert (t - 1.96 * error > truth).mean() > 0.03
    rejected = near.reach_of(t, np.full(10_000, truth)) > 1.96 * error
    np.testing.assert_array_equal(rejected & (t > truth), low > truth)


def test_a_level_is_judged_with_its_neighbours_at_their_mean() -> None:
    base = released((8.0, 0.0, 0.4))  # all rows of both levels are nearly alike
    assert near_of(interval_model(base)).rarer[2] < SEPARATED
    slope = replace(base, centre=np.array([0.0, 9.0, 0.4]))  # mean of the slope is 0
    assert near_of(interval_model(slope)).rarer[2] > 0.4


def test_strong_slopes_may_step_further_out_unless_noise_is_small() -> None:
    model = interval_model(released((0.5, 3.0, 0.4), noise=30.0))
    declared = np.array([100.0, 1.0, 4.0])
    near = OuterEnds.of(Contrasts(model, ROWS), declared)
    assert np.asarray(near.short).tolist() == [SHORT, SHORT_LARGE, SHORT]
    # Within its declared scale, with next to no noise, and for what a constant is part of, it is as ever.
    assert np.asarray(OuterEnds.of(Contrasts(model, ROWS), 100.0 * declared).short).max() == SHORT
    plain = interval_model(released((0.5, 3.0, 0.4), noise=1e-3))
    assert np.asarray(OuterEnds.of(Contrasts(plain, ROWS), declared).short).max() == SHORT
    assert np.asarray(OuterEnds.of(Contrasts(model, np.ones((1, 3))), declared).short).max() == SHORT


def test_in_linear_regression_strong_effects_alone_may_step_further_out_and_nothing_lies_on_a_curve() -> None:
    straight = replace(released((0.5, 3.0, 3.0), noise=30.0), third_derivative_bound=0.0, logistic=False)
    contrasts = Contrasts(interval_model(straight), ROWS)
    near = OuterEnds.of(contrasts, np.array([100.0, 1.0, 4.0]))
    assert np.asarray(near.short).tolist() == [0.0, SHORT_LARGE, SHORT_LARGE]  # the level's among them
    assert not near.outward.any()
    step, reach = contrasts.estimates - near.start, 1.96 * contrasts.deviations
    plain = np.column_stack([contrasts.estimates - reach, contrasts.estimates + reach])
    plain[1:, 1] += SHORT_LARGE * step[1:]
    np.testing.assert_allclose(near.ends(contrasts.estimates, reach), plain)
    zero = near.reach_of(contrasts.estimates, np.zeros(3))  # the test of it is that of the standard error
    np.testing.assert_allclose(zero, np.abs(contrasts.estimates))
    ordinary = OuterEnds.of(contrasts, np.array([1e4, 100.0, 400.0]))
    assert not np.asarray(ordinary.short).any()
    # Normal equations of one release have no first point to step from.
    once = Contrasts(interval_model(replace(straight, centre=np.zeros(3))), ROWS)
    assert not np.asarray(OuterEnds.of(once, np.full(3, 1e-6)).short).any()


def test_a_strong_effect_of_a_rare_level_is_covered_in_linear_regression() -> None:
    """A level of 1 % two residual standard deviations from the others, of whose total noise makes a quarter.

    Told of it is half of the time, where its estimate is at most two prior scales: 26 of 60 fits. All 26
    intervals hold it, and 21 by standard errors alone. Of 26 that cover .95 at least 23 do, but for .04.
    """
    schema = {"y": (-8, 8), "g": ["a", "b", "c"], **{f"x{j}": (-4, 4) for j in range(4)}}
    held = []
    for seed in range(60):
        random = np.random.default_rng((5, seed))
        g, x = random.choice(3, 20_000, p=[0.79, 0.2, 0.01]), random.normal(size=(20_000, 4)).clip(-4, 4)
        y = 0.5 * x[:, 0] + 2.0 * (g == 2) + random.normal(size=20_000)
        frame = pd.DataFrame({f"x{j}": x[:, j] for j in range(4)} | {"g": np.array(list("abc"))[g]})
        privacy = dpglm.Privacy(0.5, 1e-6, relation="add-remove")
        words = {"schema": schema, "family": "gaussian", "privacy": privacy, "seed": seed, "progress": False}
        fit = dpglm.fit("y ~ g + x0 + x1 + x2 + x3", frame.assign(y=y.clip(-8, 8)), **words)
        row = fit.tidy().set_index("term").loc["g[T.c]"]
        if row["reliable"]:
            held.append(row["conf_low"] <= 2.0 <= row["conf_high"])
            longer = row["conf_high"] > row["estimate"] + 1.97 * row["std_error"]
            named = [note for note in caveats(fit._record) if note.startswith(FURTHER)]
            assert longer == ("g[T.c]" in "".join(named))
    assert len(held) >= 20
    assert np.mean(held) >= 0.88


def test_own_scales_grow_where_an_estimate_is_surprising_and_nowhere_else() -> None:
    declared = released((30.0, 1.0, -1.0))
    same = with_own_scales(LinearModel(declared))
    np.testing.assert_array_equal(same.prior_variance, declared.prior_variance)
    strong = with_own_scales(LinearModel(released((30.0, 9.0, -1.0))))
    scales = np.sqrt(strong.prior_variance)
    assert scales[0] == 10.0
    assert scales[2] == 2.0
    assert scales[1] == pytest.approx(OWN_SCALE * 9.0, rel=0.01)


def test_normal_equations_of_one_release_grow_with_their_posterior_mean() -> None:
    equations = replace(released((0.0, 0.0, 0.0)), score=np.array([0.0, 900.0, 5.0]))
    model = LinearModel(equations)
    scales = np.sqrt(with_own_scales(model).prior_variance)
    assert scales[1] == pytest.approx(OWN_SCALE * abs(model.mean[1]), rel=1e-9)
    assert scales[[0, 2]].tolist() == [10.0, 2.0]


def test_an_estimate_that_noise_explains_is_no_surprise() -> None:
    noisy = released((0.0, 9.0, -1.0), noise=1000.0)
    np.testing.assert_array_equal(with_own_scales(LinearModel(noisy)).prior_variance, noisy.prior_variance)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_intercept_at_a_separated_level_of_reference_is_covered(sign: int) -> None:
    """20 fits of 20,000 rows, 30 % of them at a reference with one success, or failure, in a thousand.

    Of these 20, at epsilon .5, 8 and 4 are covered by the linear model, and all are by the ends that lie
    further out. Were .95 covered, fewer than 16 of 20 would be with probability .003, for a fixed seed.
    """
    schema = {"y": ["no", "yes"], "g": ["a", "b", "c"]}
    truth, covered, linear = sign * np.log(0.001 / 0.999), 0, 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        g = random.choice(["a", "b", "c"], 20_000, p=[0.3, 0.35, 0.35])
        eta = sign * np.select([g == "a", g == "b"], [np.log(0.001 / 0.999), -1.0], -0.5)
        y = np.where(random.random(20_000) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no")
        privacy = dpglm.Privacy(0.5, 1e-6, relation="add-remove")
        table = pd.DataFrame({"y": y, "g": g})
        fit = dpglm.fit("y ~ g", table, schema=schema, privacy=privacy, seed=seed, progress=False)
        row = fit.tidy().set_index("term").loc["Intercept"]
        assert row["reliable"]
        covered += int(row["conf_low"] <= truth <= row["conf_high"])
        linear += int(abs(row["estimate"] - truth) <= 1.96 * row["std_error"])
    assert covered >= 16
    assert linear < 16
