"""Dates and times as numbers: declared origin, unit, form and zone, and nothing else."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpglm
from dpglm import Categorical, Numeric, Schema
from dpglm.errors import SchemaError

NAN = float("nan")


def read(date: dict[str, Any], *cells: Any, **options: Any) -> list[float]:
    return np.asarray(Numeric(-1e6, 1e6, date=date, **options).clean(list(cells))).tolist()


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("seconds", 86400.0), ("minutes", 1440.0), ("hours", 24.0), ("days", 1.0), ("weeks", 1 / 7)],
)
def test_units(unit: str, expected: float) -> None:
    date = {"origin": "2016-02-28", "unit": unit}
    assert read(date, dt.date(2016, 2, 29), "2016-02-29", pd.Timestamp("2016-02-29 00:00")) == [expected] * 3
    years = Numeric(0, 120, date={"origin": "1901-01-01", "unit": "years"})
    assert years.clean(["1905-01-01"]).tolist() == [4.0]


def test_texts_have_the_declared_form_or_are_missing() -> None:
    iso = {"origin": "2015-01-01", "unit": "hours"}
    found = read(
        iso, "2015-01-01T05", "2015-01-01 05:30", " 2015-01-01T05:30:00.25 ", "2015-1-1", "20150101", ""
    )
    np.testing.assert_array_equal(found, [NAN, 5.5, 5.5 + 0.25 / 3600, NAN, NAN, NAN])
    wrong = [
        "2015-02-29",
        "2015-13-01",
        "0000-01-01",
        "2015-01-01 24:00",
        "2015-01-01 23:60",
        "٢٠١٥-01-01",
        42000,
    ]
    assert np.isnan(read(iso, *wrong)).all()
    german = {"origin": "2015-01-01", "format": "%d.%m.%Y"}
    np.testing.assert_array_equal(read(german, "31.01.2015", "1.2.2015", "2015-01-31"), [30, NAN, NAN])
    digits = {"origin": "2015-01-01", "format": "%Y%m%d"}
    assert read(digits, "20150131", 20150131, 20150131.0, dt.date(2015, 1, 31)) == [30] * 4
    months = {"origin": "2015-01-01", "format": "%Y/%m"}
    assert read(months, "2015/03") == [59]
    full = {
        "origin": "2015-01-01",
        "unit": "seconds",
        "format": "%Y-%m-%d, %H h %M:%S.%f 100%% %z",
        "zone": "UTC",
    }
    assert read(full, "2015-01-01, 00 h 01:02.5 100% +00:00") == [62.5]


def test_a_zone_is_declared_or_the_time_is_missing() -> None:
    berlin = pd.Timestamp("2020-07-01 12:00", tz="Europe/Berlin")
    local = {"origin": "2020-07-01", "unit": "hours"}
    zoned = local | {"zone": "UTC"}
    cells = [berlin, berlin.to_pydatetime(), "2020-07-01T12:00+02:00", "2020-07-01 10:00Z"]
    assert np.isnan(read(local, *cells)).all()
    assert read(zoned, *cells, "2020-07-01 10:00", dt.datetime(2020, 7, 1, 10)) == [10] * 6
    assert read(zoned | {"zone": "-03:00"}, *cells, "2020-07-01 10:00") == [7] * 4 + [10]
    column = pd.Series([berlin, pd.NaT]).astype("datetime64[s, Europe/Berlin]")
    np.testing.assert_array_equal(Numeric(0, 24, date=zoned).clean(column), [10, NAN])
    assert np.isnan(Numeric(0, 24, date=local).clean(column)).all()


def test_codes_bounds_and_filled_values_hold_for_dates_too() -> None:
    date = {"origin": "2015-01-01"}
    cells = ["9999-12-31", dt.date(9999, 12, 31), "2000-01-01", "2015-01-05"]
    assert Numeric(0, 99, date=date).clean(cells).tolist() == [99, 99, 0, 4]
    coded = Numeric(0, 99, date=date, missing_codes=["9999-12-31"], missing=7)
    assert coded.clean([*cells, None]).tolist() == [7, 7, 0, 4, 7]


def test_without_a_declaration_a_date_is_no_number() -> None:
    column = pd.Series(pd.to_datetime(["2015-01-01"]))
    assert np.isnan(Numeric(-1e30, 1e30).clean(column)).all()
    arrow = pd.Series([dt.date(2015, 1, 1)], dtype=pd.ArrowDtype(pa.date32()))
    assert np.isnan(Numeric(-1e30, 1e30).clean(arrow)).all()
    assert Categorical(["2015-01-01", "no"]).clean(arrow).tolist() == [-1]


@pytest.mark.parametrize(
    "date",
    [
        {},
        {"unit": "days"},
        {"origin": "1.1.2015"},
        {"origin": "2015-01-01T00:00Z"},
        {"origin": 2015},
        {"origin": pd.NaT},
        {"origin": np.datetime64("NaT")},
        {"origin": np.datetime64(2**60, "s")},
        {"origin": "2015-01-01", "unit": "months"},
        {"origin": "2015-01-01", "unit": ["days"]},
        {"origin": "2015-01-01", "format": "%d.%m.%y"},
        {"origin": "2015-01-01", "format": "%d.%Y"},
        {"origin": "2015-01-01", "format": "%Y%Y"},
        {"origin": "2015-01-01", "format": ""},
        {"origin": "2015-01-01", "format": "%Y%"},
        {"origin": "2015-01-01", "format": "%Y %"},
        {"origin": "2015-01-01", "format": "%m%Y%"},
        {"origin": "2015-01-01", "format": " %Y"},
        {"origin": "2015-01-01", "format": "%Y\n"},
        {"origin": "2015-01-01", "format": "%Y" + "-" * 99},
        {"origin": "2015-01-01", "format": np.array(["iso"])},
        {"origin": "2015-01-01", "zone": "Europe/Berlin"},
        {"origin": "2015-01-01", "zone": "+25:00"},
        {"origin": "2015-01-01", "zone": 1},
        {"origin": "2015-01-01", "when": 1},
        "2015-01-01",
        True,
    ],
)
def test_a_declaration_that_means_nothing_is_refused(date: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.of({"x": {"bounds": [0, 1], "date": date}})
    assert caught.value.remedy


def test_marks_of_numbers_do_not_stand_beside_a_date() -> None:
    with pytest.raises(SchemaError, match="beside date"):
        Numeric(0, 1, decimal=",", date={"origin": "2015-01-01"})
    with pytest.raises(SchemaError):
        Schema.of({"x": {"levels": ["a", "b"], "date": {"origin": "2015-01-01"}}})


def test_a_date_is_kept_in_files_fingerprints_and_copies_and_printed(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    days = random.integers(0, 3650, 400)
    frame = pd.DataFrame(
        {"y": random.integers(0, 2, 400), "seen": pd.to_datetime("2015-01-01") + pd.to_timedelta(days, "D")}
    )
    seen = Numeric(0, 3650, date={"origin": dt.date(2015, 1, 1), "unit": "days", "zone": "UTC"})
    schema = Schema({"y": Categorical([0, 1]), "seen": seen})
    schema.to_yaml(tmp_path / "t.schema.yaml")
    assert Schema.of(tmp_path / "t.schema.yaml") == schema == pickle.loads(pickle.dumps(schema))
    assert copy.deepcopy(seen) == seen
    chosen: Any = {"privacy": (1.0, 1e-6), "seed": 1, "progress": False}
    found = dpglm.fit("y ~ seen", frame, schema=schema, **chosen)
    plain = frame.assign(seen=days)
    as_numbers = dpglm.fit("y ~ seen", plain, schema={"y": [0, 1], "seen": (0, 3650)}, **chosen)
    np.testing.assert_array_equal(found.params, as_numbers.params)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for ending in ("csv", "parquet"):
        again = dpglm.fit("y ~ seen", tmp_path / f"t.{ending}", **chosen)
        np.testing.assert_array_equal(again.params, found.params)
    schemas: Any = schema, {"y": [0, 1], "seen": (0, 3650)}
    assert len({dpglm.plan("y ~ seen", one, privacy=1.0).fingerprint for one in schemas}) == 2
    found.save(tmp_path / "fit.json")
    loaded = dpglm.load(tmp_path / "fit.json")
    assert "Dates are numbers: seen (days since 2015-01-01)" in " ".join(str(loaded.summary()).split())
    page = loaded.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "days since 2015-01-01; zone UTC" in page


def test_aliases_cannot_be_changed_after_they_were_checked() -> None:
    sex = Categorical(["F", "M"], aliases={2: "M"})
    with pytest.raises(TypeError):
        sex.aliases["1"] = "F"  # type: ignore[index]
    assert pickle.loads(pickle.dumps(sex)) == copy.deepcopy(sex) == sex
    assert sex.clean([2]).tolist() == [1]
