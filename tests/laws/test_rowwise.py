"""The row-wise promise: what becomes of a row depends on that row alone, and no row raises or warns."""

import datetime as dt
import warnings
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import dateutil.tz
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric
from dpglm.data.tables.cells import as_text, numbers_of_texts, stored_cell
from dpglm.data.tables.columns import cells_of_column
from dpglm.data.tables.csv_rows import CsvFile, parse_lines
from dpglm.data.tables.files import CsvSource

law = settings(derandomize=True, deadline=None, max_examples=200)


class Hostile:
    """Raises whatever is done with it."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("compared")

    def __float__(self):
        raise RuntimeError("converted")

    def __str__(self):
        raise RuntimeError("printed")

    def __bool__(self):
        raise RuntimeError("asked")


class HostileFloat(float):
    def __float__(self):
        raise RuntimeError("converted")


VARIABLES = {
    "plain": Numeric(-1, 3),
    "filled": Numeric(-1, 3, missing=0.5),
    "number levels": Categorical([0, 1, 2.5]),
    "truth": Categorical([False, True], missing=True),
    "text levels": Categorical(["no", "yes", "1", "01", "NA", "True"], missing="no", other="yes"),
    "other": Categorical(["F", "M", "1"], missing="F", other="omit"),
    "coded": Numeric(-1, 3, missing_codes=[1, "2", -9], infinite="bound"),
    "marked": Numeric(-1, 3, decimal=",", thousands=".", missing_codes=["2,5"]),
    "coded levels": Categorical(
        ["no", "yes", "F"],
        aliases={1: "yes", "n": "no"},
        missing_codes=[0, "NA"],
        strip=True,
        ignore_case=True,
    ),
    "days": Numeric(-9, 9000, date={"origin": "2015-01-01"}, missing_codes=["2020-01-01"], infinite="bound"),
    "hours": Numeric(
        0, 99, date={"origin": "2020-01-01 06:30", "unit": "hours", "zone": "+01:00"}, missing=1
    ),
    "digits": Numeric(0, 9000, date={"origin": "2015-01-01", "format": "%d%m%Y"}),
}

KNOWN_ZONES = [dt.UTC, dt.timezone(dt.timedelta(hours=-3)), ZoneInfo("Europe/Berlin"), dateutil.tz.UTC]
# The last one of dateutil would have to be asked what it is.
ZONES = [*KNOWN_ZONES, dateutil.tz.tzoffset(None, 5400), dateutil.tz.gettz("Europe/Berlin")]
dates = st.one_of(
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.sampled_from(ZONES)),
    st.datetimes(dt.datetime(2015, 1, 1), dt.datetime(2024, 1, 1)).map(pd.Timestamp),
    st.datetimes(dt.datetime(2015, 1, 1), timezones=st.sampled_from(ZONES)).map(pd.Timestamp),
    st.builds(
        np.datetime64, st.integers(-(2**63), 2**63 - 1), st.sampled_from(["Y", "D", "25s", "ns", "as"])
    ),
    st.sampled_from([20150131, 31012015, 31012015.0, "2020-01-01", "2016-02-30", "2015-03-31T07:00Z"]),
    st.dates().map(str),
    st.datetimes(timezones=st.sampled_from([None, *ZONES])).map(str),
)
spellings = st.text(alphabet="0123456789+-.eE \tinfINFtyaruelsTF_xd", max_size=8)
texts = st.one_of(
    st.sampled_from(
        [
            "no",
            "yes",
            "1",
            "01",
            "1.0",
            " 1 ",
            "NA",
            "nan",
            "None",
            "True",
            "TRUE",
            "",
            "F",
            "inf",
            "1,5",
            "No ",
        ]
    ),
    spellings,
    st.text(max_size=5),
    st.just("\ud800"),
)
cells = st.one_of(
    texts,
    dates,
    st.booleans(),
    st.integers(),
    st.integers(-2, 3),
    st.just(10**400),
    st.floats(),
    st.floats(-2, 4, width=16).map(np.float16),
    st.floats(width=32).map(np.float32),
    st.sampled_from([0, 1, 1.0, 2.5, -0.0, np.bool_(True), np.int8(1), np.longdouble("1e4000")]),
    st.sampled_from([None, pd.NA, pd.NaT, np.nan, np.datetime64("NaT"), np.timedelta64(3, "D")]),
    st.sampled_from(
        [Decimal("1"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e999999"), Fraction(10**400, 3)]
    ),
    st.sampled_from([b"yes", b"\xff", dt.date(2020, 1, 1), pd.Timestamp("2020"), 1j, complex("nan")]),
    st.sampled_from([[1], (1, 2), {"a": 1}, {1}, np.array([1.0]), object(), Hostile(), HostileFloat(1.0)]),
)


def column_of(values):
    """An object column that holds the values as they are, nested ones included."""
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return pd.Series(array, dtype=object)


def one_by_one(variable, values):
    return np.array([variable.clean(column_of([value]))[0] for value in values])


@pytest.fixture(autouse=True)
def nothing_is_tolerated():
    """Warnings and numpy's floating point signals raise."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("name", VARIABLES)
