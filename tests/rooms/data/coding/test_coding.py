"""The public coding by example: shares, bounds and the values of R measured for the design."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from dpglm.data.coding.coding import Coding, Kind
from dpglm.data.coding.geometry import SLACK
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.errors import FormulaError, MethodError

FAIR = Schema.of(
    {
        "affair": ["no", "yes"],
        "age": (17.5, 42),
        "yrs_married": (0.5, 23),
        "children": (0, 5.5),
        "religious": (1, 4),
        "educ": (9, 20),
        "rate_marriage": (1, 5),
        "occupation": [1, 2, 3, 4, 5, 6],
        "occupation_husb": [1, 2, 3, 4, 5, 6],
    }
)
RANDHIE = Schema.of(
    {
        "visit": ["no", "yes"],
        **dict.fromkeys(("lncoins", "lpi", "fmde", "physlm", "disea"), (0, 60)),
        **{name: [0, 1] for name in ("idp", "hlthg", "hlthf", "hlthp")},
    }
)


def coded(formula: str, schema: Schema, kind: str = "centred") -> Coding:
    return Coding.of(parse(formula, schema), kind=kind)  # type: ignore[arg-type]


def test_row_norms_are_the_ones_the_design_was_measured_with() -> None:
    fair = coded(
        "affair ~ age + yrs_married + children + religious + educ + rate_marriage + C(occupation) + "
        "C(occupation_husb)",
        FAIR,
    )
    randhie = coded("visit ~ lncoins + idp + lpi + fmde + physlm + disea + hlthg + hlthf + hlthp", RANDHIE)
    assert fair.row_norm == pytest.approx((0.25 + 6 * 2 / 4 + 2 * 5 / 6) ** 0.5)
    assert round(fair.row_norm, 1) == 2.2
    assert randhie.row_norm == pytest.approx((0.25 + 5 * 2 / 4 + 4 / 4) ** 0.5)
    assert round(randhie.row_norm, 1) == 1.9


def test_interactions_multiply_shares_and_bounds() -> None:
    coding = coded("affair ~ age * educ * C(occupation)", FAIR)
    groups = {group.label: group for group in coding.groups}
    share = {label: (g.products[0].scale * coding.row_norm * SLACK) ** 2 for label, g in groups.items()}
    both = groups["age:educ"]
    assert (share["age:educ"], both.bound) == (pytest.approx(4.0), pytest.approx(4 / 16))
    assert share["Intercept"] == pytest.approx(0.25)
    three = next(group for group in groups.values() if group.label.count(":") == 2)
    assert share[three.label] == pytest.approx(4.0)
    assert three.bound == pytest.approx(4 / 16 * 5 / 6)
    assert three.kind == "other"
    assert groups["age"].kind == "slope"


def test_kinds_tell_slopes_levels_and_splines_apart() -> None:
    groups = coded("visit ~ lpi + idp + bs(disea, df=4)", RANDHIE).groups
    assert [group.kind for group in groups] == ["intercept", "levels", "slope", "other"]


def test_coding_is_a_function_of_formula_schema_and_kind() -> None:
    formula = "affair ~ age:educ + C(occupation, Sum) * religious + bs(children, df=5)"
    again = Schema.from_dict(json.loads(json.dumps(FAIR.to_dict())))
    for kind in ("centred", "clipped"):
        one, two = coded(formula, FAIR, kind), coded(formula, again, kind)
        assert one.names == two.names
        assert one.row_norm == two.row_norm
        np.testing.assert_array_equal(one.user_from_coded, two.user_from_coded)
        np.testing.assert_array_equal(one.coded_from_user, two.coded_from_user)


def test_formulas_that_span_the_same_columns_have_the_same_rows() -> None:
    columns = {"age": np.array([20.0, 30.0, 42.0]), "occupation": np.array([0, 5, 2], dtype=np.int32)}
    rows = []
    for formula in ("C(occupation) + age", "C(occupation, Sum) + age", "0 + C(occupation) + age"):
        model = parse(f"affair ~ {formula}", FAIR)
        rows.append(Coding.of(model).encode(columns)[0])
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[0], rows[2])


def test_values_outside_the_bounds_count_as_the_bound() -> None:
    model = parse("affair ~ age + bs(educ, df=4)", FAIR)
    coding = Coding.of(model)
    beyond = pd.DataFrame({"age": [-1e300, 1e300], "educ": [-1e300, 1e300]})
    within = pd.DataFrame({"age": [17.5, 42.0], "educ": [9.0, 20.0]})
    wild, _, usable = coding.encode(FAIR.clean(beyond, ["age", "educ"]))
    tame, _, _ = coding.encode(FAIR.clean(within, ["age", "educ"]))
    np.testing.assert_array_equal(wild, tame)
    assert usable.all()


def test_clipped_coding_says_that_it_clips() -> None:
    assert coded("affair ~ age", FAIR, "clipped").clips
    assert "longer than" in coded("affair ~ age", FAIR, "clipped").clipping
    assert coded("affair ~ age", FAIR).clipping == "none"


def test_maps_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        coded("affair ~ age", FAIR).user_from_coded[0, 0] = 1.0


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(MethodError, match="centred"):
        coded("affair ~ age", FAIR, "onehot")


def test_numbers_that_overflow_in_a_product_are_refused() -> None:
    huge = Schema.of({"y": ["no", "yes"], "a": (0, 1e200), "b": (0, 1e200)})
    with pytest.raises(FormulaError, match="too large"):
        coded("y ~ a:b", huge)


def test_a_column_far_from_zero_is_still_told_apart_from_the_intercept() -> None:
    far = Schema.of({"y": ["no", "yes"], "t": (1.6e9, 1.7e9)})
    assert coded("y ~ t", far).size == 2
    hopeless = Schema.of({"y": ["no", "yes"], "t": (1e12, 1e12 + 1)})
    with pytest.raises(FormulaError, match="center"):
        coded("y ~ t", hopeless)


def test_a_formula_without_columns_still_has_rows() -> None:
    model = parse("affair ~ 1", FAIR)
    rows, offset, usable = Coding.of(model).encode({"affair": np.array([0, 1, -1])})
    assert rows.shape == (1, 3)
    assert offset is None
    assert usable.all()


@pytest.mark.parametrize("kind", ["centred", "clipped"])
@pytest.mark.parametrize(
    "right", ["x", "x*z", "x:z", "bs(x, df=4)*z", "0 + C(h, Helmert):I(x**2)", "C(many, Poly)"]
)
@pytest.mark.parametrize(
    "bounds", [(1e8, 1e8 + 1e-7), (1e15, 1e15 + 1), (0, 1e115), (-1e307, 1e307), (0, 1e-139), (0, 1e160)]
)
@pytest.mark.filterwarnings("error")
def test_extreme_bounds_give_a_coding_or_a_formula_error_and_no_warning(
    bounds: tuple[float, float], right: str, kind: Kind
) -> None:
    many = [f"l{number}" for number in range(200)]
    schema = Schema.of({"y": (0, 1), "x": bounds, "z": bounds, "h": ["a", "b", "c"], "many": many})
    try:
        coding = Coding.of(parse(f"y ~ {right}", schema), kind=kind)
    except FormulaError:
        return
    assert np.isfinite(coding.user_from_coded).all()
    assert np.isfinite(coding.coded_from_user).all()
