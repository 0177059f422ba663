"""CSV files with another separator or encoding are read as the same table in UTF-8 with commas."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import dpglm
from dpglm.cli import main
from dpglm.data.tables import csv_rows
from dpglm.data.tables.csv_rows import CsvFile
from dpglm.data.tables.files import CsvSource
from dpglm.data.tables.sources import open_source
from dpglm.errors import SchemaError

ROWS = [("Zoë", "12.5", "ja"), ("", "3", "nein"), ('a "quoted" one', "-1e3", "ja"), ("naïve", "x", "für")]
NAMES = ("größe", "x", "y")


def text(separator: str) -> str:
    return "\n".join(separator.join(line) for line in (NAMES, *ROWS)) + "\n"


def read(data: Any) -> pd.DataFrame:
    source = open_source(data)
    assert source.column_names == NAMES
    return pd.concat(list(source.chunks(NAMES)))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "iso8859-15"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_file_is_the_same_table_in_any_form(
    separator: str, encoding: str, ending: str, tmp_path: Path
) -> None:
    plain, other = tmp_path / "plain.csv", tmp_path / f"other.{ending}"
    plain.write_text(text(","), encoding="utf-8")
    written = text(separator).encode(encoding)
    other.write_bytes(gzip.compress(written) if ending == "csv.gz" else written)
    pd.testing.assert_frame_equal(read(CsvFile(other, separator, encoding)), read(plain))


@given(
    st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line and b"\r" not in line), max_size=6)
)
def test_no_line_changes_how_another_one_is_read(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    """Whatever bytes stand in other lines, the last one is read alike."""
    folder = tmp_path_factory.mktemp("lines")
    last = b'gr\xf6\xdfer;"7;5";ja\n'
    for number, content in enumerate((lines, [])):
        body = b"".join(line + b"\n" for line in content if line)
        (folder / f"{number}.csv").write_bytes(b"a;b;c\n" + body + last)
    frames = [
        pd.concat(list(open_source(CsvFile(folder / f"{n}.csv", ";", "latin-1")).chunks(["a", "b", "c"])))
        for n in range(2)
    ]
    assert frames[0].iloc[-1].tolist() == frames[1].iloc[-1].tolist() == ["größer", "7;5", "ja"]


@pytest.mark.parametrize(
    ("separator", "encoding"),
    [("::", "utf-8"), (" ", "utf-8"), (None, "utf-8"), (";", "utf-16"), (";", "no"), (";", 3)],
)
def test_what_may_touch_other_lines_is_refused(separator: Any, encoding: Any) -> None:
    with pytest.raises(SchemaError, match=r"separator|encoding"):
        CsvFile("a.csv", separator, encoding)


def test_a_fit_takes_such_a_file_and_so_does_the_command_line(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=400).round(2)
    frame = pd.DataFrame(
        {"größe": x, "y": np.where(random.random(400) < 0.5 + 0.2 * np.tanh(x), "ja", "nein")}
    )
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False, sep=";", encoding="latin-1")
    schema = {"größe": (-5, 5), "y": ["nein", "ja"]}
    dpglm.Schema.of(schema).to_yaml(tmp_path / "t.schema.yaml")
    file = CsvFile(path, ";", "latin-1")
    chosen: Any = {"privacy": (1.0, 1e-6), "seed": 1, "progress": False}
    found = dpglm.fit("y ~ größe", file, **chosen)  # the schema lies beside the file
    np.testing.assert_array_equal(found.params, dpglm.fit("y ~ größe", frame, schema=schema, **chosen).params)
    with pytest.raises(SchemaError, match=r"no column(.|\n)*CsvFile"):
        dpglm.fit("y ~ größe", path, **chosen)
    options = ["--separator", "semicolon", "--encoding", "latin-1", "--privacy", "1,1e-6"]
    said = CliRunner().invoke(main, ["fit", "y ~ größe", str(path), *options])
    assert said.exit_code == 0, said.output
    assert "größe" in said.output
    said = CliRunner().invoke(main, ["describe", str(path), *options])
    assert said.exit_code == 0, said.output


WRITTEN = ["1,5", "-0,25", " 3 ", "1e-1", "2,5e1", ",5", "7,", "inf", "", "NA", "1.5", "1,5,5", "true", "x1"]
MEANT = [1.5, -0.25, 3, 0.1, 25, 0.5, 7, np.nan, np.nan, np.nan, np.nan, np.nan, 1, np.nan]


@given(st.lists(st.integers(0, len(WRITTEN) - 1), min_size=1, max_size=9), st.integers(1, 4))
def test_a_decimal_comma_is_read_alike_whatever_stands_in_other_lines(
    tmp_path_factory: pytest.TempPathFactory, places: list[int], chunk_rows: int
) -> None:
    path = tmp_path_factory.mktemp("marks") / "t.csv"
    lines = ["x;own;g", *(f"{WRITTEN[place]};1.234,5;2,5" for place in places)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    own = dpglm.Numeric(0, 9999, decimal=",", thousands=".")
    schema = dpglm.Schema.of({"x": (-99, 99), "own": own, "g": ["2,5", "3"]})
    source = CsvSource(CsvFile(path, ";", decimal=","), chunk_rows=chunk_rows)
    names = ["x", "own", "g"]
    parts = [schema.clean(part, names) for part in source.chunks(names, numeric=schema.plain_numbers(names))]
    x, own_read, g = (np.concatenate([part[name] for part in parts]) for name in names)
    np.testing.assert_array_equal(x, [MEANT[place] for place in places])
    assert set(own_read) == {1234.5}
    assert set(g) == {0}


@pytest.mark.parametrize(("separator", "decimal"), [(",", ","), (";", ";"), (";", None), (";", "")])
def test_a_mark_that_cannot_be_one_is_refused(separator: str, decimal: Any) -> None:
    with pytest.raises(SchemaError, match="decimal"):
        CsvFile("a.csv", separator, decimal=decimal)


@pytest.mark.parametrize(
    "cell",
    [
        "1,5",
        "1.234,5",
        "1 234",
        "1'000",
        "12:30",
        "5%",
        "2015-03-31",
        "31.03.2015",
        "3/31/2015",
        "2015-03-31T07:00Z",
        "+49 (0) 171",
        "078-05-1120",
        "-9",
        " 7 ",
        "1_000",
        "\u0663\u0664",
        "inf",
    ],
)
def test_a_first_row_of_cells_is_never_shown(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"Zelda;{cell}\nLink;7\n", encoding="utf-8")
    with pytest.raises(SchemaError, match="a number or a date in the first line") as caught:
        open_source(CsvFile(path, ";"))
    assert cell not in str(caught.value)
    assert "Zelda" not in str(caught.value)


def test_names_with_digits_and_letters_or_without_digits_are_names(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    names = ("x1", "1st", "%", "\u4e2d2", "2015-03-31 in days", "a-1.5", "")
    path.write_text(";".join(names) + "\n", encoding="utf-8")
    assert open_source(CsvFile(path, ";")).column_names == names[:-1]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_empty_cell_of_one_column_is_a_row(tmp_path: Path, end: str) -> None:
    """The number of rows is public where rows are exchanged."""
    schema = dpglm.Schema.of({"y": ["no", "yes"]})
    privacy = dpglm.Privacy(1.0, 1e-6, relation="replace-one")
    sizes = []
    for cell in ("yes", "", '""'):
        path = tmp_path / "t.csv"
        path.write_text(end.join(["y", *["no", "yes"] * 20, cell, "no"]), encoding="utf-8", newline="")
        frame = pd.concat(list(CsvSource(CsvFile(path), chunk_rows=9).chunks(["y"])))
        assert frame["y"].isna().tolist() == [False] * 40 + [cell != "yes", False]
        found = dpglm.fit("y ~ 1", path, schema=schema, privacy=privacy, progress=False)
        assert isinstance(found, dpglm.FitResult)
        sizes.append(found.n_rows)
    assert sizes == [42, 42, 42]


def test_a_chunk_of_empty_lines_alone_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"x\n\n\n1\n")
    chunks = CsvSource(CsvFile(path), chunk_rows=2).chunks(["x"], numeric=("x",))
    np.testing.assert_array_equal(np.concatenate([chunk["x"] for chunk in chunks]), [np.nan, np.nan, 1.0])


def test_fits_and_the_command_line_take_decimal_commas(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"x": random.normal(size=300).round(3), "y": random.integers(0, 2, 300)})
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",")
    schema = {"x": (-5, 5), "y": [0, 1]}
    dpglm.Schema.of(schema).to_yaml(tmp_path / "t.schema.yaml")
    chosen: Any = {"privacy": (1.0, 1e-6), "seed": 1, "progress": False}
    found = dpglm.fit("y ~ x", CsvFile(path, ";", decimal=","), **chosen)
    np.testing.assert_array_equal(found.params, dpglm.fit("y ~ x", frame, schema=schema, **chosen).params)
    options = ["--separator", "semicolon", "--decimal", "comma", "--privacy", "1,1e-6"]
    for command in (["fit", "y ~ x"], ["describe"]):
        said = CliRunner().invoke(main, [*command, str(path), *options])
        assert said.exit_code == 0, said.output
    said = CliRunner().invoke(main, ["describe", str(path), "--decimal", "comma", "--privacy", "1"])
    assert said.exit_code == 1


@given(
    text=st.lists(st.sampled_from([b"a", b",", b"\n", b"\r", b'"', b"\0", b"\xff"]), max_size=40).map(
        b"".join
    ),
    rows=st.integers(1, 5),
    width=st.integers(1, 2),
    block=st.sampled_from([1, 2, 3, 7, 64]),
)
def test_lines_are_those_that_a_file_gives_one_by_one(text: bytes, rows: int, width: int, block: int) -> None:
    lines = [line for line in io.BytesIO(text) if width == 1 or line not in (b"\n", b"\r\n", b"\r")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_rows, "_BLOCK", block)
        found = list(csv_rows._cut(io.BytesIO(text), rows, empty=width == 1))
    assert found == [b"".join(lines[first : first + rows]) for first in range(0, len(lines), rows)]