@law
@given(values=st.lists(cells, min_size=1, max_size=12))
def test_a_row_is_read_alike_alone_and_in_any_company(name, values):
    variable = VARIABLES[name]
    together = variable.clean(column_of(values))
    np.testing.assert_array_equal(together, one_by_one(variable, values))
    np.testing.assert_array_equal(variable.clean(values), together)


@pytest.mark.parametrize("name", VARIABLES)
@law
@given(values=st.lists(cells, min_size=1, max_size=12), garbage=cells, data=st.data())
def test_permuting_rows_permutes_and_an_appended_row_changes_nothing_else(name, values, garbage, data):
    variable = VARIABLES[name]
    base = variable.clean(column_of(values))
    order = data.draw(st.permutations(range(len(values))))
    np.testing.assert_array_equal(variable.clean(column_of([values[i] for i in order])), base[list(order)])
    np.testing.assert_array_equal(variable.clean(column_of([*values, garbage]))[:-1], base)


NUMBERS = st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=1, max_size=8)
FLOATS = st.lists(st.one_of(st.none(), st.floats(width=32)), min_size=1, max_size=8)
WORDS = st.lists(st.one_of(st.none(), texts.filter(str.isprintable)), min_size=1, max_size=8)
TRUTHS = st.lists(st.one_of(st.none(), st.booleans()), min_size=1, max_size=8)
DAYS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)).map(pd.Timestamp)
DATES = st.lists(st.one_of(st.none(), DAYS), min_size=1, max_size=8)
MIXED = st.lists(
    st.one_of(st.none(), texts.filter(str.isprintable), st.integers(-3, 3), st.booleans()),
    min_size=1,
    max_size=8,
)
DECIMALS = st.lists(st.one_of(st.none(), st.decimals(-9, 9, places=2)), min_size=1, max_size=8)


