"""Restrictions are read as they are written, and tested by the covariance of the debiased estimates."""

import numpy as np
import pytest
from scipy.stats import chi2

from dpglm.errors import MethodError
from dpglm.inference.contrasts import wald
from dpglm.postprocessing.outer_ends import SHORT
from dpglm.postprocessing.wald import restrictions
from tests.golden.examples import interval_fit, private_fit, seeded_fit

FIT = interval_fit()
RARE = "C(job)[T.R&D <lab>]"
NAMES = ("Intercept", "age", "age:sex", "ages", "I(age ** 2)", "C(job)[T.a, b = c]", "Q('x y')")


@pytest.mark.parametrize(
    ("text", "rows", "values"),
    [
        ("age", [[0, 1, 0, 0, 0, 0, 0]], [0]),
        ("age = 0", [[0, 1, 0, 0, 0, 0, 0]], [0]),
        ("age=ages", [[0, 1, 0, -1, 0, 0, 0]], [0]),
        ("age:sex = 1.5", [[0, 0, 1, 0, 0, 0, 0]], [1.5]),
        ("2*age - ages/4 + 1 = 3", [[0, 2, 0, -0.25, 0, 0, 0]], [2]),
        ("3 * 2 * age = -1e-1", [[0, 6, 0, 0, 0, 0, 0]], [-0.1]),
        ("(age) = 2 * (ages - 1)", [[0, 1, 0, -2, 0, 0, 0]], [-2]),
        ("-age + ages = I(age ** 2)", [[0, -1, 0, 1, -1, 0, 0]], [0]),
        ("C(job)[T.a, b = c] = 0, Q('x y')", [[0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0, 1]], [0, 0]),
        ("age = ages = 2", [[0, 1, 0, -1, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0]], [0, 2]),
        (["age", "ages = 1"], [[0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0]], [0, 1]),
        ({"age - ages": 2, "Intercept + 1": 0}, [[0, 1, 0, -1, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0]], [2, -1]),
        (np.eye(7)[1], [[0, 1, 0, 0, 0, 0, 0]], [0]),
        ((np.eye(7)[:2], [1, 2]), [[1, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0]], [1, 2]),
    ],
    ids=range(14),
)
def test_restrictions_are_read_as_they_are_written(text, rows, values):
    found, right, words = restrictions(text, NAMES)
    np.testing.assert_allclose(found, rows, rtol=1e-15)
    np.testing.assert_allclose(right, values, rtol=1e-15)
    again, other, _ = restrictions(list(words), NAMES)
    np.testing.assert_allclose(again, rows, rtol=1e-5)  # words carry six digits
    np.testing.assert_allclose(other, values, rtol=1e-5)


@pytest.mark.parametrize(
    "asked",
    ["", " ", "nonsense = 0", "age +", "age = ", "= age", "age, ", "age ages", "age * ages = 0",
     "1 / age = 2", "age / 0 = 1", "1 = 1", "age = age",
     "age = 0, 2*age = 0", "age = 0, age = 1", "age[x] = 0", "agex = 0",
     "2age = 1 2", "age = 1e400", "age == 0", "(age = 0", "age = 'x'", [], ["age", 3], {"age": "x"},
     {"age = 1": 0}, {3: 1.0}, {}, None, 3, object(), np.eye(3), np.zeros(7), np.full(7, np.nan),
     (np.eye(7)[:2], [1, 2, 3]), (np.eye(7)[:1], ["x"]), np.zeros((0, 7)), np.ones((2, 2, 7))],
    ids=range(38),
)  # fmt: skip
def test_what_is_no_linear_restriction_is_refused_in_three_parts(asked):
    with pytest.raises(MethodError) as caught:
        restrictions(asked, NAMES)
    assert caught.value.expected
    assert caught.value.remedy


def test_one_restriction_is_the_square_of_its_z():
    test = FIT.wald_test("age = 0")
    assert test.statistic == pytest.approx(FIT.tidy(debiased=True)["statistic"][4] ** 2, rel=1e-9)
    assert test.p_value == pytest.approx(FIT.pvalues["age"], rel=1e-9)
    assert test.df == 1
    assert test.reason == ""


def test_several_restrictions_against_the_covariance_of_the_estimates():
    # Joint estimation differs from single estimates by the priors, little here.
    test = FIT.wald_test({"age": 0.01, "religious": -1.0})
    gap = FIT.tidy(debiased=True)["estimate"].to_numpy()[4:] - np.array([0.01, -1.0])
    plain = gap @ np.linalg.solve(FIT.cov_params().to_numpy()[4:, 4:], gap)
    assert 0.85 * plain < test.statistic < 1.05 * plain
    assert test.df == 2
    assert test.p_value == pytest.approx(chi2.sf(test.statistic, 2), rel=1e-9)


def test_a_test_does_not_depend_on_how_restrictions_are_written():
    one = FIT.wald_test("age = 0.01, religious = -1")
    other = FIT.wald_test("100*age + religious = 0, religious = -1")
    assert one.statistic == pytest.approx(other.statistic, rel=1e-6)


def test_several_restrictions_are_as_far_as_the_nearest_point_that_the_step_may_reach():
    contrasts = FIT._record.contrasts
    model, rows = contrasts.model, contrasts.rows[4:]

    def plain(values):
        return wald(model, rows, values)[0]

    # The statistic is (v - e)'A(v - e), e the joint estimates.
    units, none = np.eye(len(rows)), np.zeros(len(rows))
    first = np.array([plain(one) for one in units])
    second = np.array([[plain(one + other) for one in units] for other in units])
    A = (second - first - first[:, None] + plain(none)) / 2.0
    e = np.linalg.solve(A, (np.diag(A) - first + plain(none)) / 2.0)
    start = rows @ model.released.centre + model.released.known(rows)
    step = e - start
    assert step @ A @ e > 0.0  # away from 0
    for values in (none, e + 0.1 * step, e + step, e - step, e + np.array([0.02, -0.5])):
        ways = [plain(values - share * step) for share in np.linspace(0.0, SHORT, 201)]
        near = wald(model, rows, values, SHORT)[0]
        assert near == pytest.approx(min(ways), rel=1e-4, abs=1e-6)
        assert near <= plain(values) * (1.0 + 1e-9)
    assert wald(model, rows, none, SHORT)[0] == pytest.approx(plain(none), rel=1e-9)
    assert FIT.wald_test((np.eye(len(FIT.names))[4:], e + step)).statistic < 0.8 * plain(e + step)


def test_a_restriction_that_fails_the_rule_has_no_p_value_but_a_reason():
    test = FIT.wald_test(f"{RARE} = 0, age = 0")
    assert np.isnan(test.p_value)
    assert np.isnan(test.statistic)
    assert RARE in test.reason
    assert "too wide" in str(test)


def test_without_a_curvature_there_is_a_reason_instead():
    test = private_fit().wald_test("age")
    assert np.isnan(test.p_value)
    assert "information matrix" in test.reason


def test_a_test_carries_the_guarantee_or_the_alarm():
    test = FIT.wald_test("age")
    assert test.privacy == FIT.privacy.statement()
    budget = FIT.privacy.statement().split(": no set of results")[0]
    assert test.summary().notes == (f"{budget}; fit.summary() says what that means.",)
    assert "NOT PRIVATE" in str(seeded_fit().wald_test("age"))
    assert "NOT PRIVATE" in seeded_fit().wald_test("age")._repr_html_()
