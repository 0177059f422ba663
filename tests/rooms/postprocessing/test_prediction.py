"""One prediction per row, NaN where a row cannot be predicted, never a word about which."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpglm
from dpglm.errors import MethodError
from dpglm.postprocessing.record import ResponseFacts
from tests.golden.examples import pure_fit


class Map:
    """Two columns, 1 and a tenth of age; a row whose age is not a number cannot be predicted."""

    def __init__(self, offset=0.0):
        self.offset = offset

    def coded(self, frame):
        age = np.array([np.nan if value is None else value for value in frame["age"]], dtype=float)
        rows = np.column_stack([np.ones(len(age)), age / 10.0])
        rows[np.isnan(age)] = np.nan
        return rows, np.full(len(age), self.offset)


def fit(offset=0.0, **changes):
    return pure_fit(row_map=Map(offset), **changes)


FRAME = pd.DataFrame({"age": [20.0, np.nan, 40.0]}, index=["a", "b", "c"])
ETA = np.array([-0.75 + 0.314159 * 2.0, np.nan, -0.75 + 0.314159 * 4.0])


def test_link_mean_and_class_of_a_frame_keep_its_index():
    link, mean, level = (fit().predict(FRAME, what) for what in ("link", "mean", "class"))
    for series in (link, mean, level):
        assert isinstance(series, pd.Series)
        assert list(series.index) == ["a", "b", "c"]
    np.testing.assert_allclose(link, ETA, rtol=1e-14)  # two products and a sum
    np.testing.assert_allclose(mean, 1.0 / (1.0 + np.exp(-ETA)), rtol=1e-14)
    assert level["a"] == "no"
    assert level["c"] == "yes"
    assert pd.isna(level["b"])


def test_the_mean_is_the_default():
    pd.testing.assert_series_equal(fit().predict(FRAME), fit().predict(FRAME, what="mean"))


def test_a_frame_without_index_gives_an_array():
    values = fit().predict(pl.DataFrame({"age": [20.0, None]}), "link")
    assert isinstance(values, np.ndarray)
    np.testing.assert_allclose(values, ETA[:2], rtol=1e-14)


def test_offsets_are_added():
    np.testing.assert_allclose(fit(offset=2.5).predict(FRAME, "link"), ETA + 2.5, rtol=1e-14)


def test_no_rows_give_no_predictions():
    assert len(fit().predict(FRAME.iloc[:0])) == len(fit().predict(FRAME.iloc[:0], "class")) == 0


@pytest.mark.parametrize("what", ["link", "mean", "class"])
def test_extreme_rows_are_predicted_or_nan_without_a_warning(what):
    frame = pd.DataFrame({"age": [1e308, -1e308, np.inf, -np.inf, np.nan]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = fit(coded=np.array([0.0, 1e10])).predict(frame, what)
    assert values.isna().tolist() == [True] * 5
    for link in ("log", "identity"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(fit(link=link).predict(frame)) == 5


def test_the_second_level_is_the_one_whose_probability_is_predicted():
    turned = fit(response=ResponseFacts("affair", levels=("yes", "no")))
    assert turned.predict(FRAME, "class")["c"] == "no"


def test_a_response_without_levels_has_0_and_1():
    assert fit(response=ResponseFacts("affair")).predict(FRAME, "class")["c"] == 1


def test_an_even_chance_goes_to_the_first_level():
    assert fit(coded=np.zeros(2)).predict(FRAME, "class")["a"] == "no"


@pytest.mark.parametrize("what", ["response", "", None, 3])
def test_an_unknown_kind_of_prediction_is_refused(what):
    with pytest.raises(MethodError, match="what='mean'"):
        fit().predict(FRAME, what)


def test_intervals_are_refused_before_rows_are_looked_at():
    with pytest.raises(MethodError, match="released information matrix"):
        fit().predict(None, interval=0.95)
    for level in (0.0, 1.0, 95, True, "0.95"):
        with pytest.raises(MethodError, match=r"level=0\.95"):
            fit().predict(None, interval=level)


def test_classes_are_for_binomial_fits():
    with pytest.raises(MethodError, match="what='mean'"):
        fit(link="log", family="poisson").predict(FRAME, "class")


def test_a_link_without_inverse_still_gives_the_linear_predictor():
    odd = fit(link="cauchit")
    with pytest.raises(MethodError, match="what='link'"):
        odd.predict(FRAME)
    np.testing.assert_allclose(odd.predict(FRAME, "link"), ETA, rtol=1e-14)


def test_a_result_without_its_row_map_says_how_to_get_it_back():
    with pytest.raises(MethodError, match=r"dpglm\.load"):
        pure_fit().predict(FRAME)


def test_numbers_of_a_file_are_read_by_its_decimal_mark(tmp_path):
    (tmp_path / "point.csv").write_text("age,religious\n30.5,2\n22.25,\n", encoding="utf-8")
    (tmp_path / "comma.csv").write_text("age;religious\n30,5;2\n22,25;\n", encoding="utf-8")
    fitted = dpglm.fit("affair ~ age + religious", dpglm.load_data("fair"), penalty="l2", privacy=1.0)
    comma = fitted.predict(dpglm.CsvFile(tmp_path / "comma.csv", separator=";", decimal=","))
    point = fitted.predict(tmp_path / "point.csv")
    np.testing.assert_array_equal(comma, point)
    assert np.isnan(point).tolist() == [False, True]