def typed_columns(kind, data):
    """Columns of many types; each holds what its ``tolist`` says."""
    if kind == "numbers":
        values = data.draw(NUMBERS)
        floats = [np.nan if value is None else value for value in values]
        whole = [0 if value is None else value for value in values]
        yield pd.Series(floats, dtype="float64")
        yield pd.Series(whole, dtype="int8")
        yield pd.Series(values, dtype="Int64")
        yield pd.Series(values, dtype="category")
        yield pd.Series(values, dtype="Float32")
        yield pd.Series(values, dtype=pd.ArrowDtype(pa.int32()))
        yield pd.Series(floats, dtype=pd.SparseDtype("float64"))
        yield pd.Series(floats).astype("complex128")
        yield pd.Series(whole).to_numpy().astype("timedelta64[D]").astype("timedelta64[s]")
    elif kind == "floats":
        values = data.draw(FLOATS)
        yield pd.Series([np.nan if value is None else value for value in values], dtype="float32")
        yield pd.Series(values, dtype=pd.ArrowDtype(pa.float32()))
        yield pd.Series(values, dtype="Float64")
        yield np.array([np.nan if value is None else value for value in values], dtype=np.longdouble)
    elif kind == "words":
        values = data.draw(WORDS)
        yield pd.Series(values, dtype="str")
        yield pd.Series(values, dtype="string[python]")
        yield pd.Series(values, dtype="string[pyarrow]")
        yield pd.Series(values, dtype="category")
        yield pd.Series(values, dtype=pd.ArrowDtype(pa.large_string()))
        encoded = pa.array(values, pa.string()).dictionary_encode()
        yield pd.Series(pd.arrays.ArrowExtensionArray(encoded))
        halves = values[: len(values) // 2], values[len(values) // 2 :]
        with_null = [pa.array(half, pa.string()).dictionary_encode("encode") for half in halves]
        yield pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(with_null)))
        yield np.array(["" if value is None else value.rstrip("\0") for value in values], dtype=str)
    elif kind == "truths":
        values = data.draw(TRUTHS)
        yield pd.Series([bool(value) for value in values], dtype="bool")
        yield pd.Series(values, dtype="boolean")
        yield pd.Series(values, dtype=pd.ArrowDtype(pa.bool_()))
    elif kind == "dates":
        values = data.draw(DATES)
        yield pd.Series(values, dtype="datetime64[ns]")
        yield pd.Series(values, dtype="datetime64[ns, UTC]")
        yield pd.Series(values, dtype="datetime64[s, Europe/Berlin]")
        yield pd.Series(values, dtype="period[D]")
        yield pd.Series(values, dtype=pd.ArrowDtype(pa.timestamp("us")))
        yield pd.Series(values, dtype=pd.ArrowDtype(pa.timestamp("ns", "Asia/Tokyo")))
        days = [None if value is None else value.date() for value in values]
        yield pd.Series(days, dtype=object)
        yield pd.Series(days, dtype=pd.ArrowDtype(pa.date32()))
        yield pd.Series(days, dtype=pd.ArrowDtype(pa.date64()))
        yield pd.Series([None if day is None else str(day) for day in days], dtype="str")
        yield pd.Series(values, dtype="category")
    elif kind == "decimals":
        yield pd.Series(data.draw(DECIMALS), dtype=pd.ArrowDtype(pa.decimal128(9, 2)))
    else:
        yield pd.Series(data.draw(MIXED), dtype="category")


@pytest.mark.parametrize("kind", ["numbers", "floats", "words", "truths", "dates", "decimals", "mixed"])
@law
@given(data=st.data())
def test_every_column_type_is_read_as_its_cells_are(kind, data):
    variable = VARIABLES[data.draw(st.sampled_from(sorted(VARIABLES)))]
    for column in typed_columns(kind, data):
        alone = one_by_one(variable, list(column))
        np.testing.assert_array_equal(variable.clean(column), alone, err_msg=str(column.dtype))


@law
@given(
    times=st.lists(st.datetimes(timezones=st.sampled_from(ZONES)), min_size=1, max_size=3),
    zone=st.sampled_from([None, *ZONES]),
    stamps=st.booleans(),
    garbage=cells,
)
def test_times_are_read_alike_whatever_type_the_other_cells_make_of_their_column(
    times, zone, stamps, garbage
):
    """pandas asks the zone of a column what it is; in a column of objects nobody does."""
    if zone is not None:
        times = [time.replace(tzinfo=zone) for time in times]
    if stamps:
        times = [pd.Timestamp(time) for time in times]
    for name in ("days", "hours", "text levels"):
        variable = VARIABLES[name]
        alone = one_by_one(variable, times)
        try:
            inferred = pd.Series(times)
        except (OverflowError, ValueError):  # pandas has no such times in one column
            continue
        np.testing.assert_array_equal(variable.clean(inferred), alone)
        np.testing.assert_array_equal(variable.clean(column_of([*times, garbage]))[:-1], alone)


@pytest.mark.parametrize("zone", KNOWN_ZONES[1:])
def test_times_of_known_zones_are_read(zone):
    noon = dt.datetime(2020, 7, 1, 12, tzinfo=zone)
    variable = Numeric(-1e6, 1e6, date={"origin": "2020-07-01", "unit": "hours", "zone": "UTC"})
    hours = 12 - zone.utcoffset(noon) / dt.timedelta(hours=1)
    for column in (pd.Series([noon]), column_of([noon, "x"]), column_of([pd.Timestamp(noon)])):
        assert variable.clean(column)[0] == hours


def test_times_of_pytz_are_read_alike_in_every_storage():
    zone = pytest.importorskip("pytz").timezone("Europe/Berlin")
    times = [zone.localize(dt.datetime(2020, month, 1, 12)) for month in (1, 7)]
    variable = Numeric(-1e6, 1e6, date={"origin": "2020-01-01", "unit": "hours", "zone": "UTC"})
    for column in (pd.Series(times), column_of([*times, "x"]), column_of([pd.Timestamp(t) for t in times])):
        assert variable.clean(column)[:2].tolist() == [11.0, 4378.0]


COUNTS = st.lists(
    st.one_of(
        st.integers(-(2**63), 2**63 - 1), st.integers(-(10**6), 10**6), st.sampled_from([-(2**63), 2**63 - 1])
    ),
    min_size=1,
    max_size=8,
)


@law
@given(counts=COUNTS, unit=st.sampled_from(["s", "ms", "us", "ns"]), zone=st.sampled_from([None, "UTC"]))
def test_times_of_any_size_are_read_alike_in_every_storage(counts, unit, zone):
    """Those that no calendar has, too; the least one says that there is none."""
    array = np.array(counts, dtype=np.int64)
    series = pd.Series(array.view(f"M8[{unit}]"))
    arrow = pa.array(array).view(pa.timestamp(unit, zone))
    chunks = pa.chunked_array([arrow[:1], pa.nulls(0, arrow.type), arrow[1:]])
    columns = [
        series if zone is None else series.dt.tz_localize(zone),
        pd.Series(pd.arrays.ArrowExtensionArray(arrow)),
        pd.Series(pd.arrays.ArrowExtensionArray(chunks)),
        pd.Series(pd.arrays.ArrowExtensionArray(arrow.dictionary_encode())),
    ]
    if zone is None:
        columns += [
            array.astype(">i8").view(f">M8[{unit}]"),
            [np.datetime64(count, unit) for count in counts],
        ]
    for name in ("days", "hours", "plain", "text levels"):
        variable = VARIABLES[name]
        alone = [variable.clean(columns[0][place : place + 1])[0] for place in range(len(counts))]
        for column in columns:
            np.testing.assert_array_equal(variable.clean(column), alone)


@law
@given(
    days=st.lists(st.dates(), min_size=1, max_size=5),
    hours=st.integers(0, 23),
    zone=st.sampled_from(["", "UTC", "+05:30"]),
)
def test_a_date_is_one_number_however_it_is_stored(days, hours, zone):
    """As the arithmetic of the standard library has it."""
    variable = Numeric(-1e9, 1e9, date={"origin": "1999-12-31 12:00", "unit": "hours", "zone": zone})
    times = [dt.datetime.combine(day, dt.time(hours)) for day in days]
    expected = [(time - dt.datetime(1999, 12, 31, 12)) / dt.timedelta(hours=1) for time in times]
    stored = [
        times,
        [np.datetime64(time) for time in times],
        [str(time) for time in times],
        [time.isoformat() for time in times],
        pa.array(times),
    ]
    if all(1900 < day.year < 2200 for day in days):
        stored += [pd.to_datetime(times), [pd.Timestamp(time) for time in times]]
    if zone:
        offset = dt.timezone(dt.timedelta(hours=5.5 if zone == "+05:30" else 0))
        stored += [[time.replace(tzinfo=offset) for time in times], [f"{time}Z" for time in times]]
    for column in stored:
        column = pd.Series(pd.arrays.ArrowExtensionArray(column)) if isinstance(column, pa.Array) else column
        shift = 5.5 if zone == "+05:30" and isinstance(column[0], str) and column[0].endswith("Z") else 0.0
        np.testing.assert_array_equal(variable.clean(column), np.array(expected) + shift)


def test_one_zero_and_their_spellings_are_the_same_level():
    same = [1, 1.0, True, "1", "1.0", " 1", np.int8(1), np.float32(1), Decimal(1), "true", b"1"]
    for variable in (Categorical([0, 1]), Categorical(["0", "1"]), Categorical([False, True])):
        assert set(variable.clean(column_of(same))) == {1}


def test_arrow_text_that_is_no_utf8_is_read_without_a_word():
    array = pa.array([b"yes", b"\xff\xfe", None, b"no"], pa.binary()).view(pa.binary())
    broken = pa.Array.from_buffers(pa.string(), len(array), array.buffers())
    column = pd.Series(pd.arrays.ArrowExtensionArray(broken))
    assert Categorical(["no", "yes"]).clean(column).tolist() == [1, -1, -1, 0]


def test_codes_of_arrow_that_mean_nothing_are_missing_in_every_chunk():
    values = pa.array(["no", None, "yes"], pa.string())
    wild = [pa.array([2, 1, 9], pa.uint64()), pa.array([2**64 - 1, 0, None], pa.uint64())]
    chunks = pa.chunked_array([pa.DictionaryArray.from_arrays(codes, values, safe=False) for codes in wild])
    column = pd.Series(pd.arrays.ArrowExtensionArray(chunks))
    assert Categorical(["no", "yes"]).clean(column).tolist() == [1, -1, -1, -1, 0, -1]


COMMAS = CsvFile("t.csv")


@law
@given(text=st.one_of(spellings, st.text(max_size=6), st.floats().map(repr), st.integers().map(str)))
def test_a_text_spells_the_number_that_the_csv_parser_reads(text):
    # In CSV bytes these are mended, quoted or cut before the parser sees them.
    text = "".join(sign for sign in text if sign not in '\n\r",\0')
    frame = parse_lines(text.encode("utf-8", "replace") + b"\n", COMMAS, width=1, positions=(0,), floats=(0,))
    if frame[0].dtype == "float64":
        np.testing.assert_equal(frame[0].iloc[0], numbers_of_texts([text])[0])


@law
@given(number=st.floats(allow_nan=False), form=st.sampled_from(["{!r}", "{:.3f}", "{:.17e}", " {:g}"]))
def test_numbers_are_read_as_such_and_rounded_correctly(number, form):
    text = form.format(number)
    frame = parse_lines(f"{text},a\n".encode(), COMMAS, width=2, positions=(0, 1), floats=(0,))
    assert frame[0].iloc[0] == float(text)
    assert frame[0].dtype == "float64"


rough = st.one_of(
    texts.map(lambda text: text.encode("utf-8", "replace").replace(b"\n", b"")),
    st.binary(max_size=4).map(lambda raw: raw.replace(b"\n", b"")),
    st.sampled_from(
        [b'"', b'"a', b'a"b', b'"a""b"', b'"no"', b'"1"', b"\r", b"1,2", b'"1,2"', b"yes\r", b"0.1"]
    ),
)
# Fields of lines that are all alike, so that no other way of reading them is taken.
MARK = b"\xef\xbb\xbf"
even = st.sampled_from(
    [MARK + b".5", MARK + b"M", b" inf", b"-Infinity\t", b" true", b"+3", b".5", b"", b"M", b"n"]
)
alike = st.tuples(even, even, even).map(b",".join)
quoted = st.text(alphabet='"",1', max_size=9).map(str.encode)
swallowing = st.sampled_from([b'1"1,"', b'"', b'"1,1', b'"1" "1","', b'1,"1"1"",1', b'1"1,"1', b'1,"","1'])
lines = st.one_of(st.lists(rough, min_size=1, max_size=5).map(b",".join), quoted, swallowing)
FILE_SCHEMA = Schema({"x": VARIABLES["coded"], "g": VARIABLES["other"], "z": VARIABLES["filled"]})


def read_csv_rows(folder, body, *, chunk_rows):
    path = folder / "rows.csv"
    path.write_bytes(b"x,g,z\n" + body)
    names = ["x", "g", "z"]
    source = CsvSource(CsvFile(path), chunk_rows=chunk_rows)
    parts = [FILE_SCHEMA.clean(chunk, names) for chunk in source.chunks(names, numeric=("x", "z"))]
    return np.array([np.concatenate([part[name] for part in parts]) if parts else [] for name in names])


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    rows=st.one_of(st.lists(lines, min_size=1, max_size=6), st.lists(alike, min_size=1, max_size=6)),
    chunk_rows=st.integers(1, 4),
)
def test_a_line_of_a_csv_file_is_read_alike_alone_and_in_any_company(tmp_path_factory, rows, chunk_rows):
    folder = tmp_path_factory.mktemp("csv")
    together = read_csv_rows(folder, b"\n".join(rows), chunk_rows=chunk_rows)
    alone = [read_csv_rows(folder, row + b"\n", chunk_rows=9) for row in rows]
    assert [read.shape[1] for read in alone] == [int(row not in (b"", b"\r")) for row in rows]
    np.testing.assert_array_equal(together, np.concatenate(alone, axis=1))


SCHEMA = Schema.of({"x": (-1, 3), "g": ["a", "b", "1"], "t": [0, 1], "y": ["no", "yes"]})
MODEL = parse("y ~ x * g + I(x ** 2) + t", SCHEMA)
ENCODER = Coding.of(MODEL)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(rows=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=8))
def test_coded_rows_are_bounded_and_the_same_row_by_row(rows):
    def coded(part):
        frame = pd.DataFrame(
            {name: column_of([row[place] for row in part]) for place, name in enumerate("xgt")}
        )
        return ENCODER.encode(SCHEMA.clean(frame, ENCODER.columns))

    X, _, usable = coded(rows)
    assert X.dtype == np.float32
    assert np.all(np.einsum("ji,ji->i", X, X, dtype=np.float64) <= 1.0)
    for place, row in enumerate(rows):
        alone, _, usable_alone = coded([row])
        np.testing.assert_array_equal(X[:, place], alone[:, 0])
        assert usable[place] == usable_alone[0]


def test_the_law_can_fail():
    """Its broken twin, a reader that trusts the type pandas infers for the column, is caught."""

    class Trusting(Numeric):
        def clean(self, column):
            inferred = pd.Series(list(column)).infer_objects()
            numbers = inferred if inferred.dtype.kind == "f" else pd.Series(np.nan, inferred.index)
            return np.clip(numbers.to_numpy(float), self.low, self.high)

    trusting, values = Trusting(0, 1), [0.5, "1"]
    together = trusting.clean(column_of(values))
    assert not np.array_equal(together, one_by_one(trusting, values), equal_nan=True)


@law
@given(values=st.lists(cells, max_size=10))
def test_cells_of_a_column_are_the_cells_of_its_values(values):
    listed, index = cells_of_column(column_of(values))
    assert [listed[place] for place in index] == [as_text(stored_cell(value)) for value in values]


@pytest.mark.parametrize("tail", ["", "x", "e5", " x", "e+"])
def test_a_long_cell_is_read_in_time_that_grows_with_its_length_only(tail):
    # Backtracking would need hours for these.
    for body in ("1" * 200_000, "." + "1" * 200_000, " " * 200_000 + "1", "1e" + "9" * 200_000):
        known = tail in ("", "e5") and not (tail and "e" in body)
        assert np.isnan(numbers_of_texts([body + tail])[0]) != known
    assert Numeric(0, 1, infinite="bound").clean(["1" * 10**6, 10**400, "0." + "3" * 10**6]).tolist() == [
        1,
        1,
        1 / 3,
    ]


@law
@given(values=st.lists(st.floats(), min_size=1, max_size=8), other=st.complex_numbers())
def test_a_complex_cell_changes_no_other_row(values, other):
    for variable in VARIABLES.values():
        expected = variable.clean(pd.Series(values))
        column = pd.Series([*values, other])
        assert column.dtype == np.complex128
        np.testing.assert_array_equal(variable.clean(column)[:-1], expected)
        np.testing.assert_array_equal(variable.clean(column), variable.clean(column.astype(object)))


def test_codes_out_of_range_are_missing_values():
    def encoded(codes, words):
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int64()), pa.array(words), safe=False)

    variable = Categorical(["a", "b"])
    codes = np.array([0, 1, 7, -1, -2], dtype=np.int8)
    unchecked = pd.Categorical.from_codes(codes, ["a", "b"], validate=False)
    assert variable.clean(pd.Series(unchecked)).tolist() == [0, 1, -1, -1, -1]
    one = encoded([0, 1, 7, None, -3], ["a", "b"])
    assert variable.clean(pd.Series(pd.arrays.ArrowExtensionArray(one))).tolist() == [0, 1, -1, -1, -1]
    two = pa.chunked_array([one, encoded([0, 2**62, -5, 1], ["b", "a"])])
    assert variable.clean(pd.Series(pd.arrays.ArrowExtensionArray(two))).tolist()[5:] == [1, -1, -1, 0]
